// Package endpoint serves charts: the drawings of a person below /api/drawings, and candles, calendar events and
// prices below /api/market.
package endpoint

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/board"
	"github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/protocol"
)

// New returns the endpoints of drawings and of market data. The market is nil without data.
func New(boards *board.Boards, m market.Market) protocol.Protocol {
	return &handler{boards: boards, market: m}
}

// handler serves the addresses.
type handler struct {
	server protocol.Server
	boards *board.Boards
	market market.Market
}

//go:embed openapi.yaml
var description []byte

func (p *handler) Routes(s protocol.Server) protocol.Routes {
	p.server = s
	list := []protocol.Route{
		{Method: http.MethodGet, Pattern: "/api/drawings", Handler: p.withSymbol(p.showDrawings)},
		{Method: http.MethodPost, Pattern: "/api/drawings", Handler: p.putDrawing},
		{Method: http.MethodDelete, Pattern: "/api/drawings/{id}", Handler: p.withSymbol(p.removeDrawing)},
		{Method: http.MethodPost, Pattern: "/api/drawings/undo", Handler: p.undoDrawing},
		{Method: http.MethodPost, Pattern: "/api/drawings/redo", Handler: p.redoDrawing},
		{Method: http.MethodGet, Pattern: "/api/drawings/history", Handler: p.withSymbol(p.drawingHistory)},
		{Method: http.MethodGet, Pattern: "/api/drawings/stream", Handler: p.withSymbol(p.drawingStream), Held: true},
		{Method: http.MethodGet, Pattern: "/api/drawings/export", Handler: p.withSymbol(p.exportDrawings)},
		{Method: http.MethodPost, Pattern: "/api/drawings/import", Handler: p.importDrawings},
		{Method: http.MethodGet, Pattern: "/api/market/symbols", Handler: p.withMarket(p.symbols)},
		{Method: http.MethodGet, Pattern: "/api/market/candles", Handler: p.withMarket(p.candles), Queries: true},
		{Method: http.MethodGet, Pattern: "/api/market/events", Handler: p.withMarket(p.events)},
		{Method: http.MethodGet, Pattern: "/api/market/price", Handler: p.price, Held: true},
	}
	for _, word := range []string{"undo", "redo", "history", "stream", "export", "import"} {
		list = append(list, protocol.Route{ // an imported drawing may have this word as its id
			Method: http.MethodDelete, Pattern: "/api/drawings/" + word, Handler: p.withSymbol(p.removeDrawing),
		})
	}
	return protocol.Routes{List: list, Errors: envelope, OpenAPI: description}
}

// envelope writes an error as the server does. If a change was based on an outdated version, it adds the drawing as it
// is now.
func envelope(err error, f protocol.Failure) (contentType string, body []byte) {
	contentType, body = protocol.Native(err, f)
	if old, ok := errors.AsType[*drawing.Stale](err); ok {
		if present, jerr := json.Marshal(old.Present); jerr == nil { // a drawing always encodes
			body = append(append(append(body[:len(body)-1], `,"drawing":`...), present...), '}')
		}
	}
	return contentType, body
}

// withSymbol wraps a handler that needs the symbol in the request's address.
func (p *handler) withSymbol(h func(w http.ResponseWriter, r *http.Request, symbol string) error) protocol.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		symbol := r.URL.Query().Get("symbol")
		if symbol == "" {
			return footnote.Invalidf("symbol is missing.")
		}
		if err := p.boards.Symbol(r.Context(), symbol); err != nil {
			return err
		}
		return h(w, r, symbol)
	}
}

// byHand returns the cause of a change that a person makes through this API. The key makes retries of a change
// idempotent.
func (p *handler) byHand(r *http.Request, reason, key string) (drawing.Cause, error) {
	if len(key) > 128 {
		return drawing.Cause{}, footnote.Invalidf("A key has at most 128 bytes.")
	}
	return drawing.Cause{By: drawing.Human, User: p.server.Caller(r).User, Reason: reason, Call: key}, nil
}

