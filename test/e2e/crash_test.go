package e2e

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote/model/modeltest"
)

// crashRounds returns how often to kill the server.
func crashRounds(t *testing.T) int {
	t.Helper()
	v := os.Getenv("FOOTNOTE_CRASH_ROUNDS")
	if v == "" {
		return 20
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		t.Fatalf("FOOTNOTE_CRASH_ROUNDS is %q; it must be a number", v)
	}
	return n
}

// TestCrash repeatedly kills the server with kill -9 during a run, over one data folder, and checks how the
// next server continues. FOOTNOTE_CRASH_SEED repeats a series of random times.
func TestCrash(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if v := os.Getenv("FOOTNOTE_CRASH_SEED"); v != "" {
		var err error
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("FOOTNOTE_CRASH_SEED=%d", seed)
	rounds := crashRounds(t)
	// Run several servers side by side: each round waits more than it works.
	const side = 4
	for n := range min(side, rounds) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			c := &crash{rnd: rand.New(rand.NewPCG(seed, uint64(n)))}
			_, upstream := imitate(t, c.rule)
			c.settings = append(upstream, "FOOTNOTE_DATA="+t.TempDir(), "FOOTNOTE_LOG_OUTPUT=file")
			p := c.start(t)
			for round := n; round < rounds && !t.Failed(); round += side {
				p = c.round(t, p, round)
			}
			p.kill()
			c.checkAudit(t)
		})
	}
}

// crash is a series of rounds over one data folder.
type crash struct {
	settings []string
	ended    map[string]bool // ended runs by id

	mu  sync.Mutex // guards rnd
	rnd *rand.Rand
}

func (c *crash) random(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rnd.IntN(n)
}

// start starts a server that sometimes continues the runs of clients that have left.
func (c *crash) start(t *testing.T) *process {
	t.Helper()
	settings := c.settings
	if c.random(2) == 0 {
		settings = append(settings[:len(settings):len(settings)], "FOOTNOTE_ON_DISCONNECT=continue")
	}
	return serve(t, settings...)
}

// rule answers with slow text and some steps of queries.
func (c *crash) rule(r modeltest.Request) modeltest.Reply {
	if !strings.Contains(r.LastUserText(), "crash") {
		return modeltest.Say("Hello.")
	}
	trickle := modeltest.Block{
		Type: "text",
		Text: "The answer comes one word after the other, so that a crash finds it open.",
		Gap:  4 * time.Millisecond,
	}
	if len(r.Messages) > 8 || c.random(3) == 0 {
		return modeltest.Blocks(modeltest.ThinkBlock("Enough."), trickle)
	}
	reply := modeltest.Blocks(modeltest.ThinkBlock("I need a number."))
	if c.random(2) == 0 {
		reply.Blocks = append(reply.Blocks, trickle)
	}
	for range 1 + c.random(3) {
		reply.Blocks = append(reply.Blocks, modeltest.CallBlock("run_query", callAll))
	}
	return reply
}

// round kills p during a run, starts another server and checks the conversation.
func (c *crash) round(t *testing.T, p *process, round int) *process {
	t.Helper()
	thread := fmt.Sprintf("thread-%d", round)
	id := p.answered(t, question{text: "Hello?", conversation: thread}).conversation

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	shown := watch(ctx, t, p, id)
	var asked sync.WaitGroup
	asked.Go(func() { p.try(ctx, question{text: "Now a crash.", conversation: thread, stream: round%2 == 0}) })
	after := time.Duration(c.random(300_000)) * time.Microsecond
	time.Sleep(after) // to vary the kill
	p.kill()
	asked.Wait()
	frames := <-shown
	t.Logf("round %d: killed after %v, %d events shown", round, after, len(frames))

	p = c.start(t)
	eventually(t, "the run ends", func() bool { return !running(p.log(t, id, "")) })
	p.answered(t, question{text: "Hello again?", conversation: thread, stream: round%2 == 1})
	events := p.log(t, id, "")
	checkLog(t, events)
	c.remember(events)
	for seq, data := range frames {
		if seq > int64(len(events)) || events[seq-1].line != data {
			t.Errorf("event %d was shown, but is not in the log as it was:\n%s", seq, data)
		}
	}
	return p
}

// watch reads the live events of a conversation until the connection breaks, and then sends the complete
// ones, by number. It returns once the stream is open.
func watch(ctx context.Context, t *testing.T, p *process, id string) <-chan map[int64]string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/api/conversations/"+id+"/events?follow=true",
		nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	shown := make(chan map[int64]string, 1)
	go func() { // ends with the connection
		defer res.Body.Close()
		frames := map[int64]string{}
		defer func() { shown <- frames }()
		lines := bufio.NewReader(res.Body)
		var seq int64
		var data string
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return // an incomplete frame was not shown
			}
			switch field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); field {
			case "id":
				seq = sequence(value)
			case "data":
				data = value
			case "":
				if seq > 0 {
					frames[seq] = data
				}
				seq, data = 0, ""
			}
		}
	}()
	return shown
}

func (c *crash) remember(events []event) {
	if c.ended == nil {
		c.ended = map[string]bool{}
	}
	for _, e := range events {
		if terminal(e) {
			c.ended[e.Run] = true
		}
	}
}

// checkAudit checks that each run has a line, after one more start, which catches up.
func (c *crash) checkAudit(t *testing.T) {
	t.Helper()
	last := c.start(t)
	data := ""
	for _, s := range c.settings {
		if v, ok := strings.CutPrefix(s, "FOOTNOTE_DATA="); ok {
			data = v
		}
	}
	eventually(t, "the audit has a line for each run", func() bool {
		lines, err := os.ReadFile(filepath.Join(data, "audit.jsonl"))
		if err != nil {
			return false
		}
		for run := range c.ended {
			if !strings.Contains(string(lines), run) {
				return false
			}
		}
		return true
	})
	last.kill()
}
