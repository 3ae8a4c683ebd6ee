package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/prompt"
	"github.com/footnotehq/footnote/cite"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/offline/eval/compare"
	"github.com/footnotehq/footnote/store/sqlite"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/chart"
	"github.com/footnotehq/footnote/tool/profile"
	"github.com/footnotehq/footnote/tool/query"
	"github.com/footnotehq/footnote/tool/schema"
)

// askTime limits one turn.
const askTime = time.Minute

// runQuery is the tool whose last result is the table of an answer.
const runQuery = "run_query"

// figures are the tools whose results contain figures from the data.
var figures = []string{runQuery, "get_column_stats", "get_value_distribution"}

// turnResult holds the outcome of one turn.
type turnResult struct {
	text     string
	usedData bool   // a tool of figures was called
	source   string // of the last run_query
	sql      string
	table    *compare.Table // of the last run_query with rows
	failure  string         // of the last run_query, or of the run
	uncited  int            // numerals of the text without a footnote
	elapsed  time.Duration  // from the question to the end of the run
}

// asker holds one assistant for each group of sources that are asked together.
type asker struct {
	engine       *agent.Engine
	log          *sqlite.Store
	folder       string       // of the log
	invalidCites atomic.Int64 // footnotes of the model that Verify rejects
}

func newAsker(
	ctx context.Context, model model.Model, sources Sources, groups map[string][]string,
) (_ *asker, err error) {
	tools := slices.Concat(query.New(query.Options{Sources: sources}),
		profile.New(profile.Options{Sources: sources}), []tool.Tool{chart.New()})
	specs := make([]tool.Spec, len(tools))
	for i, t := range tools {
		specs[i] = t.Spec()
	}
	validate, err := schema.Validator(specs)
	if err != nil {
		return nil, fmt.Errorf("tool schemas: %w", err)
	}
	a := &asker{}
	if a.folder, err = os.MkdirTemp("", "footnote-measure-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close(ctx))
		}
	}()
	if a.log, err = sqlite.Open(ctx, filepath.Join(a.folder, "footnote.db"), sqlite.Options{}); err != nil {
		return nil, err
	}
	var assistants []*agent.Assistant
	for group, names := range groups {
		var shown []prompt.Source
		for _, name := range names {
			s, err := sources[name].Schema(ctx)
			if err != nil {
				return nil, fmt.Errorf("schema of %s: %w", name, err)
			}
			shown = append(shown, prompt.Source{Name: name, Dialect: sources[name].Dialect(), Schema: s})
		}
		system := prompt.Blocks(prompt.Build(prompt.Options{Sources: shown, Charts: true}))
		assistants = append(assistants, &agent.Assistant{
			Name: group, Model: model, ModelName: "offline", Tools: tools,
			Opening: func(context.Context, footnote.Principal, []string) (json.RawMessage, []string, error) {
				return system, names, nil
			},
		})
	}
	a.engine, err = agent.New(agent.Options{
		Log: a.log, Hub: hub.New(), Assistants: assistants, Resolve: a.resolve, Validate: validate,
	})
	return a, err
}

func (a *asker) close(ctx context.Context) error {
	now, cancel := context.WithCancel(context.WithoutCancel(ctx))
	cancel()
	if a.engine != nil {
		a.engine.Drain(now)
	}
	var err error
	if a.log != nil {
		err = a.log.Close()
	}
	return errors.Join(err, os.RemoveAll(a.folder))
}

// resolve finds footnotes in the same way as the server, and counts the model's footnotes that Verify rejects.
func (a *asker) resolve(text, question string, tables []agent.Table,
	hints []footnote.Cite) ([]footnote.Cite, []footnote.Unresolved) {
	results := make([]cite.Table, len(tables))
	for i, t := range tables {
		results[i] = cite.Table{
			ID: t.ID, SQL: t.SQL, RowCount: t.RowCount,
			Result: footnote.Result{Columns: t.Columns, Rows: t.Rows, Truncated: t.Truncated},
		}
	}
	bad := cite.Verify(text, hints, results)
	a.invalidCites.Add(int64(len(bad)))
	holds := func(start, end int) bool {
		return slices.ContainsFunc(hints, func(h footnote.Cite) bool {
			return start < h.End && h.Start < end &&
				!slices.ContainsFunc(bad, func(p cite.Problem) bool {
					return p.Cite.Start == h.Start && p.Cite.End == h.End
				})
		})
	}
	found, open := cite.Resolve(text, results, question)
	open = slices.DeleteFunc(open, func(u footnote.Unresolved) bool { return holds(u.Start, u.End) })
	return found, open
}

