package eval_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// The outcomes of an answer.
const (
	right    = "right"    // equal to gold or an alt, and the number is in the text
	unsaid   = "unsaid"   // the right table, but its number is not in the text
	wrong    = "wrong"    // a wrong table, presented as the answer
	declined = "declined" // no figures
	failed   = "failed"   // a query or the run failed
)

// answer is one judged answer.
type answer struct {
	id         string
	source     string
	kind       string // of the set, or "pair"
	before     string // the first turn of a pair
	question   string
	answerable bool
	outcome    string
	why        string
	text       string
	sql        string
	gold       string
	table      string // the first rows
	goldTable  string
	uncited    int     // numerals of the text without a footnote
	millis     float64 // from the question to the end of the run
	first      bool    // of its source: includes looking at the data
}

// good reports whether the answer is as the set expects.
func (a answer) good() bool {
	if a.answerable {
		return a.outcome == right
	}
	return a.outcome == declined
}

// report is the result of measureSet.
type report struct {
	answers []answer
	left    []string // sources that this program cannot open
	unsound int      // footnotes of the model that Verify rejects
}

// The goals.
const (
	wantRight    = 80.0  // at least, in percent of the answerable questions
	wantWrong    = 3.0   // at most, in percent of all questions
	wantDeclined = 95.0  // at least, in percent of the unanswerable questions
	wantMillis   = 500.0 // 95th percentile of the times, below
)

// goal is a goal and the figure that was reached.
type goal struct {
	name string
	got  float64
	met  bool
	text string
}

// goals returns the goals. A goal is met if the run contained no question that it applies to.
func (r report) goals() []goal {
	var answerable, answered, other, refused, bad int
	for _, a := range r.answers {
		switch {
		case a.answerable && a.good():
			answerable, answered = answerable+1, answered+1
		case a.answerable:
			answerable++
		case a.good():
			other, refused = other+1, refused+1
		default:
			other++
		}
		if a.outcome == wrong {
			bad++
		}
	}
	all := len(r.answers)
	slow := quantile(r.millis(nil), 0.95)
	return []goal{
		newGoal("right", percent(answered, answerable), answerable == 0 || percent(answered, answerable) >= wantRight,
			"%d of %d answerable questions are right (%.1f %%), want at least %.0f %%", answered, answerable,
			percent(answered, answerable), wantRight),
		newGoal("wrong", percent(bad, all), percent(bad, all) <= wantWrong,
			"%d of %d answers are confidently wrong (%.1f %%), want at most %.0f %%", bad, all, percent(bad, all),
			wantWrong),
		newGoal("declined", percent(refused, other), other == 0 || percent(refused, other) >= wantDeclined,
			"%d of %d unanswerable questions are declined (%.1f %%), want at least %.0f %%", refused, other,
			percent(refused, other), wantDeclined),
		newGoal("latency", slow, slow < wantMillis, "p95 of the answers is %.0f ms, want below %.0f ms", slow,
			wantMillis),
	}
}

func newGoal(name string, got float64, met bool, format string, args ...any) goal {
	return goal{name: name, got: got, met: met, text: fmt.Sprintf(format, args...)}
}

func percent(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}

// millis returns the sorted times of the answers for which keep is true, or of all answers.
func (r report) millis(keep func(answer) bool) []float64 {
	var list []float64
	for _, a := range r.answers {
		if keep == nil || keep(a) {
			list = append(list, a.millis)
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

// text returns the report as tables. With details, it begins with the answers that are not good, and with a single
// answer in any case.
func (r report) text(details bool) string {
	var b strings.Builder
	if details {
		for _, a := range r.answers {
			if !a.good() || len(r.answers) == 1 {
				a.write(&b)
			}
		}
	}
	r.tally(&b, "source", func(a answer) string { return a.source })
	r.tally(&b, "kind", func(a answer) string { return a.kind })
	writeLeft(&b, r.left)
	first, later := r.millis(func(a answer) bool { return a.first }), r.millis(func(a answer) bool { return !a.first })
	fmt.Fprintf(&b, "time in ms: p50 %.1f, p95 %.1f over all; first of each source: p50 %.1f, max %.1f; later ones: "+
		"p50 %.1f, p95 %.1f\n",
		quantile(r.millis(nil), 0.5), quantile(r.millis(nil), 0.95), quantile(first, 0.5), quantile(first, 1),
		quantile(later, 0.5), quantile(later, 0.95))
	uncited := 0
	for _, a := range r.answers {
		uncited += a.uncited
	}
	fmt.Fprintf(&b, "numerals without a footnote: %d; invalid footnotes of the model: %d\n\n", uncited,
		r.unsound)
	for _, g := range r.goals() {
		mark := "met   "
		if !g.met {
			mark = "MISSED"
		}
		fmt.Fprintf(&b, "%s  %s\n", mark, g.text)
	}
	return b.String()
}

// writeLeft writes which sources were not asked.
func writeLeft(b *strings.Builder, left []string) {
	if len(left) > 0 {
		fmt.Fprintf(b, "skipped without DuckDB: %s\n", strings.Join(left, ", "))
	}
}

// tally counts outcomes by a property of the answers.
func (r report) tally(b *strings.Builder, title string, of func(answer) string) {
	groups := map[string]map[string]int{}
	for _, a := range r.answers {
		for _, name := range []string{of(a), "~total"} { // sorts last
			if groups[name] == nil {
				groups[name] = map[string]int{}
			}
			groups[name]["n"]++
			groups[name][a.outcome]++
			if a.good() {
				groups[name]["good"]++
			}
		}
	}
	w := tabwriter.NewWriter(b, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\tn\tright\twrong\tdeclined\tfailed\tnumber not in text\tas wanted\t\n", title)
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.0f %%\t\n", strings.TrimPrefix(name, "~"), g["n"], g[right],
			g[wrong], g[declined], g[failed], g[unsaid], percent(g["good"], g["n"]))
	}
	_ = w.Flush() // a strings.Builder does not fail
	b.WriteByte('\n')
}

// write prints the details of an answer.
func (a answer) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s (%s): %s", a.id, a.kind, strings.ToUpper(a.outcome))
	if a.why != "" {
		fmt.Fprintf(b, ": %s", a.why)
	}
	b.WriteByte('\n')
	field := func(name, text string) {
		if text != "" {
			fmt.Fprintf(b, "  %-9s %s\n", name, strings.ReplaceAll(text, "\n", "\n            "))
		}
	}
	field("before", a.before)
	field("question", a.question)
	field("sql", a.sql)
	field("gold", a.gold)
	field("answer", a.table)
	field("right", a.goldTable)
	field("text", a.text)
	b.WriteByte('\n')
}
