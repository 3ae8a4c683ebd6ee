package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/protocol"
	ftool "github.com/footnotehq/footnote/tool"
)

// Answer is the structured content of an answer.
type Answer struct {
	// Status is complete, waiting (for a person) or running. With the latter two, Continue is the id to continue with.
	Status       string                    `json:"status"`
	Answer       string                    `json:"answer,omitempty"`
	Footnotes    []Footnote                `json:"footnotes"`
	Unsourced    []Unsourced               `json:"unsourced,omitempty"` // numbers without a footnote
	Results      []Result                  `json:"results"`             // that the footnotes cite, or the run stored
	Verified     []footnote.VerifiedResult `json:"verified,omitempty"`  // results of verified queries
	Chart        json.RawMessage           `json:"chart,omitempty"`
	Cost         Cost                      `json:"cost"`
	StopReason   string                    `json:"stop_reason,omitempty"`
	Conversation string                    `json:"conversation"`
	Run          string                    `json:"run"`
	Continue     string                    `json:"continue,omitempty"`
	Question     *Question                 `json:"question,omitempty"` // what the analyst asks the person
	Approvals    []ApprovalRequired        `json:"approvals,omitempty"`
}

// Footnote is the evidence for a number of an answer. Start and End count UTF-16 units of the answer.
type Footnote struct {
	footnote.Cite
	Source string `json:"source,omitempty"`
	SQL    string `json:"sql,omitempty"`
}

// Unsourced is a number without evidence.
type Unsourced = footnote.Unresolved

// Result is a stored result.
type Result struct {
	ID        string            `json:"id"` // for the tool result
	Name      string            `json:"name"`
	Source    string            `json:"source,omitempty"`
	SQL       string            `json:"sql,omitempty"`
	Columns   []footnote.Column `json:"columns"`
	RowCount  int               `json:"row_count"`
	Truncated bool              `json:"truncated,omitempty"`
}

// Cost is what an answer has cost so far.
type Cost struct {
	USD      float64 `json:"usd"`
	Unpriced bool    `json:"unpriced,omitempty"` // the model's price is unknown; USD uses the highest known one
	Tokens   int64   `json:"tokens"`
	Millis   int64   `json:"ms"`
}

// Question is a question of the analyst to the person.
type Question struct {
	CallID  string   `json:"-"`
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"`
}

// ApprovalRequired is a call that a person must approve in the web app.
type ApprovalRequired struct {
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input,omitempty"`
	Reason string          `json:"reason,omitempty"` // why this call needs an approval
}

// The states of an answer.
const (
	complete = "complete"
	waiting  = "waiting"
	running  = "running"
)

// past holds the events of a run that are in the log.
type past struct {
	first, resumed int64 // events: the run's first, and the newest at which it continued
	answered       *footnote.Answered
	text           string // of the newest message, for an answer that was stopped
	cost           Cost
	reason         string
	results        map[string]footnote.StoredResult // of the whole conversation
	order          []string                         // names of the results of this run
	question       *Question                        // open
	approvals      []ApprovalRequired               // open

	calls map[string]openCall
	run   string
}

// openCall is a call without a result.
type openCall struct {
	name, family string
	input        json.RawMessage
	approval     bool   // asked for, and not given
	reason       string // of the approval
}

// read reads the log of a conversation for one of its runs.
func (p *Protocol) read(r *http.Request, conversation, run string) (*past, error) {
	out := &past{run: run, results: map[string]footnote.StoredResult{}, calls: map[string]openCall{}}
	for ev, err := range p.server.Events(r, conversation, 0) {
		if err != nil {
			return nil, err
		}
		out.add(ev)
	}
	out.open()
	return out, nil
}

// add takes in the next event of the conversation.
func (o *past) add(ev footnote.Event) {
	switch b := ev.Body.(type) {
	case footnote.QueryRun:
		o.results[b.Result.ID] = b.Result
	case footnote.ToolResult:
		o.result(ev, b)
	}
	if ev.Run != o.run {
		return
	}
	if o.first == 0 {
		o.first = ev.Seq
	}
	switch b := ev.Body.(type) {
	case footnote.RunResumed:
		o.resumed = ev.Seq
	case footnote.AssistantMessage:
		o.message(b)
	case footnote.ApprovalAsked:
		o.approval(b.CallID, true, b.Reason)
	case footnote.ApprovalGiven:
		o.approval(b.CallID, false, "")
	case footnote.Answered:
		o.answered = &b
	case footnote.RunFinished:
		o.ended(b.Reason, b.Usage, b.Cost, b.Millis)
	case footnote.RunStopped:
		o.ended("stopped by "+b.By, b.Usage, b.Cost, b.Millis)
	}
}

func (o *past) result(ev footnote.Event, b footnote.ToolResult) {
	if b.Result != nil {
		o.results[b.Result.ID] = *b.Result
		if ev.Run == o.run {
			o.order = append(o.order, b.Result.ID)
		}
	}
	if ev.Run == o.run {
		delete(o.calls, b.CallID)
	}
}

func (o *past) message(m footnote.AssistantMessage) {
	text := ""
	for _, b := range agent.Shown(m.Blocks) {
		switch b.Kind {
		case model.TextBlock:
			text += b.Text
		case model.ToolUseBlock:
			o.calls[b.ID] = openCall{name: b.Name, family: m.Tools[b.Name].Family, input: b.Input}
		}
	}
	if text != "" {
		o.text = text
	}
}

func (o *past) approval(call string, asked bool, reason string) {
	if c, ok := o.calls[call]; ok {
		c.approval, c.reason = asked, reason
		o.calls[call] = c
	}
}

