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
	"github.com/footnotehq/footnote/drawing"
	"github.com/footnotehq/footnote/drawing/board"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/sse"
)

// Drawings are the documents of what people and assistants draw on charts. Package
// board has them, and says what its methods do.
type Drawings interface {
	Symbol(ctx context.Context, symbol string) error
	View(ctx context.Context, p footnote.Principal, symbol string) (board.View, error)
	Put(ctx context.Context, p footnote.Principal, d drawing.Drawing, base int64, c drawing.Cause) (board.Changed, error)
	Remove(ctx context.Context, p footnote.Principal, symbol, id string, base int64, c drawing.Cause) (board.Changed, error)
	Undo(ctx context.Context, p footnote.Principal, symbol string, version int64, c drawing.Cause) (board.Changed, error)
	Redo(ctx context.Context, p footnote.Principal, symbol string, c drawing.Cause) (board.Changed, error)
	Import(ctx context.Context, p footnote.Principal, symbol string, all []drawing.Drawing, clear bool, c drawing.Cause) (board.Changed, error)
	History(ctx context.Context, p footnote.Principal, symbol string, q board.Asked) (changes []drawing.Change, more bool, err error)
	Since(ctx context.Context, p footnote.Principal, symbol string, version int64) ([]drawing.Change, error)
}

func (s *Server) drawingRoutes() {
	s.Handle("/api/drawings", Native, Methods{
		http.MethodGet: s.drawn(s.listDrawings), http.MethodHead: s.drawn(s.listDrawings), http.MethodPost: s.drawn(s.putDrawing),
	})
	remove := s.drawn(s.removeDrawing)
	s.Handle("/api/drawings/{id}", Native, Methods{http.MethodDelete: remove})
	for word, methods := range map[string]Methods{
		"undo":    {http.MethodPost: s.drawn(s.undoDrawing)},
		"redo":    {http.MethodPost: s.drawn(s.redoDrawing)},
		"history": get(s.drawn(s.drawingHistory)),
		"stream":  {http.MethodGet: s.drawn(s.holding(s.drawingStream))},
		"export":  get(s.drawn(s.exportDrawings)),
		"import":  {http.MethodPost: s.drawn(s.importDrawings)},
	} {
		methods[http.MethodDelete] = remove // a drawing that came from elsewhere may have the word as its id
		s.Handle("/api/drawings/"+word, Native, methods)
	}
}

// drawn is a handler for a server with charts. The answer to a change that was made
// against an older version has the drawing as it is now.
func (s *Server) drawn(h Handler) Handler {
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
		return writeJSON(w, http.StatusConflict, body)
	}
}

// symbolOf is the symbol of a request's address.
func (s *Server) symbolOf(r *http.Request) (string, error) {
	symbol := r.URL.Query().Get("symbol")
	if symbol == "" {
		return "", footnote.Errorf(footnote.InvalidRequest, "symbol is missing.")
	}
	return symbol, s.opts.Drawings.Symbol(r.Context(), symbol)
}

// byHand is the cause of a change that a person makes here. A change is made once under
// a key.
func byHand(r *http.Request, reason, key string) (drawing.Cause, error) {
	if len(key) > 128 {
		return drawing.Cause{}, footnote.Errorf(footnote.InvalidRequest, "A key has at most 128 bytes.")
	}
	return drawing.Cause{By: drawing.Human, User: PrincipalOf(r.Context()).User, Reason: reason, Call: key}, nil
}

// listDrawings is GET /api/drawings?symbol=….
func (s *Server) listDrawings(w http.ResponseWriter, r *http.Request) error {
	symbol, err := s.symbolOf(r)
	if err != nil {
		return err
	}
	return s.showDrawings(w, r, symbol)
}

// showDrawings answers with the drawings of a symbol as they are now.
func (s *Server) showDrawings(w http.ResponseWriter, r *http.Request, symbol string) error {
	v, err := s.opts.Drawings.View(r.Context(), PrincipalOf(r.Context()), symbol)
	if err != nil {
		return err
	}
	return writeValue(w, http.StatusOK, v)
}

