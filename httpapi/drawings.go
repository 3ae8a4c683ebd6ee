package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/market/board"
	"github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/sse"
)

// Drawings stores what people and assistants draw on charts. Package board implements it and documents the
// methods.
type Drawings interface {
	Symbol(ctx context.Context, symbol string) error
	View(ctx context.Context, p footnote.Principal, symbol string) (board.View, error)
	Put(ctx context.Context, p footnote.Principal, d drawing.Drawing, base int64,
		c drawing.Cause) (board.Changed, error)
	Remove(ctx context.Context, p footnote.Principal, symbol, id string, base int64,
		c drawing.Cause) (board.Changed, error)
	Undo(ctx context.Context, p footnote.Principal, symbol string, version int64,
		c drawing.Cause) (board.Changed, error)
	Redo(ctx context.Context, p footnote.Principal, symbol string, c drawing.Cause) (board.Changed, error)
	Import(ctx context.Context, p footnote.Principal, symbol string, all []drawing.Drawing, clear bool,
		c drawing.Cause) (board.Changed, error)
	History(ctx context.Context, p footnote.Principal, symbol string,
		q board.Asked) (changes []drawing.Change, more bool, err error)
	Since(ctx context.Context, p footnote.Principal, symbol string, version int64) ([]drawing.Change, error)
}

func (s *Server) drawingRoutes() {
	s.Handle("/api/drawings", Native, Methods{
		http.MethodGet: s.withDrawings(s.listDrawings), http.MethodHead: s.withDrawings(s.listDrawings),
		http.MethodPost: s.withDrawings(s.putDrawing),
	})
	remove := s.withDrawings(s.removeDrawing)
	s.Handle("/api/drawings/{id}", Native, Methods{http.MethodDelete: remove})
	for word, methods := range map[string]Methods{
		"undo":    {http.MethodPost: s.withDrawings(s.undoDrawing)},
		"redo":    {http.MethodPost: s.withDrawings(s.redoDrawing)},
		"history": get(s.withDrawings(s.drawingHistory)),
		"stream":  {http.MethodGet: s.withDrawings(s.holding(s.drawingStream))},
		"export":  get(s.withDrawings(s.exportDrawings)),
		"import":  {http.MethodPost: s.withDrawings(s.importDrawings)},
	} {
		methods[http.MethodDelete] = remove // an imported drawing may have this word as its id
		s.Handle("/api/drawings/"+word, Native, methods)
	}
}

// drawn wraps a handler that needs charts. When a change was based on an outdated version, the response
// contains the drawing as it is now.
func (s *Server) withDrawings(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if s.opts.Drawings == nil {
			return footnote.Errorf(footnote.NotFound, "There are no charts here.")
		}
		err := h(w, r)
		old, ok := errors.AsType[*drawing.Stale](err)
		if !ok {
			return err
		}
		sc := scopeOf(r.Context())
		_, body := Native(err, Failure{RequestID: sc.id})
		present, jerr := json.Marshal(old.Present)
		if jerr != nil {
			return err
		}
		body = append(append(append(body[:len(body)-1], `,"drawing":`...), present...), '}')
		sc.outcome = "conflict"
		return protocol.WriteJSON(w, http.StatusConflict, body)
	}
}

// symbolOf returns the symbol in the request's address.
func (s *Server) symbolOf(r *http.Request) (string, error) {
	symbol := r.URL.Query().Get("symbol")
	if symbol == "" {
		return "", footnote.Errorf(footnote.InvalidRequest, "symbol is missing.")
	}
	return symbol, s.opts.Drawings.Symbol(r.Context(), symbol)
}

// byHand returns the cause of a change that a person makes through this API. The key makes retries of a
// change idempotent.
func byHand(r *http.Request, reason, key string) (drawing.Cause, error) {
	if len(key) > 128 {
		return drawing.Cause{}, footnote.Errorf(footnote.InvalidRequest, "A key has at most 128 bytes.")
	}
	return drawing.Cause{By: drawing.Human, User: PrincipalOf(r.Context()).User, Reason: reason, Call: key}, nil
}

