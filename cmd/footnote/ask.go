package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/user"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/audit"
	"github.com/footnotehq/footnote/store"
)

// askFolder is where, in the data folder, the terminal keeps its conversations: a
// server may be using the others.
const askFolder = "terminal"

type askCmd struct {
	Question []string `arg:"" help:"The question."`
	Continue bool     `short:"c" help:"Go on with the last conversation of the terminal."`
	JSON     bool     `name:"json" help:"Print one JSON object instead."`
}

// Help is shown by footnote ask --help.
func (askCmd) Help() string {
	return `Without a source, the demo shop is asked:

  footnote ask "Which city has the most customers?"
  footnote ask --source sales.csv "total revenue by month"
  footnote ask --continue "only 2024"

Without a key the built-in offline planner answers. To connect a model:

  export ANTHROPIC_API_KEY=…
  export ANTHROPIC_BASE_URL=http://127.0.0.1:11434 FOOTNOTE_MODEL=your-model   (a local one)`
}

// Run executes the command.
func (cmd *askCmd) Run(ctx context.Context, s *settings, e env, std streams) (err error) {
	question := strings.TrimSpace(strings.Join(cmd.Question, " "))
	if question == "" {
		return &exit{exitUsage, errors.New("the question is empty")}
	}
	c, err := s.load(e, nil)
	if err != nil {
		return err
	}
	if len(c.Sources) == 0 {
		if c.Sources, err = shop(ctx, c.Data); err != nil {
			return err
		}
	}
	a, err := newApp(ctx, c, askFolder, logger(std.err, "error"), loading(std.err), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close(ctx)) }()
	if _, ok := terminal(std.err); ok {
		fmt.Fprint(std.err, "\r\x1b[K")
	}
	turn := agent.Turn{Text: question, Principal: self(), Door: "terminal", OnDisconnect: agent.Cancel}
	if cmd.Continue {
		if turn.Conversation, err = lastConversation(ctx, a); err != nil {
			return err
		}
	}
	answer, err := a.answer(ctx, turn, newScreen(cmd.JSON, std))
	if aerr := a.auditOnce(ctx); aerr != nil {
		a.log.Error("audit", "err", aerr)
	}
	if err != nil {
		return askError(err)
	}
	if cmd.JSON {
		return printJSON(std.out, answer)
	}
	return nil
}

// self is the person at the terminal.
func self() footnote.Principal {
	p := footnote.Principal{Org: "local", User: "local"}
	if u, err := user.Current(); err == nil && u.Username != "" {
		p.User = u.Username
	}
	return p
}

func lastConversation(ctx context.Context, a *app) (string, error) {
	p := self()
	heads, _, err := a.store.List(ctx, store.Page{Org: p.Org, User: p.User, Kind: "conversation", Limit: 1})
	if err != nil {
		return "", err
	}
	if len(heads) == 0 {
		return "", &exit{exitUsage, errors.New("there is no conversation to continue; ask without --continue first")}
	}
	return heads[0].ID, nil
}

// askError gives a run's failure its exit code.
func askError(err error) error {
	switch footnote.CodeOf(err) {
	case footnote.BudgetExceeded, footnote.AgentTimeout, footnote.RateLimited, footnote.InputTooLong:
		return &exit{exitLimit, errors.New(footnote.MessageOf(err))}
	case footnote.Internal:
		return &exit{exitFailed, err}
	default:
		return &exit{exitFailed, errors.New(footnote.MessageOf(err))}
	}
}

