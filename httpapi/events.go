package httpapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/sse"
)

// events handles GET /api/conversations/{id}/events?after=N: the log of a conversation.
//
// By default it returns the events after N as JSON lines and ends; with format=jsonl, as a file to keep. With
// "Accept: text/event-stream" it streams them as server-sent events, named by kind and with their sequence
// number as id. The stream includes the deltas of a running run and ends when the run does. With view=seed it
// returns one array in the format of /api/chat-v2.
//
// When nothing is running and nothing is new, it responds 204, which makes an EventSource stop. With
// follow=true the stream also waits for later runs; with follow=false it ends after the stored events. A
// client that is ahead of the log, because the log was restored from a backup, gets a reset frame and
// continues from the end of the log; see reset.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	head, err := s.conversation(r, id)
	if err != nil {
		return err
	}
	after, follow, err := position(r)
	if err != nil {
		return err
	}
	var preface []byte
	if after > head.Last {
		preface = reset(head.Last, after)
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
	leave, err := s.hold(w, r)
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
	if follow != never && s.opts.Watch != nil {
		defer s.opts.Watch(id, head.Last)()
	}
	running := head.RunState != "" && follow != never
	if follow != always && !running && head.Last <= after && preface == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	s.opts.Metrics.StreamOpened("native")
	defer s.opts.Metrics.StreamClosed("native")
	v := &viewer{
		s: s, w: w, r: r, id: id, rd: rd, buf: preface, last: after, follow: follow, running: running, runID: head.Run,
	}
	return v.run()
}

// reset returns the frame for a client that is ahead of the log: events after last no longer exist, because
// the log was restored from a backup. The id of the frame moves an EventSource back to the end of the log.
func reset(last, asked int64) []byte {
	return fmt.Appendf(nil, "id: %d\nevent: reset\ndata: {\"last\":%d,\"asked\":%d}\n\n", last, last, asked)
}

// conversation returns the head of one of the caller's conversations. It returns NotFound for somebody
// else's, as for one that does not exist.
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

// position reads the client's position. Last-Event-ID, which a browser sends when it reconnects, is newer
// than the address and takes precedence. A value that is not a number did not come from this server and is
// ignored.
func position(r *http.Request) (after int64, follow following, err error) {
	q := r.URL.Query()
	if v := q.Get("after"); v != "" {
		after, err = strconv.ParseInt(v, 10, 64)
		if err != nil || after < 0 {
			return 0, follow, footnote.Errorf(footnote.InvalidRequest, "after must be the number of an event.")
		}
	}
	if v := q.Get("follow"); v != "" {
		yes, err := strconv.ParseBool(v)
		if err != nil {
			return 0, follow, footnote.Errorf(footnote.InvalidRequest, "follow must be true or false.")
		}
		if follow = never; yes {
			follow = always
		}
	}
	if n, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); err == nil && n >= 0 {
		after = n
	}
	return after, follow, nil
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
		return false, footnote.Errorf(footnote.InvalidRequest, "format must be jsonl, or left out.")
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
	return footnote.Errorf(footnote.InvalidRequest, "view must be %s, or left out.", strings.Join(names, ", "))
}

