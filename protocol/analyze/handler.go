package analyze

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
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
	"github.com/footnotehq/footnote/protocol"
)

// New returns the protocol.
func New() protocol.Protocol { return &handler{} }

// handler serves the protocol's addresses.
type handler struct {
	server  protocol.Server
	schemas schemas
}

//go:embed openapi.yaml
var description []byte

func (p *handler) Routes(s protocol.Server) protocol.Routes {
	p.server = s
	return protocol.Routes{OpenAPI: description, List: []protocol.Route{
		{Method: http.MethodGet, Pattern: "/api/analyze", Handler: p.get, Held: true},
		{Method: http.MethodPost, Pattern: "/api/analyze", Handler: p.post, Held: true},
		{Method: http.MethodPost, Pattern: "/api/analyze/schema", Handler: p.schema},
		{Method: http.MethodPost, Pattern: "/api/analyze/tool-result", Handler: p.toolResult},
	}}
}

// post handles POST /api/analyze. The stream stays open while the browser works.
func (p *handler) post(w http.ResponseWriter, r *http.Request) error {
	var q Question
	if err := p.server.Read(w, r, 1, &q); err != nil {
		return err
	}
	return p.ask(w, r, q)
}

// parameters lists the parameters of GET /api/analyze; "after" is the position of a reader that cannot
// send Last-Event-ID.
var parameters = []string{"question", "tier", "schema", "request_id", "sessionId", "assistant", "after"}

// get handles GET /api/analyze, for an EventSource.
func (p *handler) get(w http.ResponseWriter, r *http.Request) error {
	if !p.server.MayStart(r) {
		return footnote.Errorf(footnote.Forbidden,
			"A question by GET needs an API key, or a page of this server (Sec-Fetch-Site: same-origin). Programs can "+
				"POST it.")
	}
	v := r.URL.Query()
	for name, values := range v {
		if !slices.Contains(parameters, name) || len(values) > 1 {
			return footnote.Invalidf("The parameters are %s, each at most once.", strings.Join(parameters, ", "))
		}
	}
	q := Question{
		Question: v.Get("question"), Tier: v.Get("tier"), RequestID: v.Get("request_id"), SessionID: v.Get("sessionId"),
		Assistant: v.Get("assistant"),
	}
	if id := v.Get("schema"); id != "" {
		schema, ok := p.schemas.get(ownerKey(p.server.Caller(r))+id, p.server.Now())
		if !ok && q.RequestID == "" {
			return noSchema()
		}
		if !ok { // a run that has already begun can still be shown
			return p.show(w, r, q, noSchema())
		}
		q.Schema = &schema
	}
	return p.ask(w, r, q)
}

// ask checks a question and shows its run.
func (p *handler) ask(w http.ResponseWriter, r *http.Request, q Question) error {
	if err := q.Check(); err != nil {
		return err
	}
	var missing error
	if r.Header.Get("Last-Event-ID") != "" {
		// The reader reconnects. If we cannot tell what it was reading, stop it, because asking again would cost again.
		missing = errNothingToRead
	}
	return p.show(w, r, q, missing)
}

func noSchema() error {
	return footnote.Errorf(footnote.NotFound, "The schema has expired. Post it to /api/analyze/schema, then ask again.")
}

// errNothingToRead is returned when a reader reconnects to an unknown run.
var errNothingToRead = errors.New("the run of this reader is unknown")

// show shows the run of a question: the one already begun under its request_id, or a new one. With missing it starts
// nothing; missing is the error if there is no such run.
func (p *handler) show(w http.ResponseWriter, r *http.Request, q Question, missing error) error {
	turn := q.Turn()
	if turn.Conversation == "" && turn.Assistant == "" {
		a, _ := protocol.AssistantOf(p.server.Assistants(r), Assistant)
		turn.Assistant = a.Name // empty if the caller may not use it
	}
	if turn.Repeated = missing != nil; turn.Repeated && turn.MessageID == "" {
		return p.notBegun(w, r, q, missing)
	}
	ticket, err := p.server.Submit(w, r, turn)
	switch {
	case err == nil && ticket.Duplicate:
		return p.again(w, r, ticket)
	case err == nil:
		enc := NewEncoder(p.options(r, ticket.Conversation, ticket.Assistant, ticket.Run))
		return p.server.Show(w, r, protocol.Stream{Name: Protocol, Ticket: ticket, Encoder: enc})
	case turn.Repeated && footnote.CodeOf(err) == footnote.NotFound:
		return p.notBegun(w, r, q, missing)
	}
	return err
}

