package chatv2

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/aside"
	"github.com/footnotehq/footnote/protocol"
)

// Policies for a message to a conversation that is still answering.
const (
	Reject    = "reject"    // refuse the message
	Enqueue   = "enqueue"   // answer it when the current answer is complete
	Interrupt = "interrupt" // stop the current answer
)

// Settings configure the protocol. The zero value has the defaults.
type Settings struct {
	// OnBusy is the policy for a message when its conversation is still answering: Reject, Enqueue or Interrupt;
	// default Reject.
	OnBusy string
}

// New returns the protocol.
func New(s Settings) protocol.Protocol {
	s.OnBusy = cmp.Or(s.OnBusy, Reject)
	return &handler{Settings: s}
}

// handler serves the protocol's address.
type handler struct {
	Settings
	server protocol.Server
	queues queues
}

func (p *handler) Routes(s protocol.Server) protocol.Routes {
	p.server = s
	return protocol.Routes{
		Prefix: "/api/chat-v2", Errors: envelope,
		List: []protocol.Route{
			{Method: http.MethodPost, Pattern: "/api/chat-v2", Handler: p.post, Held: true},
		},
		Views: map[string]protocol.View{
			"seed": func(log []footnote.Event, after int64) any { return View(log, after) },
		},
	}
}

// envelope writes an error as the protocol's clients expect it.
func envelope(err error, f protocol.Failure) (contentType string, body []byte) {
	return "application/json", AppendError(nil, err, f.RequestID)
}

// post handles POST /api/chat-v2. It returns the whole answer, or a stream to a client that accepts one.
func (p *handler) post(w http.ResponseWriter, r *http.Request) error {
	var run agent.Ticket
	var err error
	aside.Do(func() { run, err = p.take(w, r) })
	if err != nil {
		return err
	}
	if protocol.WantsStream(r) {
		return p.server.Show(w, r, protocol.Stream{
			Name: Door, Ticket: run, Encoder: NewEncoder(run.Conversation, run.Run),
		})
	}
	col := NewCollector(run.Conversation, run.Run)
	if err := p.server.Collect(r, run, "", col); err != nil {
		return err
	}
	body, _, _ := col.Completion()
	return protocol.WriteJSON(w, http.StatusOK, body)
}

// take reads a message and returns the run that answers it.
func (p *handler) take(w http.ResponseWriter, r *http.Request) (run agent.Ticket, err error) {
	body, err := p.server.Body(w, r, 1)
	if err != nil {
		return run, err
	}
	q, err := Decode(body)
	if err != nil {
		return run, err
	}
	if org := p.server.Caller(r).Org; q.OrgID != "" && q.OrgID != org {
		return run, footnote.Errorf(footnote.Forbidden,
			"Your key does not belong to the organisation of orgId. Leave orgId out: the key decides.")
	}
	if q.Assistant != "" {
		a, ok := protocol.AssistantOf(protocol.Unattended(p.server.Assistants(r)), q.Assistant)
		if !ok {
			return run, footnote.Errorf(footnote.ModelNotFound,
				"There is no model named %.100q; GET /v1/models lists them.", q.Assistant)
		}
		q.Assistant = a.Name
	}
	head, err := p.conversation(r, q)
	if err != nil {
		return run, err
	}
	ctx, cancel := p.server.AnswerTime(r)
	defer cancel()
	if p.OnBusy == Enqueue {
		leave, err := p.queues.join(ctx, p.server.Caller(r), head.ID, q)
		if err != nil {
			return run, err
		}
		defer leave()
	}
	return p.submit(ctx, w, r, q, head)
}

// submit submits a message. When the conversation is busy, it follows the configured policy until ctx ends.
func (p *handler) submit(ctx context.Context, w http.ResponseWriter, r *http.Request, q Request,
	head footnote.Stream) (run agent.Ticket, err error) {
	for {
		turn := q.Turn()
		if turn.Conversation = head.ID; head.ID == "" {
			turn.ClientID = cmp.Or(q.ConversationID, q.ClientID())
		}
		ticket, refused := p.server.Submit(w, r, turn)
		if refused == nil || footnote.CodeOf(refused) != footnote.Conflict {
			return ticket, refused
		}
		// Another message is being answered.
		if head, err = p.conversation(r, q); err != nil {
			return run, err
		}
		if head.RunState != "running" || p.OnBusy == Reject {
			return run, refused
		}
		if err := p.server.AwaitIdle(ctx, head, p.OnBusy == Interrupt); err != nil {
			return run, err
		}
	}
}

// conversation returns the conversation of a message. A message without an id gets a new one. Ids that we
// issued must exist; any other id is a name that a client chose.
func (p *handler) conversation(r *http.Request, q Request) (footnote.Stream, error) {
	name := cmp.Or(q.ConversationID, q.ClientID())
	if len(name) > 128 {
		return footnote.Stream{},
			footnote.Errorf(footnote.InvalidRequest, "A conversation id is 1 to 128 bytes of printable UTF-8.")
	}
	head, found, err := p.server.Find(r, name)
	if err == nil && !found && strings.HasPrefix(name, "conv_") {
		err = protocol.NoConversation()
	}
	return head, err
}

// maxQueued is the largest number of messages that may wait for one conversation.
const maxQueued = 16

// queues holds the messages that wait for conversations, in order of arrival. The zero value is ready to use.
type queues struct {
	mu sync.Mutex // guards below
	m  map[string][]chan struct{}
}

// join waits until it is the message's turn. Calling leave admits the next one. It returns a RateLimited
// error when too many messages wait.
func (k *queues) join(ctx context.Context, p footnote.Principal, conversation string,
	q Request) (leave func(), err error) {
	key := conversation
	if key == "" {
		if key = q.ConversationID; key == "" {
			return func() {}, nil // the message starts its own conversation
		}
		key = p.Org + "\x00" + p.User + "\x00" + key
	}
	turn := make(chan struct{})
	k.mu.Lock()
	if len(k.m[key]) > maxQueued {
		k.mu.Unlock()
		return nil, footnote.Errorf(footnote.RateLimited, "%d messages wait for this conversation already.", maxQueued)
	}
	if k.m == nil {
		k.m = map[string][]chan struct{}{}
	}
	if k.m[key] = append(k.m[key], turn); len(k.m[key]) == 1 {
		close(turn)
	}
	k.mu.Unlock()
	leave = func() { k.leave(key, turn) }
	select {
	case <-turn:
		return leave, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

func (k *queues) leave(key string, turn chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	line := k.m[key]
	for i, c := range line {
		if c != turn {
			continue
		}
		line = append(line[:i:i], line[i+1:]...)
		if i == 0 && len(line) > 0 {
			close(line[0])
		}
		break
	}
	if k.m[key] = line; len(line) == 0 {
		delete(k.m, key)
	}
}
