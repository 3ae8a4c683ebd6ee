package hub_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
)

// event returns an event whose body contains its sequence number.
func event(seq int64) footnote.Event {
	return footnote.Event{Stream: "s", Seq: seq, Run: "r", Body: footnote.Titled{Title: fmt.Sprint(seq)}}
}

func events(from, to int64) []footnote.Event {
	var evs []footnote.Event
	for seq := from; seq <= to; seq++ {
		evs = append(evs, event(seq))
	}
	return evs
}

func head(index int) footnote.Delta {
	return footnote.Delta{Run: "r", Step: 1, Index: index, Kind: "text"}
}

// words renders a batch: events by number, deltas by block and text.
func words(batch hub.Batch) string {
	var w []string
	for _, e := range batch {
		d := e.Delta
		switch {
		case e.Event != nil:
			w = append(w, fmt.Sprint(e.Event.Seq))
		case d.Op == footnote.BlockStarted:
			w = append(w, fmt.Sprintf("%d[", d.Index))
		case d.Op == footnote.BlockGrew:
			w = append(w, fmt.Sprintf("%d:%s", d.Index, d.Escaped))
		case d.Op == footnote.BlockEnded:
			w = append(w, fmt.Sprintf("]%d", d.Index))
		default:
			w = append(w, "note")
		}
	}
	return strings.Join(w, " ")
}

