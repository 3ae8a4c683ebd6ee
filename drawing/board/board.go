// Package board keeps the drawings of people on the log: a stream of its own for each
// person and symbol, whose document package drawing folds. What it holds in memory is
// only what the log says, so any server may change a document, and after a restart it
// is the same.
package board

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/drawing"
	"github.com/footnotehq/footnote/hub"
)

// Log is what boards need of a store. The errors are as store.Store says.
type Log interface {
	CreateAppend(ctx context.Context, s footnote.Stream, a footnote.Append) ([]footnote.Event, error)
	Get(ctx context.Context, id string) (footnote.Stream, error)
	Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error)
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
	List(ctx context.Context, p footnote.Page) (heads []footnote.Stream, next string, err error)
	Delete(ctx context.Context, id string) error
}

// Options are what Boards are made of. Log is required.
type Options struct {
	Log Log
	// Hub tells the readers here of changes; nil: nobody is told.
	Hub *hub.Hub
	// Data says where there are prices of a symbol. The error's code is NotFound for one
	// that does not exist; with any other the data is away for now. Nil: every symbol
	// exists, and anchors may be anywhere.
	Data   func(ctx context.Context, symbol string) (drawing.Data, error)
	Memory int // about how many bytes of documents are kept in memory; default 64 MB
}

// Boards are the documents of drawings of everybody. The methods may be called from
// several goroutines.
type Boards struct {
	opts Options

	mu    sync.Mutex // guards below
	known map[string]*entry
	bytes int // of the known ones
	clock int64
}

// entry is a document in memory. Its first fields are used by whoever holds busy.
type entry struct {
	busy    chan struct{} // has one value while somebody uses the document
	doc     *drawing.Document
	created time.Time // of the stream; zero while there is none
	counted int64     // the version at which its size was counted
	size    int

	users int // this and the next ones are guarded by Boards.mu
	bytes int // size as Boards.bytes has it
	used  int64
}

// New makes boards over a log.
func New(o Options) *Boards {
	if o.Memory <= 0 {
		o.Memory = 64 << 20
	}
	return &Boards{opts: o, known: map[string]*entry{}}
}

// prefix begins the ids of the streams of drawings.
const prefix = "draw_"

// StreamOf is the stream of a person's drawings of a symbol. Everybody who knows the
// person and the symbol can tell it, so no two servers make two.
func StreamOf(p footnote.Principal, symbol string) string {
	return prefix + digest(p.Org, p.User, symbol)
}

// IsBoard reports whether a stream is one of drawings.
func IsBoard(head footnote.Stream) bool {
	return head.Kind == "document" && strings.HasPrefix(head.ID, prefix)
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)[:20])
}

// idLength is that of a drawing's id behind its prefix: short, since models write it.
const idLength = 12

// IDOf is the id of the drawing that a call makes, the same each time it is asked for.
func IDOf(conversation, call string) string {
	return "dr_" + strings.ToLower(digest(conversation, call)[:idLength])
}

func newID() string { return "dr_" + strings.ToLower(rand.Text()[:idLength]) }

// View is a document as it was at a moment.
type View struct {
	Symbol   string            `json:"symbol"`
	Version  int64             `json:"version"`
	Drawings []drawing.Drawing `json:"drawings"`
	CanUndo  bool              `json:"can_undo"`
	CanRedo  bool              `json:"can_redo"`
}

func viewOf(d *drawing.Document) View {
	return View{Symbol: d.Symbol, Version: d.Version, Drawings: d.Drawings(), CanUndo: d.CanUndo(), CanRedo: d.CanRedo()}
}

// View is the document of a person's drawings of a symbol. A symbol that has none yet
// has an empty one.
func (b *Boards) View(ctx context.Context, p footnote.Principal, symbol string) (v View, err error) {
	err = b.use(ctx, p, symbol, func(e *entry) error {
		v = viewOf(e.doc)
		return nil
	})
	return v, err
}

