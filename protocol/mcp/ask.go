package mcp

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/protocol"
	ftool "github.com/footnotehq/footnote/tool"
)

type askArgs struct {
	Question     string `json:"question,omitempty" jsonschema:"The question, in any language."`
	Conversation string `json:"conversation,omitempty" jsonschema:"Id of the conversation that the question follows up on."`
	Source       string `json:"source,omitempty" jsonschema:"Ask about this source only; for a new conversation."`
	Continue     string `json:"continue,omitempty" jsonschema:"The continue id of an earlier call: wait for its answer instead of asking."`
	Answer       string `json:"answer,omitempty" jsonschema:"With continue: the person's answer to the question that the analyst asked."`
	WaitSeconds  int    `json:"wait_seconds,omitempty" jsonschema:"How long to wait before a call returns an id to continue with: 1 to 280; default 50."`
}

const maxWait = 280 * time.Second

func (a askArgs) check() error {
	switch {
	case a.Continue == "" && strings.TrimSpace(a.Question) == "":
		return missing("question", "or continue, with the id that an earlier call returned")
	case a.Continue != "" && (a.Question != "" || a.Conversation != "" || a.Source != ""):
		return footnote.Invalidf("continue waits for an earlier question; leave out question, conversation and source.")
	case a.Answer != "" && a.Continue == "":
		return footnote.Invalidf("answer belongs to an earlier question; also set continue.")
	case a.WaitSeconds < 0 || time.Duration(a.WaitSeconds)*time.Second > maxWait:
		return footnote.Invalidf("wait_seconds must be 1 to %d.", int(maxWait.Seconds()))
	}
	return nil
}

// errWaited ends the wait for an answer that takes longer than its client wants to wait.
var errWaited = errors.New("the call has waited long enough")

// ask answers a question by a run, or waits for one that began earlier.
func (p *Protocol) ask(in invocation, args askArgs) (*sdk.CallToolResult, error) {
	if err := args.check(); err != nil {
		return nil, err
	}
	wait := p.Wait
	if args.WaitSeconds > 0 {
		wait = time.Duration(args.WaitSeconds) * time.Second
	}
	progress := newReporter(in.sdk, in.call, in.req)
	defer progress.start()()
	ctx, cancel := context.WithTimeoutCause(in.r.Context(), wait, errWaited)
	defer cancel()
	r := in.r.WithContext(ctx)
	ticket, end, err := p.begun(r, args, progress)
	if err != nil {
		return nil, err
	}
	_, err = p.server.Collect(r, ticket, end)
	switch {
	case end.end != nil: // it has ended, whatever happened to the request since
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errWaited):
		return nil, p.left(in, ctx, ticket)
	case ctx.Err() == nil && err != nil:
		return nil, err
	}
	return p.outcome(in.r, ticket, end.end)
}

// begun submits the question, or finds the run to wait for.
func (p *Protocol) begun(r *http.Request, args askArgs, progress *reporter) (agent.Ticket, *watch, error) {
	if args.Continue != "" {
		return p.resumed(r, args, progress)
	}
	turn := agent.Turn{Protocol: Name, Text: args.Question, OnDisconnect: agent.Continue}
	if args.Source != "" {
		turn.Sources = []string{args.Source}
	}
	if err := protocol.InConversation(p.server, r, &turn, args.Conversation); err != nil {
		return agent.Ticket{}, nil, err
	}
	if turn.Conversation == "" {
		usable := protocol.Unattended(p.server.Assistants(r))
		if len(usable) == 0 {
			return agent.Ticket{}, nil, footnote.Errorf(footnote.ModelNotFound, "You may not use any assistant.")
		}
		turn.Assistant = usable[0].Name
	}
	ticket, err := p.server.Submit(headerOnly{}, r, turn)
	return ticket, &watch{run: ticket.Run, progress: progress}, err
}

// headerOnly takes the response headers that Submit sets, because the SDK writes the response.
type headerOnly struct{}

func (headerOnly) Header() http.Header { return http.Header{} }

func (headerOnly) Write(b []byte) (int, error) { return len(b), nil }

func (headerOnly) WriteHeader(int) {}

// left ends a call whose client has cancelled it or closed the connection.
func (p *Protocol) left(in invocation, ctx context.Context, t agent.Ticket) error {
	if in.call.wasCancelled(ctx, t.Conversation) || p.OnDisconnect == agent.Cancel {
		r := in.r.WithContext(context.WithoutCancel(ctx))
		if err := p.server.Stop(r, t.Conversation); err != nil {
			p.Logger.WarnContext(ctx, "cannot stop a run", "conversation", t.Conversation, "run", t.Run, "err", err)
		}
	}
	return context.Canceled
}

// continueID names a run for the client.
func continueID(conversation, run string) string { return conversation + "." + run }

// resumed finds the run of a continue id. If the client answers its question, the run continues.
func (p *Protocol) resumed(r *http.Request, args askArgs, progress *reporter) (agent.Ticket, *watch, error) {
	unknown := footnote.Errorf(footnote.NotFound, "There is no such question to continue.")
	conversation, run, ok := strings.Cut(args.Continue, ".")
	if !ok {
		return agent.Ticket{}, nil, unknown
	}
	head, found, err := p.server.Find(r, conversation)
	if err != nil {
		return agent.Ticket{}, nil, err
	}
	if !found || head.ID != conversation {
		return agent.Ticket{}, nil, unknown
	}
	past, err := p.read(r, conversation, run)
	if err != nil {
		return agent.Ticket{}, nil, err
	}
	if past.first == 0 {
		return agent.Ticket{}, nil, unknown
	}
	end := &watch{run: run, progress: progress, resumed: past.resumed}
	if args.Answer == "" {
		return agent.Ticket{
			Conversation: conversation, Run: run, After: past.first - 1, Duplicate: true, OnDisconnect: agent.Continue,
		}, end, nil
	}
	if past.question == nil {
		return agent.Ticket{}, nil, footnote.Errorf(footnote.Conflict,
			"The analyst is not waiting for an answer. Leave out answer.")
	}
	ticket, err := p.server.Submit(headerOnly{}, r, agent.Turn{
		Conversation: conversation, Protocol: Name, OnDisconnect: agent.Continue,
		Answers: []ftool.Answer{{CallID: past.question.CallID, Content: args.Answer}},
	})
	return ticket, end, err
}
