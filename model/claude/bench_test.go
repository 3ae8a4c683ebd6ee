package claude

import (
	"bytes"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model/modeltest"
)

// silent is a Live that does nothing.
type silent struct{ n int }

func (s *silent) Start(int, string, string, string)          {}
func (s *silent) Delta(int, []byte)                          { s.n++ }
func (s *silent) Stop(int)                                   {}
func (s *silent) Flush()                                     {}
func (s *silent) Retrying(int, footnote.Code, time.Duration) {}

func deltaEvent(text string) string {
	return "event: content_block_delta\ndata: " +
		"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" + text +
		"\"}}\n\n"
}

// openReader returns a reader in the middle of a text block.
func openReader(tb testing.TB) (*reader, *silent) {
	live := &silent{}
	r := newReader(live)
	feed(tb, r, `data: {"type":"message_start","message":{"id":"m"}}`+"\n\n"+
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`+"\n\n"+
		deltaEvent("x"))
	return r, live
}

// feed passes bytes to the reader as if one read had returned them.
func feed(tb testing.TB, r *reader, data string) {
	for len(data) > 0 {
		if err := r.room(); err != nil {
			tb.Fatal(err)
		}
		n := copy(r.buf[r.end:], data)
		r.end += n
		data = data[n:]
		if err := r.consume(); err != nil {
			tb.Fatal(err)
		}
	}
}

var deltaTexts = map[string]string{
	"words":   " revenue in March",
	"escapes": ` \"net\" revenue\n`,
	"unicode": " Umsätze im März — 📈",
	"timed":   "000123:123456789012345 ",
}

func BenchmarkDelta(b *testing.B) {
	for name, text := range deltaTexts {
		b.Run(name, func(b *testing.B) {
			r, live := openReader(b)
			event := []byte(deltaEvent(text))
			block := r.msg.blocks[0]
			block.text = make([]byte, 0, 1<<20)
			b.ReportAllocs()
			for b.Loop() {
				r.end += copy(r.buf[r.end:], event)
				if err := r.consume(); err != nil {
					b.Fatal(err)
				}
				if r.msg.size = 0; len(block.text) > 1<<19 {
					block.text = block.text[:0]
				}
			}
			if live.n == 0 {
				b.Fatal("nothing was shown")
			}
		})
	}
}

// BenchmarkStream reads answers of a thousand deltas each, as a fast upstream sends them, and reports the
// cost per delta.
func BenchmarkStream(b *testing.B) {
	const deltas = 1000
	stream := []byte(`data: {"type":"message_start","message":{"id":"m"}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
		strings.Repeat(deltaEvent(" revenue in March"), deltas) +
		"data: {\"type\":\"message_stop\"}\n\n")
	b.ReportAllocs()
	for b.Loop() {
		r := newReader(&silent{})
		if err := r.run(bytes.NewReader(stream), func() {}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/deltas, "ns/delta")
}

// TestDeltasDoNotAllocate checks that a delta costs no allocation. The benchmarks measure time; a time limit
// here would fail on a busy machine.
func TestDeltasDoNotAllocate(t *testing.T) {
	for name, text := range deltaTexts {
		r, live := openReader(t)
		r.msg.blocks[0].text = make([]byte, 0, 1<<20)
		event := []byte(deltaEvent(text))
		allocs := testing.AllocsPerRun(1000, func() {
			r.end += copy(r.buf[r.end:], event)
			if err := r.consume(); err != nil {
				t.Fatal(err)
			}
			r.msg.flush()
		})
		if allocs != 0 || live.n < 1000 {
			t.Errorf("%s: %v allocations per delta, %d shown", name, allocs, live.n)
		}
	}
}

// maxDelta is the most time a delta may take, from the upstream's bytes to Live.
const maxDelta = 600 * time.Nanosecond

// TestDeltasAreFast takes the best of many short rounds, which are little affected by other load on the machine and
// which stays far below the limit.
func TestDeltasAreFast(t *testing.T) {
	if raceEnabled {
		t.Log("the race detector slows everything down; not measured")
		return
	}
	const round = 1000
	for name, text := range deltaTexts {
		r, _ := openReader(t)
		block := r.msg.blocks[0]
		block.text = make([]byte, 0, 1<<20)
		event := []byte(deltaEvent(text))
		best := time.Hour
		for range 50 {
			block.text, r.msg.size = block.text[:0], 0
			begun := time.Now()
			for range round {
				r.end += copy(r.buf[r.end:], event)
				if err := r.consume(); err != nil {
					t.Fatal(err)
				}
			}
			best = min(best, time.Since(begun)/round)
		}
		t.Logf("%s: %v", name, best)
		if best > maxDelta {
			t.Errorf("%s: %v per delta, want at most %v", name, best, maxDelta)
		}
	}
}

// BenchmarkStep makes a whole call over loopback that is answered with one delta: the cost of a step apart
// from its deltas, including the server's half.
func BenchmarkStep(b *testing.B) {
	rule, err := modeltest.Builtin("text", modeltest.Params{Text: "ok", Deltas: 1})
	if err != nil {
		b.Fatal(err)
	}
	m := benchModel(b, rule)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Step(b.Context(), ask(user("hi")), &silent{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkManyStreams reads 500 streams at once, with a delta every 20 ms on each, and reports the CPU time
// per delta of client and server together.
func BenchmarkManyStreams(b *testing.B) {
	const streams, deltas = 500, 50
	rule, err := modeltest.Builtin("timed", modeltest.Params{Deltas: deltas, Gap: 20 * time.Millisecond})
	if err != nil {
		b.Fatal(err)
	}
	m := benchModel(b, rule)
	before := cpuTime(b)
	for b.Loop() {
		var wg sync.WaitGroup
		for range streams {
			wg.Go(func() {
				live := &silent{}
				if _, err := m.Step(b.Context(), ask(user("hi")), live); err != nil || live.n != deltas {
					b.Errorf("%d deltas, %v", live.n, err)
				}
			})
		}
		wg.Wait()
	}
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N)/streams/deltas, "cpu-µs/delta")
}

func benchModel(b *testing.B, rule modeltest.Rule) *Model {
	m, err := New(Options{
		BaseURL: modeltest.New(modeltest.Options{Rule: rule, Lax: true}).Start(b),
		APIKey:  testKey,
		Model:   "claude-opus-5-5",
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(m.Close)
	return m
}

// cpuTime returns the CPU time that this process has used.
func cpuTime(testing.TB) time.Duration {
	samples := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	runtime.GC() // the runtime updates its count at each collection
	metrics.Read(samples)
	return time.Duration((samples[0].Value.Float64() - samples[1].Value.Float64()) * float64(time.Second))
}
