// Package usage adds up the model usage of people: tokens and money per user, day and tier, and the number of
// questions. It is a projection of the log. A file stores the sums together with their position in the log, so that
// they outlive the conversations they come from.
package usage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/plainfile"
)

// Log is the part of a store that the projection uses.
type Log interface {
	Tail(ctx context.Context, after int64, limit int) ([]footnote.Positioned, error)
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
}

// Day is the usage of a user on one day, in UTC, with one tier.
type Day struct {
	Date  string         `json:"date"`           // 2006-01-02
	Tier  string         `json:"tier,omitempty"` // empty: none was chosen
	Usage footnote.Usage `json:"usage"`
	Cost  footnote.Cost  `json:"cost"`
	Counts
}

// Totals follows the log. Its methods are safe for concurrent use.
type Totals struct {
	log  Log
	file string // empty: kept in memory only

	mu    sync.Mutex // guards below; held while a page of the log is read
	kept  kept
	saved int64             // the position stored in the file
	tiers map[string]string // tiers of conversations looked up so far
	asked map[string]int64  // the newest question of a conversation, until its run begins
	room  int               // runs that may begin before the next count
}

// kept is the content of the file.
type kept struct {
	Position int64            `json:"position"`
	Users    map[string][]Day `json:"users"` // by org and user, newest day last
	Runs     map[string][]Run `json:"runs"`  // by org, newest last
}

const (
	pageSize   = 500
	saveEvery  = 20_000 // positions: events after the saved position are read again from the log
	tiersKnown = 10_000
	maxFile    = 256 << 20 // bytes: enough for a million user days

	// patience limits how long a query waits for the rest of the log, which is long after an import or after the file
	// was lost.
	patience = time.Second
)

// Open reads the stored sums. A damaged file is an error: starting over would lose the cost of deleted conversations.
func Open(log Log, file string) (*Totals, error) {
	t := &Totals{
		log: log, file: file, kept: kept{Users: map[string][]Day{}, Runs: map[string][]Run{}},
		tiers: map[string]string{}, asked: map[string]int64{},
	}
	if file == "" {
		return t, nil
	}
	data, err := plainfile.Read(file, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &t.kept)
	}
	if err != nil {
		return nil, fmt.Errorf("usage: %s is damaged; remove it to count again what the log still has: %w", file, err)
	}
	if t.kept.Users == nil {
		t.kept.Users = map[string][]Day{}
	}
	if t.kept.Runs == nil {
		t.kept.Runs = map[string][]Run{}
	}
	t.saved = t.kept.Position
	return t, nil
}

// User returns the days on which a user used anything, oldest first. whole is false if there was not
// enough time to read the rest of the log; Follow continues with it, and so does the next query.
func (t *Totals) User(ctx context.Context, p footnote.Principal) (days []Day, whole bool, err error) {
	whole, err = t.query(ctx, func() { days = slices.Clone(t.kept.Users[key(p.Org, p.User)]) })
	return days, whole, err
}

// query reads what it can of the rest of the log, and then calls read with t.mu held.
func (t *Totals) query(ctx context.Context, read func()) (whole bool, err error) {
	if whole, err = t.catchUp(ctx, time.Now().Add(patience)); err != nil {
		return false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	read()
	return whole, nil
}

// Settle reads the log to its end and saves the sums. Call it before deleting a conversation.
func (t *Totals) Settle(ctx context.Context) error {
	_, err := t.catchUp(ctx, time.Time{})
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(err, t.save())
}

// How often Follow reads the log, and writes the file. It reads often enough to find the newest events in the memory
// of stores that cache them.
const (
	followEvery = time.Second
	settleEvery = 300 // reads
	lookTime    = 30 * time.Second
)

// Follow keeps up with the log until ctx ends, and then settles. Each of several servers adds up for itself, and must
// have read a conversation before another server deletes it.
func (t *Totals) Follow(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	failing := false
	for look := 1; ; look++ {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
			defer cancel()
			if err := t.Settle(last); err != nil {
				log.Warn("the usage since it was last stored is read again at the next start", "err", err)
			}
			return
		case <-tick.C:
		}
		err := t.followOnce(ctx, look%settleEvery == 0)
		if err != nil && !failing && ctx.Err() == nil {
			log.Warn("usage totals are falling behind the log", "err", err)
		}
		failing = err != nil
	}
}

