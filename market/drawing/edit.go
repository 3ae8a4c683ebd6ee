package drawing

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
)

// Cause is the author of a change, and the reason for it.
type Cause struct {
	By                      string // Agent or Human
	User, Conversation, Run string
	Call                    string // makes a change idempotent: it is made once per call
	Reason                  string
}

func (c Cause) check(needed bool) error {
	if needed && strings.TrimSpace(c.Reason) == "" {
		return invalid("The reason is missing: say in a sentence why the drawing is changed.")
	}
	if n := utf8.RuneCountInString(c.Reason); n > MaxReason || !utf8.ValidString(c.Reason) {
		return invalid("The reason has %d characters; at most %d are allowed.", n, MaxReason)
	}
	return nil
}

// room returns an error if the document has no room for more events, or for their drawings.
func (d *Document) room(parts ...part) error {
	if d.Version+int64(len(parts)) > maxEvents {
		return footnote.Errorf(footnote.TooLarge,
			"The history of these drawings has %d changes, the most it may have. Export them, and import them "+
				"under another user.", d.Version)
	}
	n, bytes := len(d.at), d.bytes
	for _, p := range parts {
		bytes += p.after.size() - p.before.size()
		if p.before == nil {
			n++
		}
		if p.after == nil {
			n--
		}
	}
	switch {
	case n > MaxDrawings && n > len(d.at):
		return footnote.Errorf(footnote.TooLarge, "There would be %d drawings; a chart may have %d. Remove some first.",
			n, MaxDrawings)
	case bytes > MaxBytes && bytes > d.bytes:
		return footnote.Errorf(footnote.TooLarge,
			"The drawings of this chart and their texts would take %d MB; they may take %d. "+
				"Remove some first, or shorten their notes.", (bytes>>20)+1, MaxBytes>>20)
	}
	return nil
}

// check returns an error if a drawing is invalid by itself, or does not fit the prices of the symbol.
func (d *Document) check(now *Drawing) error {
	if err := now.Check(); err != nil {
		return err
	}
	return now.Within(d.Prices)
}

// Add returns the event for a new drawing, which must have an id. An agent must not add a duplicate.
func (d *Document) Add(now Drawing, c Cause) (b footnote.DrawingChanged, err error) {
	if err := d.check(&now); err != nil {
		return b, err
	}
	if _, taken := d.born[now.ID]; taken || now.ID == "" {
		return b, footnote.Errorf(footnote.Conflict, "The id %.70q is taken.", now.ID)
	}
	if c.By == Agent {
		if id, found := Duplicate(d.Drawings(), now); found {
			return b, footnote.Errorf(footnote.Conflict,
				"This is drawn already: %s. Update that one instead, with its id %s.", d.drawings[id].Sentence(), id)
		}
	}
	if err := d.room(part{now.ID, nil, &now}); err != nil {
		return b, err
	}
	return d.event(now.ID, Create, &now, c, false)
}

// Replace returns the event for a changed drawing. base is the version on which the change is based, or 0. An
// agent must not move it onto another drawing. If nothing differs, there is no event and ok is false.
func (d *Document) Replace(now Drawing, base int64, c Cause) (b footnote.DrawingChanged, ok bool, err error) {
	old, err := d.present(now.ID, base, c)
	if err != nil {
		return b, false, err
	}
	if err := checkReplace(old, &now, false); err != nil {
		return b, false, err
	}
	if err := d.check(&now); err != nil {
		return b, false, err
	}
	if len(Differences(old, &now)) == 0 {
		return b, false, nil
	}
	if c.By == Agent && !marksSame(old, &now) { // the agent moved it
		if id, found := Duplicate(d.Drawings(), now); found {
			return b, false, footnote.Errorf(footnote.Conflict,
				"There is one already where this would be: %s. Keep that one, with its id %s, and remove this one if "+
					"it no longer holds.", d.drawings[id].Sentence(), id)
		}
	}
	if err := d.room(part{now.ID, old, &now}); err != nil {
		return b, false, err
	}
	b, err = d.event(now.ID, Update, &now, c, c.By == Agent)
	return b, err == nil, err
}

// Remove returns the event that removes a drawing.
func (d *Document) Remove(id string, base int64, c Cause) (footnote.DrawingChanged, error) {
	old, err := d.present(id, base, c)
	if err == nil {
		err = d.room(part{id, old, nil})
	}
	if err != nil {
		return footnote.DrawingChanged{}, err
	}
	return d.event(id, Remove, nil, c, c.By == Agent)
}

// present returns a drawing that may be changed.
func (d *Document) present(id string, base int64, c Cause) (*Drawing, error) {
	old := d.drawings[id]
	switch {
	case old == nil:
		return nil, missing(id)
	case base != 0 && base != old.Version:
		return nil, stale(new(*old), base)
	case old.Locked && c.By == Agent:
		return nil, invalid("The user has locked the drawing %s. It is not for you to change.", id)
	}
	return old, nil
}