// askTask asks a task in a new conversation. For a pair, it returns the result of the second turn.
func (a *asker) askTask(ctx context.Context, t task) (turnResult, error) {
	conversation := ""
	if t.first != "" {
		_, ticket, err := a.turn(ctx, t.source, "", t.first)
		if err != nil {
			return turnResult{}, fmt.Errorf("the first turn: %w", err)
		}
		conversation = ticket.Conversation
	}
	got, _, err := a.turn(ctx, t.source, conversation, t.question)
	return got, err
}

// turn asks one question and waits for the end of its run.
func (a *asker) turn(ctx context.Context, source, conversation, text string) (turnResult, agent.Ticket, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTime, errors.New("the answer took longer than a minute"))
	defer cancel()
	begun := time.Now()
	ticket, err := a.engine.Submit(ctx, agent.Turn{
		Assistant: source, Conversation: conversation, Text: text, Protocol: "eval", OnDisconnect: agent.Continue,
		Principal: footnote.Principal{Org: "local", User: "eval"},
	})
	if err != nil {
		return turnResult{}, ticket, err
	}
	reader := a.engine.Subscribe(ticket)
	defer reader.Close()
	var out turnResult
	var last *footnote.StoredResult
	for {
		batch, err := reader.Next(ctx)
		if err != nil {
			return out, ticket, err
		}
		for _, entry := range batch {
			if entry.Event == nil || entry.Event.Run != ticket.Run {
				continue
			}
			if result, ok := entry.Event.Body.(footnote.ToolResult); ok && result.Name == runQuery &&
				result.Result != nil {
				last = result.Result
			}
			if out.apply(entry.Event.Body) {
				out.elapsed = time.Since(begun)
				err := a.fill(ctx, ticket.Conversation, last, &out)
				return out, ticket, err
			}
		}
	}
}

// apply records one event of the run and reports whether it was the last.
func (s *turnResult) apply(body footnote.Body) bool {
	switch b := body.(type) {
	case footnote.ToolResult:
		s.usedData = s.usedData || slices.Contains(figures, b.Name)
		if b.Name == runQuery {
			s.failure = ""
			if b.IsError {
				s.failure = "run_query: " + b.Content
			}
		}
	case footnote.Answered:
		s.text, s.uncited = b.Text, len(b.Unresolved)
	case footnote.RunFailed:
		s.failure = fmt.Sprintf("the run failed: %s: %s", b.Code, b.Message)
	case footnote.RunStopped:
		s.failure = "the run was stopped by " + b.By
	case footnote.RunParked:
		s.failure = "the run waits for a person"
		return true
	}
	return footnote.Terminal(body)
}

// fill reads the rows of the answer's table.
func (a *asker) fill(ctx context.Context, conversation string, r *footnote.StoredResult, out *turnResult) error {
	if r == nil {
		return nil
	}
	out.source, out.sql = r.Source, r.SQL
	var rows [][]any
	for _, c := range r.Chunks {
		data, err := a.log.Blob(ctx, conversation, c.Digest)
		if err != nil {
			return fmt.Errorf("read the rows of %s: %w", r.ID, err)
		}
		chunk, err := footnote.DecodeRows(data, r.Columns)
		if err != nil {
			return err
		}
		rows = append(rows, chunk...)
	}
	table, err := compare.New(r.Columns, rows)
	if err != nil {
		return err
	}
	out.table = &table
	return nil
}

// noCause matches words that say that figures are not an explanation.
var noCause = regexp.MustCompile(
	`(?i)(\bnot\b|n't\b|\bcannot\b|\bno\b)[^.!?]{0,80}\b(cause[sd]?|why|reasons?|explain(s|ed)?|explanation)\b`)

// judgeRefusal judges the answer to a question that the data cannot answer. For a question about a cause, the answer
// may show figures if it says that they are not the cause.
func judgeRefusal(t task, s turnResult) (outcome, why string) {
	switch {
	case s.usedData && t.kind == "unanswerable_why" && noCause.MatchString(s.text):
		return Declined, "figures, with a note that they are not the cause"
	case s.usedData:
		return Wrong, "the data was queried for a question it cannot answer"
	case s.failure != "":
		return Failed, s.failure
	case s.text == "":
		return Failed, "the answer is empty"
	}
	return Declined, ""
}
