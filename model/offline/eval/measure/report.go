package measure

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// The outcomes of an answer.
const (
	Right    = "right"    // equal to gold or an alt, and the number is in the text
	Unsaid   = "unsaid"   // the right table, but its number is not in the text
	Wrong    = "wrong"    // a wrong table, presented as the answer
	Declined = "declined" // no figures
	Failed   = "failed"   // a query or the run failed
)

// Answer is one judged answer.
type Answer struct {
	ID         string  `json:"id"`
	Source     string  `json:"source"`
	Kind       string  `json:"kind"`             // of the set, or "pair"
	Before     string  `json:"before,omitempty"` // the first turn of a pair
	Question   string  `json:"question"`
	Answerable bool    `json:"answerable"`
	Outcome    string  `json:"outcome"`
	Why        string  `json:"why,omitempty"`
	Text       string  `json:"text"`
	SQL        string  `json:"sql,omitempty"`
	Gold       string  `json:"gold,omitempty"`
	Table      string  `json:"table,omitempty"` // the first rows
	GoldTable  string  `json:"gold_table,omitempty"`
	Uncited    int     `json:"uncited"` // numerals of the text without a footnote
	Millis     float64 `json:"millis"`  // from the question to the end of the run
	First      bool    `json:"first"`   // of its source: includes looking at the data
}

// Good reports whether the answer is as the set expects.
func (a Answer) Good() bool {
	if a.Answerable {
		return a.Outcome == Right
	}
	return a.Outcome == Declined
}

// Report is the result of a run.
type Report struct {
	Answers []Answer `json:"answers"`
	Left    []string `json:"left_out,omitempty"` // sources that this program cannot open
	Unsound int      `json:"unsound_footnotes"`  // footnotes of the model that Verify rejects
}

// The goals.
const (
	wantRight    = 80.0  // at least, in percent of the answerable questions
	wantWrong    = 3.0   // at most, in percent of all questions
	wantDeclined = 95.0  // at least, in percent of the unanswerable questions
	wantMillis   = 500.0 // 95th percentile of the times, below
)

// Goal is a goal and the figure that was reached.
type Goal struct {
	Name string  `json:"name"`
	Got  float64 `json:"got"`
	Met  bool    `json:"met"`
	Text string  `json:"text"`
}

// Goals returns the goals. A goal is met if the run contained no question that it applies to.
func (r Report) Goals() []Goal {
	var answerable, right, other, declined, wrong int
	for _, a := range r.Answers {
		switch {
		case a.Answerable && a.Good():
			answerable, right = answerable+1, right+1
		case a.Answerable:
			answerable++
		case a.Good():
			other, declined = other+1, declined+1
		default:
			other++
		}
		if a.Outcome == Wrong {
			wrong++
		}
	}
	all := len(r.Answers)
	slow := quantile(r.millis(nil), 0.95)
	return []Goal{
		newGoal("right", percent(right, answerable), answerable == 0 || percent(right, answerable) >= wantRight,
			"%d of %d answerable questions are right (%.1f %%), want at least %.0f %%", right, answerable,
			percent(right, answerable), wantRight),
		newGoal("wrong", percent(wrong, all), percent(wrong, all) <= wantWrong,
			"%d of %d answers are confidently wrong (%.1f %%), want at most %.0f %%", wrong, all, percent(wrong, all),
			wantWrong),
		newGoal("declined", percent(declined, other), other == 0 || percent(declined, other) >= wantDeclined,
			"%d of %d unanswerable questions are declined (%.1f %%), want at least %.0f %%", declined, other,
			percent(declined, other), wantDeclined),
		newGoal("latency", slow, slow < wantMillis, "p95 of the answers is %.0f ms, want below %.0f ms", slow,
			wantMillis),
	}
}

func newGoal(name string, got float64, met bool, format string, args ...any) Goal {
	return Goal{Name: name, Got: got, Met: met, Text: fmt.Sprintf(format, args...)}
}

