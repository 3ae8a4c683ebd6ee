package drawing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
)

// The actions of a change.
const (
	Create = "create"
	Update = "update"
	Remove = "remove"
	Undo   = "undo"
	Redo   = "redo"
	Import = "import"
)

const (
	mostSteps  = 200      // that can be undone
	mostUndone = 32 << 20 // bytes of drawings that are kept to be put back, the newest step aside
	mostRecent = 500      // changes that a document remembers whole
	mostEvents = 200_000  // of a document, before it takes no more
)

// Change is what became of one drawing, as its event says and the events before it.
type Change struct {
	Version      int64           `json:"version"` // sequence of the event
	At           time.Time       `json:"at"`
	By           string          `json:"by"`
	User         string          `json:"user,omitempty"`
	Conversation string          `json:"conversation,omitempty"`
	Run          string          `json:"run,omitempty"`
	Call         string          `json:"call,omitempty"`
	Drawing      string          `json:"drawing"` // its id
	Action       string          `json:"action"`
	Reason       string          `json:"reason,omitempty"`
	Changes      map[string]Diff `json:"changes"`
	Before       *Drawing        `json:"before,omitempty"`
	After        *Drawing        `json:"after,omitempty"`
	Step         int64           `json:"step"`              // the change it is part of
	Reverts      int64           `json:"reverts,omitempty"` // the step that it takes back, or makes again
}

// Document is the drawings on the chart of one symbol, folded from events. The zero
// value is one without any. It belongs to one goroutine.
type Document struct {
	Symbol  string
	Version int64 // sequence of its last event

	drawings map[string]*Drawing  // never changed in place
	bytes    int                  // of all of them, as size counts
	order    []string             // ids, in the order in which they were made; those that went left gaps
	at       map[string]int       // where in order
	born     map[string]Stamp     // also of those that are gone
	touched  map[string]time.Time // when a person last changed each, also of those that are gone
	latest   map[string]int64     // the newest change of each, also of those that are gone
	prior    []uint32             // by version from 1: the change before it of the same drawing, or 0, or noChange
	done     []step               // that can be undone, the newest last
	held     int                  // bytes of what they would put back
	undone   []step               // that can be made again, the newest last
	calls    map[string]int64     // steps by the name of their call
	recent   []Change
}

// step is a change that is undone as one.
type step struct {
	seq   int64 // of its first event
	parts []part
}

// size is how many bytes a step keeps that nothing else does: drawings as they were.
func (s step) size() (n int) {
	for _, p := range s.parts {
		n += p.size()
	}
	return n
}

func (p part) size() int { return 50 + p.before.size() }

// part is what a step did to one drawing. Nil is none.
type part struct {
	id            string
	before, after *Drawing
}

