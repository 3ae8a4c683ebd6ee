package httpapi

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/sse"
)

// events handles GET /api/conversations/{id}/events?after=N: the log of a conversation.
//
// By default it returns the events after N as JSON lines and ends; with format=jsonl, as a file to keep.
// With "Accept: text/event-stream" it streams them as server-sent events, named by kind and with their id.
// The stream includes the deltas of a running run and ends when the run does. With view=seed it returns one
// array in the format of /api/chat-v2.
//
// When nothing is running and nothing is new, it responds 204, which makes an EventSource stop. With
// follow=true the stream also waits for later runs; with follow=false it ends after the stored events. A
// client that is ahead of the log, because the log was restored from a backup, gets a reset frame and
// continues from the end of the log; see protocol.Reset. The header X-Log-Last of a stream has the number of the newest
// stored event, so that a client can show all of them at once.
func (s *Server) events(w http.ResponseWriter, r *http.Request, head footnote.Stream) error {
	id := head.ID
	after, err := protocol.After(r, id)
	if err != nil {
		return err
	}
	follow, err := followOf(r)
	if err != nil {
		return err
	}
	var preface []byte
	if after > head.Last {
		preface = protocol.Reset(footnote.EventID(id, head.Last), head.Last, after)
		w.Header().Set(protocol.ResetHeader, strconv.FormatInt(head.Last, 10))
		after = head.Last
	}
	if view := r.URL.Query().Get("view"); view != "" {
		return s.eventsView(w, r, id, view, after)
	}
	lines, err := wantsLines(r)
	if err != nil {
		return err
	}
	if lines {
		return s.eventLines(w, r, id, after)
	}
	leave, err := s.countStream(w, r)
	if err != nil {
		return err
	}
	defer leave()
	rd, _ := s.opts.Hub.Subscribe(id, after)
	defer rd.Close()
	// Read the head again: a run that began before the reader subscribed is running now.
	if head, err = s.opts.Log.Get(r.Context(), id); err != nil {
		return err
	}
	running := head.RunState != "" && follow != never
	if follow != always && !running && head.Last <= after && preface == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	w.Header().Set("X-Log-Last", strconv.FormatInt(head.Last, 10))
	if follow != never {
		defer s.watch(id, head.Last)()
	}
	p := &pump{s: s, w: w, r: r, limit: s.opts.StreamTimeout, rd: rd, last: after, Stream: protocol.Stream{
		Name: "native", Ticket: agent.Ticket{Conversation: id}, Preface: preface,
		Encoder: &nativeEncoder{requestID: RequestIDOf(r.Context()), follow: follow, running: running, run: head.Run},
	}}
	return p.serve(func(ctx context.Context) error { return p.catchUp(ctx, -1) })
}

// conversation returns the head of one of the caller's conversations. It returns NotFound for another
// user's, as for one that does not exist.
func (s *Server) conversation(r *http.Request, id string) (footnote.Stream, error) {
	if !validID(id) {
		return footnote.Stream{}, protocol.NoConversation()
	}
	return s.mine(r.Context(), PrincipalOf(r.Context()), id)
}

// following selects when a stream of events ends.
type following int

const (
	thisRun following = iota // when the current run ends
	always                   // never: it waits for later runs
	never                    // after the stored events
)

// followOf reads which events a client waits for.
func followOf(r *http.Request) (following, error) {
	v := r.URL.Query().Get("follow")
	if v == "" {
		return thisRun, nil
	}
	yes, err := strconv.ParseBool(v)
	switch {
	case err != nil:
		return thisRun, footnote.Invalidf("follow must be true or false.")
	case yes:
		return always, nil
	}
	return never, nil
}

// wantsLines reports whether the client wants JSON lines: always with format=jsonl, and whenever it does not
// ask for a stream.
func wantsLines(r *http.Request) (bool, error) {
	switch r.URL.Query().Get("format") {
	case "":
		return !protocol.WantsStream(r), nil
	case "jsonl":
		return true, nil
	default:
		return false, footnote.Invalidf("format must be jsonl, or left out.")
	}
}

// eventsView sends the events in a protocol's format.
func (s *Server) eventsView(w http.ResponseWriter, r *http.Request, id, name string, after int64) error {
	var names []string
	for _, m := range s.mounted {
		if view := m.Views[name]; view != nil {
			log, err := s.allEvents(r.Context(), id)
			if err != nil {
				return err
			}
			return protocol.WriteValue(w, http.StatusOK, view(log, after))
		}
		names = slices.AppendSeq(names, maps.Keys(m.Views))
	}
	return footnote.Invalidf("view must be %s, or left out.", strings.Join(names, ", "))
}

