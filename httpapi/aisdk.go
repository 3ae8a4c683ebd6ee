package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/aside"
	"github.com/footnotehq/footnote/market/chart"
	"github.com/footnotehq/footnote/protocol/aisdk"
)

// aiRoutes registers the door for the Vercel AI SDK.
func (s *Server) aiRoutes() {
	s.Handle("/api/ai", Plain, Methods{http.MethodPost: s.holding(s.aiPost)})
	s.Handle("/api/ai/{id}", Plain, get(s.aiMessages))
	s.Handle("/api/ai/{id}/stream", Plain, Methods{http.MethodGet: s.holding(s.aiStream)})
	s.Handle("/api/ai/{id}/stop", Plain, Methods{http.MethodPost: s.aiStop})
}

// Plain is the error envelope for clients that show the response body to their users unchanged.
func Plain(err error, _ Failure) (contentType string, body []byte) {
	return "text/plain; charset=utf-8", []byte(footnote.MessageOf(err))
}

// Limits on the posts to one chat per minute. A post without anything new counts several times, because a
// client that keeps posting the same thing is stuck in a loop.
const (
	postsPerMinute = 60
	noOpWeight     = 6
)

// largerBody is the factor by which BodyLimit is raised for requests that carry client state: a whole chat,
// or the rows of a query.
const largerBody = 8

// aiPost handles POST /api/ai. The response ends when the browser must act.
func (s *Server) aiPost(w http.ResponseWriter, r *http.Request) error {
	var st *Streaming
	var err error
	aside.Do(func() { st, err = s.aiTurn(w, r) })
	if err != nil || st == nil {
		return err
	}
	return s.Stream(w, r, *st)
}

// aiTurn handles a post. It returns nil when it has written the whole response, and otherwise the run to
// stream.
func (s *Server) aiTurn(w http.ResponseWriter, r *http.Request) (*Streaming, error) {
	body, err := s.body(w, r, largerBody*s.opts.BodyLimit)
	if err != nil {
		return nil, err
	}
	post, err := aisdk.Decode(body, dialectOf(r))
	if err != nil {
		return nil, err
	}
	if err := s.posts.count(s.opts.Now(), r, post.Chat, 1); err != nil {
		return nil, err
	}
	c := aiChat{state: &aisdk.Chat{}, dialect: post.Dialect}
	if c.head, c.found, err = s.aiHead(r, post.Chat); err != nil {
		return nil, err
	}
	turn := agent.Turn{Conversation: c.head.ID, OnDisconnect: s.opts.StoredOnDisconnect}
	if !c.found {
		turn.ClientID = post.Chat
	}
	var plan aisdk.Plan
	turn.Prepare = func(t *agent.Turn, head footnote.Stream, log []footnote.Event) (err error) {
		c.read(head, log)
		if plan, err = c.state.Plan(post, *t); err != nil {
			return err
		}
		if cmp.Or(head.Assistant, post.Assistant) != chart.Assistant {
			plan.Turn.Where = nil // other clients may use a key of that name for something else
		}
		if plan.Again != nil {
			return errShownAgain
		}
		*t = plan.Turn
		return nil
	}
	ticket, err := s.submit(w, r, turn)
	if errors.Is(err, errShownAgain) {
		return nil, s.aiAgain(w, r, c, *plan.Again, agent.Turn{})
	}
	if err != nil {
		return nil, s.countNoOp(r, post, err)
	}
	turn = plan.Turn
	if ticket.Duplicate {
		return nil, s.aiRepeated(w, r, post, c, plan, ticket)
	}
	enc, err := s.aiEncoder(r, c, ticket, turn)
	if err != nil {
		s.opts.Engine.Subscribe(ticket).Close()
		return nil, AfterWork(err)
	}
	w.Header().Set(streamHeader, "v1")
	return &Streaming{Door: turn.Door, Ticket: ticket, Encoder: enc, OnDisconnect: turn.OnDisconnect}, nil
}

const streamHeader = "X-Vercel-Ai-Ui-Message-Stream"

// dialectOf returns the dialect that the query parameter or the header names.
func dialectOf(r *http.Request) string {
	if d := r.URL.Query().Get("dialect"); d != "" {
		return d
	}
	return r.Header.Get("X-Footnote-Dialect")
}