// settleTime limits the last read.
const settleTime = 5 * time.Second

// followOnce is one iteration of Follow.
func (t *Totals) followOnce(ctx context.Context, settle bool) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if settle {
		return t.Settle(ctx)
	}
	_, err := t.catchUp(ctx, time.Now().Add(lookTime/2)) // the next iteration reads the rest
	return err
}

func key(org, user string) string { return org + "\x00" + user }

// catchUp reads the new events of the log page by page, so that concurrent queries need not wait for all of them. It
// reports whether it reached the end of the log. Unless end is zero, it stops after the first page past that time.
func (t *Totals) catchUp(ctx context.Context, end time.Time) (whole bool, err error) {
	for !whole && (end.IsZero() || time.Now().Before(end)) {
		if whole, err = t.page(ctx); err != nil {
			return false, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept.Position-t.saved < saveEvery {
		return whole, nil
	}
	return whole, t.save()
}

// page reads the next events of the log, and reports whether they are the last.
func (t *Totals) page(ctx context.Context) (whole bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	events, err := t.log.Tail(ctx, t.kept.Position, pageSize)
	if err != nil {
		return false, err
	}
	for _, ev := range events {
		if err := t.add(ctx, ev); err != nil {
			return false, err
		}
		t.kept.Position = ev.Position
	}
	return len(events) < pageSize, nil
}

func (t *Totals) add(ctx context.Context, ev footnote.Positioned) error {
	if ev.Stream == "" {
		return nil // too damaged to have an owner
	}
	if tier, ok := footnote.TierOf(ev.Body); ok {
		t.remember(ev.Stream, tier)
	}
	u, c := footnote.UsedBy(ev.Body)
	n := countsOf(ev.Body)
	if u == (footnote.Usage{}) && c == (footnote.Cost{}) && n == (Counts{}) {
		t.follow(ev)
		return nil
	}
	tier, err := t.tier(ctx, ev.Stream, ev.Seq)
	if err != nil {
		return err // the event was not counted, and is read again
	}
	t.follow(ev)
	date := ev.Time.UTC().Format(time.DateOnly)
	days := t.kept.Users[key(ev.Org, ev.User)]
	i, found := slices.BinarySearchFunc(days, Day{Date: date, Tier: tier}, func(a, b Day) int {
		return strings.Compare(a.Date+a.Tier, b.Date+b.Tier)
	})
	if !found {
		days = slices.Insert(days, i, Day{Date: date, Tier: tier})
	}
	days[i].Usage, days[i].Cost, days[i].Counts = days[i].Usage.Add(u), days[i].Cost.Add(c), days[i].Add(n)
	t.kept.Users[key(ev.Org, ev.User)] = days
	return nil
}

// tier returns the tier of a conversation at an event.
func (t *Totals) tier(ctx context.Context, stream string, seq int64) (tier string, err error) {
	if tier, ok := t.tiers[stream]; ok {
		return tier, nil
	}
	for ev, err := range t.log.Events(ctx, stream, 0) {
		if footnote.CodeOf(err) == footnote.NotFound {
			break // deleted in the meantime
		}
		if err != nil {
			return "", err
		}
		chosen, ok := footnote.TierOf(ev.Body)
		if ok {
			tier = chosen
		}
		if ev.Seq == 1 && !ok || ev.Seq >= seq {
			break // the first event of every stream with tiers sets one
		}
	}
	t.remember(stream, tier)
	return tier, nil
}

func (t *Totals) remember(stream, tier string) {
	if len(t.tiers) >= tiersKnown {
		clear(t.tiers)
	}
	t.tiers[stream] = tier
}

// save writes the file if there is something new. t.mu must be held.
func (t *Totals) save() error {
	if t.file == "" || t.kept.Position == t.saved {
		return nil
	}
	data, err := json.Marshal(t.kept)
	if err == nil {
		err = plainfile.Replace(t.file, data)
	}
	if err != nil {
		return footnote.Wrapf(footnote.StorageUnavailable, err, "The usage could not be stored.")
	}
	t.saved = t.kept.Position
	return nil
}