func (d *Document) event(id, action string, now *Drawing, c Cause, reasoned bool) (footnote.DrawingChanged, error) {
	b := footnote.DrawingChanged{
		ID: id, Action: action, By: c.By, User: c.User, Conversation: c.Conversation, Run: c.Run, CallID: c.Call,
		Reason: c.Reason,
	}
	if now != nil {
		b.Drawing = now.content()
	}
	return b, c.check(reasoned)
}

// Undo returns the events that undo a step, or the newest if seq is 0. It returns a Conflict if one of the step's
// drawings has changed since.
func (d *Document) Undo(seq int64, c Cause) ([]footnote.DrawingChanged, error) {
	s, later, err := pick(d.done, seq, "undo")
	if err != nil {
		return nil, err
	}
	return d.revert(s, later, Undo, c, func(p part) *Drawing { return p.before })
}

// Redo returns the events that redo the step that was undone last.
func (d *Document) Redo(c Cause) ([]footnote.DrawingChanged, error) {
	s, _, err := pick(d.undone, 0, "redo")
	if err != nil {
		return nil, err
	}
	return d.revert(s, nil, Redo, c, func(p part) *Drawing { return p.after })
}

func pick(stack []step, seq int64, what string) (s step, later []step, err error) {
	i := len(stack) - 1
	if seq != 0 {
		i = slices.IndexFunc(stack, func(s step) bool { return s.seq == seq })
	}
	switch {
	case i >= 0:
		return stack[i], stack[i+1:], nil
	case seq != 0:
		return s, nil, footnote.Errorf(footnote.Conflict,
			"Change %d cannot be undone: it has been undone already, or is too old.", seq)
	default:
		return s, nil, footnote.Errorf(footnote.Conflict, "There is nothing to %s.", what)
	}
}

func (d *Document) revert(s step, later []step, action string, c Cause,
	want func(part) *Drawing) ([]footnote.DrawingChanged, error) {
	touched := map[string]bool{}
	for _, l := range later {
		for _, p := range l.parts {
			touched[p.id] = true
		}
	}
	var bodies []footnote.DrawingChanged
	var parts []part
	for _, p := range slices.Backward(s.parts) {
		if touched[p.id] {
			if now := d.drawings[p.id]; now != nil {
				return nil, stale(new(*now), s.seq)
			}
			return nil, footnote.Errorf(footnote.Conflict, "The drawing %s has been removed since.", p.id)
		}
		b, err := d.event(p.id, action, want(p), c, false)
		if err != nil {
			return nil, err
		}
		b.Reverts = s.seq
		parts, bodies = append(parts, part{p.id, d.drawings[p.id], want(p)}), append(bodies, b)
	}
	return d.asOneStep(bodies), d.room(parts...)
}

// asOneStep turns events that are appended at once into one step.
func (d *Document) asOneStep(bodies []footnote.DrawingChanged) []footnote.DrawingChanged {
	if len(bodies) > 1 {
		for i := range bodies {
			bodies[i].Step = d.Version + 1
		}
	}
	return bodies
}

// Import returns the events that import drawings. Drawings with a known id replace the existing ones; the others are
// new. With clear, all existing drawings not in the list are removed. This restores a previous chart, including the
// states of its positions.
func (d *Document) Import(all []Drawing, clear bool, c Cause, newID func() string) ([]footnote.DrawingChanged, error) {
	if len(all) > MaxDrawings {
		return nil, footnote.Errorf(footnote.TooLarge, "At most %d drawings can be imported.", MaxDrawings)
	}
	var bodies []footnote.DrawingChanged
	var parts []part
	kept := map[string]bool{}
	for i := range all {
		now := all[i]
		if err := d.check(&now); err != nil {
			return nil, invalid("Drawing %d: %s", i+1, footnote.MessageOf(err))
		}
		if now.ID == "" {
			now.ID = newID()
		}
		if kept[now.ID] {
			return nil, invalid("Drawing %d: its id %q is a duplicate.", i+1, now.ID)
		}
		kept[now.ID] = true
		if old := d.drawings[now.ID]; old != nil {
			if err := checkReplace(old, &now, clear); err != nil {
				return nil, invalid("Drawing %d: %s", i+1, footnote.MessageOf(err))
			}
			if len(Differences(old, &now)) == 0 {
				continue
			}
		}
		b, err := d.event(now.ID, Import, &now, c, false)
		if err != nil {
			return nil, err
		}
		bodies, parts = append(bodies, b), append(parts, part{now.ID, d.drawings[now.ID], &now})
	}
	for _, id := range d.order {
		if clear && id != "" && !kept[id] {
			b, err := d.event(id, Import, nil, c, false)
			if err != nil {
				return nil, err
			}
			bodies, parts = append(bodies, b), append(parts, part{id, d.drawings[id], nil})
		}
	}
	return d.asOneStep(bodies), d.room(parts...)
}
