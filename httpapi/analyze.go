package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/localschema"
	"github.com/footnotehq/footnote/protocol/analyze"
)

// analyzeRoutes registers the door for pages that run the queries themselves.
func (s *Server) analyzeRoutes() {
	s.Handle("/api/analyze", Native, Methods{
		http.MethodGet:  s.holding(s.analyzeGet),
		http.MethodPost: s.holding(s.analyzePost),
	})
	s.Handle("/api/analyze/schema", Native, Methods{http.MethodPost: s.analyzeSchema})
	s.Handle("/api/analyze/tool-result", Native, Methods{http.MethodPost: s.toolResult})
}

// analyzePost handles POST /api/analyze. The stream stays open while the browser works.
func (s *Server) analyzePost(w http.ResponseWriter, r *http.Request) error {
	body, err := s.Body(w, r)
	if err != nil {
		return err
	}
	q, err := analyze.Decode(body)
	if err != nil {
		return err
	}
	return s.analyze(w, r, q)
}

// analyzeParams lists the parameters of GET /api/analyze; "after" is the position of a reader that cannot
// send Last-Event-ID.
var analyzeParams = []string{"question", "tier", "schema", "request_id", "sessionId", "assistant", "after"}

// analyzeGet handles GET /api/analyze, for an EventSource.
func (s *Server) analyzeGet(w http.ResponseWriter, r *http.Request) error {
	if err := s.mayBeginByGet(r); err != nil {
		return err
	}
	v := r.URL.Query()
	for name, values := range v {
		if !slices.Contains(analyzeParams, name) || len(values) > 1 {
			return footnote.Errorf(footnote.InvalidRequest, "The parameters are %s, each at most once.",
				strings.Join(analyzeParams, ", "))
		}
	}
	q := analyze.Question{
		Question: v.Get("question"), Tier: v.Get("tier"), RequestID: v.Get("request_id"), SessionID: v.Get("sessionId"),
		Assistant: v.Get("assistant"),
	}
	if id := v.Get("schema"); id != "" {
		schema, ok := s.schemas.get(ownerKey(r)+id, s.opts.Now())
		if !ok && q.RequestID == "" {
			return noSchema()
		}
		if q.Schema = &schema; !ok {
			q.Schema = nil // a run that has already begun can still be shown
			return s.analyzeAttached(w, r, q, noSchema())
		}
	}
	if err := q.Check(); err != nil {
		return err
	}
	return s.analyze(w, r, q)
}

func noSchema() error {
	return footnote.Errorf(footnote.NotFound,
		"The schema is not known any more. Post it to /api/analyze/schema, then ask again.")
}

// mayBeginByGet rejects a GET that would start a run on behalf of another site. Any page can make a browser
// send such a GET, and the run would cost the user money.
func (s *Server) mayBeginByGet(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if scopeOf(r.Context()).withKey || r.Header.Get("Sec-Fetch-Site") == "same-origin" ||
		origin != "" && s.origins[origin] {
		return nil
	}
	return footnote.Errorf(footnote.Forbidden,
		"A question by GET needs an API key, or a page of this server (Sec-Fetch-Site: same-origin). Programs can "+
			"POST it.")
}