// showDrawings handles GET /api/drawings?symbol=…: it responds with the current drawings of a symbol.
func (p *handler) showDrawings(w http.ResponseWriter, r *http.Request, symbol string) error {
	v, err := p.boards.View(r.Context(), p.server.Caller(r), symbol)
	if err != nil {
		return err
	}
	return protocol.WriteValue(w, http.StatusOK, v)
}

// putDrawing handles POST /api/drawings: it adds a drawing, or replaces the one with the same id.
func (p *handler) putDrawing(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Symbol  string          `json:"symbol"`
		Base    int64           `json:"base_version"`
		Drawing json.RawMessage `json:"drawing"`
		Reason  string          `json:"reason"`
		Key     string          `json:"key"`
	}
	if err := p.server.Read(w, r, 1, &in); err != nil {
		return err
	}
	if len(in.Drawing) == 0 {
		return footnote.Invalidf("drawing is missing.")
	}
	d, err := drawing.Parse(in.Drawing)
	if err != nil {
		return err
	}
	d.Symbol = cmp.Or(d.Symbol, in.Symbol)
	if in.Symbol != "" && in.Symbol != d.Symbol {
		return footnote.Invalidf("The drawing belongs to another symbol.")
	}
	c, err := p.byHand(r, in.Reason, in.Key)
	if err != nil {
		return err
	}
	res, err := p.boards.Put(r.Context(), p.server.Caller(r), d, in.Base, c)
	if err != nil {
		return err
	}
	return protocol.WriteValue(w, http.StatusOK, struct {
		Version int64            `json:"version"`
		Drawing *drawing.Drawing `json:"drawing"`
	}{res.Version, res.Drawing()})
}

// removeDrawing handles DELETE /api/drawings/{id}?symbol=…&base_version=….
func (p *handler) removeDrawing(w http.ResponseWriter, r *http.Request, symbol string) error {
	q := r.URL.Query()
	base, err := protocol.Number(q, "base_version", 0, 0, 1<<53)
	if err != nil {
		return err
	}
	c, err := p.byHand(r, q.Get("reason"), "")
	if err != nil {
		return err
	}
	res, err := p.boards.Remove(r.Context(), p.server.Caller(r), symbol, path.Base(r.URL.Path), base, c)
	if err != nil {
		return err
	}
	return protocol.WriteValue(w, http.StatusOK, map[string]any{"version": res.Version})
}

// undoDrawing handles POST /api/drawings/undo {symbol, version?, reason?}.
func (p *handler) undoDrawing(w http.ResponseWriter, r *http.Request) error {
	return p.stepped(w, r, func(symbol string, version int64, c drawing.Cause) error {
		_, err := p.boards.Undo(r.Context(), p.server.Caller(r), symbol, version, c)
		return err
	})
}

// redoDrawing handles POST /api/drawings/redo {symbol, reason?}.
func (p *handler) redoDrawing(w http.ResponseWriter, r *http.Request) error {
	return p.stepped(w, r, func(symbol string, version int64, c drawing.Cause) error {
		if version != 0 {
			return footnote.Invalidf("Redo replays the latest undo first; leave version out.")
		}
		_, err := p.boards.Redo(r.Context(), p.server.Caller(r), symbol, c)
		return err
	})
}

func (p *handler) stepped(w http.ResponseWriter, r *http.Request,
	step func(symbol string, version int64, c drawing.Cause) error) error {
	var in struct {
		Symbol  string `json:"symbol"`
		Version int64  `json:"version"`
		Reason  string `json:"reason"`
		Key     string `json:"key"`
	}
	if err := p.server.Read(w, r, 1, &in); err != nil {
		return err
	}
	c, err := p.byHand(r, in.Reason, in.Key)
	if err != nil {
		return err
	}
	if err := p.boards.Symbol(r.Context(), in.Symbol); err != nil {
		return err
	}
	if err := step(in.Symbol, in.Version, c); err != nil {
		return err
	}
	return p.showDrawings(w, r, in.Symbol)
}

