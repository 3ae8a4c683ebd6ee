package suite

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// Past is the line of a run in the history of a suite.
type Past struct {
	Time    time.Time `json:"time"`
	Suite   string    `json:"suite"`
	Mode    string    `json:"mode"`
	Model   string    `json:"model"`
	Context string    `json:"context,omitempty"`
	CostUSD float64   `json:"cost_usd,omitempty"`
	Millis  int64     `json:"ms"`
	// Scheduled says that the server ran the suite by itself.
	Scheduled bool              `json:"scheduled,omitempty"`
	By        string            `json:"by,omitempty"` // the administrator who started it in the app
	Tests     map[string]string `json:"tests"`        // name → status; of several attempts the worst
	// Reasons say why tests did not pass, by name. Older lines lack them.
	Reasons map[string][]string `json:"reasons,omitempty"`
}

// Limits of a history. The file keeps growing by a line for each run; only the newest lines are read.
const (
	maxPast     = 1000
	maxPastLine = 1 << 20
)

// Past returns the report's line for the history.
func (r *Report) Past() Past {
	p := Past{
		Time: r.Time.UTC(), Suite: r.Suite, Mode: r.Mode, Model: r.Model, Context: r.Context, CostUSD: r.CostUSD,
		Millis: r.Millis, Tests: map[string]string{}, Reasons: map[string][]string{},
	}
	rank := []string{"", Passed, Stale, Broken, Failed}
	for _, o := range r.Outcomes {
		if slices.Index(rank, o.Status) > slices.Index(rank, p.Tests[o.Name]) {
			p.Tests[o.Name] = o.Status
			if o.Status != Passed {
				p.Reasons[o.Name] = o.Reasons
			}
		}
	}
	return p
}

// Append adds a line to a history file, and creates the file if needed.
func Append(path string, p Past) error {
	line, err := json.Marshal(p)
	if err == nil && len(line) >= maxPastLine {
		p.Reasons = nil // a line that is too long could not be read again
		line, err = json.Marshal(p)
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep the history: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// History returns the newest runs of a suite in a history file, the oldest first. It skips lines that cannot be read.
func History(path, suite string) ([]Past, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	defer f.Close()
	var all []Past
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxPastLine)
	for lines.Scan() {
		var p Past
		if json.Unmarshal(lines.Bytes(), &p) != nil || p.Suite != suite {
			continue
		}
		if all = append(all, p); len(all) > maxPast {
			all = all[1:]
		}
	}
	return all, lines.Err()
}

// Unpassed returns the names of the tests that did not pass, in order.
func (p Past) Unpassed() (names []string) {
	for name, status := range p.Tests {
		if status != Passed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Changes returns the names of the tests that passed before and do not now, and of those that pass now and did not
// before.
func Changes(before, now Past) (worse, better []string) {
	for name, status := range now.Tests {
		switch last := before.Tests[name]; {
		case last == Passed && status != Passed:
			worse = append(worse, name)
		case last != "" && last != Passed && status == Passed:
			better = append(better, name)
		}
	}
	slices.Sort(worse)
	slices.Sort(better)
	return worse, better
}

// Trend describes how a run compares with earlier ones of the same mode and model: what is new, and the shares of
// passed tests of the newest runs. It returns "" without earlier runs.
func Trend(past []Past, now Past) string {
	past = slices.DeleteFunc(slices.Clone(past), func(p Past) bool {
		return p.Mode != now.Mode || p.Model != now.Model
	})
	if len(past) == 0 {
		return ""
	}
	worse, better := Changes(past[len(past)-1], now)
	const shown = 10
	var shares []string
	for _, p := range append(past[max(0, len(past)-shown+1):], now) {
		shares = append(shares, fmt.Sprintf("%d/%d", len(p.Tests)-len(p.Unpassed()), len(p.Tests)))
	}
	text := "trend: " + strings.Join(shares, " ")
	if len(worse) > 0 {
		text += "\nnew failures: " + strings.Join(worse, ", ")
	}
	if len(better) > 0 {
		text += "\nfixed: " + strings.Join(better, ", ")
	}
	return text
}
