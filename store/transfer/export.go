// Package transfer copies conversations from one store to another. The file between them has lines of JSON, one stream
// after another, with checksums that show whether it is complete:
//
//	{"footnote_export":1}
//	{"stream":{…}} {"event":{…}}… {"gap":{"from":…,"to":…}}… {"blob":{…}}… {"end":{"id":…,"sha256":…}}
//	{"done":{"streams":N,"sha256":…}}
//
// The checksum of a stream covers its lines from stream to the one before end; the last checksum covers all lines
// before it. A stream that was deleted during the export ends with "gone" and does not count.
package transfer

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// Progress is called after each stream with the totals so far.
type Progress func(streams int, bytes int64)

// Count is the result of an export or import.
type Count struct {
	Streams int // copied
	There   int // already in the target store
	Running int // with an active run
	// Unreadable counts unreadable events, which are copied as they are stored, and unreadable blobs, which are left
	// out.
	Unreadable int
	// Missing counts the events that are not stored at all; the file lists them as gaps.
	Missing int64
}

const formatVersion = 1

// line is one line of a file; exactly one field is set.
type line struct {
	Export int      `json:"footnote_export,omitempty"`
	Stream *stream  `json:"stream,omitempty"`
	Event  *event   `json:"event,omitempty"`
	Gap    *gap     `json:"gap,omitempty"`
	Blob   *blob    `json:"blob,omitempty"`
	End    *ending  `json:"end,omitempty"`
	Gone   string   `json:"gone,omitempty"`
	Done   *closing `json:"done,omitempty"`
}

type stream struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Org       string    `json:"org"`
	User      string    `json:"user"`
	ClientID  string    `json:"client_id"`
	Assistant string    `json:"assistant"`
	Title     string    `json:"title"`
	Last      int64     `json:"last"`
	Run       string    `json:"run"`
	RunState  string    `json:"run_state"`
	Deadline  time.Time `json:"deadline"`
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`
	Found     string    `json:"-"`
}

type event struct {
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	Run  string    `json:"run"`
	Kind string    `json:"kind"`
	Body string    `json:"body"`          // the JSON as it is stored
	Raw  []byte    `json:"raw,omitempty"` // the body of an unreadable event that is not text
}

// gap is a range of events that are missing in the store.
type gap struct {
	From int64 `json:"from"` // first sequence
	To   int64 `json:"to"`   // last sequence
}

type blob struct {
	Digest footnote.Digest `json:"digest"`
	Data   []byte          `json:"data"`
}

type ending struct {
	ID  string `json:"id"`
	Sum string `json:"sha256"`
}

type closing struct {
	Streams int    `json:"streams"`
	Sum     string `json:"sha256"`
}

// writer writes lines and their checksums.
type writer struct {
	out   *bufio.Writer
	bytes int64
	all   hash.Hash
	one   hash.Hash // of the stream

	unreadable int
	missing    int64
}

func (w *writer) line(l line) error {
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode a line: %w", err)
	}
	data = append(data, '\n')
	w.all.Write(data) // never fails
	w.one.Write(data)
	w.bytes += int64(len(data))
	_, err = w.out.Write(data)
	return err
}

// Export writes all streams of an organisation, or of the whole store if org is empty.
func Export(ctx context.Context, from store.Movable, out io.Writer, org string, progress Progress) (Count, error) {
	var n Count
	w := &writer{out: bufio.NewWriterSize(out, 1<<20), all: sha256.New(), one: sha256.New()}
	if err := w.line(line{Export: formatVersion}); err != nil {
		return n, err
	}
	for head, err := range store.Walk(ctx, from.Walk) {
		if err != nil {
			return n, err
		}
		if org != "" && head.Org != org {
			continue
		}
		done, running, err := w.export(ctx, from, head.ID)
		if err != nil {
			return n, err
		}
		if done {
			n.Streams++
		}
		if running {
			n.Running++
		}
		progress(n.Streams, w.bytes)
	}
	if err := w.line(line{Done: &closing{n.Streams, sum(w.all)}}); err != nil {
		return n, err
	}
	n.Unreadable, n.Missing = w.unreadable, w.missing
	return n, w.out.Flush()
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// export writes one stream up to its current last event.
func (w *writer) export(ctx context.Context, from store.Movable, id string) (done, running bool, err error) {
	head, err := from.Get(ctx, id)
	if footnote.CodeOf(err) == footnote.NotFound {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	w.one.Reset()
	s := stream(head)
	if err := w.line(line{Stream: &s}); err != nil {
		return false, false, err
	}
	err = w.contents(ctx, from, head)
	if footnote.CodeOf(err) == footnote.NotFound { // deleted in the meantime
		return false, false, w.line(line{Gone: id})
	}
	if err != nil {
		return false, false, fmt.Errorf("export %s: %w", id, err)
	}
	return true, head.RunState == "running", w.line(line{End: &ending{id, sum(w.one)}})
}

func (w *writer) contents(ctx context.Context, from store.Movable, head store.Stream) error {
	if err := w.events(ctx, from, head); err != nil {
		return err
	}
	digests, err := from.Digests(ctx, head.ID)
	if err != nil {
		return err
	}
	for _, d := range digests {
		data, err := from.Blob(ctx, head.ID, d)
		if footnote.CodeOf(err) == footnote.StorageDamaged {
			w.unreadable++
			continue
		}
		if err != nil {
			return err
		}
		if err := w.line(line{Blob: &blob{d, data}}); err != nil {
			return err
		}
	}
	return nil
}

// events writes the events up to head.Last. It writes each gap as one line.
func (w *writer) events(ctx context.Context, from store.Movable, head store.Stream) error {
	last := int64(0) // written
	for ev, err := range from.Events(ctx, head.ID, 0) {
		if err != nil {
			return err
		}
		if ev.Seq > head.Last {
			break // written after the head was read
		}
		if ev.Seq <= last {
			return fmt.Errorf("event %d follows %d", ev.Seq, last)
		}
		if store.Missing(ev.Body) {
			continue
		}
		if err := w.gap(last+1, ev.Seq-1); err != nil {
			return err
		}
		if err := w.event(ev); err != nil {
			return err
		}
		last = ev.Seq
	}
	if last == head.Last {
		return nil
	}
	if _, err := from.Get(ctx, head.ID); err != nil {
		return err // deleted in the meantime
	}
	return w.gap(last+1, head.Last)
}

// gap writes a range of missing events, unless it is empty.
func (w *writer) gap(from, to int64) error {
	if from > to {
		return nil
	}
	w.missing += to - from + 1
	return w.line(line{Gap: &gap{from, to}})
}

func (w *writer) event(ev footnote.Event) error {
	kind, body, err := footnote.EncodeStored(ev.Body)
	if err != nil {
		return err
	}
	e := event{Seq: ev.Seq, Time: ev.Time.UTC(), Run: ev.Run, Kind: kind, Body: string(body)}
	if _, ok := ev.Body.(footnote.Unreadable); ok {
		w.unreadable++
		if !utf8.Valid(body) {
			e.Body, e.Raw = "", body
		}
	}
	return w.line(line{Event: &e})
}
