package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite"
)

type askCmd struct {
	Question []string `arg:"" help:"The question."`
	Continue bool     `short:"c" help:"Continue the terminal's last conversation."`
	JSON     bool     `name:"json" help:"Print one JSON object instead."`
}

// Run executes the command.
func (cmd *askCmd) Run(ctx context.Context, c config.Config, std streams) (err error) {
	question := strings.TrimSpace(strings.Join(cmd.Question, " "))
	if question == "" {
		return &exit{exitUsage, errors.New("the question is empty")}
	}
	a, err := openToAsk(ctx, c, std)
	if err != nil && cmd.JSON {
		none := newAnswer()
		none.Outcome, none.Reason = source.Failed, app.OneLine(err)
		return errors.Join(err, printJSON(std.out, none))
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close(ctx)) }()
	turn := agent.Turn{
		Text: question, Principal: self(), Protocol: "terminal", OnDisconnect: agent.Cancel, Unattended: true,
	}
	if cmd.Continue {
		if turn.Conversation, err = lastConversation(ctx, a.Store()); err != nil {
			return err
		}
		if turn.Conversation == "" {
			return &exit{exitUsage, errors.New("there is no conversation to continue; ask without --continue first")}
		}
	}
	return cmd.ask(ctx, a, turn, std)
}

// askWait limits how long a question waits for another one in the same data folder.
const askWait = 30 * time.Second

// openToAsk opens what the configuration names, and ends a run left behind by a killed ask: its conversation would
// accept no further question otherwise.
func openToAsk(ctx context.Context, c config.Config, std streams) (*app.App, error) {
	if len(c.Sources) == 0 {
		var err error
		if c.Sources, err = app.DemoShop(ctx, c.Data); err != nil {
			return nil, err
		}
		if c.Context, err = demoContext(c); err != nil {
			return nil, err
		}
	}
	o := options(c, std, "error")
	o.Folder, o.File, o.Progress = app.TerminalFolder, sqlite.Options{Wait: askWait}, loading(std.err)
	if _, seen := terminal(std.err); seen {
		o.File.Waiting = func() { fmt.Fprint(std.err, "waiting for another question in this data folder") }
		defer fmt.Fprint(std.err, "\r\x1b[K")
	}
	a, err := app.New(ctx, c, o)
	if err != nil {
		return nil, err
	}
	if err := a.Engine().Recover(ctx); err != nil {
		return nil, errors.Join(err, a.Close(ctx))
	}
	return a, nil
}

// ask runs one turn, prints its answer and returns its outcome as an exit code.
func (cmd *askCmd) ask(ctx context.Context, a *app.App, turn agent.Turn, std streams) error {
	answer, err := runTurn(ctx, a, turn, newScreen(cmd.JSON, std))
	a.WriteAudit(ctx)
	if err != nil {
		answer.Outcome, answer.Reason = askOutcome(err), footnote.MessageOf(err)
	}
	if cmd.JSON {
		if perr := printJSON(std.out, answer); perr != nil {
			return perr
		}
	}
	if err != nil && footnote.CodeOf(err) == footnote.Internal {
		return &exit{exitFailed, err}
	}
	return ended(answer.Outcome, errors.New(answer.Reason))
}

// self returns the principal of the person at the terminal.
func self() footnote.Principal {
	p := footnote.Principal{Org: "local", User: "local"}
	if u, err := user.Current(); err == nil && u.Username != "" {
		p.User = u.Username
	}
	return p
}

// lastConversation returns the id of the terminal's last conversation, or "" if there is none.
func lastConversation(ctx context.Context, log store.Store) (string, error) {
	p := self()
	heads, _, err := log.List(ctx, store.Page{Org: p.Org, User: p.User, Kind: store.Conversation, Limit: 1})
	if err != nil || len(heads) == 0 {
		return "", err
	}
	return heads[0].ID, nil
}

// answered is the outcome of a question with an answer. The other outcomes are the kinds of a source.Error.
const answered = "answered"

// askOutcome maps the error of a run to its outcome.
func askOutcome(err error) string {
	switch footnote.CodeOf(err) {
	case footnote.BudgetExceeded, footnote.AgentTimeout, footnote.RateLimited, footnote.InputTooLong:
		return source.Limited
	default:
		return source.Failed
	}
}

// answerJSON is the output of ask --json.
type answerJSON struct {
	Answer     string                `json:"answer"`
	SQL        []string              `json:"sql"`
	Columns    []footnote.Column     `json:"columns"`
	Rows       []json.RawMessage     `json:"rows"`
	Chart      json.RawMessage       `json:"chart"`
	Footnotes  []footnote.Cite       `json:"footnotes"`
	Unresolved []footnote.Unresolved `json:"unresolved"`
	// Verified lists the results behind the answer that verified queries returned.
	Verified     []footnote.VerifiedResult `json:"verified,omitempty"`
	Usage        usageJSON                 `json:"usage"`
	Conversation string                    `json:"conversation_id"`
	Outcome      string                    `json:"outcome"` // answered, failed, refused or limited
	Reason       string                    `json:"reason"`  // explains any outcome other than answered
}

// newAnswer returns an answer in which only the chart is null.
func newAnswer() answerJSON {
	return answerJSON{
		SQL: []string{}, Columns: []footnote.Column{}, Rows: []json.RawMessage{}, Chart: json.RawMessage("null"),
		Footnotes: []footnote.Cite{}, Unresolved: []footnote.Unresolved{}, Outcome: answered,
	}
}

