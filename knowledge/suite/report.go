package suite

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// The outcomes of a test.
const (
	Passed = "passed"
	Failed = "failed"
	Stale  = "stale"  // its recording no longer fits
	Broken = "broken" // it could not run
)

// Outcome is the result of one test.
type Outcome struct {
	Name     string   `json:"name"`
	Question string   `json:"question"`
	Status   string   `json:"status"`
	Reasons  []string `json:"reasons,omitempty"`  // why it did not pass
	Changed  []string `json:"changed,omitempty"`  // of a stale recording: what has changed since
	Verified []string `json:"verified,omitempty"` // names of the verified queries behind the answer
	Answer   string   `json:"answer,omitempty"`
	SQL      []string `json:"sql,omitempty"`
	Steps    int      `json:"steps"`
	Millis   int64    `json:"ms"`
	CostUSD  float64  `json:"cost_usd"`
	Attempt  int      `json:"attempt,omitempty"` // of several, from 1
}

// Report is the result of a suite.
type Report struct {
	Suite    string    `json:"suite"`
	Time     time.Time `json:"time"`
	Mode     string    `json:"mode"`              // planner, recordings or live
	Model    string    `json:"model"`             // that answered
	Context  string    `json:"context,omitempty"` // digest of the company's context
	Outcomes []Outcome `json:"tests"`
	Millis   int64     `json:"ms"`
	CostUSD  float64   `json:"cost_usd"`
	// Notes say what the run cannot have found.
	Notes []string `json:"notes,omitempty"`
}

// Count returns how many outcomes have a status.
func (r *Report) Count(status string) int {
	n := 0
	for _, o := range r.Outcomes {
		if o.Status == status {
			n++
		}
	}
	return n
}

// OK reports whether all tests passed.
func (r *Report) OK() bool { return r.Count(Passed) == len(r.Outcomes) }

// Summary returns the counts in words: 19 passed, 1 stale.
func (r *Report) Summary() string {
	var words []string
	for _, status := range []string{Passed, Failed, Stale, Broken} {
		if n := r.Count(status); n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, status))
		}
	}
	return strings.Join(words, ", ")
}

// label returns the name of an outcome, with its attempt if there are several.
func (o Outcome) label() string {
	if o.Attempt > 0 {
		return fmt.Sprintf("%s (attempt %d)", o.Name, o.Attempt)
	}
	return o.Name
}

// WriteText writes the report for people: each test that did not pass, and a summary.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, o := range r.Outcomes {
		if o.Status == Passed {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n  %s\n", o.Status, o.label(), o.Question)
		for _, reason := range o.Reasons {
			fmt.Fprintf(&b, "  - %s\n", reason)
		}
	}
	fmt.Fprintf(&b, "%s: %s of %d, by %s (%s), in %.1f s", r.Suite, r.Summary(), len(r.Outcomes), r.Model, r.Mode,
		float64(r.Millis)/1000)
	if r.CostUSD > 0 {
		fmt.Fprintf(&b, ", for %.4f USD", r.CostUSD)
	}
	b.WriteByte('\n')
	for _, note := range r.Notes {
		b.WriteString(note + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// The elements of JUnit's format, as continuous integration reads it.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"`
		Stamp    string      `xml:"timestamp,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string       `xml:"name,attr"`
		Class   string       `xml:"classname,attr"`
		Time    string       `xml:"time,attr"`
		Failure *junitDetail `xml:"failure"`
		Error   *junitDetail `xml:"error"`
	}
	junitDetail struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report in JUnit's format. A stale recording is a failure of the type stale.
func (r *Report) WriteJUnit(w io.Writer) error {
	seconds := func(millis int64) string { return fmt.Sprintf("%.3f", float64(millis)/1000) }
	s := junitSuite{
		Name: r.Suite, Tests: len(r.Outcomes), Failures: r.Count(Failed) + r.Count(Stale), Errors: r.Count(Broken),
		Time: seconds(r.Millis), Stamp: r.Time.UTC().Format("2006-01-02T15:04:05"),
	}
	for _, o := range r.Outcomes {
		c := junitCase{Name: o.label(), Class: r.Suite, Time: seconds(o.Millis)}
		detail := &junitDetail{Type: o.Status, Text: o.Question + "\n" + strings.Join(o.Reasons, "\n")}
		if len(o.Reasons) > 0 {
			detail.Message = o.Reasons[0]
		}
		switch o.Status {
		case Failed, Stale:
			c.Failure = detail
		case Broken:
			c.Error = detail
		}
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
