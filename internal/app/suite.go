package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/prompt"
	"github.com/footnotehq/footnote/cite"
	"github.com/footnotehq/footnote/knowledge/suite"
	"github.com/footnotehq/footnote/knowledge/verified"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/source"
)

// SuiteOptions configure RunSuite.
type SuiteOptions struct {
	Principal footnote.Principal // asks the questions of tests that name nobody else
	Attempts  int                // of each test; default 1
	// Missed returns what has changed since the answer to a question was recorded, or nil if its recording fits. It is
	// nil when no recordings are replayed.
	Missed func(question string) []string
	// Each is called with each outcome; it may be nil.
	Each func(o suite.Outcome)
}

// RunSuite asks the questions of a suite, each in a conversation of its own, and checks the answers. It stops early if
// ctx ends; the remaining tests are then broken.
func (a *App) RunSuite(ctx context.Context, s *suite.Suite, o SuiteOptions) []suite.Outcome {
	var all []suite.Outcome
	for _, t := range s.Tests {
		for n := range max(1, o.Attempts) {
			out := a.runTest(ctx, t, o)
			if o.Attempts > 1 {
				out.Attempt = n + 1
			}
			if o.Each != nil {
				o.Each(out)
			}
			all = append(all, out)
		}
	}
	return all
}

// tested is the answer to the question of a test.
type tested struct {
	conversation string
	answer       *footnote.Answered
	results      []footnote.StoredResult
	finished     footnote.RunFinished
	took         time.Duration
}

func (a *App) runTest(ctx context.Context, t suite.Test, o SuiteOptions) suite.Outcome {
	out := suite.Outcome{Name: t.Name, Question: t.Question, Status: suite.Passed}
	p := footnote.Principal{
		Org: cmp.Or(t.As.Org, o.Principal.Org), User: cmp.Or(t.As.User, o.Principal.User), Roles: t.As.Roles,
		Attributes: t.As.Attributes,
	}
	ctx = footnote.WithPrincipal(ctx, p)
	want, err := a.expected(ctx, p, t)
	if err != nil {
		return unpassed(out, suite.Broken, "the expected rows cannot be read: "+reason(err))
	}
	got, err := a.answerTo(ctx, p, t.Question)
	if o.Missed != nil {
		if out.Changed = o.Missed(t.Question); out.Changed != nil {
			return unpassed(out, suite.Stale, "its recording no longer fits; changed since: "+
				strings.Join(out.Changed, ", "))
		}
	}
	if err != nil {
		return unpassed(out, suite.Failed, "there is no answer: "+footnote.MessageOf(err))
	}
	out.Millis, out.Steps, out.CostUSD = got.took.Milliseconds(), got.finished.Steps, got.finished.Cost.USD()
	for _, r := range got.results {
		out.SQL = append(out.SQL, r.SQL)
	}
	if got.answer == nil {
		return unpassed(out, suite.Failed, "there is no answer")
	}
	out.Answer = got.answer.Text
	for _, v := range got.answer.Verified {
		out.Verified = append(out.Verified, v.Query)
	}
	tables, err := a.tablesOf(ctx, got)
	if err != nil {
		return unpassed(out, suite.Broken, "the rows of the answer cannot be read: "+footnote.MessageOf(err))
	}
	out.Reasons = slices.Concat(rowReasons(t.Expect, want, got, tables), footnoteReasons(*got.answer, tables),
		badgeReasons(t.Expect, *got.answer), limitReasons(t.Limits, out))
	if len(out.Reasons) > 0 {
		out.Status = suite.Failed
	}
	return out
}

// unpassed returns an outcome that did not pass.
func unpassed(out suite.Outcome, status, reason string) suite.Outcome {
	out.Status, out.Reasons = status, append(out.Reasons, reason)
	return out
}

// reason returns why the expected rows cannot be read, for the author of a suite.
func reason(err error) string {
	if bad, ok := errors.AsType[*source.Error](err); ok {
		return bad.Reason
	}
	message := footnote.MessageOf(err)
	if text := err.Error(); text != message {
		message += " (" + text + ")"
	}
	return message
}

// expected returns the rows that a test expects.
func (a *App) expected(ctx context.Context, p footnote.Principal, t suite.Test) (footnote.Result, error) {
	e := t.Expect
	if e.Rows != nil {
		r := footnote.Result{Rows: e.Rows}
		for i := range max(len(e.Columns), cells(e.Rows)) {
			name := fmt.Sprintf("column %d", i+1)
			if i < len(e.Columns) {
				name = e.Columns[i]
			}
			r.Columns = append(r.Columns, footnote.Column{Name: name})
		}
		return r, nil
	}
	name, q, err := a.expectedQuery(p, t)
	if err != nil {
		return footnote.Result{}, err
	}
	src, err := a.catalog.Source(name)
	if err != nil {
		return footnote.Result{}, err
	}
	r, _, err := source.Collect(footnote.WithSource(ctx, name), src, q)
	if err != nil {
		return r, err
	}
	if r.Truncated {
		return r, footnote.Invalidf("The statement returns more rows than are read.")
	}
	return chosen(r, e.Columns)
}