// listDrawings handles GET /api/drawings?symbol=….
func (s *Server) listDrawings(w http.ResponseWriter, r *http.Request) error {
	symbol, err := s.symbolOf(r)
	if err != nil {
		return err
	}
	return s.showDrawings(w, r, symbol)
}

// showDrawings responds with the current drawings of a symbol.
func (s *Server) showDrawings(w http.ResponseWriter, r *http.Request, symbol string) error {
	v, err := s.opts.Drawings.View(r.Context(), PrincipalOf(r.Context()), symbol)
	if err != nil {
		return err
	}
	return protocol.WriteValue(w, http.StatusOK, v)
}

// putDrawing handles POST /api/drawings: it adds a drawing, or replaces the one with the same id.
func (s *Server) putDrawing(w http.ResponseWriter, r *http.Request) error {
	body, err := s.Body(w, r, 1)
	if err != nil {
		return err
	}
	var in struct {
		Symbol  string          `json:"symbol"`
		Base    int64           `json:"base_version"`
		Drawing json.RawMessage `json:"drawing"`
		Reason  string          `json:"reason"`
		Key     string          `json:"key"`
	}
	if err := strictjson.Closed(body, &in); err != nil {
		return err
	}
	if len(in.Drawing) == 0 {
		return footnote.Errorf(footnote.InvalidRequest, "drawing is missing.")
	}
	d, err := drawing.Parse(in.Drawing)
	if err != nil {
		return err
	}
	if d.Symbol == "" {
		d.Symbol = in.Symbol
	}
	if in.Symbol != "" && in.Symbol != d.Symbol {
		return footnote.Errorf(footnote.InvalidRequest, "The drawing is of another symbol.")
	}
	c, err := byHand(r, in.Reason, in.Key)
	if err != nil {
		return err
	}
	res, err := s.opts.Drawings.Put(r.Context(), PrincipalOf(r.Context()), d, in.Base, c)
	if err != nil {
		return err
	}
	return protocol.WriteValue(w, http.StatusOK, struct {
		Version int64            `json:"version"`
		Drawing *drawing.Drawing `json:"drawing"`
	}{res.Version, res.Drawing()})
}