// auditOnce writes what the audit has not seen, to its file: standard output is
// the answer's.
func (a *app) auditOnce(ctx context.Context) error {
	follow, err := audit.New(audit.Options{
		Log: a.store, Sinks: map[string]audit.Sink{"file": audit.File{Path: a.cfg.AuditFile()}},
		Verbose: a.cfg.LogVerbose, Secrets: []string{string(a.cfg.APIKey)}, Logger: a.log,
	})
	if err != nil {
		return err
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	follow.Run(done, auditGrace)
	return nil
}

// answerJSON is what ask --json prints.
type answerJSON struct {
	Answer       string                `json:"answer"`
	SQL          []string              `json:"sql"`
	Columns      []footnote.Column     `json:"columns"`
	Rows         []json.RawMessage     `json:"rows"`
	Chart        json.RawMessage       `json:"chart"`
	Footnotes    []footnote.Cite       `json:"footnotes"`
	Unresolved   []footnote.Unresolved `json:"unresolved"`
	Usage        usageJSON             `json:"usage"`
	Conversation string                `json:"conversation_id"`
}

type usageJSON struct {
	Model   string  `json:"model"`
	Input   int64   `json:"input_tokens"`
	Output  int64   `json:"output_tokens"`
	CostUSD float64 `json:"cost_usd"`
	Millis  int64   `json:"ms"`
}

// answer runs a turn and gathers its answer, while the screen shows it.
func (a *app) answer(ctx context.Context, turn agent.Turn, scr *screen) (*answerJSON, error) {
	ticket, err := a.engine.Submit(ctx, turn)
	if err != nil {
		return nil, err
	}
	reader := a.engine.Subscribe(ticket)
	defer reader.Close()
	out := &answerJSON{
		SQL: []string{}, Columns: []footnote.Column{}, Rows: []json.RawMessage{}, Chart: json.RawMessage("null"),
		Footnotes: []footnote.Cite{}, Unresolved: []footnote.Unresolved{}, Conversation: ticket.Conversation,
	}
	var last *footnote.StoredResult
	stopping := false
	for {
		batch, err := reader.Next(ctx)
		if ctx.Err() != nil && !stopping {
			// Ctrl+C: the run is stopped, and its end awaited.
			stopping = true
			ctx = context.WithoutCancel(ctx)
			if err := a.engine.Stop(ctx, ticket.Conversation, "user"); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, entry := range batch {
			if entry.Event == nil {
				scr.delta(entry.Delta)
				continue
			}
			scr.event(*entry.Event)
			switch b := entry.Event.Body.(type) {
			case footnote.ToolResult:
				if b.Result != nil {
					last = b.Result
					out.SQL = append(out.SQL, b.Result.SQL)
				}
			case footnote.AssistantMessage:
				out.Usage.Model = b.Model
			case footnote.Answered:
				out.Answer, out.Footnotes = b.Text, b.Cites
				if b.Unresolved != nil {
					out.Unresolved = b.Unresolved
				}
				if b.Chart != nil {
					out.Chart = b.Chart
				}
			case footnote.RunFailed:
				return nil, &footnote.Error{Code: b.Code, Message: b.Message}
			case footnote.RunStopped:
				return nil, footnote.Errorf(footnote.Conflict, "The answer was stopped.")
			case footnote.RunFinished:
				out.Usage.Input, out.Usage.Output = b.Usage.Prompt(), b.Usage.Output
				out.Usage.CostUSD, out.Usage.Millis = b.Cost.USD(), b.Millis
				return out, a.fill(ctx, ticket.Conversation, out, last, scr)
			}
		}
	}
}

// fill adds the rows of the answer's last query, and shows them.
func (a *app) fill(ctx context.Context, conversation string, out *answerJSON, last *footnote.StoredResult, scr *screen) error {
	if last == nil {
		return nil
	}
	res, err := readResult(ctx, a.store, conversation, *last)
	if err != nil {
		return err
	}
	out.Columns, out.Rows = columnsOf(res), rowsJSON(res)
	scr.result(out, res)
	return nil
}

// readResult reads the rows of a stored result.
func readResult(ctx context.Context, s store.Store, conversation string, r footnote.StoredResult) (footnote.Result, error) {
	res := footnote.Result{Columns: r.Columns, Truncated: r.Truncated}
	for _, c := range r.Chunks {
		data, err := s.Blob(ctx, conversation, c.Digest)
		if err != nil {
			return res, fmt.Errorf("read the rows of %s: %w", r.ID, err)
		}
		rows, err := footnote.DecodeRows(data, r.Columns)
		if err != nil {
			return res, err
		}
		res.Rows = append(res.Rows, rows...)
	}
	return res, nil
}
