package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/hub/relay"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

// pipe is a relay.Pipe in memory. If change is set, it decides what happens to each entry sent.
type pipe struct {
	mu      sync.Mutex // guards below
	entries map[string][][]byte
	more    chan struct{} // closed when there is something new
	broken  bool
	change  func(entry []byte) [][]byte
}

func newPipe() *pipe { return &pipe{entries: map[string][][]byte{}, more: make(chan struct{})} }

func (p *pipe) Send(_ context.Context, key string, entry []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken {
		return errors.New("the pipe is broken")
	}
	all := [][]byte{entry}
	if p.change != nil {
		all = p.change(entry)
	}
	p.entries[key] = append(p.entries[key], all...)
	close(p.more)
	p.more = make(chan struct{})
	return nil
}

func (p *pipe) Receive(ctx context.Context, key, after string, wait time.Duration) ([][]byte, string, error) {
	t := time.NewTimer(wait)
	defer t.Stop()
	for {
		p.mu.Lock()
		n := 0
		_, _ = fmt.Sscan(after, &n)
		all, more, broken := p.entries[key], p.more, p.broken
		p.mu.Unlock()
		switch {
		case broken:
			return nil, after, errors.New("the pipe is broken")
		case n < len(all):
			return all[n:], fmt.Sprint(len(all)), nil
		}
		select {
		case <-more:
		case <-t.C:
			return nil, after, nil
		case <-ctx.Done():
			return nil, after, ctx.Err()
		}
	}
}

func (p *pipe) breakDown() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = true
}

const (
	conversation = "conv_1"
	run          = "run_1"
)

// world is a conversation with an owner that says what a test wants, and a reader at another server.
type world struct {
	t      *testing.T
	log    store.Store
	pipe   *pipe
	owner  *hub.Topic
	sender *relay.Relay
	hubs   [2]*hub.Hub // of the owner and of the reader
	last   int64
	pause  time.Duration // longest pause between pieces
	far    *transcript
	near   *transcript
	ends   []func()
}

func newWorld(t *testing.T, p *pipe) *world {
	w := &world{
		t: t, log: sqlitetest.New(t), pipe: p, hubs: [2]*hub.Hub{hub.New(), hub.New()}, near: &transcript{},
		far: &transcript{}, pause: 1500 * time.Millisecond,
	}
	if err := w.log.Create(t.Context(), footnote.Stream{
		ID: conversation, Kind: "conversation", Org: "o", User: "u",
	}); err != nil {
		t.Fatal(err)
	}
	nobody := func(string) bool { return false }
	w.sender = relay.New(relay.Options{Log: w.log, Hub: w.hubs[0], Drives: nobody, Pipe: p})
	w.owner = w.hubs[0].Open(conversation, 0)
	rd, _ := w.hubs[0].Subscribe(conversation, 0)
	go w.near.read(t.Context(), rd)
	return w
}

// owned sends the run to others with the given attempt.
func (w *world) owned(attempt int) {
	rd, _ := w.hubs[0].Subscribe(conversation, w.last)
	ctx, cancel := context.WithCancel(w.t.Context())
	var sent sync.WaitGroup
	sent.Go(func() { w.sender.Send(ctx, run, attempt, rd) })
	w.ends = append(w.ends, func() { cancel(); sent.Wait(); rd.Close() })
}

// join opens the reader at the other server.
func (w *world) join() {
	here := relay.New(relay.Options{
		Log: w.log, Hub: w.hubs[1], Drives: func(string) bool { return false }, Pipe: w.pipe,
	})
	rd, _ := w.hubs[1].Subscribe(conversation, 0)
	leave := here.Watch(conversation, w.last)
	for ev := range w.log.Events(w.t.Context(), conversation, 0) {
		w.far.add(hub.Entry{Event: &ev})
	}
	rd.Skip(w.last)
	go w.far.read(w.t.Context(), rd)
	w.ends = append(w.ends, func() { leave(); here.Close(); rd.Close() })
}

func (w *world) end() {
	for _, f := range w.ends {
		f()
	}
	w.sender.Close()
	w.owner.Close()
}

func (w *world) event(body footnote.Body) {
	w.t.Helper()
	a := footnote.Append{Stream: conversation, After: w.last, Run: run, Bodies: []footnote.Body{body}}
	if _, note := body.(footnote.Titled); note {
		a.Run = ""
	}
	events, err := w.log.Append(w.t.Context(), a)
	if err != nil {
		w.t.Fatal(err)
	}
	w.last++
	w.owner.Publish(events...)
}

// transcript holds what a reader received: events and, between them, blocks with their text.
type transcript struct {
	mu    sync.Mutex // guards below
	lines []string
	text  map[int]string // of the blocks since the newest message or break
	wrong []string
}