// analyze shows the run of a question: the one already begun under its request_id, or a new one.
func (s *Server) analyze(w http.ResponseWriter, r *http.Request, q analyze.Question) error {
	c, err := s.analyzed(r, q)
	if err != nil {
		return err
	}
	if c.run != "" {
		return s.analyzeAgain(w, r, c)
	}
	if r.Header.Get("Last-Event-ID") != "" {
		// The reader reconnects, but we cannot tell what it was reading. Stop it, because asking again would
		// cost again.
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	turn := q.Turn(c.schema)
	turn.OnDisconnect = s.opts.StoredOnDisconnect
	if c.head.Assistant == "" && turn.Assistant == "" && s.has(r, analyze.Assistant) {
		turn.Assistant = analyze.Assistant
	}
	ticket, err := s.submit(w, r, turn)
	if err != nil {
		return s.analyzeRefused(w, r, q, err)
	}
	enc := analyze.NewEncoder(s.analyzeOptions(r, ticket.Conversation, cmp.Or(c.head.Assistant, turn.Assistant),
		ticket.Run))
	return s.Stream(w, r, Streaming{Door: analyze.Door, Ticket: ticket, Encoder: enc, OnDisconnect: turn.OnDisconnect})
}

// has reports whether the caller has an assistant of that name.
func (s *Server) has(r *http.Request, name string) bool {
	return slices.ContainsFunc(s.opts.Engine.Assistants(PrincipalOf(r.Context())), func(a agent.AssistantInfo) bool {
		return a.Name == name
	})
}

// duplicateWait is how long a question waits for the run of a concurrent identical request to begin.
const duplicateWait = 10 * time.Second

// duplicatePause is the pause between two checks for that run.
const duplicatePause = 20 * time.Millisecond

// sleep waits for d, or returns the cause when ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// analyzeRefused looks for the run of a question that the engine refused: a concurrent request with the same
// id may have started it.
func (s *Server) analyzeRefused(w http.ResponseWriter, r *http.Request, q analyze.Question, refused error) error {
	if footnote.CodeOf(refused) != footnote.Conflict || q.RequestID == "" {
		return refused
	}
	end := time.Now().Add(duplicateWait)
	for time.Now().Before(end) {
		c, err := s.analyzed(r, q)
		if err != nil {
			return err
		}
		if c.run != "" {
			return s.analyzeAgain(w, r, c)
		}
		if q.SessionID != "" && !c.busy {
			return refused
		}
		if sleep(r.Context(), duplicatePause) != nil {
			return refused
		}
	}
	return refused
}

// analyzeAttached shows a run that has already begun, or returns otherwise.
func (s *Server) analyzeAttached(w http.ResponseWriter, r *http.Request, q analyze.Question, otherwise error) error {
	c, err := s.analyzed(r, q)
	if err != nil {
		return err
	}
	if c.run == "" {
		return otherwise
	}
	return s.analyzeAgain(w, r, c)
}

// analyzedChat is the conversation of a question, as this door reads it.
type analyzedChat struct {
	head   footnote.Stream
	events []footnote.Event
	busy   bool
	schema string // schema already in the conversation
	run    string // run of this question; empty: none yet
	begin  int64  // last event before the run
	end    int64  // last event of the run; 0 while it is running
}

// analyzed reads the conversation that a question names, if it exists.
func (s *Server) analyzed(r *http.Request, q analyze.Question) (c analyzedChat, err error) {
	switch {
	case q.SessionID != "":
		c.head, err = s.conversation(r, q.SessionID)
	case q.RequestID != "":
		p := PrincipalOf(r.Context())
		c.head, err = s.named(r.Context(), p, q.ClientID())
		if footnote.CodeOf(err) == footnote.NotFound {
			return analyzedChat{}, nil
		}
	default:
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.busy = c.head.RunState != ""
	for ev, err := range s.opts.Log.Events(r.Context(), c.head.ID, 0) {
		if err != nil {
			return c, err
		}
		c.events = append(c.events, ev)
		c.note(ev, q.RequestID)
	}
	if c.run != "" && c.end == 0 && c.head.Run != c.run && c.begin < c.head.Last {
		c.end = c.head.Last // the run is over, and its end is missing
	}
	return c, nil
}

// note updates c with one event.
func (c *analyzedChat) note(ev footnote.Event, request string) {
	if m, ok := ev.Body.(footnote.UserMessage); ok {
		if schema, ok := localschema.Parse(m.Context); ok {
			c.schema = schema.Text()
		}
		if m.ID == request && request != "" {
			c.run, c.begin, c.end = ev.Run, ev.Seq-1, 0
		}
	}
	if footnote.Terminal(ev.Body) && ev.Run == c.run {
		c.end = ev.Seq
	}
}

// analyzeAgain shows a run from the reader's position on. When nothing is left it responds 204, which makes
// an EventSource stop.
func (s *Server) analyzeAgain(w http.ResponseWriter, r *http.Request, c analyzedChat) error {
	from := readerPosition(r)
	var preface []byte
	if last := c.events[len(c.events)-1].Seq; from.Seq > last {
		// The events that the client read no longer exist, so show the run from its beginning. Frames of this
		// door have no names; a comment announces the reset.
		preface = fmt.Appendf(nil, ": reset: the log ends at %d, before %d; the answer comes from its beginning\n\n",
			last, from.Seq)
		w.Header().Set(resetHeader, strconv.FormatInt(last, 10))
		from = analyze.Position{}
	}
	if c.end > 0 && from.Seq >= c.end {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	opt := s.analyzeOptions(r, c.head.ID, c.head.Assistant, c.run)
	opt.From = from
	enc := analyze.NewEncoder(opt)
	for _, ev := range c.events {
		if ev.Seq <= from.Seq {
			enc.Event(nil, ev)
		}
	}
	w.Header().Set("X-Conversation-Id", c.head.ID)
	return s.Follow(w, r, Streaming{
		Door: analyze.Door, Ticket: agent.Ticket{Conversation: c.head.ID, Run: c.run}, Encoder: enc,
		OnDisconnect: agent.Continue, Preface: preface,
	}, max(from.Seq, c.begin))
}

// readerPosition returns the reader's position from Last-Event-ID, which a browser sends by itself, or from
// the address.
func readerPosition(r *http.Request) analyze.Position {
	for _, v := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")} {
		if p, ok := analyze.ParsePosition(v); ok {
			return p
		}
	}
	return analyze.Position{}
}

func (s *Server) analyzeOptions(r *http.Request, conversation, assistant, run string) analyze.Options {
	return analyze.Options{
		Run: run, Tools: s.toolsOf(r, assistant),
		Rows: func(res footnote.StoredResult) (json.RawMessage, error) {
			rows, err := s.page(r.Context(), conversation, res, 0, analyze.MostRows)
			if err != nil {
				return nil, err
			}
			return json.Marshal(rows)
		},
	}
}

// toolResult handles POST /api/analyze/tool-result.
func (s *Server) toolResult(w http.ResponseWriter, r *http.Request) error {
	body, err := s.body(w, r, largerBody*s.opts.BodyLimit)
	if err != nil {
		return err
	}
	turn, err := analyze.DecodeResult(body)
	if err != nil {
		return err
	}
	turn.OnDisconnect = s.opts.StoredOnDisconnect
	ticket, err := s.submit(w, r, turn)
	if err != nil {
		return err
	}
	s.opts.Engine.Subscribe(ticket).Close()
	return writeValue(w, http.StatusOK, struct {
		OK        bool `json:"ok"`
		Duplicate bool `json:"duplicate"`
	}{true, ticket.Duplicate})
}

// analyzeSchema handles POST /api/analyze/schema. It stores a schema for a later question by GET, because a
// URL has no room for one.
func (s *Server) analyzeSchema(w http.ResponseWriter, r *http.Request) error {
	body, err := s.Body(w, r)
	if err != nil {
		return err
	}
	schema, err := analyze.DecodeSchema(body)
	if err != nil {
		return err
	}
	text := schema.Text()
	sum := sha256.Sum256([]byte(text))
	id := "schema_" + hex.EncodeToString(sum[:16])
	s.schemas.put(ownerKey(r), id, schema, len(text), s.opts.Now())
	return writeValue(w, http.StatusOK, struct {
		Schema    string `json:"schema"`
		ExpiresIn int    `json:"expires_in"` // seconds without use
	}{id, int(schemaIdle.Seconds())})
}

// Limits for schemas, which are kept in memory only.
const (
	schemaIdle        = 5 * time.Minute // time without use
	maxSchemas        = 1_000
	maxSchemasPerUser = 20       // per user, so that no user evicts the schemas of others
	schemaBytes       = 64 << 20 // all schemas together, as text
)

// schemas holds the schemas posted for questions by GET. Unused ones expire on their own. The zero value is
// ready to use.
type schemas struct {
	mu    sync.Mutex // guards below
	m     map[string]*keptSchema
	sweep *time.Timer // nil when no schemas are kept
}

type keptSchema struct {
	schema localschema.Schema
	size   int
	used   time.Time
}

// ownerKey returns the key prefix for a user's schemas, which separates them from those of other users.
func ownerKey(r *http.Request) string {
	p := PrincipalOf(r.Context())
	return p.Org + "\x00" + p.User + "\x00"
}

// put stores a schema under the owner's key and its id. It evicts the oldest ones when there are too many.
func (k *schemas) put(owner, id string, schema localschema.Schema, size int, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.m == nil {
		k.m = map[string]*keptSchema{}
	}
	k.drop(now)
	delete(k.m, owner+id)
	for k.full(owner, maxSchemasPerUser-1, schemaBytes) {
	}
	for k.full("", maxSchemas-1, schemaBytes-size) {
	}
	k.m[owner+id] = &keptSchema{schema, size, now}
	if k.sweep == nil {
		k.sweep = time.AfterFunc(schemaIdle, k.sweepIdle)
	}
}

// drop forgets schemas that have been idle too long. k.mu must be held.
func (k *schemas) drop(now time.Time) {
	maps.DeleteFunc(k.m, func(_ string, s *keptSchema) bool { return now.Sub(s.used) >= schemaIdle })
}

// swept drops idle schemas, and schedules the next sweep while any are left.
func (k *schemas) sweepIdle() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(time.Now())
	if len(k.m) == 0 {
		k.sweep = nil
		return
	}
	k.sweep.Reset(schemaIdle / 5)
}

// full drops the oldest schema of an owner, or of all owners, when there are more than most of them or they
// take more than bytes. k.mu must be held.
func (k *schemas) full(owner string, most, bytes int) bool {
	oldest := ""
	for name, s := range k.m {
		if !strings.HasPrefix(name, owner) {
			continue
		}
		most--
		bytes -= s.size
		if oldest == "" || s.used.Before(k.m[oldest].used) {
			oldest = name
		}
	}
	if oldest == "" || most >= 0 && bytes >= 0 {
		return false
	}
	delete(k.m, oldest)
	return true
}

func (k *schemas) get(key string, now time.Time) (localschema.Schema, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.m[key]
	if s == nil || now.Sub(s.used) >= schemaIdle {
		delete(k.m, key)
		return localschema.Schema{}, false
	}
	s.used = now
	return s.schema, true
}