func cells(rows [][]any) int {
	if len(rows) == 0 {
		return 0
	}
	return len(rows[0])
}

// expectedQuery returns the statement whose rows a test expects, and its source.
func (a *App) expectedQuery(p footnote.Principal, t suite.Test) (string, source.Query, error) {
	sources, err := a.catalog.Choose(p, nil)
	if err != nil {
		return "", source.Query{}, err
	}
	e := t.Expect
	if e.Verified == "" {
		name := cmp.Or(e.Source, sources[0])
		if e.Source == "" && len(sources) > 1 || !slices.Contains(sources, name) {
			return "", source.Query{}, footnote.Invalidf("Name one of the sources %s.", strings.Join(sources, ", "))
		}
		return name, source.Query{SQL: e.SQL, Args: boundValues(e.Args)}, nil
	}
	caller := verified.Caller{Roles: p.Roles, Sources: sources, Now: time.Now()}
	q, ok := a.verifiedQueries().Find(caller, e.Verified)
	if !ok {
		return "", source.Query{}, footnote.Invalidf("There is no verified query named %s, or it has expired, or "+
			"it is for other roles or sources.", e.Verified)
	}
	args, err := argsOf(q, e.Parameters)
	if m, matches := a.verifiedQueries().Match(caller, t.Question); err != nil && len(e.Parameters) == 0 && matches &&
		m.Query == q {
		args, err = m.Args, nil
	}
	return q.Source, source.Query{SQL: q.SQL, Args: args}, err
}

// boundValues returns values read from YAML as a statement receives them.
func boundValues(values []any) (args []any) {
	for _, v := range values {
		if n, ok := v.(int); ok {
			v = int64(n)
		}
		args = append(args, v)
	}
	return args
}

func argsOf(q *verified.Query, values map[string]string) (args []any, err error) {
	for _, p := range q.Parameters {
		raw, ok := values[p.Name]
		if !ok {
			return nil, footnote.Invalidf("The parameter %s of the verified query %s is missing.", p.Name, q.Name)
		}
		v, err := p.Value(raw)
		if err != nil {
			return nil, footnote.Invalidf("The parameter %s of the verified query %s %v.", p.Name, q.Name, err)
		}
		args = append(args, v)
	}
	return args, nil
}

// chosen returns the columns of a result that count; without names, all of them.
func chosen(r footnote.Result, names []string) (footnote.Result, error) {
	if len(names) == 0 {
		return r, nil
	}
	out := footnote.Result{Rows: make([][]any, len(r.Rows))}
	for _, name := range names {
		i := slices.IndexFunc(r.Columns, func(c footnote.Column) bool { return strings.EqualFold(c.Name, name) })
		if i < 0 {
			return out, footnote.Invalidf("The statement has no column %s.", name)
		}
		out.Columns = append(out.Columns, r.Columns[i])
		for n, row := range r.Rows {
			out.Rows[n] = append(out.Rows[n], row[i])
		}
	}
	return out, nil
}

// answerTo asks a question in a new conversation and waits for the end of its run.
func (a *App) answerTo(ctx context.Context, p footnote.Principal, question string) (*tested, error) {
	begun := time.Now()
	ticket, err := a.engine.Submit(ctx, agent.Turn{
		Text: question, Principal: p, Protocol: "terminal", OnDisconnect: agent.Cancel, Unattended: true,
	})
	if err != nil {
		return nil, err
	}
	reader := a.engine.Subscribe(ticket)
	defer reader.Close()
	got := &tested{conversation: ticket.Conversation}
	for {
		batch, err := reader.Next(ctx)
		if err != nil {
			return nil, err
		}
		for _, entry := range batch {
			if entry.Event == nil {
				continue
			}
			switch b := entry.Event.Body.(type) {
			case footnote.ToolResult:
				if b.Result != nil {
					got.results = append(got.results, *b.Result)
				}
			case footnote.Answered:
				got.answer = &b
			case footnote.RunFinished:
				got.finished, got.took = b, time.Since(begun)
				return got, nil
			case footnote.RunFailed:
				return nil, &footnote.Error{Code: b.Code, Message: b.Message}
			case footnote.RunStopped:
				return nil, footnote.Errorf(footnote.Conflict, "The answer was stopped.")
			}
		}
	}
}

// tablesOf reads the rows of the results behind an answer.
func (a *App) tablesOf(ctx context.Context, got *tested) ([]footnote.Table, error) {
	var tables []footnote.Table
	for _, r := range got.results {
		var rows [][]any
		for _, c := range r.Chunks {
			data, err := a.store.Blob(ctx, got.conversation, c.Digest)
			if err != nil {
				return nil, err
			}
			chunk, err := footnote.DecodeRows(data, r.Columns)
			if err != nil {
				return nil, err
			}
			rows = append(rows, chunk...)
		}
		tables = append(tables, footnote.Table{
			ID: r.ID, SQL: r.SQL, RowCount: r.RowCount,
			Result: footnote.Result{Columns: r.Columns, Rows: rows, Truncated: r.Truncated},
		})
	}
	return tables, nil
}

var resultInFormula = regexp.MustCompile(`\br[0-9]+\b`)

