package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/aside"
	"github.com/footnotehq/footnote/protocol/aisdk"
	"github.com/footnotehq/footnote/protocol/chart"
)

// aiRoutes are the door of the Vercel AI SDK.
func (s *Server) aiRoutes() {
	s.Handle("/api/ai", Plain, Methods{http.MethodPost: s.holding(s.aiPost)})
	s.Handle("/api/ai/{id}", Plain, get(s.aiMessages))
	s.Handle("/api/ai/{id}/stream", Plain, Methods{http.MethodGet: s.holding(s.aiStream)})
	s.Handle("/api/ai/{id}/stop", Plain, Methods{http.MethodPost: s.aiStop})
}

// Plain is the envelope of clients that show the body of an error to their users as
// it is.
func Plain(err error, _ Failure) (contentType string, body []byte) {
	return "text/plain; charset=utf-8", []byte(footnote.MessageOf(err))
}

// Posts of a chat within a minute. One that brings nothing new counts as several: a
// client that posts again and again what it has posted is in a loop.
const (
	postsPerMinute = 60
	vainPost       = 6
)

// largerBody is how many times larger than other bodies those may be that bring what
// a client holds: all of its chat each time, or the rows of a query.
const largerBody = 8

// aiPost is POST /api/ai. The response ends where the browser must act.
func (s *Server) aiPost(w http.ResponseWriter, r *http.Request) error {
	var st *Streaming
	var err error
	aside.Do(func() { st, err = s.aiTurn(w, r) })
	if err != nil || st == nil {
		return err
	}
	return s.Stream(w, r, *st)
}

// aiTurn takes a post. It returns nil when the whole answer has been written, and
// otherwise what is to be streamed.
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
	c, err := s.aiChat(r, post.Chat)
	if err != nil {
		return nil, err
	}
	c.dialect = post.Dialect
	plan, err := c.state.Plan(post)
	if err != nil {
		return nil, s.vain(r, post, err)
	}
	if plan.Again != nil {
		return nil, s.aiAgain(w, r, c, *plan.Again, agent.Turn{})
	}
	turn := plan.Turn
	if cmp.Or(c.head.Assistant, post.Assistant) != chart.Assistant {
		turn.Where = nil // other clients may have a key of that name for themselves
	}
	turn.OnDisconnect = s.opts.StoredOnDisconnect
	if turn.Conversation = c.head.ID; !c.found {
		turn.ClientID = post.Chat
	}
	ticket, err := s.submit(w, r, turn)
	if err != nil {
		return nil, s.aiRefused(w, r, post, err)
	}
	if ticket.Duplicate {
		s.opts.Engine.Subscribe(ticket).Close()
		if err := s.vain(r, post, nil); err != nil {
			return nil, err
		}
		return nil, s.aiAgain(w, r, c, plan.Late, turn)
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

// dialectOf is what the address or a header says of the client's dialect.
func dialectOf(r *http.Request) string {
	if d := r.URL.Query().Get("dialect"); d != "" {
		return d
	}
	return r.Header.Get("X-Footnote-Dialect")
}

// vain counts a post that brought nothing, and returns err, or that there were too
// many of them.
func (s *Server) vain(r *http.Request, p aisdk.Post, err error) error {
	if p.User || p.Regenerate {
		return err
	}
	if limited := s.posts.count(s.opts.Now(), r, p.Chat, vainPost); limited != nil {
		return limited
	}
	return err
}

// aiRefused looks again at a post that the engine has refused: its twin may have
// come in between, or be just about to.
func (s *Server) aiRefused(w http.ResponseWriter, r *http.Request, p aisdk.Post, refused error) error {
	if footnote.CodeOf(refused) != footnote.Conflict || !p.User {
		return s.vain(r, p, refused)
	}
	for end := time.Now().Add(twinWait); p.ID != "" && time.Now().Before(end); {
		c, err := s.aiChat(r, p.Chat)
		if err != nil {
			return refused
		}
		c.dialect = p.Dialect
		plan, err := c.state.Plan(p)
		switch {
		case err == nil && plan.Again != nil:
			return s.aiAgain(w, r, c, *plan.Again, agent.Turn{})
		case err != nil || c.found && c.head.RunState == "running":
			return refused // another message is being answered
		}
		if sleep(r.Context(), twinPause) != nil {
			return refused
		}
	}
	return refused
}

// aiChat is a conversation as this door reads it.
type aiChat struct {
	found   bool
	head    footnote.Stream
	events  []footnote.Event
	state   *aisdk.Chat
	dialect aisdk.Dialect
}

// aiChat reads a chat of the caller: by the id its client chose, or by one of ours.
func (s *Server) aiChat(r *http.Request, id string) (c aiChat, err error) {
	c.state = &aisdk.Chat{}
	if c.head, c.found, err = s.aiHead(r, id); err != nil || !c.found {
		return c, err
	}
	for ev, err := range s.opts.Log.Events(r.Context(), c.head.ID, 0) {
		if err != nil {
			return c, err
		}
		c.events = append(c.events, ev)
		c.state.Apply(ev)
	}
	return c, nil
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

// toolsOf are the tools of an assistant; the empty name is the default one.
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

// aiEncoder is the encoder of a response to a turn. It knows what of the run its
// client has seen.
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

// aiAgain shows what has happened already, and what still happens, of a run, to a
// client that has posted turn.
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
		Door: "aisdk", Ticket: agent.Ticket{Conversation: c.head.ID, Run: shown.Run}, Encoder: enc, OnDisconnect: agent.Continue,
	}, shown.After)
}

// aiStream is GET /api/ai/{id}/stream: the message that is being written, from its
// beginning. When none is, the answer is 204, which clients take for "all is well".
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

// aiStop is POST /api/ai/{id}/stop. Stopping what does not run is no error.
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
	return footnote.Errorf(footnote.NotFound, "There is no such conversation.")
}

// aiMessages is GET /api/ai/{id}: the chat as UIMessages. A message that is being
// written is not among them; the stream brings it whole. A chat that does not exist
// has no messages: a page asks before its first question, too.
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

// posts counts what is posted to each chat within a minute.
type posts struct {
	mu     sync.Mutex // guards below
	since  time.Time
	counts map[postKey]int
}

type postKey struct{ org, user, chat string }

// mostCounted bounds how many chats are counted; beyond it counting begins anew.
const mostCounted = 100_000

// count adds n to what a chat has posted. The error's code is RateLimited.
func (p *posts) count(now time.Time, r *http.Request, chat string, n int) error {
	if chat == "" {
		return nil
	}
	who := PrincipalOf(r.Context())
	key := postKey{who.Org, who.User, chat}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.since) >= time.Minute || p.counts == nil || len(p.counts) > mostCounted {
		p.since, p.counts = now, map[postKey]int{}
	}
	if p.counts[key] += n; p.counts[key] <= postsPerMinute {
		return nil
	}
	return &footnote.Error{
		Code: footnote.RateLimited, Message: "This chat has posted too often within a minute. Wait a moment, then send a message.",
		RetryAfter: max(time.Second, time.Minute-now.Sub(p.since)),
	}
}