func (tr *transcript) read(ctx context.Context, rd *hub.Reader) {
	for {
		batch, err := rd.Next(ctx)
		if err != nil {
			return
		}
		for _, e := range batch {
			tr.add(e)
		}
	}
}

func (tr *transcript) add(e hub.Entry) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if e.Event != nil {
		tr.lines = append(tr.lines, fmt.Sprint("event ", e.Event.Seq))
		if m, ok := e.Event.Body.(footnote.AssistantMessage); ok {
			tr.check(m)
			tr.text = nil
		}
		return
	}
	d := e.Delta
	line := fmt.Sprintf("%s %d.%d %d.%d %s", d.Run, d.Step, d.Attempt, d.Index, d.Op, d.Kind)
	switch d.Op {
	case footnote.BlockStarted:
		if tr.text == nil {
			tr.text = map[int]string{}
		}
		tr.text[d.Index] = ""
	case footnote.BlockGrew:
		tr.text[d.Index] += string(d.Escaped)
		if last := len(tr.lines) - 1; strings.HasPrefix(tr.lines[last], line) {
			tr.lines[last] += string(d.Escaped)
			return
		}
		line += " " + string(d.Escaped)
	case footnote.StepBroke:
		tr.text = nil
	}
	tr.lines = append(tr.lines, line)
}

// check verifies that the deltas of each message add up to exactly its text.
func (tr *transcript) check(m footnote.AssistantMessage) {
	for i, escaped := range tr.text {
		var b struct{ Text, Thinking string }
		var shown string
		if i >= len(m.Blocks) || json.Unmarshal(m.Blocks[i], &b) != nil ||
			json.Unmarshal([]byte(`"`+escaped+`"`), &shown) != nil || shown != b.Text+b.Thinking {
			tr.wrong = append(tr.wrong, fmt.Sprintf("block %d was shown as %q, and is %s", i, shown, m.Blocks[i]))
		}
	}
}

// all returns what was seen, with texts unescaped: the log may escape text differently.
func (tr *transcript) all() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var all string
	if err := json.Unmarshal([]byte(`"`+strings.Join(tr.lines, `\n`)+`"`), &all); err != nil {
		return err.Error()
	}
	return all
}

// result returns the lines and errors, once nothing more is added.
func (tr *transcript) result() (lines, wrong []string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.lines, tr.wrong
}

// words are typical pieces of model output: escapes, quotes, other scripts, HTML.
var words = []string{"Word. ", `\"quoted\" `, `line\n`, "größe ", "<b>&amp;</b> ", `\u00e9 `, `\ud83d\ude00 `, "数 "}

// speak makes the owner send a message piece by piece, and the whole of it as an event.
func (w *world) speak(rnd *rand.Rand, step int, broken bool) {
	var blocks []json.RawMessage
	attempt := 1
	for index := range 1 + rnd.IntN(3) {
		kind := []string{model.ThinkingBlock, model.TextBlock}[rnd.IntN(2)]
		b := w.owner.Start(footnote.Delta{Run: run, Step: step, Attempt: attempt, Index: index, Kind: kind})
		text := ""
		for range rnd.IntN(6) {
			piece := words[rnd.IntN(len(words))]
			text += piece
			b.Grow([]byte(piece))
			w.owner.Flush()
			time.Sleep(time.Duration(rnd.IntN(int(w.pause))))
			if rnd.IntN(12) == 0 {
				w.event(footnote.Titled{Title: "New"})
			}
		}
		b.End()
		w.owner.Flush()
		blocks = append(blocks, json.RawMessage(fmt.Sprintf(`{"type":%q,%q:"%s"}`, kind, kind, text)))
	}
	if broken {
		w.owner.Note(footnote.Delta{Run: run, Step: step, Attempt: attempt, Op: footnote.StepBroke})
		w.event(footnote.StepFailed{Step: step, Attempt: attempt})
		return
	}
	w.event(footnote.AssistantMessage{Step: step, Blocks: blocks})
}

func (w *world) begin() {
	w.event(footnote.UserMessage{Text: "go"})
	w.owned(0)
	w.event(footnote.RunStarted{})
	time.Sleep(2500 * time.Millisecond) // until then another server may not know of it
}

