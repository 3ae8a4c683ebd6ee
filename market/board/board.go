// Package board stores people's drawings in the log: one stream per person and symbol, which package drawing folds to
// a document. Its memory holds nothing beyond the log, so any server may change a document, and a restart loses
// nothing.
package board

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/market/drawing"
)

// Log is the part of a store that boards use. Its errors are those of store.Store.
type Log interface {
	CreateAppend(ctx context.Context, s footnote.Stream, a footnote.Append) ([]footnote.Event, error)
	Get(ctx context.Context, id string) (footnote.Stream, error)
	Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error)
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
	List(ctx context.Context, p footnote.Page) (heads []footnote.Stream, next string, err error)
	Delete(ctx context.Context, id string) error
}

// Options configures Boards. Log is required.
type Options struct {
	Log Log
	// Hub notifies local readers of changes; nil: no notifications.
	Hub *hub.Hub
	// Data describes the prices of a symbol. It returns NotFound for an unknown symbol; any other error means that
	// the data is temporarily unavailable. Nil: every symbol exists, and anchors are not checked.
	Data   func(ctx context.Context, symbol string) (drawing.Data, error)
	Memory int // approximate bytes of documents kept in memory; default 64 MB
}

// Boards holds the documents of drawings of all people. Its methods are safe for concurrent use.
type Boards struct {
	opts Options

	mu    sync.Mutex // guards below
	known map[string]*entry
	bytes int // of the known documents
	clock int64
}

// entry is a document in memory. The holder of busy may use its first fields.
type entry struct {
	busy    chan struct{} // holds one value while the document is in use
	doc     *drawing.Document
	created time.Time // of the stream; zero: no stream yet
	counted int64     // version at which its size was last computed
	size    int

	users int // Boards.mu guards this and the next fields
	bytes int // size as counted in Boards.bytes
	used  int64
}

// New returns boards on a log.
func New(o Options) *Boards {
	o.Memory = cmp.Or(max(o.Memory, 0), 64<<20)
	return &Boards{opts: o, known: map[string]*entry{}}
}

// prefix starts the ids of streams of drawings.
const prefix = "draw_"

// StreamOf returns the stream of a person's drawings of a symbol. It depends only on the person and the symbol, so
// two servers never create two streams.
func StreamOf(p footnote.Principal, symbol string) string {
	return prefix + digest(p.Org, p.User, symbol)
}

// IsBoard reports whether a stream holds drawings.
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

// idLength is the length of a drawing's id after its prefix: short, because models have to write it.
const idLength = 12

// IDOf returns the id of the drawing that a call creates, always the same for a call.
func IDOf(conversation, call string) string {
	return "dr_" + strings.ToLower(digest(conversation, call)[:idLength])
}

func newID() string { return "dr_" + strings.ToLower(rand.Text()[:idLength]) }

// View is a snapshot of a document.
type View struct {
	Symbol   string            `json:"symbol"`
	Version  int64             `json:"version"`
	Drawings []drawing.Drawing `json:"drawings"`
	CanUndo  bool              `json:"can_undo"`
	CanRedo  bool              `json:"can_redo"`
}

func viewOf(d *drawing.Document) View {
	return View{
		Symbol: d.Symbol, Version: d.Version, Drawings: d.Drawings(), CanUndo: d.CanUndo(), CanRedo: d.CanRedo(),
	}
}

// View returns a person's drawings of a symbol. Without any, the document is empty.
func (b *Boards) View(ctx context.Context, p footnote.Principal, symbol string) (v View, err error) {
	err = b.use(ctx, p, symbol, func(e *entry) error {
		v = viewOf(e.doc)
		return nil
	})
	return v, err
}

// Symbol returns an error if a symbol has an invalid name, or does not exist.
func (b *Boards) Symbol(ctx context.Context, symbol string) error {
	_, err := b.Data(ctx, symbol)
	if footnote.CodeOf(err) == footnote.NotFound || footnote.CodeOf(err) == footnote.InvalidRequest {
		return err
	}
	return nil // whether it exists is unknown for now
}

// dataTime limits the lookup of price data: drawings do not wait for a market that does not respond.
const dataTime = 2 * time.Second

// Data describes the prices of a symbol.
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

// bounds returns the data for checking anchors. While the data is unavailable, a person may still draw; an agent, who
// cannot see the chart, may not.
func (b *Boards) bounds(ctx context.Context, symbol, by string) (drawing.Data, error) {
	data, err := b.Data(ctx, symbol)
	switch code := footnote.CodeOf(err); {
	case err == nil, code == footnote.NotFound, code == footnote.InvalidRequest, by == drawing.Agent:
		return data, err
	default:
		return drawing.Data{}, ctx.Err()
	}
}

// Changed is the result of a change.
type Changed struct {
	Version  int64            // of the document
	Changes  []drawing.Change // of this step, with their differences
	Repeated bool             // the call had made this change before
}

// Drawing returns the drawing after the change; nil if it was removed.
func (c Changed) Drawing() *drawing.Drawing {
	if len(c.Changes) == 0 {
		return nil
	}
	return c.Changes[0].After
}

