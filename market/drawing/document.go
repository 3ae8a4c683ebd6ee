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
	maxSteps  = 200      // that can be undone
	maxUndone = 32 << 20 // bytes of drawings kept for undo, not counting the newest step
	maxRecent = 500      // changes that a document keeps in full
	maxEvents = 200_000  // per document; then it accepts no more
)

// Change is the change of one drawing, derived from its event and the events before it.
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
	Step         int64           `json:"step"`              // the step it belongs to
	Reverts      int64           `json:"reverts,omitempty"` // the step that it undoes or redoes
}

// Document holds the drawings on the chart of one symbol, folded from events. The zero value is empty. It must be
// used by one goroutine at a time.
type Document struct {
	Symbol  string
	Version int64 // sequence of its last event
	Prices  Data  // against which changes are checked; zero: unknown

	drawings map[string]*Drawing  // never modified in place
	bytes    int                  // of all drawings, as computed by size
	order    []string             // ids in order of creation; removed ones leave gaps
	at       map[string]int       // index in order
	born     map[string]Stamp     // including removed drawings
	touched  map[string]time.Time // last change of each by a person, including removed drawings
	latest   map[string]int64     // newest change of each, including removed drawings
	prior    []uint32             // by version from 1: previous change of the same drawing, or 0, or noChange
	done     []step               // steps that can be undone, newest last
	held     int                  // bytes of drawings kept for undo
	undone   []step               // steps that can be redone, newest last
	calls    map[string]int64     // steps by the id of their call
	recent   []Change
}

// step is a change that is undone as a whole.
type step struct {
	seq   int64 // of its first event
	parts []part
}

// size returns the bytes that only this step keeps: the previous states of drawings.
func (s step) size() (n int) {
	for _, p := range s.parts {
		n += p.size()
	}
	return n
}

func (p part) size() int { return 50 + p.before.size() }

// part is the effect of a step on one drawing. Nil means that there is none.
type part struct {
	id            string
	before, after *Drawing
}

// Apply applies the next event of the stream. It skips kinds that do not belong to a document, and changes that
// cannot be read: only their effect is lost.
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
	before := d.drawings[b.ID]
	if after != nil {
		after.Placed = ev.Time.UTC()
		if before != nil && before.samePlace(after) {
			after.Placed = before.Placed
		}
	}
	c := changeOf(ev, b, before, after)
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

// after returns the drawing after an event, or nil if it was removed.
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
		Version: ev.Seq, At: ev.Time.UTC(), By: b.By, User: b.User, Conversation: b.Conversation, Run: b.Run,
		Call: b.CallID, Drawing: b.ID, Action: b.Action, Reason: b.Reason, Before: before, After: after,
		Step: cmp.Or(b.Step, ev.Seq), Reverts: b.Reverts,
	}
}

// noChange marks an event that does not change a drawing.
const noChange = math.MaxUint32

// Prior returns the version of the previous change of the same drawing, or 0 if there is none.
func (d *Document) Prior(version int64) int64 { return int64(d.prior[version-1]) }

// Earlier returns the versions of up to n changes before a version, newest first: of one drawing, or of all if id is
// empty. Version 0 means the end.
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

// Later returns the versions of up to n changes after a version, oldest first.
func (d *Document) Later(version int64, n int) (versions []int64) {
	for v := min(max(version, 0), d.Version) + 1; v <= d.Version && len(versions) < n; v++ {
		if d.prior[v-1] != noChange {
			versions = append(versions, v)
		}
	}
	return versions
}

// Recent returns the change with a version, without its differences, if the document still has it in full.
func (d *Document) Recent(version int64) (Change, bool) {
	i, ok := slices.BinarySearchFunc(d.recent, version, func(c Change, v int64) int {
		return cmp.Compare(c.Version, v)
	})
	if !ok {
		return Change{}, false
	}
	return d.recent[i], true
}

// Reread returns the change of an applied event, without its differences. prior is the event with the version Prior
// returned, if any.
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
	if now := d.drawings[b.ID]; now != nil && now.Version == ev.Seq {
		drawings[1] = now
	}
	if !ok {
		return c, fmt.Errorf("event %d of a document is not a change", ev.Seq)
	}
	return changeOf(ev, b, drawings[0], drawings[1]), nil
}

