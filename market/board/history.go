package board

import (
	"context"
	"fmt"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market/drawing"
)

// HistoryQuery selects changes.
type HistoryQuery struct {
	Drawing string // of this drawing; empty: of all drawings
	Before  int64  // before this version; 0: up to the newest
	Limit   int
}

// History returns changes of a document, newest first. more reports whether there are older ones.
func (b *Boards) History(ctx context.Context, p footnote.Principal, symbol string,
	q HistoryQuery) (list []drawing.Change, more bool, err error) {
	err = b.use(ctx, p, symbol, func(e *entry) (err error) {
		versions := e.doc.Earlier(q.Before, q.Drawing, q.Limit+1)
		if more = len(versions) > q.Limit; more {
			versions = versions[:q.Limit]
		}
		list, err = b.changes(ctx, e.doc, StreamOf(p, symbol), versions)
		return err
	})
	for i := range list {
		list[i] = list[i].Compared()
	}
	return list, more, err
}

// maxSince is the maximum number of changes that Since returns at once.
const maxSince = 500

// Since returns changes after a version, oldest first, without their differences: a part of them if there are many,
// and none if there are no more.
func (b *Boards) Since(ctx context.Context, p footnote.Principal, symbol string,
	version int64) (list []drawing.Change, err error) {
	err = b.use(ctx, p, symbol, func(e *entry) (err error) {
		list, err = b.changes(ctx, e.doc, StreamOf(p, symbol), e.doc.Later(version, maxSince))
		return err
	})
	return list, err
}

// changes returns the changes with the given versions. It reads only those from the log that the document no longer
// has.
func (b *Boards) changes(ctx context.Context, doc *drawing.Document, stream string,
	versions []int64) ([]drawing.Change, error) {
	var wanted []int64
	for _, v := range versions {
		if _, known := doc.Recent(v); known {
			continue
		}
		if wanted = append(wanted, v); doc.Prior(v) != 0 {
			wanted = append(wanted, doc.Prior(v))
		}
	}
	events, err := b.events(ctx, stream, wanted)
	if err != nil {
		return nil, err
	}
	list := make([]drawing.Change, 0, len(versions))
	for _, v := range versions {
		c, known := doc.Recent(v)
		if !known {
			if c, err = doc.Reread(events[v], events[doc.Prior(v)]); err != nil {
				return nil, err
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// maxReadGap is the distance between versions from which a new read costs less than reading on.
const maxReadGap = 256

// events returns the events with the given versions.
func (b *Boards) events(ctx context.Context, stream string, versions []int64) (map[int64]footnote.Event, error) {
	found := map[int64]footnote.Event{}
	slices.Sort(versions)
	versions = slices.Compact(versions)
	for len(versions) > 0 {
		next := versions[0]
		for ev, err := range b.opts.Log.Events(ctx, stream, next-1) {
			if err != nil {
				return nil, err
			}
			if ev.Seq != versions[0] {
				continue
			}
			found[ev.Seq] = ev
			if versions = versions[1:]; len(versions) == 0 || versions[0] > ev.Seq+maxReadGap {
				break
			}
		}
		if len(versions) > 0 && versions[0] == next {
			return nil, fmt.Errorf("the stream %s has no event %d", stream, next)
		}
	}
	return found, nil
}