// putDrawing is POST /api/drawings: a new drawing, or one in the place of that with its
// id.
func (s *Server) putDrawing(w http.ResponseWriter, r *http.Request) error {
	body, err := s.Body(w, r)
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
	return writeValue(w, http.StatusOK, struct {
		Version int64            `json:"version"`
		Drawing *drawing.Drawing `json:"drawing"`
	}{res.Version, res.Drawing()})
}

// removeDrawing is DELETE /api/drawings/{id}?symbol=…&base_version=….
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
	return writeValue(w, http.StatusOK, map[string]any{"version": res.Version})
}

// undoDrawing is POST /api/drawings/undo {symbol, version?, reason?}.
func (s *Server) undoDrawing(w http.ResponseWriter, r *http.Request) error {
	return s.stepped(w, r, func(symbol string, version int64, c drawing.Cause) error {
		_, err := s.opts.Drawings.Undo(r.Context(), PrincipalOf(r.Context()), symbol, version, c)
		return err
	})
}

// redoDrawing is POST /api/drawings/redo {symbol, reason?}.
func (s *Server) redoDrawing(w http.ResponseWriter, r *http.Request) error {
	return s.stepped(w, r, func(symbol string, version int64, c drawing.Cause) error {
		if version != 0 {
			return footnote.Errorf(footnote.InvalidRequest, "What was taken back last is made again first; leave version out.")
		}
		_, err := s.opts.Drawings.Redo(r.Context(), PrincipalOf(r.Context()), symbol, c)
		return err
	})
}

func (s *Server) stepped(w http.ResponseWriter, r *http.Request, step func(symbol string, version int64, c drawing.Cause) error) error {
	body, err := s.Body(w, r)
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

// drawingHistory is GET /api/drawings/history: who changed what, when and why, the
// newest first.
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
	changes, more, err := s.opts.Drawings.History(r.Context(), PrincipalOf(r.Context()), symbol, board.Asked{Drawing: q.Get("drawing"), Before: before, Limit: limit})
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
	return writeValue(w, http.StatusOK, out)
}

// exported is a document as it is taken elsewhere.
type exported struct {
	Format   string            `json:"format"` // exportFormat
	Symbol   string            `json:"symbol"`
	Version  int64             `json:"version,omitempty"`
	Exported time.Time         `json:"exported,omitzero"`
	Drawings []drawing.Drawing `json:"drawings"`
}

const exportFormat = "footnote-drawings-1"

// exportDrawings is GET /api/drawings/export?symbol=…: a file to keep.
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
	return writeValue(w, http.StatusOK, exported{exportFormat, symbol, v.Version, s.opts.Now().UTC(), v.Drawings})
}

// importDrawings is POST /api/drawings/import: what an export gave, and whether the
// drawings that are not in it go.
func (s *Server) importDrawings(w http.ResponseWriter, r *http.Request) error {
	body, err := s.body(w, r, largerBody*s.opts.BodyLimit)
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
	if _, err := s.opts.Drawings.Import(r.Context(), PrincipalOf(r.Context()), in.Symbol, all, in.Replace, c); err != nil {
		return err
	}
	return s.showDrawings(w, r, in.Symbol)
}

// drawingStream is GET /api/drawings/stream?symbol=…&after=…: the changes after a
// version, and then each one when it is made, here or on another device. The id of a
// frame is its version, so an EventSource that connects again goes on where it was. One
// that is ahead of the document is told so.
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
		if after > now.Version { // as of the events of a conversation
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

// drawingsViewer is a stream of changes being served.
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

// show sends the changes that were not sent yet, or now and then a sign of life. Somebody
// who is far behind gets them bit by bit.
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

// rest begins a stream that has nothing to show yet, and gives a sign of life where
// nothing was sent for long.
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

// send writes frames; the first ones begin the stream.
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