// Put adds a drawing, or replaces the one with its id. base is the version the caller knows, or 0. If the drawing has
// a different version by now, the error is a *drawing.Stale; if it does not exist, the code is NotFound.
func (b *Boards) Put(ctx context.Context, p footnote.Principal, d drawing.Drawing, base int64,
	c drawing.Cause) (Changed, error) {
	data, err := b.bounds(ctx, d.Symbol, c.By)
	if err != nil {
		return Changed{}, err
	}
	fresh := d.ID == ""
	if fresh {
		if d.ID = newID(); c.Call != "" {
			d.ID = IDOf(c.Conversation, c.Call)
		}
	}
	res, err := b.edit(ctx, p, d.Symbol, c, func(doc *drawing.Document) ([]footnote.DrawingChanged, error) {
		doc.Prices = data
		body, differs, err := footnote.DrawingChanged{}, true, error(nil)
		if fresh {
			body, err = doc.Add(d, c)
		} else {
			body, differs, err = doc.Replace(d, base, c)
		}
		if err != nil || !differs {
			return nil, err
		}
		return []footnote.DrawingChanged{body}, nil
	})
	if err != nil || len(res.Changes) > 0 {
		return res, err
	}
	// Nothing differs: the existing drawing is the requested one.
	err = b.use(ctx, p, d.Symbol, func(e *entry) error {
		if now, ok := e.doc.Drawing(d.ID); ok {
			res.Changes = []drawing.Change{{
				Version: now.Version, Drawing: d.ID, Action: drawing.Update, Before: &now, After: &now,
				Changes: map[string]drawing.Diff{},
			}}
		}
		return nil
	})
	return res, err
}

// Remove removes a drawing.
func (b *Boards) Remove(ctx context.Context, p footnote.Principal, symbol, id string, base int64,
	c drawing.Cause) (Changed, error) {
	return b.edit(ctx, p, symbol, c, func(doc *drawing.Document) ([]footnote.DrawingChanged, error) {
		body, err := doc.Remove(id, base, c)
		return []footnote.DrawingChanged{body}, err
	})
}

// Undo undoes the newest change, or the one with the given version.
func (b *Boards) Undo(ctx context.Context, p footnote.Principal, symbol string, version int64,
	c drawing.Cause) (Changed, error) {
	return b.edit(ctx, p, symbol, c, func(doc *drawing.Document) ([]footnote.DrawingChanged, error) {
		return doc.Undo(version, c)
	})
}

// Redo redoes the change that was undone last.
func (b *Boards) Redo(ctx context.Context, p footnote.Principal, symbol string, c drawing.Cause) (Changed, error) {
	return b.edit(ctx, p, symbol, c, func(doc *drawing.Document) ([]footnote.DrawingChanged, error) {
		return doc.Redo(c)
	})
}

// Import adds drawings; those with a known id replace the existing ones. With clear it removes all others. It is a
// single change.
func (b *Boards) Import(ctx context.Context, p footnote.Principal, symbol string, all []drawing.Drawing, clear bool,
	c drawing.Cause) (Changed, error) {
	data, err := b.bounds(ctx, symbol, c.By)
	if err != nil {
		return Changed{}, err
	}
	for i := range all {
		if all[i].Symbol = cmp.Or(all[i].Symbol, symbol); all[i].Symbol != symbol {
			return Changed{}, footnote.Invalidf("Drawing %d is of %.40q, and not of %s.", i+1, all[i].Symbol, symbol)
		}
	}
	return b.edit(ctx, p, symbol, c, func(doc *drawing.Document) ([]footnote.DrawingChanged, error) {
		doc.Prices = data
		return doc.Import(all, clear, c, newID)
	})
}

// ChangeOf returns the change that a call has made, if any.
func (b *Boards) ChangeOf(ctx context.Context, p footnote.Principal, symbol string,
	c drawing.Cause) (res Changed, made bool, err error) {
	err = b.use(ctx, p, symbol, func(e *entry) error {
		res = earlier(e.doc, c)
		return nil
	})
	return res, res.Repeated, err
}

// Withdraw reverts the change of a call, unless the drawing has changed since. The cause provides the
// reason.
func (b *Boards) Withdraw(ctx context.Context, p footnote.Principal, symbol string, c drawing.Cause) error {
	call := c
	c.Call = "" // the id remains that of the reverted change
	_, err := b.edit(ctx, p, symbol, c, func(doc *drawing.Document) ([]footnote.DrawingChanged, error) {
		step, made := doc.StepOf(call)
		if !made {
			return nil, nil
		}
		bodies, err := doc.Undo(step, c)
		if footnote.CodeOf(err) == footnote.Conflict {
			return nil, nil // changed since, or already removed
		}
		return bodies, err
	})
	return err
}

// Try reports why a change would be rejected, using a scratch document that includes other pending changes. It writes
// nothing.
func (b *Boards) Try(ctx context.Context, p footnote.Principal, symbol string,
	f func(doc *drawing.Document) error) error {
	return b.use(ctx, p, symbol, func(e *entry) error { return f(e.doc.Clone()) })
}

// Forget deletes all drawings of a person, and returns the number of symbols that had some.
func (b *Boards) Forget(ctx context.Context, p footnote.Principal) (n int, err error) {
	for before := ""; ; {
		heads, next, err := b.opts.Log.List(ctx, footnote.Page{
			Org: p.Org, User: p.User, Kind: "document", Before: before, Limit: 200,
		})
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
			case footnote.NotFound: // another caller was faster
			default:
				return n, err
			}
		}
		if before = next; next == "" {
			return n, nil
		}
	}
}