// TestSameOrder checks that a reader at another server sees what a reader at the owner sees, in the same
// order and byte for byte, even if it joins late.
func TestSameOrder(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t, newPipe())
			defer w.end()
			w.pause = 900 * time.Millisecond // after a silent second the mirror reads the log, which may be faster
			late := seed%2 == 1
			joined := !late
			if joined {
				w.join()
			}
			w.begin()
			step := 1
			for range 6 {
				broken := rnd.IntN(4) == 0
				w.speak(rnd, step, broken)
				if !broken {
					step++
				}
				if late && step == 3 && !joined {
					w.join()
					joined = true
				}
			}
			w.event(footnote.RunFinished{})
			time.Sleep(10 * time.Second)
			near, far := w.near.all(), w.far.all()
			if !late && near != far {
				t.Errorf("seed %d: the owner's reader saw\n%s\n\nand the other\n%s", seed, near, far)
			}
			// A late reader gets past events from the log, and the rest unchanged.
			if since := "event " + fmt.Sprint(w.last-1); late && joined &&
				near[strings.LastIndex(near, since):] != far[strings.LastIndex(far, since):] {
				t.Errorf("seed %d: who joined late saw\n%s\n\nof\n%s", seed, far, near)
			}
			if _, wrong := w.far.result(); len(wrong) > 0 {
				t.Errorf("seed %d: %v", seed, wrong)
			}
		})
	}
}

// TestFaultyPipe checks that, whatever happens to the entries, a reader gets each event once and in order,
// and that the text shown of a stored message is the message itself, unless it was marked as interrupted.
func TestFaultyPipe(t *testing.T) {
	forged := []string{"", "null", "{}", "[7]", `[{"seq":-1}]`, `[{"seq":99999}]`, `[{"seq":1}]`,
		`[{"op":1,"step":1,"attempt":1,"kind":"text"}]`, `[{"op":1,"step":9,"attempt":9,"kind":"x"}]`,
		`[{"op":2,"step":1,"attempt":1,"text":"no"}]`, `[{"op":2,"step":2,"attempt":1,"text":"\ud83d"}]`,
		`[{"op":2,"step":1,"attempt":1,"text":7}]`, `[{"op":5,"step":2,"attempt":1}]`,
		`[{"op":3,"step":1,"attempt":1,"index":0}]`, `[{"op":4,"step":1,"attempt":1,"ms":-5}]`,
		`[{"op":1,"step":3,"attempt":2,"index":999,"kind":"tool_use","id":"x"}]`, strings.Repeat("[", 2<<20)}
	for seed := range uint64(120) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 2))
			p := newPipe()
			chance := 1 + rnd.IntN(6)
			faults := rand.New(rand.NewPCG(seed, 3)) // for the senders, one at a time
			p.change = func(entry []byte) [][]byte {
				switch faults.IntN(chance * 4) {
				case 0:
					return nil
				case 1:
					return [][]byte{entry, entry}
				case 2:
					return [][]byte{[]byte(forged[faults.IntN(len(forged))]), entry}
				case 3:
					return [][]byte{entry[:len(entry)/2]}
				default:
					return [][]byte{entry}
				}
			}
			w := newWorld(t, p)
			defer w.end()
			w.join()
			w.begin()
			for step := 1; step <= 4; step++ {
				w.speak(rnd, step, false)
				switch rnd.IntN(8) {
				case 0: // the owner dies and another takes over; the first still sends
					w.event(footnote.RunResumed{Attempt: step, Reason: "recovered"})
					w.owned(step)
				case 1:
					p.breakDown()
				}
			}
			w.event(footnote.RunFinished{})
			time.Sleep(time.Minute)
			lines, wrong := w.far.result()
			if len(wrong) > 0 {
				t.Errorf("seed %d: %v\n%s", seed, wrong, w.far.all())
			}
			seq := 0
			for _, line := range lines {
				if strings.HasPrefix(line, "event") {
					if seq++; line != fmt.Sprint("event ", seq) {
						t.Errorf("seed %d: %s comes as number %d", seed, line, seq)
					}
				}
			}
			if int64(seq) != w.last {
				t.Errorf("seed %d: %d events of %d came", seed, seq, w.last)
			}
		})
	}
}

// TestOwnRuns checks that the relay is silent while this process drives a run, and that readers learn that a
// message was interrupted when another process takes the run over.
func TestOwnRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		drives := true
		var mu sync.Mutex // guards drives
		h := hub.New()
		r := relay.New(relay.Options{
			Log:    w.log,
			Hub:    h,
			Drives: func(string) bool { mu.Lock(); defer mu.Unlock(); return drives },
		})
		rd, _ := h.Subscribe(conversation, 0)
		go w.far.read(t.Context(), rd)
		leave := r.Watch(conversation, 0)
		again := r.Watch(conversation, 0)
		w.event(footnote.UserMessage{Text: "go"})
		time.Sleep(time.Minute)
		if got := w.far.all(); got != "" {
			t.Errorf("the relay said %s", got)
		}
		mu.Lock()
		drives = false
		mu.Unlock()
		leave()
		leave() // a second call has no effect
		time.Sleep(5 * time.Second)
		if got := w.far.all(); got != "event 1" {
			t.Errorf("when nothing is driven here, the relay said %q", got)
		}
		if err := w.log.Delete(t.Context(), conversation); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second) // the mirror of a deleted conversation ends
		again()
		r.Close()
		r.Watch(conversation, 0)()
		rd.Close()
		w.end()
	})
}
