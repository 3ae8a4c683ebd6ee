package transfer

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// maxLine is the maximum length of a line: one blob or one event.
const maxLine = 128 << 20

// errLine returns the error for an invalid line.
func errLine(n int, format string, args ...any) error {
	return footnote.Invalidf("line %d: %s", n, fmt.Sprintf(format, args...))
}

// lines yields the lines of a file with their numbers, from 1.
func lines(in io.Reader) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		scan := bufio.NewScanner(in)
		scan.Buffer(make([]byte, 0, 1<<20), maxLine)
		n := 0
		for scan.Scan() {
			if n++; !yield(n, scan.Bytes()) {
				return
			}
		}
		if err := scan.Err(); err != nil {
			yield(-n-1, []byte(err.Error()))
		}
	}
}

// Import copies the output of Export into a store. It imports each stream completely or not at all. It skips a stream
// that is already there, so that an interrupted import can be repeated. It returns a Conflict if the id of a stream
// belongs to a different one, and an InvalidRequest if the file ends before its last line.
func Import(ctx context.Context, to store.Movable, in io.Reader, progress Progress) (n Count, err error) {
	spool, err := os.CreateTemp("", "footnote-import-")
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, spool.Close(), os.Remove(spool.Name())) }()
	r := &reader{to: to, spool: spool, progress: progress}
	all := sha256.New()
	for at, raw := range lines(in) {
		if at < 0 {
			return r.n, errLine(-at, "%s", raw)
		}
		var l line
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&l); err != nil {
			return r.n, errLine(at, "it is not a line of an export: %v", err)
		}
		if l.Done != nil {
			if l.Done.Sum != sum(all) || r.head != nil {
				return r.n, errLine(at, "the file is damaged: its checksum is another")
			}
			return r.n, nil
		}
		all.Write(raw)
		all.Write([]byte{'\n'})
		if err := r.readLine(ctx, at, l, raw); err != nil {
			return r.n, err
		}
	}
	return r.n, footnote.Invalidf("The file ends before its last line. " +
		"Its complete conversations were imported; import the whole file to add the rest.")
}

// reader processes one line after another.
type reader struct {
	to       store.Movable
	spool    *os.File
	out      *bufio.Writer // to the spool
	progress Progress
	n        Count
	bytes    int64
	begun    bool
	head     *store.Stream // of the current stream
	sum      hash.Hash
}

func (r *reader) readLine(ctx context.Context, at int, l line, raw []byte) error {
	r.bytes += int64(len(raw)) + 1
	switch {
	case l.Export != 0:
		if at != 1 || l.Export != formatVersion {
			return errLine(at, "this version reads exports of version %d", formatVersion)
		}
		r.begun = true
		return nil
	case !r.begun:
		return errLine(at, "the file is not an export of Footnote")
	case l.Stream != nil:
		if r.head != nil {
			return errLine(at, "a stream begins within another")
		}
		head := store.Stream(*l.Stream)
		return r.begin(&head, raw)
	case r.head == nil:
		return errLine(at, "no stream begins before it")
	case l.Event != nil, l.Gap != nil, l.Blob != nil:
		return r.keep(raw)
	case l.Gone != "":
		r.head = nil
		return nil
	case l.End != nil:
		return r.end(ctx, at, *l.End)
	}
	return errLine(at, "it has none of the known keys")
}

func (r *reader) begin(head *store.Stream, raw []byte) error {
	r.head, r.sum = head, sha256.New()
	if _, err := r.spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := r.spool.Truncate(0); err != nil {
		return err
	}
	r.out = bufio.NewWriterSize(r.spool, 1<<20)
	return r.keep(raw)
}

