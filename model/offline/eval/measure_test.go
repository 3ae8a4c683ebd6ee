package eval_test

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/offline/evalset"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/sqlite"
)

// options configure a measurement. The model is required.
type options struct {
	model      func(sources openSources) model.Model // under test; reads its data from sources
	set        evalset.Set                           // the zero value is the frozen set
	source, id string                                // if set, select the questions with this source or id
}

// openSources are the open sources by name.
type openSources map[string]source.Source

// Source returns the source with the given name.
func (s openSources) Source(name string) (source.Source, error) {
	if src, ok := s[name]; ok {
		return src, nil
	}
	return nil, footnote.Errorf(footnote.NotFound, "There is no source named %q.", name)
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

// tasks returns the selected questions and pairs by source, each in the order of the set.
func (o options) tasks() (map[string][]task, error) {
	selected := map[string][]task{}
	add := func(t task) {
		if (o.source == "" || t.source == o.source) && (o.id == "" || t.id == o.id) {
			selected[t.source] = append(selected[t.source], t)
		}
	}
	for _, q := range o.set.Questions() {
		add(task{
			id: q.ID, source: q.Source, kind: q.Kind, question: q.Question, gold: q.Gold, alt: q.Alt,
			ordered: q.Ordered, single: q.Single, answerable: q.Answerable, note: q.Note,
		})
	}
	for _, p := range o.set.Pairs() {
		add(task{
			id: p.ID, source: p.Source, kind: "pair", first: p.First, question: p.Second, gold: p.Gold, alt: p.Alt,
			ordered: p.Ordered, answerable: true, note: p.Note,
		})
	}
	if len(selected) == 0 {
		return nil, fmt.Errorf("nothing in the set has the source %q and the id %q", o.source, o.id)
	}
	return selected, nil
}

// rules returns the rules for comparing an answer with gold or, if isAlt is true, with an alternative.
func (t task) rules(isAlt bool, columns int, keys entityKeys) rules {
	percent := strings.Contains(t.question, "percent") // a follow-up that asks for percentages
	return rules{
		ordered:    t.ordered,
		extra:      t.kind == "list" || strings.HasPrefix(t.note, "Read as a list"),
		labelAlone: !isAlt && strings.HasSuffix(t.note, "column may be absent."),
		share:      t.kind == "share" || (t.kind == "pair" && percent),
		inOrder:    isAlt && t.kind == "compare" && columns > 1 && strings.Contains(t.note, "wide form"),
		keys:       keys,
	}
}

// measureSet asks all selected questions and judges the answers. The process must have called child.Main with both
// engines. The test fails only if nothing can be measured, not for a wrong answer. Without DuckDB, measureSet skips the
// CSV sources, and report.left names them.
func measureSet(t *testing.T, o options) report {
	t.Helper()
	tasks, err := o.tasks()
	if err != nil {
		t.Fatal(err)
	}
	open := openSet(t, o.set, func(s evalset.Source) bool { return len(tasks[s.Name]) > 0 })
	groups := map[string][]string{}
	for name := range open.sources {
		groups[name] = []string{name}
	}
	a := newAsker(t, o.model(open.sources), open.sources, groups)
	r := report{left: open.left}
	for _, s := range o.set.Sources() {
		if open.sources[s.Name] == nil {
			continue
		}
		g := openGold(t, s, open.paths[s.Name])
		for i, task := range tasks[s.Name] {
			answer := judge(t, g, task, a.askTask(t, task))
			answer.first = i == 0
			r.answers = append(r.answers, answer)
		}
	}
	r.unsound = int(a.invalidCites.Load())
	return r
}

// openedSet is a set whose sources were written to files and opened.
type openedSet struct {
	sources openSources
	paths   map[string]string
	left    []string // sources that this program cannot open
}

// openSet writes all sources of a set to files and opens the wanted ones until the test ends.
func openSet(t *testing.T, set evalset.Set, wanted func(evalset.Source) bool) openedSet {
	t.Helper()
	dir := t.TempDir()
	paths, err := set.Materialize(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := openedSet{sources: openSources{}, paths: paths}
	pool := child.NewPool(len(paths))
	for _, e := range set.Sources() {
		var src source.Source
		switch {
		case !wanted(e):
			continue
		case e.Kind == evalset.KindSQLite:
			src, err = sqlite.Open(t.Context(), e.Name, paths[e.Name], sqlite.Options{Pool: pool})
		case duckdb.Available:
			src, err = duckdb.Open(t.Context(), e.Name, paths[e.Name], duckdb.Options{
				Pool: pool,
				Dir:  filepath.Join(dir, "loaded"),
			})
		default:
			s.left = append(s.left, e.Name)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		closeAfter(t, src)
		s.sources[e.Name] = src
	}
	return s
}

// closeAfter closes something when the test ends.
func closeAfter(t *testing.T, c io.Closer) {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// headRows limits the rows of a table that a report shows.
const headRows = 6

// judge returns the judged answer to a task.
func judge(t *testing.T, g *gold, task task, said turnResult) answer {
	t.Helper()
	a := answer{
		id: task.id, source: task.source, kind: task.kind, before: task.first, question: task.question,
		answerable: task.answerable, sql: said.sql, gold: task.gold, text: said.text,
		millis: float64(said.elapsed) / float64(time.Millisecond), uncited: said.uncited,
	}
	if said.table != nil {
		a.table = said.table.head(headRows)
	}
	if !task.answerable {
		a.outcome, a.why = judgeRefusal(task, said)
		return a
	}
	want := g.query(t, task.gold)
	a.goldTable = want.head(headRows)
	switch {
	case said.failure != "":
		a.outcome, a.why = failed, said.failure
		return a
	case said.table == nil:
		a.outcome = declined
		return a
	}
	matched, why := match(t, g, task, want, *said.table)
	if matched == nil {
		a.outcome, a.why = wrong, why
		return a
	}
	a.outcome = right
	if n, ok := matched.number(); ok && task.single && !shown(said.text, n, task.kind == "share") {
		a.outcome, a.why = unsaid, fmt.Sprintf("the text does not have the number %v", n)
	}
	return a
}

// match returns the table, among gold and the alternatives, that the answer equals, or nil and the reason why the
// answer differs from gold.
func match(t *testing.T, g *gold, task task, want, got table) (matched *table, why string) {
	t.Helper()
	why = difference(want, got, task.rules(false, 0, g.keys))
	if why == "" {
		return &want, ""
	}
	for _, sql := range task.alt {
		other := g.query(t, sql)
		if difference(other, got, task.rules(true, len(other.columns), g.keys)) == "" {
			return &other, ""
		}
	}
	return nil, why
}
