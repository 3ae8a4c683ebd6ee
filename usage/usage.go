// Package usage adds up what people have used of the models: tokens and money for
// each user, day and tier, and how often they asked. It is a projection of the log.
// What has been added up is kept in a file together with the position in the log it
// goes up to, so that it outlives the conversations it came from.
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

// Log is what the projection needs of a store.
type Log interface {
	Tail(ctx context.Context, after int64, limit int) ([]footnote.Positioned, error)
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
}

// Day is what a user has used on one day, in UTC, with one tier.
type Day struct {
	Date  string         `json:"date"`           // 2006-01-02
	Tier  string         `json:"tier,omitempty"` // empty: none was chosen
	Usage footnote.Usage `json:"usage"`
	Cost  footnote.Cost  `json:"cost"`
	Counts
}

// Totals follows the log. Its methods may be called from several goroutines.
type Totals struct {
	log  Log
	file string // empty: kept in memory alone

	mu    sync.Mutex // guards below; held while a page of the log is read
	kept  kept
	saved int64             // the position that the file has
	tiers map[string]string // of conversations, as far as they were looked up
	asked map[string]int64  // the newest question of conversations, until its run begins
	room  int               // runs that may begin before they are counted again
}

// kept is what the file holds.
type kept struct {
	Position int64            `json:"position"`
	Users    map[string][]Day `json:"users"` // by org and user, newest day last
	Runs     map[string][]Run `json:"runs"`  // by org, newest last
}

const (
	pageSize   = 500
	saveEvery  = 20_000 // positions: what the file has not is in the log, and is read again
	tiersKnown = 10_000
	maxFile    = 256 << 20 // bytes: a million days of people

	// patience is how long who asks waits for what the log has more, which is much where
	// conversations were imported, or the file was lost.
	patience = time.Second
)

// Open reads what was added up before. A file that cannot be read as such is an
// error: beginning anew would forget what deleted conversations have cost.
func Open(log Log, file string) (*Totals, error) {
	t := &Totals{log: log, file: file, kept: kept{Users: map[string][]Day{}, Runs: map[string][]Run{}}, tiers: map[string]string{}, asked: map[string]int64{}}
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
		return nil, fmt.Errorf("usage: %s is damaged, remove it to add up anew what the log still has: %w", file, err)
	}
	t.saved = t.kept.Position
	if t.kept.Users == nil {
		t.kept.Users = map[string][]Day{}
	}
	if t.kept.Runs == nil {
		t.kept.Runs = map[string][]Run{}
	}
	return t, nil
}

// User returns the days on which a user has used anything, oldest first. Whole is false
// when the log has more than could be added up while somebody waits; Follow goes on with
// it, and so does who asks again.
func (t *Totals) User(ctx context.Context, p footnote.Principal) (days []Day, whole bool, err error) {
	if whole, err = t.catchUp(ctx, time.Now().Add(patience)); err != nil {
		return nil, false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.kept.Users[key(p.Org, p.User)]), whole, nil
}

// Settle adds up all that the log has, for good. It comes before a conversation is
// deleted.
func (t *Totals) Settle(ctx context.Context) error {
	_, err := t.catchUp(ctx, time.Time{})
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(err, t.save())
}

// How often Follow looks at the log, and writes the file. It looks so often that stores
// which keep the newest events in memory need not read and decode them again.
const (
	followEvery = time.Second
	settleEvery = 300 // looks
	lookTime    = 30 * time.Second
)

// Follow keeps up with the log until ctx ends, and then settles: of several servers each
// adds up for itself, and what one of them deletes the others must have read before.
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
		err := t.look(ctx, look%settleEvery == 0)
		if err != nil && !failing && ctx.Err() == nil {
			log.Warn("the usage does not keep up with the log", "err", err)
		}
		failing = err != nil
	}
}

// settleTime is how long the last look may take.
const settleTime = 5 * time.Second

// look is what Follow does each time.
func (t *Totals) look(ctx context.Context, settle bool) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if settle {
		return t.Settle(ctx)
	}
	_, err := t.catchUp(ctx, time.Now().Add(lookTime/2)) // the rest is for the next look
	return err
}

func key(org, user string) string { return org + "\x00" + user }

// catchUp reads what is new in the log, page by page: nobody is kept waiting by what
// another one reads. It reports whether that is all of it; it stops after a page when end
// is over, unless that is zero.
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

// page reads the next events of the log, and reports whether there are no more.
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
		return nil // so damaged that it is nobody's
	}
	if o, ok := ev.Body.(footnote.Opened); ok {
		t.remember(ev.Stream, o.Tier)
	}
	u, c := footnote.UsedBy(ev.Body)
	n := CountsOf(ev.Body)
	if u == (footnote.Usage{}) && c == (footnote.Cost{}) && n == (Counts{}) {
		t.follow(ev)
		return nil
	}
	tier, err := t.tier(ctx, ev.Stream)
	if err != nil {
		return err // nothing of the event is taken: it comes again
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

// tier is the one a conversation was opened with.
func (t *Totals) tier(ctx context.Context, stream string) (string, error) {
	if tier, ok := t.tiers[stream]; ok {
		return tier, nil
	}
	for ev, err := range t.log.Events(ctx, stream, 0) {
		if footnote.CodeOf(err) == footnote.NotFound {
			break // it was deleted meanwhile
		}
		if err != nil {
			return "", err
		}
		if o, ok := ev.Body.(footnote.Opened); ok {
			t.remember(stream, o.Tier)
			return o.Tier, nil
		}
		break // it is always the first
	}
	return "", nil
}

func (t *Totals) remember(stream, tier string) {
	if len(t.tiers) >= tiersKnown {
		clear(t.tiers)
	}
	t.tiers[stream] = tier
}

// save writes the file when there is something new. t.mu must be held.
func (t *Totals) save() error {
	if t.file == "" || t.kept.Position == t.saved {
		return nil
	}
	data, err := json.Marshal(t.kept)
	if err == nil {
		err = plainfile.Replace(t.file, data)
	}
	if err != nil {
		return &footnote.Error{Code: footnote.StorageUnavailable, Message: "The usage could not be stored.", Err: err}
	}
	t.saved = t.kept.Position
	return nil
}