func (r *reader) keep(raw []byte) error {
	for _, b := range [][]byte{raw, {'\n'}} {
		_, _ = r.sum.Write(b) // never fails
		if _, err := r.out.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// end imports a complete stream.
func (r *reader) end(ctx context.Context, at int, e ending) error {
	head := *r.head
	r.head = nil
	if e.ID != head.ID || e.Sum != sum(r.sum) {
		return errLine(at, "the stream %s is damaged: its checksum is another", head.ID)
	}
	if err := r.out.Flush(); err != nil {
		return err
	}
	err := r.to.Import(ctx, head, r.events(head.ID), r.blobs())
	switch {
	case err == nil:
		r.n.Streams++
	case footnote.CodeOf(err) == footnote.Conflict:
		if err := r.there(ctx, head); err != nil {
			return err
		}
		r.n.There++
	default:
		return fmt.Errorf("import %s: %w", head.ID, err)
	}
	r.progress(r.n.Streams+r.n.There, r.bytes)
	return nil
}

// spooled yields the lines of the current stream again.
func (r *reader) spooled() iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		if _, err := r.spool.Seek(0, io.SeekStart); err != nil {
			yield(line{}, err)
			return
		}
		for at, raw := range lines(r.spool) {
			var l line
			if at < 0 {
				yield(l, errLine(-at, "%s", raw))
				return
			}
			if err := json.Unmarshal(raw, &l); !yield(l, err) || err != nil {
				return
			}
		}
	}
}

// events yields the events of the stream. For a gap it yields the last event, which stands for all.
func (r *reader) events(id string) iter.Seq2[footnote.Event, error] {
	return func(yield func(footnote.Event, error) bool) {
		for l, err := range r.spooled() {
			var ev footnote.Event
			switch {
			case err != nil:
			case l.Gap != nil:
				ev = footnote.Event{Stream: id, Seq: l.Gap.To, Body: footnote.Unreadable{Reason: store.MissingEvent}}
			case l.Event != nil:
				ev = l.Event.read(id)
			default:
				continue
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

func (e event) read(stream string) footnote.Event {
	body := []byte(e.Body)
	if len(e.Raw) > 0 {
		body = e.Raw
	}
	return footnote.Event{Stream: stream, Seq: e.Seq, Time: e.Time, Run: e.Run, Body: footnote.ReadBody(e.Kind, body)}
}

func (r *reader) blobs() iter.Seq2[store.Blob, error] {
	return func(yield func(store.Blob, error) bool) {
		for l, err := range r.spooled() {
			if err == nil && l.Blob == nil {
				continue
			}
			var b store.Blob
			if err == nil {
				b = store.Blob{Digest: l.Blob.Digest, Data: l.Blob.Data}
				if footnote.DigestOf(b.Data) != b.Digest {
					err = fmt.Errorf("the content of the blob %s does not match its digest", b.Digest)
				}
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// there returns an error unless the existing stream with the same id is the imported one, possibly with later events.
func (r *reader) there(ctx context.Context, head store.Stream) error {
	other := footnote.Errorf(footnote.Conflict, "The id or the name of the conversation %s is taken by another. "+
		"It was not imported, and the import ends.", head.ID)
	have, err := r.to.Get(ctx, head.ID)
	if footnote.CodeOf(err) == footnote.NotFound {
		return other
	}
	if err != nil {
		return err
	}
	if have.Org != head.Org || have.User != head.User || have.Last < head.Last {
		return other
	}
	next, stop := iter.Pull2(stored(r.to.Events(ctx, head.ID, 0)))
	defer stop()
	for ev, err := range stored(r.events(head.ID)) {
		if err != nil {
			return err
		}
		got, err, ok := next()
		if err != nil {
			return err
		}
		if !ok || !same(got, ev) {
			return other
		}
	}
	return nil
}

// stored yields events without the missing ones.
func stored(events iter.Seq2[footnote.Event, error]) iter.Seq2[footnote.Event, error] {
	return func(yield func(footnote.Event, error) bool) {
		for ev, err := range events {
			if (err != nil || !store.Missing(ev.Body)) && !yield(ev, err) {
				return
			}
		}
	}
}

func same(a, b footnote.Event) bool {
	kindA, bodyA, errA := footnote.EncodeStored(a.Body)
	kindB, bodyB, errB := footnote.EncodeStored(b.Body)
	return errA == nil && errB == nil && a.Seq == b.Seq && a.Run == b.Run && a.Time.Equal(b.Time) &&
		kindA == kindB && bytes.Equal(bodyA, bodyB)
}