type usageJSON struct {
	Model   string  `json:"model"`
	Input   int64   `json:"input_tokens"`
	Output  int64   `json:"output_tokens"`
	CostUSD float64 `json:"cost_usd"`
	Millis  int64   `json:"ms"`
}

// runTurn runs a turn, shows it on the screen and collects its answer. Together with an error it returns what it
// collected so far.
func runTurn(ctx context.Context, a *app.App, turn agent.Turn, scr *screen) (*answerJSON, error) {
	g := &gathered{answerJSON: newAnswer()}
	ticket, err := a.Engine().Submit(ctx, turn)
	if err != nil {
		return &g.answerJSON, err
	}
	g.Conversation = ticket.Conversation
	reader := a.Engine().Subscribe(ticket)
	defer reader.Close()
	stopping := false
	for {
		batch, err := reader.Next(ctx)
		if ctx.Err() != nil && !stopping {
			// Ctrl+C: stop the run and wait for its end.
			stopping = true
			ctx = context.WithoutCancel(ctx)
			if err := a.Engine().Stop(ctx, ticket.Conversation, "user"); err != nil {
				return &g.answerJSON, err
			}
			continue
		}
		if err != nil {
			return &g.answerJSON, err
		}
		for _, entry := range batch {
			if entry.Event == nil {
				scr.delta(entry.Delta)
				continue
			}
			scr.event(*entry.Event)
			if ended, err := g.add(entry.Event.Body); err != nil {
				return &g.answerJSON, err
			} else if ended {
				return &g.answerJSON, fill(ctx, a.Store(), &g.answerJSON, g.last, scr)
			}
		}
	}
}

// gathered is an answer under construction from the events of its run.
type gathered struct {
	answerJSON
	last  *footnote.StoredResult
	read  bool                // a statement returned rows
	fault footnote.ToolResult // the last statement that returned none
}

// add processes one event. It returns an error for a run that did not finish.
func (g *gathered) add(body footnote.Body) (ended bool, err error) {
	switch b := body.(type) {
	case footnote.ToolResult:
		g.result(b)
	case footnote.AssistantMessage:
		g.Usage.Model = b.Model
	case footnote.Answered:
		g.Answer, g.Footnotes, g.Verified = b.Text, b.Cites, b.Verified
		if b.Unresolved != nil {
			g.Unresolved = b.Unresolved
		}
		if b.Chart != nil {
			g.Chart = b.Chart
		}
	case footnote.RunFailed:
		return true, &footnote.Error{Code: b.Code, Message: b.Message}
	case footnote.RunStopped:
		return true, footnote.Errorf(footnote.Conflict, "The answer was stopped.")
	case footnote.RunFinished:
		g.finished(b)
		return true, nil
	}
	return false, nil
}

func (g *gathered) result(r footnote.ToolResult) {
	if r.Fault != "" {
		g.fault = r
	}
	if r.Result == nil {
		return
	}
	g.last = r.Result
	g.SQL = append(g.SQL, r.Result.SQL)
	// The row count in a table's description is not an answer.
	g.read = g.read || !strings.HasPrefix(r.Name, "describe") && r.Result.SQL != ""
}

// finished sets the outcome of a finished run: it may have been cut short, or its answer may rest on no query.
func (g *gathered) finished(b footnote.RunFinished) {
	g.Usage.Input, g.Usage.Output = b.Usage.Prompt(), b.Usage.Output
	g.Usage.CostUSD, g.Usage.Millis = b.Cost.USD(), b.Millis
	switch b.Reason {
	case model.MaxTokens, model.ContextExceeded:
		g.Outcome, g.Reason = source.Limited, "the answer was cut off at the model's length limit"
	case "max_turns":
		g.Outcome, g.Reason = source.Limited,
			"the limit of model calls for one question (max_turns) was reached; this is the best answer so far"
	case "budget":
		g.Outcome, g.Reason = source.Limited,
			"the limit of money for one question (max_budget_usd) was reached; this is the best answer so far"
	case model.Refusal:
		g.Outcome, g.Reason = source.Refused, "the model refused to answer"
	default:
		if g.fault.Fault != "" && !g.read {
			g.Outcome, g.Reason = g.fault.Fault, "no query of the answer worked. "+g.fault.Content
		}
	}
}

// fill adds the rows of the answer's last query and shows them.
func fill(ctx context.Context, log store.Store, out *answerJSON, last *footnote.StoredResult, scr *screen) error {
	if last == nil {
		return nil
	}
	res, err := readResult(ctx, log, out.Conversation, *last)
	if err != nil {
		return err
	}
	out.Columns, out.Rows = columnsOf(res), rowsJSON(res)
	scr.result(out, res)
	return nil
}

// readResult reads the rows of a stored result.
func readResult(ctx context.Context, s store.Store, conversation string,
	r footnote.StoredResult) (footnote.Result, error) {
	res := footnote.Result{Columns: r.Columns, Truncated: r.Truncated}
	for _, c := range r.Chunks {
		data, err := s.Blob(ctx, conversation, c.Digest)
		if err != nil {
			return res, r.ReadError(err)
		}
		rows, err := footnote.DecodeRows(data, r.Columns)
		if err != nil {
			return res, err
		}
		res.Rows = append(res.Rows, rows...)
	}
	return res, nil
}
