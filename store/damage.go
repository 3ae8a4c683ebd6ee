package store

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
)

// Damage reports the events and blobs that a store cannot read: each once, however often it is read. Without Report it
// reports nothing. Its methods may be called from several goroutines.
type Damage struct {
	Report func(stream string, seq int64, reason string)

	mu       sync.Mutex // guards below
	reported map[place]bool
}

type place struct {
	stream string
	seq    int64
	blob   footnote.Digest
}

// maxReported is the number of reported places after which Damage forgets them all, and may report them again.
const maxReported = 10_000

// Body decodes the body of an event, as footnote.ReadBody does, and reports one that it cannot decode.
func (d *Damage) Body(stream string, seq int64, kind string, data []byte) footnote.Body {
	b := footnote.ReadBody(kind, data)
	if u, ok := b.(footnote.Unreadable); ok {
		d.report(place{stream: stream, seq: seq}, u.Reason)
	}
	return b
}

// Row is an event as a database holds it. Damage does not keep its Body.
type Row struct {
	Stream    string
	Seq       int64
	Time      time.Time
	TimeWrong bool // the stored value is not a time
	Run, Kind string
	Body      []byte
}

// Event returns the event of a row. If a column cannot be read, it reports the row and returns an Unreadable with the
// readable columns.
func (d *Damage) Event(r Row) footnote.Event {
	if wrong := r.clean(); wrong != "" {
		return d.unreadable(r, wrong)
	}
	body := d.Body(r.Stream, r.Seq, r.Kind, r.Body)
	return footnote.Event{Stream: r.Stream, Seq: r.Seq, Time: r.Time, Run: r.Run, Body: body}
}

func (d *Damage) unreadable(r Row, reason string) footnote.Event {
	d.report(place{stream: r.Stream, seq: r.Seq}, reason)
	body := footnote.Unreadable{Kind: r.Kind, Reason: reason, Raw: string(r.Body)}
	return footnote.Event{Stream: r.Stream, Seq: r.Seq, Time: r.Time, Run: r.Run, Body: body}
}

