package eval_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/prompt"
	"github.com/footnotehq/footnote/cite"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/model"
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
	table    *table        // of the last run_query with rows
	failure  string        // of the last run_query, or of the run
	uncited  int           // numerals of the text without a footnote
	elapsed  time.Duration // from the question to the end of the run
}

// asker holds one assistant for each group of sources that are asked together.
type asker struct {
	engine       *agent.Engine
	log          *sqlite.Store
	invalidCites atomic.Int64 // footnotes of the model that Verify rejects
}

func newAsker(t *testing.T, m model.Model, sources openSources, groups map[string][]string) *asker {
	t.Helper()
	tools := slices.Concat(query.New(query.Options{Sources: sources}),
		profile.New(profile.Options{Sources: sources}), []tool.Tool{chart.New()})
	specs := make([]tool.Spec, len(tools))
	for i, tool := range tools {
		specs[i] = tool.Spec()
	}
	validate, err := schema.Validator(specs)
	if err != nil {
		t.Fatalf("tool schemas: %v", err)
	}
	a := &asker{}
	if a.log, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "footnote.db"), sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	closeAfter(t, a.log)
	var assistants []*agent.Assistant
	for group, names := range groups {
		var shown []prompt.Source
		for _, name := range names {
			s, err := sources[name].Schema(t.Context())
			if err != nil {
				t.Fatalf("schema of %s: %v", name, err)
			}
			shown = append(shown, prompt.Source{Name: name, Dialect: sources[name].Dialect(), Schema: s})
		}
		system := prompt.Blocks(prompt.Build(prompt.Options{Sources: shown, Charts: true}))
		assistants = append(assistants, &agent.Assistant{
			Name: group, Model: m, ModelName: "offline", Tools: tools,
			Opening: func(context.Context, footnote.Principal, []string) (agent.Opening, error) {
				return agent.Opening{System: system, Sources: names}, nil
			},
		})
	}
	a.engine, err = agent.New(agent.Options{
		Log: a.log, Hub: hub.New(), Assistants: assistants, Resolve: a.resolve, Validate: validate,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		a.engine.Drain(now)
	})
	return a
}

// resolve finds footnotes in the same way as the server, and counts the model's footnotes that Verify rejects.
func (a *asker) resolve(d agent.Draft) (r agent.Resolved) {
	bad := cite.Verify(d.Text, d.Hints, d.Tables)
	a.invalidCites.Add(int64(len(bad)))
	holds := func(start, end int) bool {
		return slices.ContainsFunc(d.Hints, func(h footnote.Cite) bool {
			return start < h.End && h.Start < end &&
				!slices.ContainsFunc(bad, func(p cite.Problem) bool {
					return p.Cite.Start == h.Start && p.Cite.End == h.End
				})
		})
	}
	r.Cites, r.Unresolved = cite.Resolve(d.Text, d.Tables, d.Question)
	r.Unresolved = slices.DeleteFunc(r.Unresolved,
		func(u footnote.Unresolved) bool { return holds(u.Start, u.End) })
	return r
}

// askTask asks a task in a new conversation. For a pair, it returns the result of the second turn.
func (a *asker) askTask(t *testing.T, task task) turnResult {
	t.Helper()
	conversation := ""
	if task.first != "" {
		_, ticket, err := a.turn(t.Context(), task.source, "", task.first)
		if err != nil {
			t.Fatalf("asking the first turn of %s: %v", task.id, err)
		}
		conversation = ticket.Conversation
	}
	got, _, err := a.turn(t.Context(), task.source, conversation, task.question)
	if err != nil {
		t.Fatalf("asking %s: %v", task.id, err)
	}
	return got
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
	t, err := newTable(r.Columns, rows)
	out.table = &t
	return err
}

// noCause matches words that say that figures are not an explanation.
var noCause = regexp.MustCompile(
	`(?i)(\bnot\b|n't\b|\bcannot\b|\bno\b)[^.!?]{0,80}\b(cause[sd]?|why|reasons?|explain(s|ed)?|explanation)\b`)

// judgeRefusal judges the answer to a question that the data cannot answer. For a question about a cause, the answer
// may show figures if it says that they are not the cause.
func judgeRefusal(t task, s turnResult) (outcome, why string) {
	switch {
	case s.usedData && t.kind == "unanswerable_why" && noCause.MatchString(s.text):
		return declined, "figures, with a note that they are not the cause"
	case s.usedData:
		return wrong, "the data was queried for a question it cannot answer"
	case s.failure != "":
		return failed, s.failure
	case s.text == "":
		return failed, "the answer is empty"
	}
	return declined, ""
}