// rowReasons says why no result behind the answer has the expected rows. The results that the footnotes cite count; if
// they cite none, all do.
func rowReasons(e suite.Expect, want footnote.Result, got *tested, tables []footnote.Table) []string {
	cited := map[string]bool{}
	for _, c := range got.answer.Cites {
		cited[c.Result] = true
		for _, id := range resultInFormula.FindAllString(c.Formula, -1) {
			cited[id] = true
		}
	}
	delete(cited, "")
	reason := "the answer rests on no query"
	for _, t := range tables {
		if len(cited) > 0 && !cited[t.ID] {
			continue
		}
		differs := suite.Compare(want, t.Result, e.Order, e.Tolerance)
		if differs == "" {
			return nil
		}
		reason = "result " + t.ID + " is not the expected one: " + differs
	}
	return []string{reason}
}

// footnoteReasons names the numbers of an answer that have no footnote, or one that does not hold.
func footnoteReasons(a footnote.Answered, tables []footnote.Table) (reasons []string) {
	for _, u := range a.Unresolved {
		reasons = append(reasons, strings.TrimSuffix(fmt.Sprintf("the number %s has no footnote: %s", u.Text, u.Reason),
			": "))
	}
	for _, p := range cite.Verify(a.Text, a.Cites, tables) {
		reasons = append(reasons, fmt.Sprintf("the footnote of %s does not hold: %s", p.Cite.Text, p.Reason))
	}
	return reasons
}

func badgeReasons(e suite.Expect, a footnote.Answered) []string {
	switch has := len(a.Verified) > 0; {
	case e.Badge == nil || *e.Badge == has:
		return nil
	case has:
		return []string{"the answer is marked as verified, and must not be"}
	}
	return []string{"the answer is not marked as verified"}
}

func limitReasons(l suite.Limits, o suite.Outcome) (reasons []string) {
	if l.CostUSD > 0 && o.CostUSD > l.CostUSD {
		reasons = append(reasons, fmt.Sprintf("it cost %.4f USD; the limit is %.4f", o.CostUSD, l.CostUSD))
	}
	if seconds := float64(o.Millis) / 1000; l.Seconds > 0 && seconds > l.Seconds {
		reasons = append(reasons, fmt.Sprintf("it took %.1f s; the limit is %.1f", seconds, l.Seconds))
	}
	if l.Steps > 0 && o.Steps > l.Steps {
		reasons = append(reasons, fmt.Sprintf("it took %d steps; the limit is %d", o.Steps, l.Steps))
	}
	return reasons
}

// Parts returns the digests of what the requests to a model are made from, by names that people understand.
func (a *App) Parts(ctx context.Context, p footnote.Principal) (map[string]footnote.Digest, error) {
	parts := map[string]footnote.Digest{}
	for name, digest := range a.words().FileDigests() {
		parts[name] = digest
	}
	rules := prompt.Build(prompt.Options{
		Charts: true, Results: a.calculator != nil, Verified: len(a.verifiedQueries().All()) > 0,
	})
	parts["the rules of the system prompt"] = footnote.DigestOf([]byte(rules))
	ctx = footnote.WithPrincipal(ctx, p)
	chosen, err := a.catalog.Choose(p, nil)
	if err != nil {
		return nil, err
	}
	for i, s := range a.readSchemas(ctx, chosen) {
		if s.err != nil {
			return nil, fmt.Errorf("read the schema of %s: %w", chosen[i], s.err)
		}
		parts["the schema of "+chosen[i]] = schemaDigest(s.schema)
	}
	return parts, nil
}

// schemaDigest returns the digest of the names and kinds of a schema's tables and columns, and of their comments.
func schemaDigest(s source.Schema) footnote.Digest {
	tables := map[string][]string{}
	for _, t := range s.Tables {
		lines := []string{t.Comment}
		for _, c := range t.Columns {
			lines = append(lines, c.Name+"\x00"+c.Kind+"\x00"+c.Comment)
		}
		tables[t.FullName()] = lines
	}
	var all []any
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		all = append(all, name, tables[name])
	}
	data, _ := json.Marshal(all) // texts always encode
	return footnote.DigestOf(data)
}

// ContextDigest names the version of the company's context in use; empty without one.
func (a *App) ContextDigest() footnote.Digest { return a.words().Digest }

// Estimate returns about what one question costs, in millionths of a US dollar; 0 if the model has no price. It
// assumes three calls of the model, with a result of some rows.
func (a *App) Estimate(ctx context.Context, p footnote.Principal) (int64, error) {
	priced, ok := a.model.(agent.Pricer)
	if !ok {
		return 0, nil
	}
	frozen, err := a.assistant.Opening(ctx, p, nil)
	if err != nil {
		return 0, err
	}
	const calls, answer, grown = 3, 600, 3000
	_, cost := priced.MinUse(model.Request{
		Principal: p, Model: a.assistant.DefaultTier().Model, Sources: frozen.Sources, System: frozen.System,
		Tools: agent.Freeze(a.assistant.Tools, a.assistant.Policy), MaxTokens: answer,
	}, grown)
	return calls * cost.MicroUSD, nil
}
