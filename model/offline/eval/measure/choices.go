package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/footnotehq/footnote/model/offline/evalset"
)

// ChoiceAnswer is the outcome of a Choice. Got is the source that answered, evalset.WantAsk or evalset.WantDecline.
type ChoiceAnswer struct {
	evalset.Choice
	Got  string `json:"got"`
	SQL  string `json:"sql,omitempty"`
	Text string `json:"text"`
	// Unnamed reports that the answer does not say which source was asked.
	Unnamed bool `json:"unnamed,omitempty"`
}

// ChoiceReport is the result of RunChoices.
type ChoiceReport struct {
	Answers []ChoiceAnswer `json:"answers"`
	Left    []string       `json:"left_out,omitempty"` // sources that this program cannot open
}

// RunChoices asks each question of the set Several of all its sources together, and records which source answers.
func RunChoices(ctx context.Context, o Options) (report ChoiceReport, err error) {
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "footnote-eval-"); err != nil {
			return report, fmt.Errorf("make a directory for the sources: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	}
	paths, err := evalset.Several.Materialize(o.Dir)
	if err != nil {
		return report, err
	}
	sources, left, err := openSources(ctx, evalset.Several.Sources(), paths, o.Dir)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, sources.close()) }()
	report.Left = left
	var choices []evalset.Choice
	groups := map[string][]string{}
	for _, c := range evalset.Choices() {
		open := !slices.ContainsFunc(c.Sources, func(name string) bool { return sources[name] == nil })
		if open && (o.ID == "" || c.ID == o.ID) && (o.Source == "" || slices.Contains(c.Sources, o.Source)) {
			choices, groups[groupOf(c)] = append(choices, c), c.Sources
		}
	}
	asker, err := newAsker(ctx, o.Model(sources), sources, groups)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, asker.close(ctx)) }()
	for _, c := range choices {
		said, err := asker.askTask(ctx, task{source: groupOf(c), first: c.First, question: c.Question})
		if err != nil {
			return report, fmt.Errorf("asking %s: %w", c.ID, err)
		}
		a := ChoiceAnswer{Choice: c, Got: said.chosenSource(), SQL: said.sql, Text: said.text}
		a.Unnamed = said.source != "" && !strings.Contains(said.text, said.source)
		report.Answers = append(report.Answers, a)
	}
	return report, nil
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
func (t *choiceTally) add(a ChoiceAnswer) {
	t.all++
	switch a.Got {
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

// Silent returns the number of answers from a source that should not have answered.
func (r ChoiceReport) Silent() int { return r.total().wrongSource }

// Right returns the number of answers that are as expected.
func (r ChoiceReport) Right() int { return r.total().right }

func (r ChoiceReport) total() (t choiceTally) {
	for _, a := range r.Answers {
		t.add(a)
	}
	return t
}

// Write prints the figures. With details, it also prints every answer that is not as expected.
func (r ChoiceReport) Write(out io.Writer, details bool) error {
	var b strings.Builder
	groups := map[string]*choiceTally{}
	var names []string
	count := func(name string, a ChoiceAnswer) {
		if groups[name] == nil {
			groups[name], names = &choiceTally{}, append(names, name)
		}
		groups[name].add(a)
	}
	unnamed := 0
	for _, a := range r.Answers {
		if details && (a.Got != a.Want || a.Unnamed || len(r.Answers) == 1) {
			fmt.Fprintf(&b, "%s: got %s, want %s\n  first     %s\n  question  %s\n  sql       %s\n  text      %s\n\n",
				a.ID, a.Got, a.Want, a.First, a.Question, a.SQL, strings.ReplaceAll(a.Text, "\n", "\n            "))
		}
		count(groupOf(a.Choice), a)
		if a.Unnamed {
			unnamed++
		}
	}
	for _, a := range r.Answers {
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
	for _, a := range r.Answers {
		count("total", a)
	}
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tn\tright\twrong source\tneedlessly asked\tdeclined\t")
	for _, name := range names {
		t := groups[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t\n", name, t.all, t.right, t.wrongSource, t.asked, t.declined)
	}
	_ = w.Flush() // a strings.Builder does not fail
	if len(r.Left) > 0 {
		fmt.Fprintf(&b, "skipped without DuckDB: %s\n", strings.Join(r.Left, ", "))
	}
	fmt.Fprintf(&b, "\nanswers that do not name their source: %d\n", unnamed)
	_, err := io.WriteString(out, b.String())
	return err
}
