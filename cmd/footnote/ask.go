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
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite"
)

type askCmd struct {
	Question []string `arg:"" help:"The question."`
	Continue bool     `short:"c" help:"Continue the terminal's last conversation."`
	JSON     bool     `name:"json" help:"Print one JSON object instead."`
}

// Help is shown by footnote ask --help.
func (askCmd) Help() string {
	return `Without a source, it asks the demo shop:

  footnote ask "Which city has the most customers?"
  footnote ask --source sales.csv "total revenue by month"
  footnote ask --continue "only 2024"

Without a key, the built-in offline planner answers. To connect a model:

  export ANTHROPIC_API_KEY=…
  export ANTHROPIC_BASE_URL=http://127.0.0.1:11434 FOOTNOTE_MODEL=your-model   (a local one)

Exit codes: 0 answered, possibly after correcting a query; 1 failed, or no query worked; 2 usage;
3 the model refused, or all queries were refused; 4 a limit was reached.`
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
	a, err := openToAsk(ctx, c, std)
	if err != nil && cmd.JSON {
		none := newAnswer()
		none.Outcome, none.Reason = failed, app.OneLine(err)
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
		if turn.Conversation, err = lastConversation(ctx, a); err != nil {
			return err
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
	}
	how := sqlite.Options{Wait: askWait}
	_, seen := terminal(std.err)
	if seen {
		how.Waiting = func() { fmt.Fprint(std.err, "waiting for another question in this data folder") }
		defer fmt.Fprint(std.err, "\r\x1b[K")
	}
	a, err := app.New(ctx, c, app.Options{
		Version: version, Modules: modules(), Folder: app.TerminalFolder, File: how,
		Logger: app.NewLogger(std.err, c, "error"), Progress: loading(std.err),
	})
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
	return answer.exit()
}

// self returns the principal of the person at the terminal.
func self() footnote.Principal {
	p := footnote.Principal{Org: "local", User: "local"}
	if u, err := user.Current(); err == nil && u.Username != "" {
		p.User = u.Username
	}
	return p
}

func lastConversation(ctx context.Context, a *app.App) (string, error) {
	p := self()
	heads, _, err := a.Store().List(ctx, store.Page{Org: p.Org, User: p.User, Kind: "conversation", Limit: 1})
	if err != nil {
		return "", err
	}
	if len(heads) == 0 {
		return "", &exit{exitUsage, errors.New("there is no conversation to continue; ask without --continue first")}
	}
	return heads[0].ID, nil
}

// The outcomes of a question.
const (
	answered = "answered"
	failed   = "failed"
	refused  = "refused"
	limited  = "limited"
)

// askOutcome maps the error of a run to its outcome.
func askOutcome(err error) string {
	switch footnote.CodeOf(err) {
	case footnote.BudgetExceeded, footnote.AgentTimeout, footnote.RateLimited, footnote.InputTooLong:
		return limited
	default:
		return failed
	}
}

// exit returns the error that carries the outcome's exit code.
func (a *answerJSON) exit() error {
	code := map[string]int{answered: exitDone, refused: exitRefused, limited: exitLimit}[a.Outcome]
	switch {
	case a.Outcome == failed:
		code = exitFailed
	case code == exitDone:
		return nil
	}
	return &exit{code, errors.New(a.Reason)}
}

// answerJSON is the output of ask --json.
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
	Outcome      string                `json:"outcome"` // answered, failed, refused or limited
	Reason       string                `json:"reason"`  // explains any outcome other than answered
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
		g.Answer, g.Footnotes = b.Text, b.Cites
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
		g.Outcome, g.Reason = limited, "the answer was cut off at the model's length limit"
	case "max_turns":
		g.Outcome, g.Reason = limited,
			"the limit of model calls for one question (max_turns) was reached; this is the best answer so far"
	case "budget":
		g.Outcome, g.Reason = limited,
			"the limit of money for one question (max_budget_usd) was reached; this is the best answer so far"
	case model.Refusal:
		g.Outcome, g.Reason = refused, "the model refused to answer"
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