// Size estimates the memory of the document in bytes.
func (d *Document) Size() int {
	const mapped = 100 // bytes per map entry
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
	n := 700 + 16*len(d.Anchors) + 8*len(d.Levels) + len(d.Text) + len(d.Label) + len(d.Notes) + len(d.Color) +
		len(d.FillColor) + 20*len(d.Visibility)
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

// record maintains the undo and redo stacks. An undo moves its step from one to the other; the events of a step
// arrive in sequence. A step that the server reverted, because its call does not count, cannot be redone.
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
	for ; len(d.done)-old > maxSteps || d.held > maxUndone && len(d.done)-old > 1; old++ {
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
		return from, to // moved by an earlier event of the same step
	}
	return slices.Delete(slices.Clone(from), i, i+1), append(to, from[i])
}

func (d *Document) remember(c Change) {
	if len(d.recent) >= 2*maxRecent {
		d.recent = slices.Clone(d.recent[len(d.recent)-maxRecent:])
	}
	d.recent = append(d.recent, c)
}

// Since returns the changes after a version, oldest first, with their differences, as far as the document still has
// them.
func (d *Document) Since(version int64) (changes []Change) {
	return d.compared(func(c Change) bool { return c.Version > version })
}

// Step returns the changes of a step, with their differences, as far as the document still has them.
func (d *Document) Step(seq int64) (changes []Change) {
	return d.compared(func(c Change) bool { return c.Step == seq && c.Version >= seq })
}

func (d *Document) compared(wanted func(Change) bool) (changes []Change) {
	for _, c := range d.recent {
		if wanted(c) {
			changes = append(changes, c.Compared())
		}
	}
	return changes
}

// Compared returns c with its differences.
func (c Change) Compared() Change {
	c.Changes = Differences(c.Before, c.After)
	return c
}

// Drawings returns all drawings in order of creation.
func (d *Document) Drawings() []Drawing {
	all := make([]Drawing, 0, len(d.at))
	for _, id := range d.order {
		if id != "" {
			all = append(all, *d.drawings[id])
		}
	}
	return all
}

// Drawing returns the drawing with the given id.
func (d *Document) Drawing(id string) (Drawing, bool) {
	if now := d.drawings[id]; now != nil {
		return *now, true
	}
	return Drawing{}, false
}

// Overruled returns an error if a person changed the drawing after the given time of a decision, even if an agent has
// changed it since. The zero time skips the check.
func (d *Document) Overruled(id string, decided time.Time) error {
	now := d.drawings[id]
	if decided.IsZero() || now == nil || !d.touched[id].After(decided) {
		return nil
	}
	return &Stale{Present: new(*now), err: footnote.Errorf(footnote.Conflict,
		"The user has changed the drawing %s since you last read it; its version is now %d.", id, now.Version)}
}

// CanUndo reports whether a change can be undone.
func (d *Document) CanUndo() bool { return len(d.done) > 0 }

// CanRedo reports whether a change can be redone.
func (d *Document) CanRedo() bool { return len(d.undone) > 0 }

// StepOf returns the step that a call has made, if any.
func (d *Document) StepOf(c Cause) (step int64, made bool) {
	if c.Call == "" {
		return 0, false
	}
	step, made = d.calls[callKey(c.Conversation, c.Call)]
	return step, made
}

// Clone returns a document that can be modified independently.
func (d *Document) Clone() *Document {
	c := *d
	c.drawings, c.at, c.born, c.calls = maps.Clone(d.drawings), maps.Clone(d.at), maps.Clone(d.born),
		maps.Clone(d.calls)
	c.touched = maps.Clone(d.touched)
	c.latest, c.prior = maps.Clone(d.latest), slices.Clone(d.prior)
	c.order, c.done, c.undone, c.recent = slices.Clone(d.order), slices.Clone(d.done), slices.Clone(d.undone),
		slices.Clone(d.recent)
	return &c
}