// eventLines sends events as JSON lines.
func (s *Server) eventLines(w http.ResponseWriter, r *http.Request, id string, after int64) error {
	h := w.Header()
	h.Set("Content-Type", "application/jsonl")
	if r.URL.Query().Get("format") != "" {
		attach(w, r, id, "jsonl")
	}
	h.Set("Cache-Control", "no-store")
	var line []byte
	begun := false
	for ev, err := range s.opts.Log.Events(r.Context(), id, after) {
		if err != nil {
			return err
		}
		if line, err = appendEvent(line[:0], ev); err != nil {
			return err
		}
		begun = true
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	if !begun {
		w.WriteHeader(http.StatusOK)
	}
	return nil
}

// nativeEncoder writes all events of a conversation, and the deltas of the run in progress.
type nativeEncoder struct {
	requestID string
	follow    following
	running   bool   // a run is in progress
	run       string // that run
	step      int    // newest complete message of that run
	err       error
}

// Open does nothing: the comment that starts every stream is enough.
func (e *nativeEncoder) Open(dst []byte) []byte { return dst }

// Done reports whether nothing more is to come.
func (e *nativeEncoder) Done() bool {
	return e.err != nil || e.follow == never || e.follow == thisRun && !e.running
}

// Err returns why the stream ended early, or nil.
func (e *nativeEncoder) Err() error { return e.err }

// Delta appends the frame of a delta. The hub may still hold deltas of a message that already came complete from the
// log.
func (e *nativeEncoder) Delta(dst []byte, d footnote.Delta) []byte {
	if d.Run != e.run || d.Step <= e.step {
		return dst
	}
	return sseDelta(dst, d)
}

// Event appends the frame of an event.
func (e *nativeEncoder) Event(dst []byte, ev footnote.Event) []byte {
	data, err := appendEvent(nil, ev)
	if err != nil {
		return e.Fail(dst, err)
	}
	switch b := ev.Body.(type) {
	case footnote.RunStarted:
		e.running, e.run, e.step = true, ev.Run, 0
	case footnote.AssistantMessage:
		e.step = b.Step
	default:
		e.running = e.running && !footnote.Terminal(b)
	}
	return sse.AppendEvent(dst, footnote.KindOf(ev.Body), ev.ID(), data)
}

// Fail appends the reason why the stream ends. When its time is up there is none: an EventSource reconnects and
// continues.
func (e *nativeEncoder) Fail(dst []byte, err error) []byte {
	if footnote.CodeOf(err) == footnote.AgentTimeout {
		return dst
	}
	e.err = err
	_, data := protocol.Native(err, protocol.Failure{RequestID: e.requestID})
	return sse.AppendEvent(dst, "error", "", data)
}

// appendEvent appends the JSON of an event, without marks.
func appendEvent(dst []byte, ev footnote.Event) ([]byte, error) {
	if m, ok := ev.Body.(footnote.AssistantMessage); ok && m.Marks != nil {
		m.Marks = nil
		ev.Body = m
	}
	kind, body, err := footnote.EncodeBody(ev.Body)
	if err != nil {
		return dst, err
	}
	o := strictjson.Builder(append(dst, '{')).Int("seq", ev.Seq).Text("id", ev.ID())
	o = o.Text("time", ev.Time.UTC().Format(time.RFC3339Nano)).Text("kind", kind)
	if ev.Run != "" {
		o = o.Text("run", ev.Run)
	}
	return append(o.Raw("body", body), '}'), nil
}

// deltaOps maps the operations of a delta to their names.
var deltaOps = [...]string{
	footnote.BlockStarted: "start", footnote.BlockGrew: "grow", footnote.BlockEnded: "end",
	footnote.StepRetrying: "retrying", footnote.StepBroke: "broke",
}

// sseDelta appends the frame of a delta. It copies the text of a grown block unchanged, because it is already
// JSON-escaped. Deltas have no id; a client that reconnects gets the finished message instead.
func sseDelta(dst []byte, d footnote.Delta) []byte {
	o := strictjson.Builder(append(dst, "event: delta\ndata: {"...))
	o = o.Text("run", d.Run).Int("step", int64(d.Step)).Int("attempt", int64(d.Attempt)).Text("op", deltaOps[d.Op])
	switch d.Op {
	case footnote.StepRetrying, footnote.StepBroke:
		o = o.Text("code", string(d.Code)).Int("wait_ms", d.Wait.Milliseconds())
	default:
		o = o.Int("index", int64(d.Index)).Text("kind", d.Kind)
	}
	if d.Op == footnote.BlockStarted && d.ID != "" {
		o = o.Text("id", d.ID).Text("name", d.Name)
	}
	if d.Op == footnote.BlockGrew {
		o = o.Escaped("text", d.Escaped)
	}
	return append(o, "}\n\n"...)
}
