// Package measure asks a model the questions of the evaluation set through the real run loop, over the real sources,
// and judges the answers. The caller provides the model.
package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/offline/eval/compare"
	"github.com/footnotehq/footnote/model/offline/evalset"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/sqlite"
)

// Options configure a measurement. Model is required.
type Options struct {
	// Model creates the model under test, which reads its data from sources.
	Model func(sources Sources) model.Model
	// Set is the evaluation set; the zero value is the frozen set.
	Set evalset.Set
	// Source and ID, if set, select the questions with this source or id.
	Source, ID string
	// Dir is the directory for the sources; default a temporary one.
	Dir string
}

// Sources are the open sources by name.
type Sources map[string]source.Source

// Source returns the source with the given name.
func (s Sources) Source(name string) (source.Source, error) {
	if src, ok := s[name]; ok {
		return src, nil
	}
	return nil, footnote.Errorf(footnote.NotFound, "There is no source named %q.", name)
}

func (s Sources) close() error {
	var errs []error
	for _, src := range s {
		errs = append(errs, src.Close())
	}
	return errors.Join(errs...)
}

// task is a question, or a pair of which the second question is judged.
type task struct {
	id, source, kind string
	first, question  string
	gold             string
	alt              []string
	ordered, single  bool
	answerable       bool
	note             string
}

// tasks returns the selected questions and pairs of one source, in the order of the set.
func tasks(name string, o Options) []task {
	var list []task
	for _, q := range o.Set.Questions() {
		list = append(list, task{
			id: q.ID, source: q.Source, kind: q.Kind, question: q.Question, gold: q.Gold, alt: q.Alt,
			ordered: q.Ordered, single: q.Single, answerable: q.Answerable, note: q.Note,
		})
	}
	for _, p := range o.Set.Pairs() {
		list = append(list, task{
			id: p.ID, source: p.Source, kind: "pair", first: p.First, question: p.Second, gold: p.Gold, alt: p.Alt,
			ordered: p.Ordered, answerable: true, note: p.Note,
		})
	}
	var selected []task
	for _, t := range list {
		if t.source == name && (o.ID == "" || t.id == o.ID) {
			selected = append(selected, t)
		}
	}
	return selected
}

// rules returns the rules for comparing an answer with gold or, if isAlt is true, with an alternative.
func (t task) rules(isAlt bool, columns int, keys compare.Keys) compare.Rules {
	percent := strings.Contains(t.question, "percent") // a follow-up that asks for percentages
	return compare.Rules{
		Ordered:    t.ordered,
		Extra:      t.kind == "list" || strings.HasPrefix(t.note, "Read as a list"),
		LabelAlone: !isAlt && strings.HasSuffix(t.note, "column may be absent."),
		Share:      t.kind == "share" || (t.kind == "pair" && percent),
		InOrder:    isAlt && t.kind == "compare" && columns > 1 && strings.Contains(t.note, "wide form"),
		Keys:       keys,
	}
}

// Run asks all selected questions and judges the answers. The process must have called child.Main with both engines. It
// returns an error only if it cannot measure, not for a wrong answer. Without DuckDB it skips the CSV sources, and
// Report.Left names them.
func Run(ctx context.Context, o Options) (report Report, err error) {
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "footnote-eval-"); err != nil {
			return report, fmt.Errorf("make a directory for the sources: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	}
	paths, err := o.Set.Materialize(o.Dir)
	if err != nil {
		return report, err
	}
	var asked []evalset.Source
	for _, s := range o.Set.Sources() {
		if (o.Source == "" || s.Name == o.Source) && len(tasks(s.Name, o)) > 0 {
			asked = append(asked, s)
		}
	}
	sources, left, err := openSources(ctx, asked, paths, o.Dir)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, sources.close()) }()
	report.Left = left
	groups := map[string][]string{}
	for name := range sources {
		groups[name] = []string{name}
	}
	asker, err := newAsker(ctx, o.Model(sources), sources, groups)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, asker.close(ctx)) }()
	for _, s := range o.Set.Sources() {
		if sources[s.Name] == nil {
			continue
		}
		answers, err := measureSource(ctx, asker, s, paths[s.Name], tasks(s.Name, o))
		if err != nil {
			return report, fmt.Errorf("source %s: %w", s.Name, err)
		}
		report.Answers = append(report.Answers, answers...)
	}
	if len(report.Answers) == 0 {
		return report, fmt.Errorf("nothing in the set has the source %q and the id %q", o.Source, o.ID)
	}
	report.Unsound = int(asker.invalidCites.Load())
	return report, nil
}