// eventLines sends events as JSON lines.
func (s *Server) eventLines(w http.ResponseWriter, r *http.Request, id string, after int64) error {
	h := w.Header()
	h.Set("Content-Type", "application/jsonl")
	if r.URL.Query().Get("format") != "" {
		h.Set("Content-Disposition", `attachment; filename="`+id+`.jsonl"`)
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

// viewer is one native stream being served. It belongs to its handler's goroutine.
type viewer struct {
	s       *Server
	w       http.ResponseWriter
	r       *http.Request
	id      string
	rd      *hub.Reader
	out     *sse.Writer
	buf     []byte
	last    int64 // newest event sent
	follow  following
	running bool // the stream waits for a running run
	runID   string
	step    int // newest complete message of that run
}

func (v *viewer) run() error {
	limit, cancel := context.WithTimeoutCause(v.r.Context(), v.s.opts.StreamTimeout, errStreamTime)
	defer cancel()
	tick := alarm{parent: limit}
	defer tick.stop()
	tick.set(sse.Heartbeat)
	var err error
	if len(v.buf) > 0 {
		err = v.flush()
	}
	if err == nil {
		err = v.catchUp(limit)
	}
	for err == nil && v.follow != never && (v.running || v.follow == always) {
		var batch hub.Batch
		batch, err = v.rd.Next(tick.ctx)
		switch err {
		case nil:
			if first := batch.First(); first > v.last+1 {
				err = v.catchUp(limit) // another process wrote the events before
			}
			if err == nil {
				err = v.show(batch)
			}
		case errTick:
			err = v.catchUp(limit) // another process may have written events that this hub does not see
			if footnote.CodeOf(err) == footnote.StorageUnavailable {
				err = v.flush() // we know of nothing new; the next poll catches up
			}
			if err == nil && v.out.Idle() >= sse.Heartbeat {
				err = v.out.Ping()
			}
			tick.set(sse.Heartbeat)
		}
	}
	return v.s.endStream(v.r, v.out, err)
}

// catchUp sends the events in the log that have not been sent yet.
func (v *viewer) catchUp(ctx context.Context) error {
	v.buf = v.buf[:0]
	for ev, err := range v.s.opts.Log.Events(ctx, v.id, v.last) {
		if err == nil {
			err = v.event(ev)
		}
		if err != nil {
			return err
		}
		if len(v.buf) >= bufferKept {
			if err := v.flush(); err != nil {
				return err
			}
		}
	}
	v.rd.Skip(v.last)
	return v.flush()
}

// show sends a batch from the hub.
func (v *viewer) show(batch hub.Batch) error {
	v.buf = v.buf[:0]
	for i := range batch {
		if e := &batch[i]; e.Event == nil {
			// The hub may still hold deltas of a message that already came complete from the log.
			if e.Delta.Run == v.runID && e.Delta.Step > v.step {
				v.buf = sseDelta(v.buf, e.Delta)
			}
		} else if err := v.event(*e.Event); err != nil {
			return err
		}
	}
	return v.flush()
}

// event appends the frame of an event unless it was already sent.
func (v *viewer) event(ev footnote.Event) error {
	if ev.Seq <= v.last {
		return nil
	}
	data, err := appendEvent(nil, ev)
	if err != nil {
		return err
	}
	v.buf = sse.AppendEvent(v.buf, footnote.KindOf(ev.Body), ev.Seq, data)
	v.last = ev.Seq
	switch b := ev.Body.(type) {
	case footnote.RunStarted:
		v.running, v.runID, v.step = true, ev.Run, 0
	case footnote.AssistantMessage:
		v.step = b.Step
	default:
		if footnote.Terminal(b) {
			v.running = false
		}
	}
	return nil
}

// flush sends the frames, with the headers before the first.
func (v *viewer) flush() (err error) {
	switch {
	case v.out != nil && len(v.buf) == 0:
		return nil
	case v.out != nil:
		return v.out.Write(v.buf)
	}
	v.out, err = sse.Start(v.w, http.StatusOK, v.buf)
	return err
}

// endStream writes the reason why a stream ends, unless the client knows it. Out is nil if nothing has been
// sent.
func (s *Server) endStream(r *http.Request, out *sse.Writer, err error) error {
	sc := scopeOf(r.Context())
	switch {
	case err == nil || errors.Is(err, errStreamTime):
		sc.outcome = "complete" // an EventSource reconnects and continues
		return nil
	case r.Context().Err() != nil && withdrawn(r.Context()) == nil:
		sc.outcome = "client left"
		return nil
	case out == nil:
		return err
	}
	sc.outcome, sc.err = "failed", s.interrupted(r, err)
	_, data := Native(sc.err, Failure{RequestID: sc.id})
	if werr := out.Write(sse.AppendEvent(nil, "error", 0, data)); werr != nil {
		sc.outcome, sc.aborted = "client too slow", true
	}
	return nil
}

// appendEvent appends the JSON of an event.
func appendEvent(dst []byte, ev footnote.Event) ([]byte, error) {
	kind, body, err := footnote.EncodeBody(ev.Body)
	if err != nil {
		return dst, err
	}
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendInt(dst, ev.Seq, 10)
	dst = append(dst, `,"time":"`...)
	dst = ev.Time.UTC().AppendFormat(dst, time.RFC3339Nano)
	dst = append(dst, `","kind":`...)
	dst = strictjson.AppendString(dst, kind)
	if ev.Run != "" {
		dst = append(dst, `,"run":`...)
		dst = strictjson.AppendString(dst, ev.Run)
	}
	dst = append(dst, `,"body":`...)
	dst = append(dst, body...)
	return append(dst, '}'), nil
}

// deltaOps maps the operations of a delta to their names.
var deltaOps = [...]string{
	footnote.BlockStarted: "start", footnote.BlockGrew: "grow", footnote.BlockEnded: "end",
	footnote.StepRetrying: "retrying", footnote.StepBroke: "broke",
}

// sseDelta appends the frame of a delta. It copies the text of a grown block unchanged, because it is already
// JSON-escaped. Deltas have no id; a client that reconnects gets the finished message instead.
func sseDelta(dst []byte, d footnote.Delta) []byte {
	dst = append(dst, "event: delta\ndata: {\"run\":"...)
	dst = strictjson.AppendString(dst, d.Run)
	dst = append(dst, `,"step":`...)
	dst = strconv.AppendInt(dst, int64(d.Step), 10)
	dst = append(dst, `,"attempt":`...)
	dst = strconv.AppendInt(dst, int64(d.Attempt), 10)
	dst = append(dst, `,"op":"`...)
	dst = append(dst, deltaOps[d.Op]...)
	dst = append(dst, '"')
	switch d.Op {
	case footnote.StepRetrying, footnote.StepBroke:
		dst = append(dst, `,"code":`...)
		dst = strictjson.AppendString(dst, string(d.Code))
		dst = append(dst, `,"wait_ms":`...)
		dst = strconv.AppendInt(dst, d.Wait.Milliseconds(), 10)
	default:
		dst = append(dst, `,"index":`...)
		dst = strconv.AppendInt(dst, int64(d.Index), 10)
		dst = append(dst, `,"kind":`...)
		dst = strictjson.AppendString(dst, d.Kind)
	}
	if d.Op == footnote.BlockStarted && d.ID != "" {
		dst = append(dst, `,"id":`...)
		dst = strictjson.AppendString(dst, d.ID)
		dst = append(dst, `,"name":`...)
		dst = strictjson.AppendString(dst, d.Name)
	}
	if d.Op == footnote.BlockGrew {
		dst = append(dst, `,"text":"`...)
		dst = append(dst, d.Escaped...)
		dst = append(dst, '"')
	}
	return append(dst, "}\n\n"...)
}