// drawingHistory handles GET /api/drawings/history: who changed what, when and why, newest first.
func (p *handler) drawingHistory(w http.ResponseWriter, r *http.Request, symbol string) error {
	q := r.URL.Query()
	limit, _, err := protocol.Paging(q, 50, 500)
	if err != nil {
		return err
	}
	before, err := protocol.Number(q, "before", 0, 0, 1<<53)
	if err != nil {
		return err
	}
	changes, more, err := p.boards.History(r.Context(), p.server.Caller(r), symbol, board.HistoryQuery{
		Drawing: q.Get("drawing"), Before: before, Limit: limit,
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
func (p *handler) exportDrawings(w http.ResponseWriter, r *http.Request, symbol string) error {
	v, err := p.boards.View(r.Context(), p.server.Caller(r), symbol)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", `attachment; filename="drawings-`+protocol.FileName(symbol)+`.json"`)
	return protocol.WriteValue(w, http.StatusOK, exported{
		exportFormat, symbol, v.Version, p.server.Now().UTC(), v.Drawings,
	})
}

// importDrawings handles POST /api/drawings/import: it takes an exported document. The request decides
// whether drawings that are not in it are removed.
func (p *handler) importDrawings(w http.ResponseWriter, r *http.Request) error {
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
	if err := p.server.Read(w, r, protocol.LargerBody, &in); err != nil {
		return err
	}
	if in.Format != exportFormat {
		return footnote.Invalidf("format must be %q.", exportFormat)
	}
	if len(in.Drawings) > drawing.MaxDrawings {
		return footnote.Errorf(footnote.TooLarge, "At most %d drawings can be imported.", drawing.MaxDrawings)
	}
	if err := p.boards.Symbol(r.Context(), in.Symbol); err != nil {
		return err
	}
	all := make([]drawing.Drawing, len(in.Drawings))
	for i, raw := range in.Drawings {
		d, err := drawing.Parse(raw)
		if err != nil {
			return footnote.Invalidf("Drawing %d: %s", i+1, footnote.MessageOf(err))
		}
		all[i] = d
	}
	c, err := p.byHand(r, in.Reason, in.Key)
	if err != nil {
		return err
	}
	if _, err := p.boards.Import(r.Context(), p.server.Caller(r), in.Symbol, all, in.Replace, c); err != nil {
		return err
	}
	return p.showDrawings(w, r, in.Symbol)
}

// maxFrames is the number of bytes after which changes are sent, so that a reader that is far behind does not make the
// server hold the whole history.
const maxFrames = 64 << 10

// drawingStream handles GET /api/drawings/stream?symbol=…&after=…: it streams the changes after a version, then each
// change as it is made, here or on another device. The id of a frame is its version, so an EventSource resumes where
// it was when it reconnects. A client that is ahead of the document gets a reset.
func (p *handler) drawingStream(w http.ResponseWriter, r *http.Request, symbol string) error {
	last, err := protocol.After(r, "")
	if err != nil {
		return err
	}
	caller := p.server.Caller(r)
	var preface []byte
	if last > 0 {
		now, err := p.boards.View(r.Context(), caller, symbol)
		if err != nil {
			return err
		}
		if last > now.Version {
			preface, last = protocol.Reset(strconv.FormatInt(now.Version, 10), now.Version, last), now.Version
		}
	}
	return p.server.Feed(w, r, protocol.Feed{
		Name: "drawings", Log: board.StreamOf(caller, symbol), Preface: preface,
		Frames: func(ctx context.Context) ([]byte, bool, error) {
			changes, err := p.boards.Since(ctx, caller, symbol, last)
			var frames []byte
			for _, c := range changes {
				data, err := json.Marshal(c.Compared())
				if err != nil {
					return nil, false, err
				}
				frames = strconv.AppendInt(append(frames, "id: "...), c.Version, 10)
				frames = append(append(append(frames, "\ndata: "...), data...), "\n\n"...)
				if last = c.Version; len(frames) >= maxFrames {
					break
				}
			}
			return frames, len(changes) > 0, err
		},
	})
}
