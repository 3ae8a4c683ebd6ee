// Package price has the prices of model calls and the features of each model. The data is a dated file inside the
// binary; a configuration can override any of it.
package price

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/footnotehq/footnote"
)

//go:embed prices.yaml
var embedded []byte

// Rate is a price in millionths of a US dollar per million tokens. In the data
// file it is written in dollars per million tokens, with at most six decimals.
type Rate int64

// UnmarshalYAML reads an amount in dollars exactly, without using a float.
func (r *Rate) UnmarshalYAML(node *yaml.Node) error {
	whole, frac, _ := strings.Cut(node.Value, ".")
	if len(frac) > 6 {
		return fmt.Errorf("line %d: price %q has more than six decimals", node.Line, node.Value)
	}
	n, err := strconv.ParseUint(whole+frac+strings.Repeat("0", 6-len(frac)), 10, 40)
	if err != nil || whole == "" {
		return fmt.Errorf("line %d: price %q is not an amount of dollars", node.Line, node.Value)
	}
	*r = Rate(n)
	return nil
}

// Band is a set of prices. It applies to prompts of up to UpTo tokens, or to all larger ones if UpTo is 0.
type Band struct {
	UpTo    int64 `yaml:"up_to"`
	Input   Rate  `yaml:"input"`
	Output  Rate  `yaml:"output"`
	Write5m Rate  `yaml:"write_5m"`
	Write1h Rate  `yaml:"write_1h"`
	Read    Rate  `yaml:"read"`
}

// Thinking lists the thinking types that a model accepts. Always is true if the model thinks regardless of
// the request.
type Thinking struct {
	Types  []string `yaml:"types"`
	Always bool     `yaml:"always"`
}

// Model describes one model.
type Model struct {
	Context     int64     `yaml:"context"`    // tokens
	MaxOutput   int64     `yaml:"max_output"` // tokens
	Bands       []Band    `yaml:"bands"`      // by ascending UpTo, the last one without
	Thinking    Thinking  `yaml:"thinking"`
	Effort      []string  `yaml:"effort"`       // levels it accepts; empty: the field is rejected
	PrefixCheck bool      `yaml:"prefix_check"` // thinking is bound to the content before it
	ForcedTools bool      `yaml:"forced_tools"` // accepts tool_choice any and tool
	Prefill     bool      `yaml:"prefill"`      // accepts an assistant message at the end
	SystemRole  bool      `yaml:"system_role"`  // accepts messages of role system
	Ends        time.Time `yaml:"ends"`         // shutdown date; zero: not announced
}

// Thinks reports whether the model accepts this thinking type.
func (m Model) Thinks(kind string) bool { return slices.Contains(m.Thinking.Types, kind) }

type file struct {
	Date      time.Time        `yaml:"date"` // of the data, for people who read the file
	WebSearch Rate             `yaml:"web_search"`
	Models    map[string]Model `yaml:"models"`
}

// Table is a price list. It is read-only and safe for concurrent use.
type Table struct {
	search  Rate // per thousand searches
	models  map[string]Model
	highest Band // the highest known price of each kind
}

// Load reads the embedded list and applies override, a file of the same format: it replaces the fields that
// it gives for a known model, and adds models with new names. A price of 0 must be written out; an unknown
// key is an error. override may be empty.
func Load(override []byte) (*Table, error) {
	var f file
	if err := strict(embedded, &f); err != nil {
		return nil, fmt.Errorf("embedded prices: %w", err)
	}
	if len(bytes.TrimSpace(override)) > 0 {
		if err := overlay(&f, override); err != nil {
			return nil, fmt.Errorf("prices from the configuration: %w", err)
		}
	}
	t := &Table{search: f.WebSearch, models: f.Models}
	for id, m := range t.models {
		if err := check(m); err != nil {
			return nil, fmt.Errorf("prices of %s: %w", id, err)
		}
		for _, b := range m.Bands {
			t.highest.Input = max(t.highest.Input, b.Input)
			t.highest.Output = max(t.highest.Output, b.Output)
			t.highest.Write5m = max(t.highest.Write5m, b.Write5m)
			t.highest.Write1h = max(t.highest.Write1h, b.Write1h)
			t.highest.Read = max(t.highest.Read, b.Read)
		}
	}
	return t, nil
}

