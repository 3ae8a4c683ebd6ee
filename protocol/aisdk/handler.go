package aisdk

import (
	"cmp"
	_ "embed"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/aside"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/tool"
)

// New returns the protocol.
func New() protocol.Protocol { return &handler{} }

// handler serves the protocol's addresses.
type handler struct {
	server protocol.Server
	posts  posts
}

//go:embed openapi.yaml
var description []byte

func (p *handler) Routes(s protocol.Server) protocol.Routes {
	p.server = s
	return protocol.Routes{
		Errors: protocol.Plain, ClientIDs: "/api/ai/", OpenAPI: description,
		List: []protocol.Route{
			{Method: http.MethodPost, Pattern: "/api/ai", Handler: p.post, Held: true},
			{Method: http.MethodGet, Pattern: "/api/ai/{id}", Handler: p.messages},
			{Method: http.MethodGet, Pattern: "/api/ai/{id}/stream", Handler: p.stream, Held: true},
			{Method: http.MethodPost, Pattern: "/api/ai/{id}/stop", Handler: p.stop},
		},
	}
}

// name is the protocol's name in the log and the metrics.
const name = "aisdk"

// Limits on the posts to one chat per minute. A post without anything new counts several times, because a
// client that keeps posting the same thing is stuck in a loop.
const (
	postsPerMinute = 60
	noOpWeight     = 6
)

// post handles POST /api/ai. The response ends when the browser must act.
func (p *handler) post(w http.ResponseWriter, r *http.Request) error {
	if err := checkQuery(r); err != nil {
		return err
	}
	st, err := aside.Do(func() (*protocol.Stream, error) { return p.submit(w, r) })
	if err != nil || st == nil {
		return err
	}
	return p.server.Show(w, r, *st)
}

// submit handles a post. It returns nil when it has written the whole response, and otherwise the run to
// stream.
func (p *handler) submit(w http.ResponseWriter, r *http.Request) (*protocol.Stream, error) {
	body, err := p.server.Body(w, r, protocol.LargerBody)
	if err != nil {
		return nil, err
	}
	post, err := Decode(body, dialectOf(r))
	if err != nil {
		return nil, err
	}
	post.Assistant = cmp.Or(post.Assistant, r.URL.Query().Get("assistant"))
	if err := p.posts.count(p.server.Now(), p.server.Caller(r), post.Chat, 1); err != nil {
		return nil, err
	}
	c := chat{state: &Chat{}, dialect: post.Dialect}
	if c.head, c.found, err = p.server.Find(r, post.Chat); err != nil {
		return nil, err
	}
	turn := agent.Turn{Conversation: c.head.ID}
	if !c.found {
		turn.ClientID = post.Chat
	}
	var plan Plan
	turn.Prepare = func(t *agent.Turn, head footnote.Stream, log []footnote.Event) (err error) {
		c.read(head, log)
		if !c.found && post.Assistant == "" {
			post.Assistant = defaultAssistant(p.server.Assistants(r))
		}
		if plan, err = c.state.Plan(post, *t); err != nil {
			return err
		}
		a, _ := protocol.AssistantOf(p.server.Assistants(r), cmp.Or(head.Assistant, post.Assistant))
		if !a.TakesWhere {
			plan.Turn.Where = nil // other clients may use a key of that name for something else
		}
		if plan.Replay != nil {
			return errReplay
		}
		if !c.found && post.User {
			plan.Turn.History = post.History()
		}
		*t = plan.Turn
		return nil
	}
	ticket, err := p.server.Submit(w, r, turn)
	if errors.Is(err, errReplay) {
		return nil, p.replay(w, r, c, *plan.Replay, agent.Turn{})
	}
	if err != nil {
		return nil, p.countNoOp(r, post, err)
	}
	turn = plan.Turn
	if ticket.Duplicate {
		return nil, p.repeated(w, r, post, c, plan, ticket)
	}
	enc, err := p.encoder(r, c, ticket, turn)
	if err != nil {
		p.server.Discard(ticket)
		return nil, protocol.NotRetryable(err)
	}
	w.Header().Set(streamHeader, "v1")
	return &protocol.Stream{Name: name, Ticket: ticket, Encoder: enc}, nil
}

const streamHeader = "X-Vercel-Ai-Ui-Message-Stream"

// defaultAssistant returns the assistant for a chat that names none: the first that works on files, or else the first
// of all, named by "". The pages that this protocol was made for expect tools for files.
func defaultAssistant(all []agent.AssistantInfo) string {
	for _, a := range all {
		worksOnFiles := func(t agent.ToolInfo) bool { return t.Family == tool.FileRead || t.Family == tool.FileWrite }
		if a.Unavailable == "" && slices.ContainsFunc(a.Tools, worksOnFiles) {
			return a.Name
		}
	}
	return ""
}

// checkQuery refuses query parameters that no route of this protocol knows, because a misspelt one would be ignored.
func checkQuery(r *http.Request) error {
	for name := range r.URL.Query() {
		if name != "dialect" && name != "assistant" {
			return footnote.Errorf(footnote.UnsupportedParameter,
				"There is no query parameter %.40q here; dialect and assistant exist.", name)
		}
	}
	return nil
}

// readDialect returns the dialect of a request without a body.
func readDialect(r *http.Request) (Dialect, error) {
	if err := checkQuery(r); err != nil {
		return Unstated, err
	}
	return ParseDialect(dialectOf(r))
}

// dialectOf returns the dialect that the query parameter or the header names.
func dialectOf(r *http.Request) string {
	if d := r.URL.Query().Get("dialect"); d != "" {
		return d
	}
	return r.Header.Get("X-Footnote-Dialect")
}