// removeDrawing handles DELETE /api/drawings/{id}?symbol=…&base_version=….
func (s *Server) removeDrawing(w http.ResponseWriter, r *http.Request) error {
	symbol, err := s.symbolOf(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	base, err := number(q, "base_version", 0, 0, 1<<53)
	if err != nil {
		return err
	}
	c, err := byHand(r, q.Get("reason"), "")
	if err != nil {
		return err
	}
	res, err := s.opts.Drawings.Remove(r.Context(), PrincipalOf(r.Context()), symbol, path.Base(r.URL.Path), base, c)
	if err != nil {
		return err
	}
	return protocol.WriteValue(w, http.StatusOK, map[string]any{"version": res.Version})
}

// undoDrawing handles POST /api/drawings/undo {symbol, version?, reason?}.
func (s *Server) undoDrawing(w http.ResponseWriter, r *http.Request) error {
	return s.stepped(w, r, func(symbol string, version int64, c drawing.Cause) error {
		_, err := s.opts.Drawings.Undo(r.Context(), PrincipalOf(r.Context()), symbol, version, c)
		return err
	})
}

// redoDrawing handles POST /api/drawings/redo {symbol, reason?}.
func (s *Server) redoDrawing(w http.ResponseWriter, r *http.Request) error {
	return s.stepped(w, r, func(symbol string, version int64, c drawing.Cause) error {
		if version != 0 {
			return footnote.Errorf(footnote.InvalidRequest,
				"What was taken back last is made again first; leave version out.")
		}
		_, err := s.opts.Drawings.Redo(r.Context(), PrincipalOf(r.Context()), symbol, c)
		return err
	})
}

func (s *Server) stepped(w http.ResponseWriter, r *http.Request,
	step func(symbol string, version int64, c drawing.Cause) error) error {
	body, err := s.Body(w, r, 1)
	if err != nil {
		return err
	}
	var in struct {
		Symbol  string `json:"symbol"`
		Version int64  `json:"version"`
		Reason  string `json:"reason"`
		Key     string `json:"key"`
	}
	if err := strictjson.Closed(body, &in); err != nil {
		return err
	}
	c, err := byHand(r, in.Reason, in.Key)
	if err != nil {
		return err
	}
	if err := s.opts.Drawings.Symbol(r.Context(), in.Symbol); err != nil {
		return err
	}
	if err := step(in.Symbol, in.Version, c); err != nil {
		return err
	}
	return s.showDrawings(w, r, in.Symbol)
}

// drawingHistory handles GET /api/drawings/history: who changed what, when and why, newest first.
func (s *Server) drawingHistory(w http.ResponseWriter, r *http.Request) error {
	symbol, err := s.symbolOf(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	limit, _, err := paging(q, 50, 500)
	if err != nil {
		return err
	}
	before, err := number(q, "before", 0, 0, 1<<53)
	if err != nil {
		return err
	}
	changes, more, err := s.opts.Drawings.History(r.Context(), PrincipalOf(r.Context()), symbol, board.Asked{
		Drawing: q.Get("drawing"),
		Before:  before,
		Limit:   limit,
	})
	if err != nil {
		return err
	}
	out := struct {
		Changes []drawing.Change `json:"changes"`
		Next    string           `json:"next,omitempty"`
	}{Changes: changes}
	if more {
		out.Next = strconv.FormatInt(changes[len(changes)-1].Version, 10)
	}
	return protocol.WriteValue(w, http.StatusOK, out)
}

// exported is the export format of a document.
type exported struct {
	Format   string            `json:"format"` // exportFormat
	Symbol   string            `json:"symbol"`
	Version  int64             `json:"version,omitempty"`
	Exported time.Time         `json:"exported,omitzero"`
	Drawings []drawing.Drawing `json:"drawings"`
}

const exportFormat = "footnote-drawings-1"

// exportDrawings handles GET /api/drawings/export?symbol=…: it returns the document as a file.
func (s *Server) exportDrawings(w http.ResponseWriter, r *http.Request) error {
	symbol, err := s.symbolOf(r)
	if err != nil {
		return err
	}
	v, err := s.opts.Drawings.View(r.Context(), PrincipalOf(r.Context()), symbol)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", `attachment; filename="drawings-`+plainName(symbol)+`.json"`)
	return protocol.WriteValue(w, http.StatusOK, exported{
		exportFormat, symbol, v.Version, s.opts.Now().UTC(), v.Drawings,
	})
}

// importDrawings handles POST /api/drawings/import: it takes an exported document. The request decides
// whether drawings that are not in it are removed.
func (s *Server) importDrawings(w http.ResponseWriter, r *http.Request) error {
	body, err := s.Body(w, r, largerBody)
	if err != nil {
		return err
	}
	var in struct {
		Format   string            `json:"format"`
		Symbol   string            `json:"symbol"`
		Version  int64             `json:"version"`
		Exported time.Time         `json:"exported"`
		Drawings []json.RawMessage `json:"drawings"`
		Replace  bool              `json:"replace"`
		Reason   string            `json:"reason"`
		Key      string            `json:"key"`
	}
	if err := strictjson.Closed(body, &in); err != nil {
		return err
	}
	if in.Format != exportFormat {
		return footnote.Errorf(footnote.InvalidRequest, "format must be %q.", exportFormat)
	}
	if len(in.Drawings) > drawing.MostDrawings {
		return footnote.Errorf(footnote.TooLarge, "At most %d drawings can be imported.", drawing.MostDrawings)
	}
	if err := s.opts.Drawings.Symbol(r.Context(), in.Symbol); err != nil {
		return err
	}
	all := make([]drawing.Drawing, len(in.Drawings))
	for i, raw := range in.Drawings {
		if all[i], err = drawing.Parse(raw); err != nil {
			return footnote.Errorf(footnote.InvalidRequest, "Drawing %d: %s", i+1, footnote.MessageOf(err))
		}
	}
	c, err := byHand(r, in.Reason, in.Key)
	if err != nil {
		return err
	}
	if _, err := s.opts.Drawings.Import(r.Context(), PrincipalOf(r.Context()), in.Symbol, all, in.Replace,
		c); err != nil {
		return err
	}
	return s.showDrawings(w, r, in.Symbol)
}

// drawingStream handles GET /api/drawings/stream?symbol=…&after=…: it streams the changes after a version,
// then each change as it is made, here or on another device. The id of a frame is its version, so an
// EventSource resumes where it was when it reconnects. A client that is ahead of the document gets a reset.
func (s *Server) drawingStream(w http.ResponseWriter, r *http.Request) error {
	symbol, err := s.symbolOf(r)
	if err != nil {
		return err
	}
	after, _, err := position(r)
	if err != nil {
		return err
	}
	p := PrincipalOf(r.Context())
	var preface []byte
	if after > 0 {
		now, err := s.opts.Drawings.View(r.Context(), p, symbol)
		if err != nil {
			return err
		}
		if after > now.Version { // same reset as in a conversation's events
			preface, after = reset(now.Version, after), now.Version
		}
	}
	rd, _ := s.opts.Hub.Subscribe(board.StreamOf(p, symbol), after)
	defer rd.Close()
	s.opts.Metrics.StreamOpened("drawings")
	defer s.opts.Metrics.StreamClosed("drawings")
	limit, cancel := context.WithTimeoutCause(r.Context(), s.opts.StreamTimeout, errStreamTime)
	defer cancel()
	d := &drawingsViewer{s: s, w: w, p: p, symbol: symbol, last: after}
	if preface != nil {
		err = d.send(preface)
	}
	if err == nil {
		err = d.run(limit, rd)
	}
	if errors.Is(err, hub.ErrClosed) {
		err = nil
	}
	return s.endStream(r, d.out, err)
}

// drawingsViewer is one open stream of changes.
type drawingsViewer struct {
	s      *Server
	w      http.ResponseWriter
	p      footnote.Principal
	symbol string
	last   int64
	out    *sse.Writer
}

func (d *drawingsViewer) run(ctx context.Context, rd *hub.Reader) error {
	every := sse.Heartbeat
	if d.s.opts.Watch != nil { // another server may change them
		every = pollRemote
	}
	tick := alarm{parent: ctx}
	defer tick.stop()
	for {
		if err := d.show(ctx); err != nil {
			return err
		}
		tick.set(every)
		if _, err := rd.Next(tick.ctx); err != nil && err != errTick { //nolint:errorlint // the cause itself
			return err
		}
	}
}

// show sends the changes that have not been sent yet, or a heartbeat when one is due. A reader that is far
// behind gets the changes in batches.
func (d *drawingsViewer) show(ctx context.Context) error {
	for sent := false; ; sent = true {
		changes, err := d.s.opts.Drawings.Since(ctx, d.p, d.symbol, d.last)
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			return d.rest(sent)
		}
		var frames []byte
		for _, c := range changes {
			data, err := json.Marshal(c.Compared())
			if err != nil {
				return err
			}
			frames = strconv.AppendInt(append(frames, "id: "...), c.Version, 10)
			frames = append(append(append(frames, "\ndata: "...), data...), "\n\n"...)
			if d.last = c.Version; len(frames) < bufferKept {
				continue
			}
			if err := d.send(frames); err != nil {
				return err
			}
			frames = frames[:0]
		}
		if err := d.send(frames); err != nil {
			return err
		}
	}
}

// rest starts a stream that has nothing to show yet, and sends a heartbeat after a long silence.
func (d *drawingsViewer) rest(sent bool) error {
	switch {
	case d.out == nil:
		return d.send(nil)
	case !sent && d.out.Idle() >= sse.Heartbeat:
		return d.out.Ping()
	default:
		return nil
	}
}

// send writes frames; the first call starts the stream.
func (d *drawingsViewer) send(frames []byte) (err error) {
	switch {
	case d.out == nil:
		d.out, err = sse.Start(d.w, http.StatusOK, frames)
		return err
	case len(frames) == 0:
		return nil
	}
	return d.out.Write(frames)
}
