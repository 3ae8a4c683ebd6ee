// Package inbox lists the answers that administrators should look at: those that a person rated as bad, and those with
// numbers that have no footnote. It is a projection of the log. A file stores the list with its position in the log. It
// has neither texts nor names of users: they are only in the log, as long as their conversation exists.
package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pause"
	"github.com/footnotehq/footnote/internal/plainfile"
)

// Log is the part of a store that the projection uses.
type Log interface {
	Tail(ctx context.Context, after int64, limit int) ([]footnote.Positioned, error)
}

// Item is an answer to look at.
type Item struct {
	Position     int64     `json:"position"` // of the newest event about it
	Conversation string    `json:"conversation"`
	Seq          int64     `json:"seq"`                // of the event answered
	Feedback     int64     `json:"feedback,omitempty"` // sequence of the bad rating; 0: none
	Flagged      int       `json:"flagged,omitempty"`  // numbers without a footnote
	Time         time.Time `json:"time"`               // of the newest event about it
}

// Inbox follows the log. Its methods are safe for concurrent use.
type Inbox struct {
	log  Log
	file string // empty: kept in memory only

	mu    sync.Mutex // guards below; held while a page of the log is read
	kept  kept
	saved int64 // the position stored in the file
	total int   // items of all organisations
}

// kept is the content of the file.
type kept struct {
	Position int64             `json:"position"`
	Orgs     map[string][]Item `json:"orgs"` // newest last
}

const (
	perOrg    = 500    // newest items of an organisation
	maxItems  = 20_000 // of all organisations: each start reads the whole file
	pageSize  = 500
	saveEvery = 20_000 // positions: events after the saved position are read again from the log
	maxFile   = 64 << 20

	patience    = time.Second      // how long a query waits for the rest of the log
	followEvery = 10 * time.Second // so that queries find little left to read
	lookTime    = 30 * time.Second
	settleTime  = 5 * time.Second
)

// Open reads the stored list. A damaged file is an error.
func Open(log Log, file string) (*Inbox, error) {
	b := &Inbox{log: log, file: file}
	if file != "" {
		data, err := plainfile.Read(file, maxFile)
		if err == nil {
			err = json.Unmarshal(data, &b.kept)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("inbox: %s is damaged; remove it to read the log again: %w", file, err)
		}
	}
	if b.kept.Orgs == nil {
		b.kept.Orgs = map[string][]Item{}
	}
	for _, items := range b.kept.Orgs {
		b.total += len(items)
	}
	b.saved = b.kept.Position
	return b, nil
}

// Items returns the items of an organisation, newest first. whole is false if there was not enough time to read the
// rest of the log; the next call continues.
func (b *Inbox) Items(ctx context.Context, org string) (items []Item, whole bool, err error) {
	if whole, err = b.catchUp(ctx, time.Now().Add(patience)); err != nil {
		return nil, false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	items = slices.Clone(b.kept.Orgs[org])
	slices.Reverse(items)
	return items, whole, nil
}

// Remove removes an item, because its conversation does not exist any more.
func (b *Inbox) Remove(org string, item Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.take(org, item.Conversation, item.Seq)
}

// Follow keeps up with the log until ctx ends, and then writes the file. Each of several servers has its own.
func (b *Inbox) Follow(ctx context.Context, log *slog.Logger) {
	failing := false
	for pause.For(ctx, followEvery) == nil {
		limited, cancel := context.WithTimeout(ctx, lookTime)
		_, err := b.catchUp(limited, time.Now().Add(lookTime/2))
		cancel()
		if err != nil && !failing && ctx.Err() == nil {
			log.Warn("the inbox is falling behind the log", "err", err)
		}
		failing = err != nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	_, err := b.catchUp(last, time.Now().Add(settleTime))
	b.mu.Lock()
	defer b.mu.Unlock()
	if err = errors.Join(err, b.save()); err != nil {
		log.Warn("the inbox since it was last stored is read again at the next start", "err", err)
	}
}

// catchUp reads the new events of the log page by page, until end, and reports whether it reached the end of the log.
func (b *Inbox) catchUp(ctx context.Context, end time.Time) (whole bool, err error) {
	for !whole && time.Now().Before(end) {
		if whole, err = b.page(ctx); err != nil {
			return false, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept.Position-b.saved < saveEvery {
		return whole, nil
	}
	return whole, b.save()
}

// page reads the next events of the log, and reports whether they are the last.
func (b *Inbox) page(ctx context.Context) (whole bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events, err := b.log.Tail(ctx, b.kept.Position, pageSize)
	if err != nil {
		return false, err
	}
	for _, ev := range events {
		b.follow(ev)
		b.kept.Position = ev.Position
	}
	return len(events) < pageSize, nil
}

// follow updates the list with an event. b.mu must be held.
func (b *Inbox) follow(ev footnote.Positioned) {
	if ev.Stream == "" {
		return // too damaged to have an owner
	}
	switch body := ev.Body.(type) {
	case footnote.Answered:
		if len(body.Unresolved) > 0 {
			b.add(ev, Item{Seq: ev.Seq, Flagged: len(body.Unresolved)})
		}
	case footnote.Feedback:
		item, known := b.take(ev.Org, ev.Stream, body.Seq)
		item.Seq, item.Feedback = body.Seq, 0
		if !body.Good {
			item.Feedback = ev.Seq
		}
		if !body.Good || known && item.Flagged > 0 {
			b.add(ev, item)
		}
	}
}

// take removes an item and returns it. b.mu must be held.
func (b *Inbox) take(org, conversation string, seq int64) (Item, bool) {
	items := b.kept.Orgs[org]
	for i := range slices.Backward(items) {
		if item := items[i]; item.Conversation == conversation && item.Seq == seq {
			b.kept.Orgs[org] = slices.Delete(items, i, i+1)
			b.total--
			return item, true
		}
	}
	return Item{}, false
}

// add adds an item as the newest. b.mu must be held.
func (b *Inbox) add(ev footnote.Positioned, item Item) {
	item.Position, item.Conversation, item.Time = ev.Position, ev.Stream, ev.Time.UTC()
	items := append(b.kept.Orgs[ev.Org], item)
	b.total++
	if len(items) > perOrg {
		b.total -= len(items) - perOrg
		items = slices.Delete(items, 0, len(items)-perOrg)
	}
	b.kept.Orgs[ev.Org] = items
	for keep := perOrg / 2; b.total > maxItems && keep > 0; keep /= 2 {
		b.thin(keep)
	}
}

// thin keeps the newest items of each organisation. b.mu must be held.
func (b *Inbox) thin(keep int) {
	b.total = 0
	for org, items := range b.kept.Orgs {
		if len(items) > keep {
			b.kept.Orgs[org] = slices.Clone(items[len(items)-keep:])
		}
		b.total += len(b.kept.Orgs[org])
	}
}

// save writes the file if there is something new. b.mu must be held.
func (b *Inbox) save() error {
	if b.file == "" || b.kept.Position == b.saved {
		return nil
	}
	data, err := json.Marshal(b.kept)
	if err == nil {
		err = plainfile.Replace(b.file, data)
	}
	if err != nil {
		return footnote.Wrapf(footnote.StorageUnavailable, err, "The inbox could not be stored.")
	}
	b.saved = b.kept.Position
	return nil
}