// take checks what a reader gets without waiting.
func take(t *testing.T, r *hub.Reader, want string) {
	t.Helper()
	batch, err := r.Take()
	if got := words(batch); got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func subscribe(t *testing.T, h *hub.Hub, after, replay int64) *hub.Reader {
	t.Helper()
	r, got := h.Subscribe("s", after)
	if got != replay {
		t.Errorf("subscribed after %d: replay to %d, want %d", after, got, replay)
	}
	t.Cleanup(r.Close)
	return r
}

func TestReaderGetsMissedTextAsOnePiece(t *testing.T) {
	h := hub.New()
	topic := h.Open("s", 4)
	r := subscribe(t, h, 4, 4)
	b := topic.Start(head(0))
	for _, piece := range []string{"a", "b", "c"} {
		b.Grow([]byte(piece))
		topic.Flush()
	}
	take(t, r, "0[ 0:abc")
	take(t, r, "")
	b.Grow([]byte("d"))
	b.End()
	topic.Flush()
	topic.Publish(event(5))
	take(t, r, "0:d ]0 5")
}

func TestUncommittedEventHidesLaterItems(t *testing.T) {
	h := hub.New()
	topic := h.Open("s", 0)
	r := subscribe(t, h, 0, 0)
	first := topic.Reserve(2)
	b := topic.Start(head(0))
	b.Grow([]byte("text"))
	topic.Flush()
	second := topic.Reserve(1)
	b.End()
	topic.Note(footnote.Delta{Op: footnote.StepBroke})
	take(t, r, "")
	first.Committed(events(1, 2))
	take(t, r, "1 2 0[ 0:text ]0")
	second.Committed(events(3, 3))
	take(t, r, "3 note")
}

func TestConcurrentBlocksKeepOrder(t *testing.T) {
	h := hub.New()
	topic := h.Open("s", 0)
	r := subscribe(t, h, 0, 0)
	one, two := topic.Start(head(0)), topic.Start(head(1))
	two.Grow([]byte("x"))
	one.Grow([]byte("a"))
	topic.Flush()
	take(t, r, "0[ 0:a")
	two.End()
	topic.Flush()
	take(t, r, "")
	one.Grow([]byte("b"))
	one.End()
	topic.Flush()
	take(t, r, "0:b ]0 1[ 1:x ]1")
}

func TestFailDeliversVisibleItemsThenError(t *testing.T) {
	h := hub.New()
	reason := errors.New("the disk is full")
	topic := h.Open("s", 0)
	defer topic.Close()
	r := subscribe(t, h, 0, 0)
	topic.Publish(event(1))
	topic.Reserve(1)
	topic.Note(footnote.Delta{Op: footnote.StepBroke})
	topic.Fail(reason)
	batch, err := r.Next(t.Context())
	if words(batch) != "1" || err != nil {
		t.Fatalf("got %q, %v", words(batch), err)
	}
	if batch, err = r.Next(t.Context()); len(batch) != 0 || !errors.Is(err, reason) {
		t.Errorf("got %q, %v, want %v", words(batch), err, reason)
	}
	// The next run starts with its own topic.
	next := h.Open("s", 1)
	defer next.Close()
	fresh := subscribe(t, h, 1, 1)
	next.Publish(event(2))
	take(t, fresh, "2")
}

// TestSubscribeReplayRange checks the arithmetic of Last-Event-ID: what is in the log, what is in
// the topic, and what the client has seen.
func TestSubscribeReplayRange(t *testing.T) {
	h := hub.New()
	if _, replay := h.Subscribe("nothing live", 7); replay != -1 {
		t.Errorf("replay = %d, want -1", replay)
	}
	topic := h.Open("s", 10)
	defer topic.Close()
	topic.Publish(events(11, 12)...)
	b := topic.Start(head(0))
	b.Grow([]byte("step one"))
	b.End()
	topic.Publish(event(13))
	growing := topic.Start(head(1))
	growing.Grow([]byte("step two"))
	topic.Flush()
	for after, want := range map[int64]string{
		0:       "11 12 0[ 0:step one ]0 13 1[ 1:step two", // after events 1 to 10 from the log
		10:      "11 12 0[ 0:step one ]0 13 1[ 1:step two",
		11:      "12 0[ 0:step one ]0 13 1[ 1:step two",
		12:      "0[ 0:step one ]0 13 1[ 1:step two",
		13:      "1[ 1:step two",
		1 << 62: "1[ 1:step two",
		-5:      "11 12 0[ 0:step one ]0 13 1[ 1:step two",
	} {
		take(t, subscribe(t, h, after, 10), want)
	}
	// Events that the caller has meanwhile read from the log are not delivered again.
	r := subscribe(t, h, 0, 10)
	r.Skip(12)
	r.Skip(3) // never moves back
	take(t, r, "0[ 0:step one ]0 13 1[ 1:step two")
}

func TestTrimKeepsItemsOfSlowReaders(t *testing.T) {
	h := hub.New()
	topic := h.Open("s", 0)
	slow, fast := subscribe(t, h, 0, 0), subscribe(t, h, 0, 0)
	topic.Publish(events(1, 3)...)
	take(t, fast, "1 2 3")
	topic.Trim()
	topic.Close()
	take(t, slow, "1 2 3")
	next := h.Open("s", 3)
	defer next.Close()
	next.Publish(event(4))
	next.Trim() // both still need 4
	late := subscribe(t, h, 3, 3)
	take(t, slow, "4")
	take(t, fast, "4")
	take(t, late, "4")
	next.Trim()
	subscribe(t, h, 0, 4) // by now everything is in the log
}

func TestNextRunDoesNotRepeatLast(t *testing.T) {
	h := hub.New()
	topic := h.Open("s", 0)
	slow := subscribe(t, h, 0, 0)
	b := topic.Start(head(0))
	b.Grow([]byte("old"))
	b.End()
	topic.Publish(event(1))
	topic.Trim()
	topic.Close()
	next := h.Open("s", 1)
	defer next.Close()
	fresh := subscribe(t, h, 1, 0) // the slow reader still holds the old run
	next.Publish(event(2))
	take(t, fresh, "2")
	take(t, slow, "0[ 0:old ]0 1 2")
}

func TestNextWaitsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hub.New()
		topic := h.Open("s", 0)
		r, _ := h.Subscribe("s", 0)
		got := make(chan string)
		go func() {
			defer close(got)
			for {
				batch, err := r.Next(context.Background())
				if err != nil {
					got <- err.Error()
					return
				}
				got <- words(batch)
			}
		}()
		synctest.Wait()
		topic.Publish(event(1))
		if w := <-got; w != "1" {
			t.Errorf("got %q", w)
		}
		synctest.Wait()
		h.Close()
		if w := <-got; w != hub.ErrClosed.Error() {
			t.Errorf("got %q", w)
		}
		<-got
		if n := h.Readers(); n != 1 {
			t.Errorf("%d readers, want 1", n)
		}
		r.Close()
		topic.Close()
		after, _ := h.Subscribe("s", 0)
		if _, err := after.Next(context.Background()); !errors.Is(err, hub.ErrClosed) || h.Readers() != 1 {
			t.Errorf("subscribed to a closed hub: %v, %d readers", err, h.Readers())
		}
		after.Close()
		ctx, cancel := context.WithCancelCause(context.Background())
		why := errors.New("why")
		cancel(why)
		other, _ := hub.New().Subscribe("s", 0)
		if _, err := other.Next(ctx); !errors.Is(err, why) {
			t.Errorf("err = %v, want %v", err, why)
		}
	})
}