// countNoOp counts a post that brought nothing new. It returns err, or a RateLimited error after too many such
// posts.
func (s *Server) countNoOp(r *http.Request, p aisdk.Post, err error) error {
	if p.User || p.Regenerate {
		return err
	}
	if limited := s.posts.count(s.opts.Now(), r, p.Chat, noOpWeight); limited != nil {
		return limited
	}
	return err
}

// errShownAgain ends a Submit of a post that only shows an earlier run again.
var errShownAgain = errors.New("the post shows an earlier run again")

// aiRepeated responds to a post that brought nothing new.
func (s *Server) aiRepeated(w http.ResponseWriter, r *http.Request, post aisdk.Post, c aiChat, plan aisdk.Plan,
	t agent.Ticket) error {
	if !post.User {
		s.opts.Engine.Subscribe(t).Close()
		if err := s.countNoOp(r, post, nil); err != nil {
			return err
		}
		return s.aiAgain(w, r, c, plan.Late, plan.Turn)
	}
	// The same message was posted at the same time, so its run began after the log was read.
	c, err := s.aiChat(r, t.Conversation)
	if err != nil {
		return err
	}
	c.dialect = post.Dialect
	return s.aiAgain(w, r, c, aisdk.Shown{Run: t.Run, After: t.After}, agent.Turn{})
}

// aiChat is a conversation as this door reads it.
type aiChat struct {
	found   bool
	head    footnote.Stream
	events  []footnote.Event
	state   *aisdk.Chat
	dialect aisdk.Dialect
}

// aiChat loads a chat of the caller by the client's id or by our own.
func (s *Server) aiChat(r *http.Request, id string) (c aiChat, err error) {
	c.state = &aisdk.Chat{}
	if c.head, c.found, err = s.aiHead(r, id); err != nil || !c.found {
		return c, err
	}
	var log []footnote.Event
	for ev, err := range s.opts.Log.Events(r.Context(), c.head.ID, 0) {
		if err != nil {
			return c, err
		}
		log = append(log, ev)
	}
	c.read(c.head, log)
	return c, nil
}

// read takes the log of the chat, which is empty for a new one.
func (c *aiChat) read(head footnote.Stream, log []footnote.Event) {
	c.head, c.found, c.events = head, head.ID != "", log
	for _, ev := range log {
		c.state.Apply(ev)
	}
}

func (s *Server) aiHead(r *http.Request, id string) (head footnote.Stream, found bool, err error) {
	p := PrincipalOf(r.Context())
	if validID(id) {
		head, err = s.mine(r.Context(), p, id)
		if err == nil {
			return head, true, nil
		}
		if err != nil && footnote.CodeOf(err) != footnote.NotFound {
			return footnote.Stream{}, false, err
		}
	}
	if id == "" || len(id) > 128 {
		return footnote.Stream{}, false, nil
	}
	head, err = s.named(r.Context(), p, id)
	if footnote.CodeOf(err) == footnote.NotFound {
		return footnote.Stream{}, false, nil
	}
	return head, err == nil, err
}

// toolsOf returns the tools of an assistant. The empty name means the default assistant.
func (s *Server) toolsOf(r *http.Request, name string) []agent.ToolInfo {
	for i, a := range s.opts.Engine.Assistants(PrincipalOf(r.Context())) {
		if a.Name == name || name == "" && i == 0 {
			return a.Tools
		}
		for _, alias := range a.Aliases {
			if alias == name {
				return a.Tools
			}
		}
	}
	return nil
}

func (s *Server) aiOptions(r *http.Request, c aiChat, run string) aisdk.Options {
	return aisdk.Options{Dialect: c.dialect, Run: run, Conversation: c.head.ID, Tools: s.toolsOf(r, c.head.Assistant)}
}

// aiEncoder returns the encoder for the response to a turn. It knows which part of the run the client has
// already seen.
func (s *Server) aiEncoder(r *http.Request, c aiChat, t agent.Ticket, turn agent.Turn) (*aisdk.Encoder, error) {
	opt := s.aiOptions(r, c, t.Run)
	if opt.Conversation = t.Conversation; !c.found {
		opt.Tools = s.toolsOf(r, turn.Assistant)
	}
	enc := aisdk.NewEncoder(opt)
	enc.About(c.state.Opened)
	if len(turn.Answers)+len(turn.Approvals) == 0 {
		return enc, nil
	}
	for _, ev := range c.events {
		enc.Seen(ev)
	}
	for ev, err := range s.opts.Log.Events(r.Context(), t.Conversation, c.state.Last) {
		if err != nil {
			return nil, err
		}
		if ev.Seq > t.After {
			break
		}
		enc.Seen(ev)
	}
	enc.Answering(turn)
	return enc, nil
}