// Head returns a head without its unreadable columns, and reports them. wrong names columns that the caller could not
// read.
func (d *Damage) Head(h Stream, wrong ...string) Stream {
	for name, t := range map[string]*time.Time{
		"deadline":               &h.Deadline,
		"time of creation":       &h.Created,
		"time of its last event": &h.Updated,
	} {
		if !validTime(*t) {
			*t, wrong = time.Time{}, append(wrong, name)
		}
	}
	for name, s := range map[string]*string{"title": &h.Title, "assistant": &h.Assistant, "run": &h.Run} {
		if !validText(*s) {
			*s, wrong = CleanText(*s), append(wrong, name)
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		d.report(place{stream: h.ID, blob: "head"},
			"the head of the conversation: its "+strings.Join(wrong, ", its ")+" cannot be read")
	}
	return h
}

// LostBody reports and returns the event of a row whose body is damaged.
func (d *Damage) LostBody(r Row, cause error) footnote.Event {
	_ = r.clean()
	r.Body = nil
	return d.unreadable(r, cause.Error())
}

// clean clears columns with values that Footnote never writes, and returns why one cannot be read. JSON cannot encode
// such a time, and another database may reject such a text.
func (r *Row) clean() (wrong string) {
	if r.TimeWrong || !validTime(r.Time) {
		r.Time, wrong = time.Time{}, "its time cannot be read"
	}
	if !validText(r.Run) {
		r.Run, wrong = "", "its run is not text"
	}
	if !validText(r.Kind) {
		r.Kind, wrong = "", "its kind is not text"
	}
	return wrong
}

// CleanText returns a text with U+FFFD in place of bytes that some database could not store.
func CleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func validText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// The times that JSON can hold.
var (
	firstTime = time.Time{}
	endOfTime = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
)

func validTime(t time.Time) bool { return !t.Before(firstTime) && t.Before(endOfTime) }

// Lost reports and returns an event of which only the place is known.
func (d *Damage) Lost(stream string, seq int64, reason string) footnote.Event {
	return d.unreadable(Row{Stream: stream, Seq: seq}, reason)
}

// Stray reports and returns an event of the tail whose stream cannot be read.
func (d *Damage) Stray(position int64, reason string) footnote.Event {
	ev := d.Lost("", position, reason)
	ev.Seq = 0
	return ev
}

// Left reports rows that could not be deleted with their stream.
func (d *Damage) Left(stream, what string, cause error) {
	d.report(place{stream: stream, blob: footnote.Digest(what)}, fmt.Sprintf(
		"the conversation was deleted, but some of its %s remain in the database, where they cannot be read: %v; "+
			"to get rid of them, copy everything else to a new database with footnote export and footnote import",
		what, cause))
}

// maxMissing is the maximum number of placeholders for one gap.
const maxMissing = 1_000

// Gap appends placeholders for the missing events between the last one read and the next. In a very long gap only the
// newest events get one.
func (d *Damage) Gap(page []footnote.Event, stream string, last, next int64) []footnote.Event {
	for seq := max(last+1, next-maxMissing); seq < next; seq++ {
		page = append(page, d.Lost(stream, seq, MissingEvent))
	}
	return page
}

// MissingEvent is the reason of an Unreadable whose event is not stored at all.
const MissingEvent = "the event is missing"

// Missing reports whether b is the placeholder of an event that is not stored at all.
func Missing(b footnote.Body) bool {
	u, ok := b.(footnote.Unreadable)
	return ok && u.Reason == MissingEvent
}

// EachImported calls put for each event of an imported stream that is to be stored. It returns an error unless the
// events are complete and in order. A Missing event replaces all events since the one before it, and leaves a gap.
func EachImported(s Stream, events iter.Seq2[footnote.Event, error],
	put func(ev footnote.Event, kind string, body []byte) error) error {
	last := int64(0)
	for ev, err := range events {
		if err != nil {
			return err
		}
		if ev.Seq != last+1 && !(ev.Seq > last && Missing(ev.Body)) {
			return fmt.Errorf("event %d follows %d", ev.Seq, last)
		}
		last = ev.Seq
		if Missing(ev.Body) {
			continue
		}
		kind, body, err := footnote.EncodeStored(ev.Body)
		if err == nil {
			err = put(ev, kind, body)
		}
		if err != nil {
			return err
		}
	}
	if last != s.Last {
		return fmt.Errorf("the stream ends at event %d instead of %d", last, s.Last)
	}
	return nil
}

func (d *Damage) report(at place, reason string) {
	if d.Report == nil {
		return
	}
	d.mu.Lock()
	known := d.reported[at]
	if !known {
		if d.reported == nil || len(d.reported) >= maxReported {
			d.reported = map[place]bool{}
		}
		d.reported[at] = true
	}
	d.mu.Unlock()
	if !known {
		d.Report(at.stream, at.seq, reason)
	}
}

// Blob returns data if it matches the digest. Otherwise it reports the blob and returns an error with the code
// StorageDamaged.
func (d *Damage) Blob(stream string, digest footnote.Digest, data []byte) ([]byte, error) {
	if footnote.DigestOf(data) == digest {
		return data, nil
	}
	return nil, d.LostBlob(stream, digest, "its content does not match")
}

// LostBlob reports a blob that cannot be read, and returns an error with the code StorageDamaged.
func (d *Damage) LostBlob(stream string, digest footnote.Digest, reason string) error {
	d.report(place{stream: stream, blob: digest}, fmt.Sprintf("blob %.80q: %s", digest, reason))
	return errDamaged(digest)
}

// errDamaged returns the error for a blob that cannot be read or does not match its digest.
func errDamaged(d footnote.Digest) error {
	return &footnote.Error{
		Code:    footnote.StorageDamaged,
		Message: "Part of this conversation cannot be read because its stored data is damaged.",
		Err:     fmt.Errorf("the blob %.80q cannot be read", d),
	}
}