// record holds what a reader received: the event numbers and the text of each block.
type record struct {
	seqs   []int64
	blocks []string
}

func (rec *record) add(batch hub.Batch) (last bool) {
	for _, e := range batch {
		switch {
		case e.Event != nil:
			rec.seqs = append(rec.seqs, e.Event.Seq)
			_, last = e.Event.Body.(footnote.RunFinished)
		case e.Delta.Op == footnote.BlockStarted:
			rec.blocks = append(rec.blocks, "")
		case e.Delta.Op == footnote.BlockGrew:
			rec.blocks[len(rec.blocks)-1] += string(e.Delta.Escaped)
		}
	}
	return last
}

// run writes steps, each with a block and an event, and commits from another goroutine as a writer does. It
// returns what readers should see.
func run(topic *hub.Topic, steps int) record {
	type commit struct {
		p  hub.Pending
		ev []footnote.Event
	}
	commits := make(chan commit, 4)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c := range commits {
			c.p.Committed(c.ev)
		}
	}()
	var want record
	for step := range steps {
		b := topic.Start(head(step))
		text := ""
		for n := range 20 {
			piece := fmt.Sprintf("%d.%d ", step, n)
			b.Grow([]byte(piece))
			topic.Flush()
			text += piece
		}
		b.End()
		seq := int64(step + 1)
		ev := event(seq)
		if step == steps-1 {
			ev.Body = footnote.RunFinished{}
		}
		commits <- commit{topic.Reserve(1), []footnote.Event{ev}}
		want.blocks, want.seqs = append(want.blocks, text), append(want.seqs, seq)
	}
	close(commits)
	<-done
	return want
}

func TestReadersSeeEachEventOnce(t *testing.T) {
	const readers = 500
	h := hub.New()
	topic := h.Open("s", 0)
	var wg sync.WaitGroup
	seen := make([]record, readers)
	for i := range seen {
		r, _ := h.Subscribe("s", 0)
		wg.Go(func() {
			defer r.Close()
			for n := 0; ; n++ {
				if i%7 == 0 && n%3 == 0 {
					topic.Trim() // safe at any time: it removes nothing that a reader needs
				}
				batch, err := r.Next(t.Context())
				if err != nil {
					t.Errorf("reader %d: %v", i, err)
					return
				}
				if seen[i].add(batch) {
					return
				}
			}
		})
	}
	want := run(topic, 30)
	wg.Wait()
	topic.Close()
	for i := range seen {
		if !reflect.DeepEqual(seen[i], want) {
			t.Fatalf("reader %d saw\n%v\nwant\n%v", i, seen[i], want)
		}
	}
	if n := h.Readers(); n != 0 {
		t.Errorf("%d readers left", n)
	}
	subscribe(t, h, 0, -1) // the topic is gone with its last user
}

// TestReconnectingReadersMissNothing checks that clients that leave and come back with the number of their
// last event see each event once.
func TestReconnectingReadersMissNothing(t *testing.T) {
	h := hub.New()
	topic := h.Open("s", 0)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			var rec record
			last := int64(0)
			for {
				r, replay := h.Subscribe("s", last)
				if replay > last {
					t.Errorf("reader %d: replay to %d after %d of a topic that was not trimmed", i, replay, last)
				}
				batch, err := r.Next(t.Context())
				over := err != nil || rec.add(batch)
				r.Close()
				if n := len(rec.seqs); n > 0 {
					last = rec.seqs[n-1]
				}
				if over {
					break
				}
			}
			for n, seq := range rec.seqs {
				if seq != int64(n+1) {
					t.Errorf("reader %d saw %v", i, rec.seqs)
					return
				}
			}
		})
	}
	run(topic, 30)
	wg.Wait()
	topic.Close()
}

