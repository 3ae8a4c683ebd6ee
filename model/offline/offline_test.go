package offline_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/demo/demotest"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/modeltest"
	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/sqlite"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/chart"
	"github.com/footnotehq/footnote/tool/query"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.OpenFunc{sqlite.Kind: sqlite.OpenEngine, duckdb.Kind: duckdb.OpenEngine})
	os.Exit(m.Run())
}

type catalog map[string]source.Source

func (c catalog) Source(name string) (source.Source, error) {
	if s, ok := c[name]; ok {
		return s, nil
	}
	return nil, footnote.Errorf(footnote.DatabaseUnavailable, "The database is unavailable.")
}

// shop opens the demo shop.
func shop(t testing.TB) catalog {
	t.Helper()
	return catalog{"shop": open(t, "shop", demotest.Shop(t))}
}

func open(t testing.TB, name, path string) source.Source {
	t.Helper()
	s, err := sqlite.Open(t.Context(), name, path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// talk is a conversation with the planner, with real tools.
type talk struct {
	t       testing.TB
	planner *offline.Planner
	sources []string
	tools   []tool.Tool
	msgs    []model.Message
	results []footnote.StoredResult
	rows    map[string]footnote.Result
}

func newTalk(t testing.TB, c catalog, p *offline.Planner, sources ...string) *talk {
	tools := append(query.New(query.Options{Sources: c}), chart.New())
	return &talk{t: t, planner: p, sources: sources, tools: tools, rows: map[string]footnote.Result{}}
}

// reply is one answer of the planner.
type reply struct {
	text  string
	sql   string
	rows  *footnote.Result
	chart json.RawMessage
	cites []footnote.Cite
	steps int
}

// ask asks one question and runs the tools that the planner calls.
func (c *talk) ask(question string) reply {
	c.t.Helper()
	return c.askWith(question, "")
}

// askWith asks a question with additional context.
func (c *talk) askWith(question, more string) reply {
	c.t.Helper()
	beside := strings.TrimSpace("Today is 2026-11-21.\n" + more)
	c.msgs = append(c.msgs,
		message("user", map[string]any{
			"type": "text",
			"text": question,
		}, map[string]any{"type": "text", "text": beside}))
	var out reply
	for out.steps = 1; out.steps < 6; out.steps++ {
		ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
		live := &modeltest.LiveChecker{Errorf: c.t.Errorf}
		reply, err := c.planner.Step(ctx, model.Request{
			Sources:  c.sources,
			Messages: c.msgs,
			Tools:    c.definitions(),
		}, live)
		cancel()
		if err != nil {
			c.t.Fatalf("Step(%q) = %v", question, err)
		}
		c.msgs = append(c.msgs, model.Message{Role: "assistant", Content: raw(reply.Message.Blocks)})
		if reply.Message.StopReason != model.ToolUse {
			out.text, out.cites = agent.Text(reply.Message.Blocks), reply.Cites
			return out
		}
		c.call(reply, &out)
	}
	c.t.Fatalf("%q: no answer in %d steps", question, out.steps)
	return out
}

func (c *talk) call(reply model.Reply, out *reply) {
	var b struct {
		ID, Name string
		Input    json.RawMessage
	}
	if err := json.Unmarshal(reply.Message.Blocks[0], &b); err != nil {
		c.t.Fatal(err)
	}
	id := "r" + string(rune('1'+len(c.results)))
	for _, tl := range c.tools {
		if tl.Spec().Name != b.Name {
			continue
		}
		got, err := tl.Call(c.t.Context(), tool.Call{
			ID: b.ID, Name: b.Name, Input: b.Input, Sources: c.sources, ResultID: id, Results: c.results,
		})
		if err != nil {
			c.t.Fatal(err)
		}
		if got.Rows != nil {
			out.rows, out.sql = got.Rows, got.SQL
			c.results = append(c.results, footnote.StoredResult{
				ID: id, SQL: got.SQL, Columns: got.Rows.Columns, RowCount: len(got.Rows.Rows),
			})
			c.rows[id] = *got.Rows
		}
		if got.Chart != nil {
			out.chart = got.Chart
		}
		if got.IsError {
			c.t.Logf("tool failed: %s\n%s", got.Content, b.Input)
		}
		c.msgs = append(c.msgs,
			message("user", map[string]any{
				"type": "tool_result", "tool_use_id": b.ID, "content": got.Content, "is_error": got.IsError,
			}))
	}
}

func (c *talk) definitions() json.RawMessage {
	var list []map[string]any
	for _, t := range c.tools {
		list = append(list, map[string]any{"name": t.Spec().Name, "input_schema": t.Spec().InputSchema})
	}
	b, _ := json.Marshal(list)
	return b
}

func message(role string, blocks ...map[string]any) model.Message {
	b, err := json.Marshal(blocks)
	if err != nil {
		panic(err)
	}
	return model.Message{Role: role, Content: b}
}

func raw(blocks []json.RawMessage) json.RawMessage {
	b, err := json.Marshal(blocks)
	if err != nil {
		panic(err)
	}
	return b
}