// Symbol says what is wrong with a symbol: its name, or that there is no such one.
func (b *Boards) Symbol(ctx context.Context, symbol string) error {
	_, err := b.Data(ctx, symbol)
	if footnote.CodeOf(err) == footnote.NotFound || footnote.CodeOf(err) == footnote.InvalidRequest {
		return err
	}
	return nil // whether it exists cannot be told now
}

// dataTime is how long it may take to find out where there are prices: drawings do not
// wait for a market that does not answer.
const dataTime = 2 * time.Second

// Data is where there are prices of a symbol.
func (b *Boards) Data(ctx context.Context, symbol string) (drawing.Data, error) {
	if err := drawing.CheckSymbol(symbol); err != nil {
		return drawing.Data{}, err
	}
	if b.opts.Data == nil {
		return drawing.Data{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, dataTime)
	defer cancel()
	return b.opts.Data(ctx, symbol)
}

// bounds are the data that anchors are checked against. While that is away, a person may
// draw all the same; an agent, who cannot see the chart, may not.
func (b *Boards) bounds(ctx context.Context, symbol, by string) (drawing.Data, error) {
	data, err := b.Data(ctx, symbol)
	switch code := footnote.CodeOf(err); {
	case err == nil, code == footnote.NotFound, code == footnote.InvalidRequest, by == drawing.Agent:
		return data, err
	default:
		return drawing.Data{}, ctx.Err()
	}
}

// Changed is what came of a change.
type Changed struct {
	Version int64            // of the document
	Changes []drawing.Change // of this step, with their differences
	Again   bool             // the change was made before, under the same name
}

// Drawing is the drawing that was changed, as it is after the change; nil when it is gone.
func (c Changed) Drawing() *drawing.Drawing {
	if len(c.Changes) == 0 {
		return nil
	}
	return c.Changes[0].After
}

// Put draws a drawing, or replaces the one with its id; base is the version which that
// has for whoever changes it, or 0. The error is a *drawing.Stale when it has another
// by now, and its code NotFound when there is none.
func (b *Boards) Put(ctx context.Context, p footnote.Principal, d drawing.Drawing, base int64, c drawing.Cause) (Changed, error) {
	if err := d.Check(); err != nil {
		return Changed{}, err
	}
	data, err := b.bounds(ctx, d.Symbol, c.By)
	if err != nil {
		return Changed{}, err
	}
	if err := d.Within(data); err != nil {
		return Changed{}, err
	}
	fresh := d.ID == ""
	if fresh {
		if d.ID = newID(); c.Call != "" {
			d.ID = IDOf(c.Conversation, c.Call)
		}
	}
	res, err := b.edit(ctx, p, d.Symbol, c, func(doc *drawing.Document) ([]footnote.DrawingChanged, error) {
		if fresh {
			body, err := doc.Add(d, c)
			return []footnote.DrawingChanged{body}, err
		}
		body, differs, err := doc.Replace(d, base, c)
		if err != nil || !differs {
			return nil, err
		}
		return []footnote.DrawingChanged{body}, nil
	})
	if err != nil || len(res.Changes) > 0 {
		return res, err
	}
	// Nothing differed: what is there is what was wanted.
	err = b.use(ctx, p, d.Symbol, func(e *entry) error {
		if now, ok := e.doc.Drawing(d.ID); ok {
			res.Changes = []drawing.Change{{Version: now.Version, Drawing: d.ID, Action: drawing.Update, Before: &now, After: &now, Changes: map[string]drawing.Diff{}}}
		}
		return nil
	})
	return res, err
}

// Remove removes a drawing.
func (b *Boards) Remove(ctx context.Context, p footnote.Principal, symbol, id string, base int64, c drawing.Cause) (Changed, error) {
	return b.edit(ctx, p, symbol, c, func(doc *drawing.Document) ([]footnote.DrawingChanged, error) {
		body, err := doc.Take(id, base, c)
		return []footnote.DrawingChanged{body}, err
	})
}

// Undo takes the newest change back, or the one with the version that is given.
func (b *Boards) Undo(ctx context.Context, p footnote.Principal, symbol string, version int64, c drawing.Cause) (Changed, error) {
	return b.edit(ctx, p, symbol, c, func(doc *drawing.Document) ([]footnote.DrawingChanged, error) { return doc.Back(version, c) })
}

// Redo makes the change again that was taken back last.
func (b *Boards) Redo(ctx context.Context, p footnote.Principal, symbol string, c drawing.Cause) (Changed, error) {
	return b.edit(ctx, p, symbol, c, func(doc *drawing.Document) ([]footnote.DrawingChanged, error) { return doc.Again(c) })
}

// Import adds drawings; those with an id that is there replace it. With clear all others
// go. It is one change.
func (b *Boards) Import(ctx context.Context, p footnote.Principal, symbol string, all []drawing.Drawing, clear bool, c drawing.Cause) (Changed, error) {
	data, err := b.bounds(ctx, symbol, c.By)
	if err != nil {
		return Changed{}, err
	}
	for i := range all {
		if all[i].Symbol == "" {
			all[i].Symbol = symbol
		}
		if all[i].Symbol != symbol {
			return Changed{}, footnote.Errorf(footnote.InvalidRequest, "Drawing %d is of %.40q, and not of %s.", i+1, all[i].Symbol, symbol)
		}
		if err := all[i].Check(); err != nil {
			return Changed{}, footnote.Errorf(footnote.InvalidRequest, "Drawing %d: %s", i+1, footnote.MessageOf(err))
		}
		if err := all[i].Within(data); err != nil {
			return Changed{}, footnote.Errorf(footnote.InvalidRequest, "Drawing %d: %s", i+1, footnote.MessageOf(err))
		}
	}
	return b.edit(ctx, p, symbol, c, func(doc *drawing.Document) ([]footnote.DrawingChanged, error) {
		return doc.Bring(all, clear, c, newID)
	})
}

// Made is what was made under the name of a call, if it was.
func (b *Boards) Made(ctx context.Context, p footnote.Principal, symbol string, c drawing.Cause) (res Changed, made bool, err error) {
	err = b.use(ctx, p, symbol, func(e *entry) error {
		var step int64
		if step, made = e.doc.Made(c); made {
			res = Changed{Version: e.doc.Version, Changes: e.doc.Step(step), Again: true}
		}
		return nil
	})
	return res, made, err
}

// Withdraw takes back what was made under the name of a call, as far as nobody has changed
// it since. The reason is that of the cause.
func (b *Boards) Withdraw(ctx context.Context, p footnote.Principal, symbol string, c drawing.Cause) error {
	call := c
	c.Call = "" // the name stays that of the change which is taken back
	_, err := b.edit(ctx, p, symbol, c, func(doc *drawing.Document) ([]footnote.DrawingChanged, error) {
		step, made := doc.Made(call)
		if !made {
			return nil, nil
		}
		bodies, err := doc.Back(step, c)
		if footnote.CodeOf(err) == footnote.Conflict {
			return nil, nil // somebody went on from there, or it is gone already
		}
		return bodies, err
	})
	return err
}

// Try says why a change would be refused, as a scratch document is after others that
// are about to be made. Nothing is written.
func (b *Boards) Try(ctx context.Context, p footnote.Principal, symbol string, f func(doc *drawing.Document) error) error {
	return b.use(ctx, p, symbol, func(e *entry) error { return f(e.doc.Clone()) })
}

// Forget deletes all drawings of a person, and returns on how many symbols there were some.
func (b *Boards) Forget(ctx context.Context, p footnote.Principal) (n int, err error) {
	for before := ""; ; {
		heads, next, err := b.opts.Log.List(ctx, footnote.Page{Org: p.Org, User: p.User, Kind: "document", Before: before, Limit: 200})
		if err != nil {
			return n, err
		}
		for _, head := range heads {
			if !IsBoard(head) {
				continue
			}
			switch err := b.opts.Log.Delete(ctx, head.ID); footnote.CodeOf(err) {
			case "":
				n++
			case footnote.NotFound: // somebody was quicker
			default:
				return n, err
			}
		}
		if before = next; next == "" {
			return n, nil
		}
	}
}
