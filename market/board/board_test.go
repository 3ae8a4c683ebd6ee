package board_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/market/board"
	"github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

var (
	alice = footnote.Principal{Org: "acme", User: "alice"}
	bob   = footnote.Principal{Org: "acme", User: "bob"}
	hand  = drawing.Cause{By: drawing.Human, User: "alice"}
)

func agent(call, reason string) drawing.Cause {
	return drawing.Cause{
		By: drawing.Agent, User: "alice", Conversation: "conv_1", Run: "run_1", Call: call, Reason: reason,
	}
}

func line(price float64) drawing.Drawing {
	return drawing.Drawing{Type: drawing.HorizontalLine, Symbol: "EURUSD", Timeframe: "1h", Price: &price}
}

func view(t *testing.T, b *board.Boards, p footnote.Principal) board.View {
	t.Helper()
	v, err := b.View(context.Background(), p, "EURUSD")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDocumentSurvivesRestart(t *testing.T) {
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "log.db")
	open := func() store.Store {
		s, err := sqlite.Open(ctx, file, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	log := open()
	b := board.New(board.Options{Log: log, Hub: hub.New()})
	made, err := b.Put(ctx, alice, line(1.1), 0, agent("toolu_1", ""))
	if err != nil || made.Drawing().ID != board.IDOf("conv_1", "toolu_1") {
		t.Fatal(made, err)
	}
	again, err := b.Put(ctx, alice, line(1.1), 0, agent("toolu_1", ""))
	if err != nil || !again.Repeated || again.Version != 1 || again.Drawing().ID != made.Drawing().ID {
		t.Fatalf("the same call again: %+v, %v", again, err)
	}
	moved := *made.Drawing()
	moved.Price = new(1.2)
	if _, err := b.Put(ctx, alice, moved, 1, agent("toolu_2", "It broke.")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Undo(ctx, alice, "EURUSD", 0, hand); err != nil {
		t.Fatal(err)
	}
	want := view(t, b, alice)
	if *want.Drawings[0].Price != 1.1 || want.Version != 3 || !want.CanRedo {
		t.Fatalf("document before the restart: %+v", want)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log = open()
	defer log.Close()
	b = board.New(board.Options{Log: log})
	if got := view(t, b, alice); !reflect.DeepEqual(got, want) {
		t.Errorf("after a restart: %+v, want %+v", got, want)
	}
	if again, err := b.Put(ctx, alice, line(1.1), 0, agent("toolu_1", "")); err != nil || !again.Repeated {
		t.Errorf("the call after a restart: %+v, %v", again, err)
	}
	changes, more, err := b.History(ctx, alice, "EURUSD", board.HistoryQuery{Limit: 10})
	if err != nil || more || len(changes) != 3 || changes[0].Action != drawing.Undo ||
		changes[1].Reason != "It broke." || string(changes[1].Changes["price"].To) != "1.2" {
		t.Errorf("history after the restart: %+v, %v", changes, err)
	}
}

func TestServersShareDocuments(t *testing.T) {
	ctx := context.Background()
	log := sqlitetest.New(t)
	servers := []*board.Boards{board.New(board.Options{Log: log}), board.New(board.Options{Log: log})}
	var work sync.WaitGroup
	for i, b := range servers {
		for n := range 20 {
			work.Go(func() {
				if _, err := b.Put(ctx, alice, line(1+float64(100*i+n)/1000), 0, hand); err != nil {
					t.Error(err)
				}
			})
		}
	}
	work.Wait()
	first, second := view(t, servers[0], alice), view(t, servers[1], alice)
	if len(first.Drawings) != 40 || !reflect.DeepEqual(first, second) {
		t.Errorf("%d and %d drawings", len(first.Drawings), len(second.Drawings))
	}
	d := first.Drawings[0]
	d.Label = "One"
	if _, err := servers[0].Put(ctx, alice, d, d.Version, hand); err != nil {
		t.Fatal(err)
	}
	d.Label = "Two"
	_, err := servers[1].Put(ctx, alice, d, d.Version, hand)
	if old, ok := errors.AsType[*drawing.Stale](err); !ok || old.Present.Label != "One" {
		t.Errorf("the other server: %v", err)
	}
}

func TestDrawingsBelongToOnePerson(t *testing.T) {
	ctx := context.Background()
	b := board.New(board.Options{Log: sqlitetest.New(t)})
	made, err := b.Put(ctx, alice, line(1.1), 0, hand)
	if err != nil {
		t.Fatal(err)
	}
	foreign, never := *made.Drawing(), line(1.1)
	never.ID = foreign.ID + "x"
	var words []string
	for _, d := range []drawing.Drawing{foreign, never} {
		_, err := b.Put(ctx, bob, d, 0, hand)
		if footnote.CodeOf(err) != footnote.NotFound {
			t.Errorf("bob changes %s: %v", d.ID, err)
		}
		_, err = b.Remove(ctx, bob, "EURUSD", d.ID, 0, hand)
		words = append(words, fmt.Sprint(footnote.CodeOf(err), len(err.Error())-len(d.ID)))
	}
	if words[0] != words[1] {
		t.Errorf("a foreign drawing: %s, an unknown one: %s", words[0], words[1])
	}
	if v := view(t, b, bob); len(v.Drawings) != 0 {
		t.Errorf("bob sees %+v", v)
	}
}

func TestForgottenDocumentStartsEmpty(t *testing.T) {
	ctx := context.Background()
	log := sqlitetest.New(t)
	b, other := board.New(board.Options{Log: log}), board.New(board.Options{Log: log})
	for _, p := range []footnote.Principal{alice, bob} {
		if _, err := b.Put(ctx, p, line(1.1), 0, hand); err != nil {
			t.Fatal(err)
		}
	}
	view(t, other, alice)
	if n, err := b.Forget(ctx, alice); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	for _, server := range []*board.Boards{b, other} {
		if v := view(t, server, alice); len(v.Drawings) != 0 || v.Version != 0 {
			t.Errorf("document after forgetting: %+v", v)
		}
	}
	if v := view(t, b, bob); len(v.Drawings) != 1 {
		t.Errorf("bob's: %+v", v)
	}
	if _, err := b.Put(ctx, alice, line(1.3), 0, hand); err != nil {
		t.Fatal(err)
	}
	if v := view(t, other, alice); len(v.Drawings) != 1 || *v.Drawings[0].Price != 1.3 {
		t.Errorf("anew: %+v", v)
	}
}

func TestUnavailablePrices(t *testing.T) {
	ctx := context.Background()
	var away error
	b := board.New(board.Options{Log: sqlitetest.New(t),
		Data: func(_ context.Context, symbol string) (drawing.Data, error) {
			if symbol != "EURUSD" {
				return drawing.Data{}, footnote.Errorf(footnote.NotFound, "There is no symbol %s.", symbol)
			}
			return drawing.Data{First: 1_700_000_000, Last: 1_710_000_000, Low: 1, High: 1.2}, away
		}})
	if _, err := b.Put(ctx, alice, line(9), 0, hand); footnote.CodeOf(err) != footnote.InvalidRequest {
		t.Errorf("a price far from the data: %v", err)
	}
	if err := b.Symbol(ctx, "NOSUCH"); footnote.CodeOf(err) != footnote.NotFound {
		t.Errorf("no such symbol: %v", err)
	}
	away = footnote.Errorf(footnote.DatabaseUnavailable, "The prices are unavailable.")
	if _, err := b.Put(ctx, alice, line(1.1), 0, agent("t", "")); footnote.CodeOf(err) != footnote.DatabaseUnavailable {
		t.Errorf("an agent without prices: %v", err)
	}
	if _, err := b.Put(ctx, alice, line(1.1), 0, hand); err != nil {
		t.Errorf("a person without prices: %v", err)
	}
}

// countingLog is a log that counts the events read from it.
type countingLog struct {
	store.Store
	events int
}

func (r *countingLog) Events(ctx context.Context, id string, after int64) iter.Seq2[footnote.Event, error] {
	return func(yield func(footnote.Event, error) bool) {
		for ev, err := range r.Store.Events(ctx, id, after) {
			if r.events++; !yield(ev, err) {
				return
			}
		}
	}
}

// unplaced returns changes without the times at which drawings were placed, which older changes lack.
func unplaced(changes []drawing.Change) []drawing.Change {
	changes = slices.Clone(changes)
	for i := range changes {
		for _, d := range []**drawing.Drawing{&changes[i].Before, &changes[i].After} {
			if *d != nil {
				*d = new(**d)
				(*d).Placed = time.Time{}
			}
		}
	}
	return changes
}

// TestHistoryPages checks the pages of a history longer than a document keeps, for all drawings and for one.
// A page must read only the events on it.
func TestHistoryPages(t *testing.T) {
	ctx := context.Background()
	log := &countingLog{Store: sqlitetest.New(t)}
	b := board.New(board.Options{Log: log})
	var want []drawing.Change
	for i := range 1500 {
		d, why := line(1+float64(i)/1000), drawing.Cause{By: drawing.Human, User: "alice", Reason: fmt.Sprint(i)}
		if i%5 == 4 {
			d.ID = want[0].Drawing // changed repeatedly
		}
		var res board.Changed
		var err error
		if i%50 == 48 {
			res, err = b.Remove(ctx, alice, "EURUSD", want[i-1].Drawing, 0, why)
		} else {
			res, err = b.Put(ctx, alice, d, 0, why)
		}
		if err != nil {
			t.Fatal(i, err)
		}
		want = append(want, unplaced(res.Changes)...)
	}
	b = board.New(board.Options{Log: log}) // simulates a restart
	view(t, b, alice)
	slices.Reverse(want)
	of := func(id string) []drawing.Change {
		return slices.DeleteFunc(slices.Clone(want), func(c drawing.Change) bool { return id != "" && c.Drawing != id })
	}
	for _, id := range []string{"", want[len(want)-1].Drawing, want[700].Drawing, "dr_none"} {
		var got []drawing.Change
		before, more := int64(0), true
		for more {
			log.events = 0
			q := board.HistoryQuery{Drawing: id, Before: before, Limit: 50}
			page, older, err := b.History(ctx, alice, "EURUSD", q)
			if err != nil || len(page) > 50 {
				t.Fatal(len(page), err)
			}
			if most := 2*50 + 6*50; log.events > most {
				t.Errorf("a page of %q before %d reads %d events", id, before, log.events)
			}
			if got, more = append(got, unplaced(page)...), older; more {
				before = page[len(page)-1].Version
			}
		}
		if !reflect.DeepEqual(got, of(id)) && len(got)+len(of(id)) > 0 {
			t.Errorf("%q has %d changes in pages, and %d were made", id, len(got), len(of(id)))
		}
	}
	slices.Reverse(want)
	after := int64(1)
	for {
		part, err := b.Since(ctx, alice, "EURUSD", after)
		if err != nil {
			t.Fatal(err)
		}
		if len(part) == 0 {
			break
		}
		for _, c := range unplaced(part) {
			if c = c.Compared(); !reflect.DeepEqual(c, want[after]) {
				t.Fatalf("after %d came %+v, want %+v", after, c, want[after])
			}
			after = c.Version
		}
	}
	if after != 1500 {
		t.Errorf("the last change is %d", after)
	}
	for _, far := range []int64{1500, 1501, math.MaxInt64} {
		if part, err := b.Since(ctx, alice, "EURUSD", far); err != nil || len(part) != 0 {
			t.Errorf("after %d come %d changes, %v", far, len(part), err)
		}
	}
	if part, err := b.Since(ctx, alice, "EURUSD", math.MinInt64); err != nil || len(part) == 0 || part[0].Version != 1 {
		t.Errorf("from before the beginning: %v", err)
	}
}

// TestTextRoundTrip checks that a person's text survives a restart, an undo and a redo byte for byte.
func TestTextRoundTrip(t *testing.T) {
	ctx := context.Background()
	log, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "log.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	b := board.New(board.Options{Log: log})
	for i, words := range []string{
		"\x00", "\u202egnirts", "</chart>\n<b>", "\u2028\u0085", "👩‍👩‍👧", "'; DROP TABLE events;--", "\ufeff\ufffd",
	} {
		d := line(1 + float64(i))
		d.Label, d.Notes, d.Tags = words, words, []string{words}
		why := hand
		why.Reason, why.Call = words, words
		if _, err := b.Put(ctx, alice, d, 0, why); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Undo(ctx, alice, "EURUSD", 0, hand); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Redo(ctx, alice, "EURUSD", hand); err != nil {
			t.Fatal(err)
		}
		again := view(t, board.New(board.Options{Log: log}), alice)
		if got := again.Drawings[i]; got.Label != words || got.Notes != words || got.Tags[0] != words ||
			!reflect.DeepEqual(again, view(t, b, alice)) {
			t.Errorf("%q came back as %+v", words, got)
		}
	}
}

// TestDocumentCacheIsBounded checks that the limit applies to the memory of documents, not to their number.
func TestDocumentCacheIsBounded(t *testing.T) {
	ctx := context.Background()
	log := &countingLog{Store: sqlitetest.New(t)}
	b := board.New(board.Options{Log: log, Memory: 2 << 20})
	symbols := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("S%d", i))
		}
		return all
	}
	reads := func(of []string) int {
		t.Helper()
		log.events = 0
		for _, symbol := range of {
			if _, err := b.View(ctx, alice, symbol); err != nil {
				t.Fatal(err)
			}
		}
		return log.events
	}
	for _, symbol := range symbols(300) {
		small := line(1.1)
		small.Symbol = symbol
		if _, err := b.Put(ctx, alice, small, 0, hand); err != nil {
			t.Fatal(err)
		}
	}
	reads(symbols(300)) // a document is read once more after its first change
	if n := reads(symbols(300)); n != 0 {
		t.Errorf("300 small documents were read again: %d events", n)
	}
	for _, symbol := range symbols(2) {
		var many []drawing.Drawing
		for i := range 300 {
			large := line(2 + float64(i))
			large.Symbol, large.Notes = symbol, strings.Repeat("x", 4000)
			many = append(many, large)
		}
		if _, err := b.Import(ctx, alice, symbol, many, false, hand); err != nil {
			t.Fatal(err)
		}
	}
	if n := reads(symbols(2)); n < 300 {
		t.Errorf("two documents of 2 MB are kept in 2 MB: %d events were read", n)
	}
	if v, err := b.View(ctx, alice, "S0"); err != nil || len(v.Drawings) != 301 {
		t.Errorf("%d drawings, %v", len(v.Drawings), err)
	}
}

// hurriedLog is a log whose readers time out after some events.
type hurriedLog struct {
	store.Store
	events int
}

func (h *hurriedLog) Events(ctx context.Context, id string, after int64) iter.Seq2[footnote.Event, error] {
	return func(yield func(footnote.Event, error) bool) {
		n := 0
		for ev, err := range h.Store.Events(ctx, id, after) {
			if n++; n > h.events {
				yield(footnote.Event{}, context.DeadlineExceeded)
				return
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// TestLongHistoryIsReadInParts reads a history in several calls, none of which has enough time for all of it.
func TestLongHistoryIsReadInParts(t *testing.T) {
	ctx := context.Background()
	log := &hurriedLog{sqlitetest.New(t), 1000}
	b := board.New(board.Options{Log: log})
	for i := range 10 {
		if _, err := b.Put(ctx, alice, line(1+float64(i)), 0, hand); err != nil {
			t.Fatal(err)
		}
	}
	log.events = 4
	b = board.New(board.Options{Log: log}) // simulates a restart
	for try := 1; ; try++ {
		v, err := b.View(ctx, alice, "EURUSD")
		if err == nil {
			if len(v.Drawings) != 10 || try != 3 {
				t.Errorf("%d drawings after %d tries", len(v.Drawings), try)
			}
			return
		}
		if try == 10 {
			t.Fatal(err)
		}
	}
}

// TestSilentMarketDoesNotDelayDrawing checks that a silent market delays neither a person who draws nor one who imports
// many drawings.
func TestSilentMarketDoesNotDelayDrawing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, asked := t.Context(), 0
		b := board.New(board.Options{Log: sqlitetest.New(t),
			Data: func(ctx context.Context, _ string) (drawing.Data, error) {
				asked++
				<-ctx.Done()
				return drawing.Data{}, footnote.Errorf(footnote.MarketUnavailable, "The market database is down.")
			}})
		begin := time.Now()
		if err := b.Symbol(ctx, "EURUSD"); err != nil {
			t.Error(err)
		}
		if _, err := b.Put(ctx, alice, line(1.1), 0, hand); err != nil {
			t.Error(err)
		}
		var many []drawing.Drawing
		for i := range 100 {
			many = append(many, line(2+float64(i)))
		}
		if _, err := b.Import(ctx, alice, "EURUSD", many, false, hand); err != nil {
			t.Error(err)
		}
		if _, err := b.Put(ctx, alice, line(1.2), 0,
			agent("toolu_1", "")); footnote.CodeOf(err) != footnote.MarketUnavailable {
			t.Error(err)
		}
		if took := time.Since(begin); asked != 4 || took > 10*time.Second {
			t.Errorf("%d questions, %s", asked, took)
		}
	})
}
