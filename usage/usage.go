// Package usage adds up what people have used of the models: tokens and money for
// each user, day and tier. It is a projection of the log. What has been added up is
// kept in a file together with the position in the log it goes up to, so that it
// outlives the conversations it came from.
package usage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
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

// Of is what an event says was used.
func Of(b footnote.Body) (footnote.Usage, footnote.Cost) {
	switch b := b.(type) {
	case footnote.AssistantMessage:
		return b.Usage, b.Cost
	case footnote.StepFailed:
		return b.Usage, b.Cost
	case footnote.ToolResult:
		return footnote.Usage{}, b.Cost
	case footnote.Titled:
		return b.Usage, b.Cost
	case footnote.Segmented:
		return b.Usage, b.Cost
	case footnote.Spent:
		return b.Usage, b.Cost
	default:
		return footnote.Usage{}, footnote.Cost{}
	}
}

// Day is what a user has used on one day, in UTC, with one tier.
type Day struct {
	Date  string         `json:"date"`           // 2006-01-02
	Tier  string         `json:"tier,omitempty"` // empty: none was chosen
	Usage footnote.Usage `json:"usage"`
	Cost  footnote.Cost  `json:"cost"`
}

// Totals follows the log. Its methods may be called from several goroutines.
type Totals struct {
	log  Log
	file string // empty: kept in memory alone

	mu    sync.Mutex // guards below; held while the log is read
	kept  kept
	saved int64             // the position that the file has
	tiers map[string]string // of conversations, as far as they were looked up
}

// kept is what the file holds.
type kept struct {
	Position int64            `json:"position"`
	Users    map[string][]Day `json:"users"` // by org and user, newest day last
}

const (
	pageSize   = 1000
	saveEvery  = 20_000 // positions: what the file has not is in the log, and is read again
	tiersKnown = 10_000
	maxFile    = 256 << 20 // bytes: a million days of people
)

// Open reads what was added up before. A file that cannot be read as such is an
// error: beginning anew would forget what deleted conversations have cost.
func Open(log Log, file string) (*Totals, error) {
	t := &Totals{log: log, file: file, kept: kept{Users: map[string][]Day{}}, tiers: map[string]string{}}
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
	return t, nil
}

// User returns the days on which a user has used anything, oldest first.
func (t *Totals) User(ctx context.Context, p footnote.Principal) ([]Day, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.catchUp(ctx); err != nil {
		return nil, err
	}
	return slices.Clone(t.kept.Users[key(p.Org, p.User)]), nil
}

// Settle adds up all that the log has, for good. It comes before a conversation is
// deleted.
func (t *Totals) Settle(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.catchUp(ctx)
	return errors.Join(err, t.save())
}

func key(org, user string) string { return org + "\x00" + user }

// catchUp reads what is new in the log. t.mu must be held.
func (t *Totals) catchUp(ctx context.Context) error {
	for {
		events, err := t.log.Tail(ctx, t.kept.Position, pageSize)
		if err != nil {
			return err
		}
		for _, ev := range events {
			if err := t.add(ctx, ev); err != nil {
				return err
			}
			t.kept.Position = ev.Position
		}
		if len(events) < pageSize {
			break
		}
	}
	if t.kept.Position-t.saved < saveEvery {
		return nil
	}
	return t.save()
}

func (t *Totals) add(ctx context.Context, ev footnote.Positioned) error {
	if o, ok := ev.Body.(footnote.Opened); ok {
		t.remember(ev.Stream, o.Tier)
	}
	u, c := Of(ev.Body)
	if u == (footnote.Usage{}) && c == (footnote.Cost{}) {
		return nil
	}
	tier, err := t.tier(ctx, ev.Stream)
	if err != nil {
		return err
	}
	date := ev.Time.UTC().Format(time.DateOnly)
	days := t.kept.Users[key(ev.Org, ev.User)]
	i, found := slices.BinarySearchFunc(days, Day{Date: date, Tier: tier}, func(a, b Day) int {
		return strings.Compare(a.Date+a.Tier, b.Date+b.Tier)
	})
	if !found {
		days = slices.Insert(days, i, Day{Date: date, Tier: tier})
	}
	days[i].Usage, days[i].Cost = days[i].Usage.Add(u), days[i].Cost.Add(c)
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