func (o *past) ended(reason string, u footnote.Usage, c footnote.Cost, millis int64) {
	o.reason = reason
	o.cost = Cost{USD: c.USD(), Unpriced: c.Unpriced, Tokens: u.Prompt() + u.Output, Millis: millis}
	clear(o.calls)
}

// open finds what the run waits for.
func (o *past) open() {
	for id, c := range o.calls {
		switch {
		case c.approval:
			o.approvals = append(o.approvals, ApprovalRequired{Tool: c.name, Input: c.input, Reason: c.reason})
		case c.family == ftool.Question:
			var q struct {
				Question string   `json:"question"`
				Options  []string `json:"options"`
			}
			if json.Unmarshal(c.input, &q) == nil {
				o.question = &Question{CallID: id, Text: q.Question, Options: q.Options}
			}
		}
	}
}

// outcome returns the result of a call whose run has ended with end, waits for a person, or, if end is nil, continues.
func (p *Protocol) outcome(r *http.Request, t agent.Ticket, end footnote.Body) (*sdk.CallToolResult, error) {
	log, err := p.read(r, t.Conversation, t.Run)
	if err != nil {
		return nil, err
	}
	a := log.answer(t.Conversation)
	switch end.(type) {
	case nil:
		a.Status, a.Continue = running, continueID(t.Conversation, t.Run)
	case footnote.RunParked:
		a.Status, a.Continue = waiting, continueID(t.Conversation, t.Run)
		a.Question, a.Approvals = log.question, log.approvals
		if a.Question == nil && len(a.Approvals) == 0 { // the client's own tools, which clients of MCP do not have
			if err := p.server.Stop(r, t.Conversation); err != nil {
				return nil, err
			}
			return nil, protocol.RunError(end)
		}
	default:
		if err := protocol.RunError(end); err != nil {
			return nil, err
		}
		a.Status = complete
	}
	return succeeded(a.text(), a)
}

// answer returns what the log has of the answer.
func (o *past) answer(conversation string) Answer {
	a := Answer{
		Answer: o.text, Footnotes: []Footnote{}, Results: []Result{}, Cost: o.cost, StopReason: o.reason,
		Conversation: conversation, Run: o.run,
	}
	named := map[string]bool{}
	if o.answered != nil {
		a.Answer, a.Chart, a.Verified = o.answered.Text, o.answered.Chart, o.answered.Verified
		cites, unresolved := protocol.UTF16(*o.answered)
		a.Unsourced = unresolved
		for _, c := range cites {
			res := o.results[c.Result]
			a.Footnotes = append(a.Footnotes, Footnote{Cite: c, Source: res.Source, SQL: res.SQL})
			a.Results = o.named(a.Results, named, conversation, c.Result)
		}
	}
	for _, name := range o.order {
		a.Results = o.named(a.Results, named, conversation, name)
	}
	return a
}

// named appends a result, unless it is there already.
func (o *past) named(list []Result, seen map[string]bool, conversation, name string) []Result {
	res, ok := o.results[name]
	if !ok || seen[name] {
		return list
	}
	seen[name] = true
	return append(list, Result{
		ID: conversation + "." + name, Name: name, Source: res.Source, SQL: res.SQL, Columns: res.Columns,
		RowCount: res.RowCount, Truncated: res.Truncated,
	})
}

// text returns the answer for clients that show or read only text.
func (a Answer) text() string {
	var b strings.Builder
	switch {
	case a.Status == running:
		fmt.Fprintf(&b, "The analyst is still working. Call ask with continue=%q to wait for the answer.", a.Continue)
	case a.Question != nil:
		fmt.Fprintf(&b, "The analyst asks: %s", a.Question.Text)
		for _, o := range a.Question.Options {
			fmt.Fprintf(&b, "\n- %s", o)
		}
		fmt.Fprintf(&b, "\n\nLet the person answer, then call ask with continue=%q and answer.", a.Continue)
	case a.Status == waiting:
		fmt.Fprintf(&b, "A person must approve in the web app: %s. Then call ask with continue=%q.",
			a.Approvals[0].Tool, a.Continue)
	default:
		b.WriteString(a.Answer)
		a.notes(&b)
	}
	return b.String()
}

// maxNotes is the number of footnotes in the text of an answer; the structured content has all.
const maxNotes = 30

// notes writes the footnotes as text.
func (a Answer) notes(b *strings.Builder) {
	if len(a.Footnotes) > 0 {
		b.WriteString("\n\nFootnotes:")
	}
	for i, f := range a.Footnotes {
		if i == maxNotes {
			fmt.Fprintf(b, "\n… and %d more", len(a.Footnotes)-maxNotes)
			break
		}
		fmt.Fprintf(b, "\n- %s = %s", f.Text, f.where())
	}
	for i, u := range a.Unsourced {
		if i == 0 {
			b.WriteString("\n\nWithout evidence in the data:")
		}
		fmt.Fprintf(b, " %s", u.Text)
	}
	if len(a.Results) > 0 {
		b.WriteString("\n\nResults:")
	}
	for _, r := range a.Results {
		fmt.Fprintf(b, "\n- %s (%s): %s", r.Name, r.Source, strings.Join(strings.Fields(r.SQL), " "))
	}
}

// where says in words which cell a footnote cites.
func (f Footnote) where() string {
	switch {
	case f.Formula != "":
		return f.Formula + " = " + f.Value
	case f.Row != nil:
		return fmt.Sprintf("%s in row %d, column %s of %s", f.Value, *f.Row+1, f.Column, f.Result)
	default:
		return f.Value + " of " + f.Result
	}
}