// Fold makes a document of the events of its stream.
func Fold(symbol string, events []footnote.Event) (*Document, error) {
	d := &Document{Symbol: symbol}
	for _, ev := range events {
		if err := d.Apply(ev); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Apply takes the next event of the stream. Kinds that are none of a document are skipped,
// and so is a change that cannot be read: what it did is lost, and the rest is not.
func (d *Document) Apply(ev footnote.Event) error {
	if ev.Seq != d.Version+1 {
		return fmt.Errorf("a document at version %d was given event %d", d.Version, ev.Seq)
	}
	b, ok := ev.Body.(footnote.DrawingChanged)
	after, err := d.after(ev, b)
	if !ok || err != nil {
		d.Version, d.prior = ev.Seq, append(d.prior, noChange)
		return nil
	}
	if after != nil && after.Created == after.Changed {
		put(&d.born, b.ID, after.Created)
	}
	if b.By == Human {
		put(&d.touched, b.ID, ev.Time.UTC())
	}
	c := changeOf(ev, b, d.drawings[b.ID], after)
	d.Version, d.prior = ev.Seq, append(d.prior, uint32(d.latest[b.ID]))
	put(&d.latest, b.ID, ev.Seq)
	d.set(b.ID, after)
	if b.CallID != "" {
		put(&d.calls, callKey(b.Conversation, b.CallID), c.Step)
	}
	d.record(b, c.Step, part{b.ID, c.Before, after})
	d.remember(c)
	return nil
}

// after is the drawing of an event; nil when it is gone.
func (d *Document) after(ev footnote.Event, b footnote.DrawingChanged) (*Drawing, error) {
	if b.Drawing == nil {
		return nil, nil
	}
	now := new(Drawing)
	if err := json.Unmarshal(b.Drawing, now); err != nil {
		return nil, fmt.Errorf("event %d of a document: %w", ev.Seq, err)
	}
	now.ID, now.Version, now.Changed = b.ID, ev.Seq, Stamp{By: b.By, At: ev.Time.UTC()}
	var old bool
	if now.Created, old = d.born[b.ID]; !old {
		now.Created = now.Changed
	}
	return now, nil
}

func changeOf(ev footnote.Event, b footnote.DrawingChanged, before, after *Drawing) Change {
	return Change{
		Version: ev.Seq, At: ev.Time.UTC(), By: b.By, User: b.User, Conversation: b.Conversation, Run: b.Run, Call: b.CallID, Drawing: b.ID,
		Action: b.Action, Reason: b.Reason, Before: before, After: after, Step: cmp.Or(b.Step, ev.Seq), Reverts: b.Reverts,
	}
}

// noChange stands for an event that is no change of a drawing.
const noChange = math.MaxUint32

// Prior is the version of the change before one of the same drawing; 0: it was the first.
func (d *Document) Prior(version int64) int64 { return int64(d.prior[version-1]) }

// Earlier are the versions of the newest changes before a version, at most n, the newest
// first: of one drawing, or of all when id is empty. Before 0 all count.
func (d *Document) Earlier(version int64, id string, n int) (versions []int64) {
	v := d.Version
	if id != "" {
		v = d.latest[id]
	}
	for ; v > 0 && len(versions) < n; v = d.next(v, id) {
		if (version == 0 || v < version) && d.prior[v-1] != noChange {
			versions = append(versions, v)
		}
	}
	return versions
}

func (d *Document) next(v int64, id string) int64 {
	if id != "" {
		return d.Prior(v)
	}
	return v - 1
}

// Later are the versions of the changes after a version, at most n, the oldest first.
func (d *Document) Later(version int64, n int) (versions []int64) {
	for v := min(max(version, 0), d.Version) + 1; v <= d.Version && len(versions) < n; v++ {
		if d.prior[v-1] != noChange {
			versions = append(versions, v)
		}
	}
	return versions
}

// Recent is the change with a version, without its differences, when the document
// remembers it whole.
func (d *Document) Recent(version int64) (Change, bool) {
	i, ok := slices.BinarySearchFunc(d.recent, version, func(c Change, v int64) int { return cmp.Compare(c.Version, v) })
	if !ok {
		return Change{}, false
	}
	return d.recent[i], true
}

// Reread is the change of an event that was applied, without its differences. Prior is the
// event of Prior, or none.
func (d *Document) Reread(ev, prior footnote.Event) (c Change, err error) {
	var drawings [2]*Drawing
	for i, e := range []footnote.Event{prior, ev} {
		if b, ok := e.Body.(footnote.DrawingChanged); ok {
			if drawings[i], err = d.after(e, b); err != nil {
				return c, err
			}
		}
	}
	b, ok := ev.Body.(footnote.DrawingChanged)
	if !ok {
		return c, fmt.Errorf("event %d of a document is no change", ev.Seq)
	}
	return changeOf(ev, b, drawings[0], drawings[1]), nil
}

// Size is about how many bytes of memory the document takes.
func (d *Document) Size() int {
	const mapped = 100 // an entry of a map
	n := 1000 + d.bytes + 4*len(d.prior) + mapped*(len(d.born)+len(d.touched)+len(d.latest)+len(d.calls)+2*len(d.at))
	for _, c := range d.recent {
		n += 300 + len(c.Reason) + c.After.size()
	}
	for _, s := range d.undone {
		n += s.size()
	}
	return n + d.held
}

func (d *Drawing) size() int {
	if d == nil {
		return 0
	}
	n := 700 + 16*len(d.Anchors) + 8*len(d.Levels) + len(d.Text) + len(d.Label) + len(d.Notes) + len(d.Color) + len(d.FillColor) + 20*len(d.Visibility)
	for _, t := range d.Tags {
		n += 16 + len(t)
	}
	return n
}

func put[V any](m *map[string]V, k string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[k] = v
}

func callKey(conversation, call string) string { return conversation + "\x00" + call }

func (d *Document) set(id string, now *Drawing) {
	i, there := d.at[id]
	d.bytes += now.size() - d.drawings[id].size()
	switch {
	case now == nil && there:
		delete(d.drawings, id)
		delete(d.at, id)
		d.order[i] = ""
		if len(d.order) > 64 && len(d.at) < len(d.order)/2 {
			d.close()
		}
	case now != nil:
		if !there {
			put(&d.at, id, len(d.order))
			d.order = append(d.order, id)
		}
		put(&d.drawings, id, now)
	}
}

// close closes the gaps in the order.
func (d *Document) close() {
	d.order = slices.DeleteFunc(d.order, func(id string) bool { return id == "" })
	for i, id := range d.order {
		d.at[id] = i
	}
}

// record keeps the steps that can be undone and made again. An undo moves its step from
// the one to the other; the events of a step come one after another. What the server took
// back, because its call does not count, is nobody's to make again.
func (d *Document) record(b footnote.DrawingChanged, seq int64, p part) {
	switch {
	case b.Action == Undo:
		var gone []step
		d.done, gone = move(d.done, nil, b.Reverts)
		for _, s := range gone {
			d.held -= s.size()
		}
		if b.By == Human {
			d.undone = append(d.undone, gone...)
		}
	case b.Action == Redo:
		n := len(d.done)
		d.undone, d.done = move(d.undone, d.done, b.Reverts)
		for _, s := range d.done[n:] {
			d.held += s.size()
		}
	default:
		d.undone = nil
		d.held += p.size()
		if n := len(d.done); n > 0 && d.done[n-1].seq == seq {
			d.done[n-1].parts = append(d.done[n-1].parts, p)
			break
		}
		d.done = append(d.done, step{seq: seq, parts: []part{p}})
	}
	old := 0
	for ; len(d.done)-old > mostSteps || d.held > mostUndone && len(d.done)-old > 1; old++ {
		d.held -= d.done[old].size()
	}
	if old > 0 {
		d.done = slices.Clone(d.done[old:])
	}
}

// move moves a step from one stack to the top of another, once.
func move(from, to []step, seq int64) (rest, longer []step) {
	i := slices.IndexFunc(from, func(s step) bool { return s.seq == seq })
	if i < 0 {
		return from, to // its other events have moved it
	}
	return slices.Delete(slices.Clone(from), i, i+1), append(to, from[i])
}

func (d *Document) remember(c Change) {
	if len(d.recent) >= 2*mostRecent {
		d.recent = slices.Clone(d.recent[len(d.recent)-mostRecent:])
	}
	d.recent = append(d.recent, c)
}

// Since are the changes after a version, the oldest first, without their differences.
// It is not ok when the document does not remember all of them.
func (d *Document) Since(version int64) (changes []Change, ok bool) {
	i := len(d.recent)
	for i > 0 && d.recent[i-1].Version > version {
		i--
	}
	return slices.Clone(d.recent[i:]), i > 0 || version >= d.Version || len(d.recent) > 0 && d.recent[0].Version == 1
}

// Compared is c with its differences.
func (c Change) Compared() Change {
	c.Changes = Differences(c.Before, c.After)
	return c
}

// Drawings are all drawings, in the order in which they were made.
func (d *Document) Drawings() []Drawing {
	all := make([]Drawing, 0, len(d.at))
	for _, id := range d.order {
		if id != "" {
			all = append(all, *d.drawings[id])
		}
	}
	return all
}

// Drawing is one of them.
func (d *Document) Drawing(id string) (Drawing, bool) {
	if now := d.drawings[id]; now != nil {
		return *now, true
	}
	return Drawing{}, false
}

// Overruled refuses a change of a drawing that was decided at a time, when a person has
// changed it after that, also where an agent has changed it since. The zero time is none.
func (d *Document) Overruled(id string, decided time.Time) error {
	now := d.drawings[id]
	if decided.IsZero() || now == nil || !d.touched[id].After(decided) {
		return nil
	}
	return &Stale{Present: new(*now), err: footnote.Errorf(footnote.Conflict,
		"The user has changed the drawing %s after you were told of it; it is now at version %d.", id, now.Version)}
}

// CanUndo reports whether there is a change to take back.
func (d *Document) CanUndo() bool { return len(d.done) > 0 }

// CanRedo reports whether there is one to make again.
func (d *Document) CanRedo() bool { return len(d.undone) > 0 }

// Made is the step that was made under the name of a call, if it was.
func (d *Document) Made(c Cause) (step int64, made bool) {
	if c.Call == "" {
		return 0, false
	}
	step, made = d.calls[callKey(c.Conversation, c.Call)]
	return step, made
}

// Step are the changes of a step, with their differences, as far as the document
// remembers them.
func (d *Document) Step(seq int64) (changes []Change) {
	for _, c := range d.recent {
		if c.Step == seq && c.Version >= seq {
			changes = append(changes, c.Compared())
		}
	}
	return changes
}

// Clone is a document that can be changed without this one.
func (d *Document) Clone() *Document {
	c := *d
	c.drawings, c.at, c.born, c.calls = maps.Clone(d.drawings), maps.Clone(d.at), maps.Clone(d.born), maps.Clone(d.calls)
	c.touched = maps.Clone(d.touched)
	c.latest, c.prior = maps.Clone(d.latest), slices.Clone(d.prior)
	c.order, c.done, c.undone, c.recent = slices.Clone(d.order), slices.Clone(d.done), slices.Clone(d.undone), slices.Clone(d.recent)
	return &c
}
