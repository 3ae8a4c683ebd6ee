package store

import (
	"fmt"
	"sync"

	"github.com/footnotehq/footnote"
)

// Damage tells of the events that a store cannot read: once of each, however often it is
// read. Its zero value, and one without Report, tells nobody. Its methods may be called from
// several goroutines.
type Damage struct {
	Report func(stream string, seq int64, reason string)

	mu   sync.Mutex // guards below
	told map[place]bool
}

type place struct {
	stream string
	seq    int64
	blob   footnote.Digest
}

// mostTold bounds the events that are remembered; then they are told of again.
const mostTold = 10_000

// Body decodes the body of an event, as footnote.ReadBody does, and tells when it cannot.
func (d *Damage) Body(stream string, seq int64, kind string, data []byte) footnote.Body {
	b := footnote.ReadBody(kind, data)
	if u, ok := b.(footnote.Unreadable); ok {
		d.tell(place{stream: stream, seq: seq}, u.Reason)
	}
	return b
}

// Lost is an event of which nothing is known but its place, and why it cannot be read.
func (d *Damage) Lost(stream string, seq int64, reason string) footnote.Event {
	d.tell(place{stream: stream, seq: seq}, reason)
	return footnote.Event{Stream: stream, Seq: seq, Body: footnote.Unreadable{Reason: reason}}
}

// mostMissing is how many events of a gap are stood in for.
const mostMissing = 1_000

// Gap appends stand-ins for the events that are not there between the last one read and the
// next. Of a gap that is very long they are the newest.
func (d *Damage) Gap(page []footnote.Event, stream string, last, next int64) []footnote.Event {
	for seq := max(last+1, next-mostMissing); seq < next; seq++ {
		page = append(page, d.Lost(stream, seq, MissingEvent))
	}
	return page
}

// MissingEvent is why an event cannot be read that is not there.
const MissingEvent = "the event is not there"

func (d *Damage) tell(at place, reason string) {
	if d.Report == nil {
		return
	}
	d.mu.Lock()
	known := d.told[at]
	if !known {
		if d.told == nil || len(d.told) >= mostTold {
			d.told = map[place]bool{}
		}
		d.told[at] = true
	}
	d.mu.Unlock()
	if !known {
		d.Report(at.stream, at.seq, reason)
	}
}

// Blob returns data, which was read under a name, or tells of it and returns an error with the code StorageDamaged.
func (d *Damage) Blob(stream string, digest footnote.Digest, data []byte) ([]byte, error) {
	if DigestOf(data) == digest {
		return data, nil
	}
	return nil, d.LostBlob(stream, digest, "it has another content")
}

// LostBlob tells of a blob that cannot be read, and returns an error with the code StorageDamaged.
func (d *Damage) LostBlob(stream string, digest footnote.Digest, reason string) error {
	d.tell(place{stream: stream, blob: digest}, fmt.Sprintf("blob %.80q: %s", digest, reason))
	return errDamaged(digest)
}

// errDamaged is the error for a blob whose content is not the one its name says.
func errDamaged(d footnote.Digest) error {
	return &footnote.Error{
		Code:    footnote.StorageDamaged,
		Message: "A part of this conversation cannot be read: what is stored of it is damaged.",
		Err:     fmt.Errorf("the blob %.80q cannot be read", d),
	}
}
