package eval_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/footnotehq/footnote/model/offline/evalset"
)

// choiceAnswer is the outcome of a Choice. got is the source that answered, evalset.WantAsk or evalset.WantDecline.
type choiceAnswer struct {
	evalset.Choice
	got  string
	sql  string
	text string
	// unnamed reports that the answer does not say which source was asked.
	unnamed bool
}

// choiceReport is the result of measureChoices.
type choiceReport struct {
	answers []choiceAnswer
	left    []string // sources that this program cannot open
}

// measureChoices asks each question of the set Several of all its sources together, and records which source answers.
// The options select choices; their set is not used.
func measureChoices(t *testing.T, o options) choiceReport {
	t.Helper()
	open := openSet(t, evalset.Several, func(evalset.Source) bool { return true })
	var choices []evalset.Choice
	groups := map[string][]string{}
	for _, c := range evalset.Choices() {
		usable := !slices.ContainsFunc(c.Sources, func(name string) bool { return open.sources[name] == nil })
		if usable && (o.id == "" || c.ID == o.id) && (o.source == "" || slices.Contains(c.Sources, o.source)) {
			choices, groups[groupOf(c)] = append(choices, c), c.Sources
		}
	}
	a := newAsker(t, o.model(open.sources), open.sources, groups)
	r := choiceReport{left: open.left}
	for _, c := range choices {
		said := a.askTask(t, task{id: c.ID, source: groupOf(c), first: c.First, question: c.Question})
		r.answers = append(r.answers, choiceAnswer{
			Choice: c, got: said.chosenSource(), sql: said.sql, text: said.text,
			unnamed: said.source != "" && !strings.Contains(said.text, said.source),
		})
	}
	return r
}

func groupOf(c evalset.Choice) string { return strings.Join(c.Sources, "+") }

// chosenSource returns the source that answered, WantAsk or WantDecline. A text without figures asks back if its first
// line is a question.
func (s turnResult) chosenSource() string {
	line, _, _ := strings.Cut(strings.TrimSpace(s.text), "\n")
	switch {
	case s.source != "":
		return s.source
	case !s.usedData && strings.HasSuffix(line, "?"):
		return evalset.WantAsk
	}
	return evalset.WantDecline
}

// choiceTally counts the answers of one kind.
type choiceTally struct{ all, right, wrongSource, asked, declined int }

// add counts one answer as right, from a wrong source, or needlessly withheld.
func (t *choiceTally) add(a choiceAnswer) {
	t.all++
	switch a.got {
	case a.Want:
		t.right++
	case evalset.WantAsk:
		t.asked++
	case evalset.WantDecline:
		t.declined++
	default:
		t.wrongSource++
	}
}

func (r choiceReport) total() (t choiceTally) {
	for _, a := range r.answers {
		t.add(a)
	}
	return t
}

// text returns the figures. With details, it begins with every answer that is not as expected.
func (r choiceReport) text(details bool) string {
	var b strings.Builder
	groups := map[string]*choiceTally{}
	var names []string
	count := func(name string, a choiceAnswer) {
		if groups[name] == nil {
			groups[name], names = &choiceTally{}, append(names, name)
		}
		groups[name].add(a)
	}
	unnamed := 0
	for _, a := range r.answers {
		if details && (a.got != a.Want || a.unnamed || len(r.answers) == 1) {
			fmt.Fprintf(&b, "%s: got %s, want %s\n  first     %s\n  question  %s\n  sql       %s\n  text      %s\n\n",
				a.ID, a.got, a.Want, a.First, a.Question, a.sql, strings.ReplaceAll(a.text, "\n", "\n            "))
		}
		count(groupOf(a.Choice), a)
		if a.unnamed {
			unnamed++
		}
	}
	for _, a := range r.answers {
		switch a.Want {
		case evalset.WantAsk, evalset.WantDecline:
			count("want: "+a.Want, a)
		default:
			count("want: a source", a)
		}
		if a.First != "" {
			count("second question", a)
		}
	}
	for _, a := range r.answers {
		count("total", a)
	}
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tn\tright\twrong source\tneedlessly asked\tdeclined\t")
	for _, name := range names {
		t := groups[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t\n", name, t.all, t.right, t.wrongSource, t.asked, t.declined)
	}
	_ = w.Flush() // a strings.Builder does not fail
	writeLeft(&b, r.left)
	fmt.Fprintf(&b, "\nanswers that do not name their source: %d\n", unnamed)
	return b.String()
}