func strict(data []byte, into any) error {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func overlay(f *file, override []byte) error {
	if err := strict(override, new(file)); err != nil { // rejects unknown keys
		return err
	}
	over := struct {
		WebSearch *Rate                `yaml:"web_search"`
		Models    map[string]yaml.Node `yaml:"models"`
	}{&f.WebSearch, nil}
	if err := yaml.Unmarshal(override, &over); err != nil {
		return err
	}
	for id, node := range over.Models {
		m := f.Models[id] // a known model keeps the fields that the override leaves out
		if err := node.Decode(&m); err != nil {
			return err
		}
		f.Models[id] = m
	}
	return nil
}

func check(m Model) error {
	if len(m.Bands) == 0 {
		return errors.New("there is no band of prices")
	}
	if m.Context < 0 || m.MaxOutput < 0 {
		return errors.New("a size is negative")
	}
	for i, b := range m.Bands {
		last := i == len(m.Bands)-1
		if last != (b.UpTo == 0) || !last && i > 0 && b.UpTo <= m.Bands[i-1].UpTo || b.UpTo < 0 {
			return errors.New("bands must be in ascending order of up_to, which the last one must not have")
		}
	}
	return nil
}

// Names returns the ids of all known models, sorted.
func (t *Table) Names() []string { return slices.Sorted(maps.Keys(t.models)) }

var dateSuffix = regexp.MustCompile(`-20\d{6}$`)

// Model returns a model by id. It ignores a date at the end of the id.
func (t *Table) Model(id string) (Model, bool) {
	if m, ok := t.models[id]; ok {
		return m, true
	}
	m, ok := t.models[dateSuffix.ReplaceAllString(id, "")]
	return m, ok
}

// band returns the prices for a prompt. It returns known=false and the highest known rates for a model
// without prices.
func (t *Table) band(model string, prompt int64) (b Band, known bool) {
	m, ok := t.Model(model)
	if !ok {
		return t.highest, false
	}
	for _, b := range m.Bands {
		if b.UpTo == 0 || prompt <= b.UpTo {
			return b, true
		}
	}
	return t.highest, false // unreachable: the last band has no limit
}

// Cost returns the price of one call of model, rounded up to a millionth of a dollar. The usage must be that
// of a single call: bands depend on the size of a prompt.
func (t *Table) Cost(model string, u footnote.Usage) footnote.Cost {
	b, known := t.band(model, u.Prompt())
	sum := times(u.Input, b.Input) + times(u.CacheWrite5m, b.Write5m) + times(u.CacheWrite1h, b.Write1h) +
		times(u.CacheRead, b.Read) +
		times(u.Output, b.Output)
	micro := ceilDiv(sum, 1_000_000) + ceilDiv(times(u.Searches, t.search), 1_000)
	return footnote.Cost{MicroUSD: micro, Unpriced: !known}
}

// times multiplies a count by a rate. Counts are untrusted: a negative one counts as 0, and a huge one is
// capped to prevent an overflow.
func times(count int64, rate Rate) int64 {
	count = min(max(count, 0), 1_000_000_000)
	if rate > 0 && count > math.MaxInt64/8/int64(rate) {
		return math.MaxInt64 / 8
	}
	return count * int64(rate)
}

func ceilDiv(n, d int64) int64 { return (n + d - 1) / d }

// MaxOutputFor returns how many output tokens a call of model may produce so that, together with its prompt,
// it stays within budgetMicro. The result is at least 0 and at most the model's own limit, if known.
func (t *Table) MaxOutputFor(model string, budgetMicro int64, prompt footnote.Usage) int64 {
	b, _ := t.band(model, prompt.Prompt())
	limit := int64(math.MaxInt32)
	if m, ok := t.Model(model); ok && m.MaxOutput > 0 {
		limit = m.MaxOutput
	}
	left := min(budgetMicro, math.MaxInt64/2_000_000)*1_000_000 -
		times(prompt.Input, b.Input) - times(prompt.CacheWrite5m, b.Write5m) - times(prompt.CacheWrite1h, b.Write1h)
	if left <= 0 {
		return 0
	}
	if b.Output == 0 {
		return limit
	}
	return min(left/int64(b.Output), limit)
}