// aiAgain streams a run from its beginning, past events first, to a client that has posted turn again.
func (s *Server) aiAgain(w http.ResponseWriter, r *http.Request, c aiChat, shown aisdk.Shown, turn agent.Turn) error {
	enc := aisdk.NewEncoder(s.aiOptions(r, c, shown.Run))
	enc.About(c.state.Opened)
	enc.Past(c.events)
	for _, ev := range c.events {
		if ev.Seq <= shown.After {
			enc.Seen(ev)
		}
	}
	if len(turn.Answers)+len(turn.Approvals) > 0 {
		enc.Answering(turn)
	}
	w.Header().Set(streamHeader, "v1")
	w.Header().Set("X-Conversation-Id", c.head.ID)
	return s.Follow(w, r, Streaming{
		Door: "aisdk", Ticket: agent.Ticket{Conversation: c.head.ID, Run: shown.Run}, Encoder: enc,
		OnDisconnect: agent.Continue,
	}, shown.After)
}

// aiStream handles GET /api/ai/{id}/stream: it streams the message in progress from its beginning. Without
// one it responds 204, which clients take to mean that nothing is missing.
func (s *Server) aiStream(w http.ResponseWriter, r *http.Request) error {
	dialect, err := aisdk.ParseDialect(dialectOf(r))
	if err != nil {
		return err
	}
	head, found, err := s.aiHead(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	if found && head.RunState == "running" {
		c, err := s.aiChat(r, head.ID)
		if err != nil {
			return err
		}
		c.dialect = dialect
		if shown, ok := c.state.Running(head.Run); ok {
			return s.aiAgain(w, r, c, shown, agent.Turn{})
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// aiStop handles POST /api/ai/{id}/stop. Stopping a run that has already ended is not an error.
func (s *Server) aiStop(w http.ResponseWriter, r *http.Request) error {
	head, found, err := s.aiHead(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	if !found {
		return noChat()
	}
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	if err := s.opts.Engine.Stop(ctx, head.ID, "user"); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func noChat() error {
	return noConversation()
}

// aiMessages handles GET /api/ai/{id}: it returns the chat as UIMessages. It leaves out a message in
// progress, because the stream delivers all of it. A chat that does not exist has no messages: pages also ask
// before the first question.
func (s *Server) aiMessages(w http.ResponseWriter, r *http.Request) error {
	dialect, err := aisdk.ParseDialect(dialectOf(r))
	if err != nil {
		return err
	}
	c, err := s.aiChat(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	c.dialect = dialect
	data, err := json.Marshal(aisdk.Messages(c.events, s.aiOptions(r, c, "")))
	if err != nil {
		return err
	}
	if c.found {
		w.Header().Set("X-Conversation-Id", c.head.ID)
	}
	return writeJSON(w, http.StatusOK, data)
}

// posts counts the posts to each chat per minute.
type posts struct {
	mu     sync.Mutex // guards below
	since  time.Time
	counts map[postKey]int
}

type postKey struct{ org, user, chat string }

// maxCounted limits the number of chats counted; beyond it all counts start over.
const maxCounted = 100_000

// count adds n to the posts of a chat. It returns a RateLimited error when there are too many.
func (p *posts) count(now time.Time, r *http.Request, chat string, n int) error {
	if chat == "" {
		return nil
	}
	principal := PrincipalOf(r.Context())
	key := postKey{principal.Org, principal.User, chat}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.since) >= time.Minute || p.counts == nil || len(p.counts) > maxCounted {
		p.since, p.counts = now, map[postKey]int{}
	}
	if p.counts[key] += n; p.counts[key] <= postsPerMinute {
		return nil
	}
	return &footnote.Error{
		Code:       footnote.RateLimited,
		Message:    "This chat has posted too often within a minute. Wait a moment, then send a message.",
		RetryAfter: max(time.Second, time.Minute-now.Sub(p.since)),
	}
}