// Met reports whether all goals are met.
func (r Report) Met() bool {
	return !slices.ContainsFunc(r.Goals(), func(g Goal) bool { return !g.Met })
}

func percent(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}

// millis returns the sorted times of the answers for which keep is true, or of all answers.
func (r Report) millis(keep func(Answer) bool) []float64 {
	var list []float64
	for _, a := range r.Answers {
		if keep == nil || keep(a) {
			list = append(list, a.Millis)
		}
	}
	slices.Sort(list)
	return list
}

// quantile returns a quantile of sorted values, by nearest rank.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

// Write prints the report as tables. With details, it also prints the answers that are not good, and a single answer in
// any case.
func (r Report) Write(w io.Writer, details bool) error {
	var b strings.Builder
	if details {
		for _, a := range r.Answers {
			if !a.Good() || len(r.Answers) == 1 {
				a.write(&b)
			}
		}
	}
	r.tally(&b, "source", func(a Answer) string { return a.Source })
	r.tally(&b, "kind", func(a Answer) string { return a.Kind })
	if len(r.Left) > 0 {
		fmt.Fprintf(&b, "skipped without DuckDB: %s\n", strings.Join(r.Left, ", "))
	}
	first, later := r.millis(func(a Answer) bool { return a.First }), r.millis(func(a Answer) bool { return !a.First })
	fmt.Fprintf(&b, "time in ms: p50 %.1f, p95 %.1f over all; first of each source: p50 %.1f, max %.1f; later ones: "+
		"p50 %.1f, p95 %.1f\n",
		quantile(r.millis(nil), 0.5), quantile(r.millis(nil), 0.95), quantile(first, 0.5), quantile(first, 1),
		quantile(later, 0.5), quantile(later, 0.95))
	uncited := 0
	for _, a := range r.Answers {
		uncited += a.Uncited
	}
	fmt.Fprintf(&b, "numerals without a footnote: %d; invalid footnotes of the model: %d\n\n", uncited,
		r.Unsound)
	for _, g := range r.Goals() {
		mark := "met   "
		if !g.Met {
			mark = "MISSED"
		}
		fmt.Fprintf(&b, "%s  %s\n", mark, g.Text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tally counts outcomes by a property of the answers.
func (r Report) tally(b *strings.Builder, title string, of func(Answer) string) {
	groups := map[string]map[string]int{}
	for _, a := range r.Answers {
		for _, name := range []string{of(a), "~total"} { // sorts last
			if groups[name] == nil {
				groups[name] = map[string]int{}
			}
			groups[name]["n"]++
			groups[name][a.Outcome]++
			if a.Good() {
				groups[name]["good"]++
			}
		}
	}
	w := tabwriter.NewWriter(b, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\tn\tright\twrong\tdeclined\tfailed\tnumber not in text\tas wanted\t\n", title)
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.0f %%\t\n", strings.TrimPrefix(name, "~"), g["n"], g[Right],
			g[Wrong], g[Declined], g[Failed], g[Unsaid], percent(g["good"], g["n"]))
	}
	_ = w.Flush() // a strings.Builder does not fail
	b.WriteByte('\n')
}

// write prints the details of an answer.
func (a Answer) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s (%s): %s", a.ID, a.Kind, strings.ToUpper(a.Outcome))
	if a.Why != "" {
		fmt.Fprintf(b, ": %s", a.Why)
	}
	b.WriteByte('\n')
	field := func(name, text string) {
		if text != "" {
			fmt.Fprintf(b, "  %-9s %s\n", name, strings.ReplaceAll(text, "\n", "\n            "))
		}
	}
	field("before", a.Before)
	field("question", a.Question)
	field("sql", a.SQL)
	field("gold", a.Gold)
	field("answer", a.Table)
	field("right", a.GoldTable)
	field("text", a.Text)
	b.WriteByte('\n')
}