// stream returns a topic with a growing block, and readers that are up to date.
func stream(h *hub.Hub, readers int) (topic *hub.Topic, b hub.Block, rs []*hub.Reader) {
	topic = h.Open("s", 0)
	for range readers {
		r, _ := h.Subscribe("s", 0)
		rs = append(rs, r)
	}
	b = topic.Start(head(0))
	b.Grow(make([]byte, 1<<20)) // preallocate, so that buffer growth is not measured
	topic.Flush()
	for _, r := range rs {
		_, _ = r.Take()
	}
	return topic, b, rs
}

func TestDeltaDoesNotAllocate(t *testing.T) {
	topic, b, rs := stream(hub.New(), 3)
	piece := []byte("some words ")
	allocs := testing.AllocsPerRun(5000, func() {
		b.Grow(piece)
		topic.Flush()
		for _, r := range rs {
			if batch, err := r.Next(t.Context()); err != nil || len(batch) != 1 {
				t.Fatalf("%d entries, %v", len(batch), err)
			}
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for each delta", allocs)
	}
}

func BenchmarkDelta(b *testing.B) {
	for _, readers := range []int{1, 500} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			topic, block, rs := stream(hub.New(), readers)
			piece := []byte("some words ")
			b.ReportAllocs()
			for b.Loop() {
				block.Grow(piece)
				topic.Flush()
				for _, r := range rs {
					_, _ = r.Take()
				}
			}
		})
	}
}

// TestDirect grows a block that a direct reader receives while it waits, in pieces of which some are refused. Other
// readers, events and blocks come and go. Every byte must arrive once and in order.
func TestDirect(t *testing.T) {
	h := hub.New()
	topic := h.Open("s", 0)
	defer topic.Close()
	r, _ := h.Subscribe("s", 0)
	defer r.Close()

	var got, unsent []byte
	direct := 0
	r.Direct(func(d footnote.Delta) bool {
		if d.Op != footnote.BlockGrew || len(unsent) > 0 {
			t.Errorf("got %v directly, with %q unsent", d.Op, unsent)
		}
		if rand.IntN(5) == 0 {
			unsent = append(unsent, d.Escaped...)
			return false
		}
		direct++
		got = append(got, d.Escaped...)
		return true
	})
	events := 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		for events < 20 {
			batch, err := r.Next(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			got, unsent = append(got, unsent...), unsent[:0]
			for _, e := range batch {
				if e.Event != nil {
					events++
				}
				got = append(got, e.Delta.Escaped...)
			}
		}
	}()
	var want []byte
	for n := range 20 {
		b := topic.Start(footnote.Delta{Index: n})
		for i := range 500 {
			piece := fmt.Appendf(nil, "%d.%d ", n, i)
			want = append(want, piece...)
			b.Grow(piece)
			topic.Flush()
			switch rand.IntN(20) {
			case 0:
				other, _ := h.Subscribe("s", 0)
				other.Close()
			case 1, 2, 3:
				runtime.Gosched()
			}
		}
		b.End()
		topic.Publish(footnote.Event{Stream: "s", Seq: int64(n + 1)})
	}
	<-done
	if string(got) != string(want) {
		t.Errorf("%d bytes arrived, %d were written, or in another order", len(got), len(want))
	}
	if direct == 0 {
		t.Error("no piece was delivered directly")
	}
}

// TestDirectEndsWithContext checks that a direct reader that waits ends with its context.
func TestDirectEndsWithContext(t *testing.T) {
	h := hub.New()
	topic := h.Open("s", 0)
	defer topic.Close()
	r, _ := h.Subscribe("s", 0)
	r.Direct(func(footnote.Delta) bool { return true })
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the client left")
	time.AfterFunc(time.Millisecond, func() { cancel(gone) })
	if _, err := r.Next(ctx); err != gone {
		t.Errorf("Next = %v, want %v", err, gone)
	}
	r.Close()
	b := topic.Start(footnote.Delta{})
	b.Grow([]byte("x"))
	topic.Flush() // nobody is left to deliver to
}