// openSources opens the listed sources; left names those that this program cannot open.
func openSources(
	ctx context.Context, list []evalset.Source, paths map[string]string, dir string,
) (_ Sources, left []string, err error) {
	sources, pool := Sources{}, child.NewPool(len(paths))
	defer func() {
		if err != nil {
			err = errors.Join(err, sources.close())
		}
	}()
	for _, s := range list {
		var src source.Source
		switch {
		case s.Kind == evalset.KindSQLite:
			src, err = sqlite.Open(ctx, s.Name, paths[s.Name], sqlite.Options{Pool: pool})
		case duckdb.Available:
			src, err = duckdb.Open(ctx, s.Name, paths[s.Name], duckdb.Options{
				Pool: pool,
				Dir:  filepath.Join(dir, "loaded"),
			})
		default:
			left = append(left, s.Name)
			continue
		}
		if err != nil {
			return sources, left, err
		}
		sources[s.Name] = src
	}
	return sources, left, nil
}

// measureSource asks the tasks of one source in turn.
func measureSource(ctx context.Context, a *asker, s evalset.Source, path string, list []task) (_ []Answer, err error) {
	g, err := openGold(ctx, s, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	var answers []Answer
	for i, t := range list {
		said, err := a.askTask(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("asking %s: %w", t.id, err)
		}
		answer, err := judge(ctx, g, t, said)
		if err != nil {
			return nil, fmt.Errorf("judging %s: %w", t.id, err)
		}
		answer.First = i == 0
		answers = append(answers, answer)
	}
	return answers, nil
}

// headRows limits the rows of a table that a report shows.
const headRows = 6

// judge returns the judged answer to a task.
func judge(ctx context.Context, g *gold, t task, said turnResult) (Answer, error) {
	a := Answer{
		ID: t.id, Source: t.source, Kind: t.kind, Before: t.first, Question: t.question, Answerable: t.answerable,
		SQL: said.sql, Gold: t.gold, Text: said.text, Millis: float64(said.elapsed) / float64(time.Millisecond),
		Uncited: said.uncited,
	}
	if said.table != nil {
		a.Table = said.table.Head(headRows)
	}
	if !t.answerable {
		a.Outcome, a.Why = judgeRefusal(t, said)
		return a, nil
	}
	want, err := g.query(ctx, t.gold)
	if err != nil {
		return a, fmt.Errorf("gold: %w", err)
	}
	a.GoldTable = want.Head(headRows)
	switch {
	case said.failure != "":
		a.Outcome, a.Why = Failed, said.failure
		return a, nil
	case said.table == nil:
		a.Outcome = Declined
		return a, nil
	}
	matched, why, err := match(ctx, g, t, want, *said.table)
	if err != nil {
		return a, err
	}
	if matched == nil {
		a.Outcome, a.Why = Wrong, why
		return a, nil
	}
	a.Outcome = Right
	if n, ok := matched.Number(); ok && t.single && !compare.Shown(said.text, n, t.kind == "share") {
		a.Outcome, a.Why = Unsaid, fmt.Sprintf("the text does not have the number %v", n)
	}
	return a, nil
}

// match returns the table, among gold and the alternatives, that the answer equals, or nil and the reason why the
// answer differs from gold.
func match(ctx context.Context, g *gold, t task, want, got compare.Table) (*compare.Table, string, error) {
	why := compare.Difference(want, got, t.rules(false, 0, g.keys))
	if why == "" {
		return &want, "", nil
	}
	for _, sql := range t.alt {
		other, err := g.query(ctx, sql)
		if err != nil {
			return nil, "", fmt.Errorf("alt: %w", err)
		}
		if compare.Difference(other, got, t.rules(true, len(other.Columns), g.keys)) == "" {
			return &other, "", nil
		}
	}
	return nil, why, nil
}