// countNoOp counts a post that brought nothing new. It returns err, or a RateLimited error after too many such
// posts.
func (p *handler) countNoOp(r *http.Request, post Post, err error) error {
	if post.User || post.Regenerate {
		return err
	}
	if limited := p.posts.count(p.server.Now(), p.server.Caller(r), post.Chat, noOpWeight); limited != nil {
		return limited
	}
	return err
}

// errReplay ends a Submit of a post that only shows an earlier run again.
var errReplay = errors.New("the post shows an earlier run again")

// repeated responds to a post that brought nothing new.
func (p *handler) repeated(w http.ResponseWriter, r *http.Request, post Post, c chat, plan Plan, t agent.Ticket) error {
	if len(plan.Turn.Answers)+len(plan.Turn.Approvals) > 0 {
		p.server.Discard(t)
		if err := p.countNoOp(r, post, nil); err != nil {
			return err
		}
		return p.replay(w, r, c, plan.IfNothingNew, plan.Turn)
	}
	// The same message was posted at the same time, so its run began after the log was read; or its answer is being
	// made again already.
	c, err := p.load(r, t.Conversation)
	if err != nil {
		return err
	}
	c.dialect = post.Dialect
	return p.replay(w, r, c, Replay{Run: t.Run, After: t.After}, agent.Turn{})
}

// chat is a conversation as this protocol reads it.
type chat struct {
	found   bool
	head    footnote.Stream
	events  []footnote.Event
	state   *Chat
	dialect Dialect
}

// load returns a chat of the caller by the client's id or by our own.
func (p *handler) load(r *http.Request, id string) (c chat, err error) {
	c.state = &Chat{}
	if c.head, c.found, err = p.server.Find(r, id); err != nil || !c.found {
		return c, err
	}
	var log []footnote.Event
	for ev, err := range p.server.Events(r, c.head.ID, 0) {
		if err != nil {
			return c, err
		}
		log = append(log, ev)
	}
	c.read(c.head, log)
	return c, nil
}

// read takes the log of the chat, which is empty for a new one.
func (c *chat) read(head footnote.Stream, log []footnote.Event) {
	c.head, c.found, c.events = head, head.ID != "", log
	for _, ev := range log {
		c.state.Apply(ev)
	}
}

// tools returns the tools of an assistant.
func (p *handler) tools(r *http.Request, assistant string) []agent.ToolInfo {
	a, _ := protocol.AssistantOf(p.server.Assistants(r), assistant)
	return a.Tools
}

func (p *handler) options(r *http.Request, c chat, run string) Options {
	return Options{Dialect: c.dialect, Run: run, Conversation: c.head.ID, Tools: p.tools(r, c.head.Assistant)}
}

// encoder returns the encoder for the response to a turn. It knows which part of the run the client has
// already seen.
func (p *handler) encoder(r *http.Request, c chat, t agent.Ticket, turn agent.Turn) (*Encoder, error) {
	opt := p.options(r, c, t.Run)
	if opt.Conversation = t.Conversation; !c.found {
		opt.Tools = p.tools(r, turn.Assistant)
	}
	enc := NewEncoder(opt)
	enc.About(c.state.Opened)
	if len(turn.Answers)+len(turn.Approvals) == 0 {
		return enc, nil
	}
	for _, ev := range c.events {
		enc.Seen(ev)
	}
	for ev, err := range p.server.Events(r, t.Conversation, c.state.Last) {
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

// replay streams a run from its beginning, past events first, to a client that has posted turn again.
func (p *handler) replay(w http.ResponseWriter, r *http.Request, c chat, shown Replay, turn agent.Turn) error {
	enc := NewEncoder(p.options(r, c, shown.Run))
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
	return p.server.Show(w, r, protocol.Stream{Name: name, Encoder: enc, Ticket: agent.Ticket{
		Conversation: c.head.ID, Run: shown.Run, After: shown.After, Duplicate: true,
	}})
}

// stream handles GET /api/ai/{id}/stream: it streams the message in progress from its beginning. Without
// one it responds 204, which clients take to mean that nothing is missing.
func (p *handler) stream(w http.ResponseWriter, r *http.Request) error {
	dialect, err := readDialect(r)
	if err != nil {
		return err
	}
	head, found, err := p.server.Find(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	if found && head.RunState == "running" {
		c, err := p.load(r, head.ID)
		if err != nil {
			return err
		}
		c.dialect = dialect
		if shown, ok := c.state.Running(head.Run); ok {
			return p.replay(w, r, c, shown, agent.Turn{})
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// stop handles POST /api/ai/{id}/stop. Stopping a run that has already ended is not an error.
func (p *handler) stop(w http.ResponseWriter, r *http.Request) error {
	if err := checkQuery(r); err != nil {
		return err
	}
	head, found, err := p.server.Find(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	if !found {
		return protocol.NoConversation()
	}
	if err := p.server.Stop(r, head.ID); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// messages handles GET /api/ai/{id}: it returns the chat as UIMessages. It leaves out a message in
// progress, because the stream delivers all of it. A chat that does not exist has no messages: pages also ask
// before the first question.
func (p *handler) messages(w http.ResponseWriter, r *http.Request) error {
	dialect, err := readDialect(r)
	if err != nil {
		return err
	}
	c, err := p.load(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	c.dialect = dialect
	if c.found {
		w.Header().Set("X-Conversation-Id", c.head.ID)
	}
	return protocol.WriteValue(w, http.StatusOK, Messages(c.events, p.options(r, c, "")))
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
func (p *posts) count(now time.Time, caller footnote.Principal, chat string, n int) error {
	if chat == "" {
		return nil
	}
	key := postKey{caller.Org, caller.User, chat}
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