// notBegun responds to a request for an unknown run.
func (p *handler) notBegun(w http.ResponseWriter, r *http.Request, q Question, missing error) error {
	if q.SessionID != "" {
		if _, found, err := p.server.Find(r, q.SessionID); err != nil {
			return err
		} else if !found {
			return protocol.NoConversation()
		}
	}
	if missing == errNothingToRead { //nolint:errorlint // our own
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return missing
}

// again shows a run from the reader's position on. When nothing is left it responds 204, which makes
// an EventSource stop.
func (p *handler) again(w http.ResponseWriter, r *http.Request, t agent.Ticket) error {
	head, found, err := p.server.Find(r, t.Conversation)
	if err != nil {
		return err
	}
	if !found {
		return protocol.NoConversation()
	}
	var events []footnote.Event
	last, end := t.After, int64(0) // the newest event; the run's last one, or 0 while it is running
	for ev, err := range p.server.Events(r, head.ID, t.After) {
		if err != nil {
			return err
		}
		events, last = append(events, ev), ev.Seq
		if footnote.Terminal(ev.Body) && ev.Run == t.Run {
			end = ev.Seq
		}
	}
	if end == 0 && head.Run != t.Run && t.After < head.Last {
		end = head.Last // the run is over, and its end is missing
	}
	from := readerPosition(r, head.ID)
	var preface []byte
	if from.Seq > last {
		// The events that the client read no longer exist, so show the run from its beginning. Frames of this
		// protocol have no names; a comment announces the reset.
		preface = fmt.Appendf(nil, ": reset: the log ends at %d, before %d; the answer comes from its beginning\n\n",
			last, from.Seq)
		w.Header().Set(protocol.ResetHeader, strconv.FormatInt(last, 10))
		from = Position{}
	}
	if end > 0 && from.Seq >= end {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	opt := p.options(r, head.ID, head.Assistant, t.Run)
	opt.From = from
	enc := NewEncoder(opt)
	for _, ev := range events {
		if ev.Seq <= from.Seq {
			enc.Event(nil, ev)
		}
	}
	t.After = max(from.Seq, t.After)
	return p.server.Show(w, r, protocol.Stream{Name: Protocol, Ticket: t, Encoder: enc, Preface: preface})
}

// readerPosition returns the reader's position from Last-Event-ID, which a browser sends by itself, or from
// the address.
func readerPosition(r *http.Request, conversation string) Position {
	for _, v := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")} {
		if p, ok := ParsePosition(v, conversation); ok {
			return p
		}
	}
	return Position{}
}

func (p *handler) options(r *http.Request, conversation, assistant, run string) Options {
	a, _ := protocol.AssistantOf(p.server.Assistants(r), assistant)
	return Options{
		Run: run, Tools: a.Tools,
		Rows: func(res footnote.StoredResult) (json.RawMessage, error) {
			rows, err := p.server.Rows(r, conversation, res, MaxRows)
			if err != nil {
				return nil, err
			}
			return json.Marshal(rows)
		},
	}
}

// toolResult handles POST /api/analyze/tool-result.
func (p *handler) toolResult(w http.ResponseWriter, r *http.Request) error {
	var result Result
	if err := p.server.Read(w, r, protocol.LargerBody, &result); err != nil {
		return err
	}
	turn, err := result.Turn()
	if err != nil {
		return err
	}
	ticket, err := p.server.Submit(w, r, turn)
	if err != nil {
		return err
	}
	p.server.Discard(ticket)
	return protocol.WriteValue(w, http.StatusOK, struct {
		OK        bool `json:"ok"`
		Duplicate bool `json:"duplicate"`
	}{true, ticket.Duplicate})
}

// schema handles POST /api/analyze/schema. It stores a schema for a later question by GET, because a
// URL has no room for one.
func (p *handler) schema(w http.ResponseWriter, r *http.Request) error {
	var body SchemaBody
	if err := p.server.Read(w, r, 1, &body); err != nil {
		return err
	}
	if err := body.Check(); err != nil {
		return err
	}
	text := body.Schema.Text()
	sum := sha256.Sum256([]byte(text))
	id := "schema_" + hex.EncodeToString(sum[:16])
	p.schemas.put(ownerKey(p.server.Caller(r)), id, *body.Schema, len(text), p.server.Now())
	return protocol.WriteValue(w, http.StatusOK, struct {
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
func ownerKey(p footnote.Principal) string { return p.Org + "\x00" + p.User + "\x00" }

// put stores a schema under the owner's key and its id. It evicts the oldest ones when there are too many.
func (k *schemas) put(owner, id string, schema localschema.Schema, size int, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.m == nil {
		k.m = map[string]*keptSchema{}
	}
	k.drop(now)
	delete(k.m, owner+id)
	k.shrink(owner, maxSchemasPerUser-1, schemaBytes)
	k.shrink("", maxSchemas-1, schemaBytes-size)
	k.m[owner+id] = &keptSchema{schema, size, now}
	if k.sweep == nil {
		k.sweep = time.AfterFunc(schemaIdle, k.sweepIdle)
	}
}

// drop forgets schemas that have been idle too long. k.mu must be held.
func (k *schemas) drop(now time.Time) {
	maps.DeleteFunc(k.m, func(_ string, s *keptSchema) bool { return now.Sub(s.used) >= schemaIdle })
}

// sweepIdle drops idle schemas, and schedules the next sweep while any are left.
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

// shrink forgets the schemas of an owner, or of all owners if it is empty, that were not used for longest, until at
// most maxCount are left and they take at most maxBytes. k.mu must be held.
func (k *schemas) shrink(owner string, maxCount, maxBytes int) {
	var names []string
	bytes := 0
	for name, s := range k.m {
		if strings.HasPrefix(name, owner) {
			names = append(names, name)
			bytes += s.size
		}
	}
	slices.SortFunc(names, func(a, b string) int { return k.m[a].used.Compare(k.m[b].used) })
	for left := len(names); left > 0 && (left > maxCount || bytes > maxBytes); left-- {
		oldest := names[len(names)-left]
		bytes -= k.m[oldest].size
		delete(k.m, oldest)
	}
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
