// Package suite defines tests of answers: questions with the rows, the SQL or the verified query that they must lead
// to. It reads suites, compares rows and writes reports. It runs nothing itself.
package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Limits of a suite.
const (
	MaxBytes = 1 << 20
	maxTests = 1000
	maxName  = 100
	maxText  = 4000
	maxRows  = 2000
)

// Folder is the folder of the suites within a context.
const Folder = "tests"

// Suite is a list of tests.
type Suite struct {
	Limits Limits `yaml:"limits"` // of each test that sets none of its own
	Tests  []Test `yaml:"tests"`
}

// Limits bound one test. Zero means no limit.
type Limits struct {
	CostUSD float64 `yaml:"cost_usd"`
	Seconds float64 `yaml:"seconds"`
	Steps   int     `yaml:"steps"`
}

// Test is a question and what its answer must rest on.
type Test struct {
	Name     string `yaml:"name"`
	Question string `yaml:"question"`
	As       Person `yaml:"as"`
	Expect   Expect `yaml:"expect"`
	Limits   Limits `yaml:"limits"`
}

// Person asks the question of a test. Access rules, row filters and the roles of verified queries apply.
type Person struct {
	Org        string            `yaml:"org"`  // empty: local
	User       string            `yaml:"user"` // empty: the one at the terminal
	Roles      []string          `yaml:"roles"`
	Attributes map[string]string `yaml:"attributes"`
}

// Expect says which rows a test expects: those in Rows, those of SQL, or those of a verified query. Exactly one of the
// three is set.
type Expect struct {
	Columns []string `yaml:"columns"` // names of Rows' columns, or the columns of a statement that count; none: all
	Rows    [][]any  `yaml:"rows"`
	SQL     string   `yaml:"sql"`
	Source  string   `yaml:"source"` // of SQL; empty: the only one
	Args    []any    `yaml:"args"`   // of SQL: the values of $1, $2, …
	// Verified is the name of a verified query, with its Parameters. Without parameters, the question must be one of
	// its wordings if it has any.
	Verified   string            `yaml:"verified"`
	Parameters map[string]string `yaml:"parameters"`
	Order      bool              `yaml:"order"`     // the rows must come in this order
	Tolerance  Tolerance         `yaml:"tolerance"` // of numbers
	Badge      *bool             `yaml:"badge"`     // whether the answer must be marked as verified; nil: either
}

// Tolerance is how far a number may be from the expected one: an amount such as 0.5, or a share such as 1%.
type Tolerance struct {
	Amount, Share float64
}

// UnmarshalYAML reads 0.5 or 1%.
func (t *Tolerance) UnmarshalYAML(node *yaml.Node) error {
	text, percent := strings.CutSuffix(strings.TrimSpace(node.Value), "%")
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= 1e12) {
		return fmt.Errorf("line %d: the tolerance %q must be an amount such as 0.5 or a share such as 1%%", node.Line,
			node.Value)
	}
	if percent {
		t.Share = f / 100
	} else {
		t.Amount = f
	}
	return nil
}

// Parse reads a suite in YAML. Unknown keys are errors.
func Parse(data []byte) (*Suite, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("the suite has more than %d bytes; split it", MaxBytes)
	}
	var s Suite
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&s); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the suite: %w", err)
	}
	if err := dec.Decode(&Suite{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("the suite has more than one YAML document; remove the line ---, or make it two files")
	}
	if len(s.Tests) == 0 || len(s.Tests) > maxTests {
		return nil, fmt.Errorf("a suite has 1 to %d tests, under the key tests; this one has %d", maxTests,
			len(s.Tests))
	}
	var errs []error
	seen := map[string]bool{}
	for i := range s.Tests {
		t := &s.Tests[i]
		if err := t.check(); err != nil {
			errs = append(errs, fmt.Errorf("test %d: %w", i+1, err))
		}
		if seen[t.Name] {
			errs = append(errs, fmt.Errorf("test %d: the name %q is taken by an earlier test", i+1, t.Name))
		}
		seen[t.Name] = true
		t.Limits = t.Limits.or(s.Limits)
	}
	return &s, errors.Join(errs...)
}

// or returns the limits, with those of other where a limit is not set.
func (l Limits) or(other Limits) Limits {
	if l.CostUSD == 0 {
		l.CostUSD = other.CostUSD
	}
	if l.Seconds == 0 {
		l.Seconds = other.Seconds
	}
	if l.Steps == 0 {
		l.Steps = other.Steps
	}
	return l
}

func (t *Test) check() error {
	if t.Question = strings.TrimSpace(t.Question); t.Question == "" || len(t.Question) > maxText {
		return fmt.Errorf("it needs a question of at most %d bytes", maxText)
	}
	if t.Name == "" {
		line := strings.Join(strings.Fields(t.Question), " ")
		t.Name = strings.ToValidUTF8(line[:min(len(line), maxName)], "")
	}
	if len(t.Name) > maxName || strings.ContainsFunc(t.Name, func(r rune) bool { return r < ' ' }) {
		return fmt.Errorf("its name must be one line of at most %d bytes", maxName)
	}
	if l := t.Limits; l.CostUSD < 0 || l.Seconds < 0 || l.Steps < 0 {
		return errors.New("its limits must not be negative")
	}
	return t.Expect.check()
}

func (e Expect) check() error {
	ways := 0
	for _, given := range []bool{e.Rows != nil, e.SQL != "", e.Verified != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return errors.New("expect needs exactly one of rows, sql and verified")
	case e.Rows == nil && e.Source != "" && e.SQL == "":
		return errors.New("expect has a source, which only sql can have")
	case len(e.Args) > 0 && e.SQL == "":
		return errors.New("expect has args, which only sql can have")
	case len(e.Parameters) > 0 && e.Verified == "":
		return errors.New("expect has parameters, which only verified can have")
	case len(e.Rows) > maxRows:
		return fmt.Errorf("expect has more than %d rows; use sql", maxRows)
	}
	for i, row := range e.Rows {
		if len(row) != len(e.Rows[0]) || len(row) == 0 || len(e.Columns) > 0 && len(row) != len(e.Columns) {
			return fmt.Errorf("row %d of expect has %d cells; each row needs as many as there are columns", i+1,
				len(row))
		}
	}
	return nil
}
