package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/internal/redistest"
)

// number returns a test setting that must be a positive integer.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q; it must be a number above 0", name, v)
	}
	return n
}

// swarm is three servers on one Postgres and one Redis, all of which get killed, and clients that ask at any
// server, read at any server, and remember what they were shown.
type swarm struct {
	t        *testing.T
	seed     uint64
	settings [3][]string
	pg       *pgtest.Server
	redis    *redistest.Server

	mu      sync.Mutex // guards below
	servers [3]*process
	rnd     *rand.Rand
	shown   map[string]map[int64]string // by conversation: the events that any client saw, by number
	runs    map[string]string           // acknowledged runs, and their conversations
}

func (w *swarm) random(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rnd.IntN(n)
}

func (w *swarm) server(i int) *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.servers[i]
}

func (w *swarm) start(i int) {
	p := serve(w.t, w.settings[i]...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers[i] = p
}

// TestSwarm kills servers, Postgres and Redis while users ask and read, and then reads everything stored.
// FOOTNOTE_SWARM is the number of conversations, each with three questions, and FOOTNOTE_SWARM_KILLS the
// number of kills.
func TestSwarm(t *testing.T) {
	t.Parallel()
	seed := uint64(number(t, "FOOTNOTE_SWARM_SEED", int(time.Now().UnixNano()&0xffff)+1))
	t.Logf("FOOTNOTE_SWARM_SEED=%d", seed)
	w := &swarm{
		t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 7)), shown: map[string]map[int64]string{},
		runs: map[string]string{}, pg: pgtest.New(t), redis: redistest.New(t),
	}
	store := w.open()
	done := w.startClients(number(t, "FOOTNOTE_SWARM", 5))
	for n := range number(t, "FOOTNOTE_SWARM_KILLS", 4) {
		time.Sleep(time.Duration(200+w.random(1200)) * time.Millisecond) // random timing is the point of the test
		w.disturb(n)
	}
	<-done
	w.check(store)
}

// open starts the servers, and returns the setting that names their database.
func (w *swarm) open(settings ...string) (store string) {
	w.t.Helper()
	c := &crash{rnd: rand.New(rand.NewPCG(w.seed, 8))}
	_, upstream := imitate(w.t, c.rule)
	store = "FOOTNOTE_STORE=" + w.pg.Database(w.t)
	for i := range w.settings {
		w.settings[i] = append(append(upstream[:len(upstream):len(upstream)], store, "FOOTNOTE_REDIS="+w.redis.URL(),
			"FOOTNOTE_DATA="+w.t.TempDir(), "FOOTNOTE_LOG_OUTPUT=file"), settings...)
		w.start(i)
	}
	return store
}

// startClients makes a number of users ask; done is closed when they have all their answers.
func (w *swarm) startClients(people int) (done <-chan struct{}) {
	var clients sync.WaitGroup
	for n := range people {
		clients.Go(func() { w.client(n) })
	}
	end := make(chan struct{})
	go func() { clients.Wait(); close(end) }()
	return end
}

// TestRollingRestart checks that restarting the servers one after the other while users ask loses no
// question: each accepted question is answered by some server, and none ends in an error. FOOTNOTE_ROLLS is
// the number of restarts per server.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	seed := uint64(number(t, "FOOTNOTE_SWARM_SEED", int(time.Now().UnixNano()&0xffff)+1))
	t.Logf("FOOTNOTE_SWARM_SEED=%d", seed)
	w := &swarm{
		t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 9)), shown: map[string]map[int64]string{},
		runs: map[string]string{}, pg: pgtest.New(t), redis: redistest.New(t),
	}
	store := w.open("FOOTNOTE_DRAIN_TIMEOUT=300ms")
	done := w.startClients(number(t, "FOOTNOTE_SWARM", 5))
	for n := range number(t, "FOOTNOTE_ROLLS", 3) {
		time.Sleep(time.Duration(100+w.random(400)) * time.Millisecond) // random timing is the point of the test
		p := w.server(n % 3)
		p.signal(t, syscall.SIGTERM)
		if code := p.wait(t, patience); code != 0 {
			t.Errorf("a server that was asked to stop exited with %d", code)
		}
		w.start(n % 3)
	}
	<-done
	w.check(store)
	for id := range w.shown {
		for _, e := range w.server(0).log(t, id, "") {
			if e.Kind == "run_failed" || e.Kind == "run_stopped" {
				t.Errorf("a question of %s was not answered: %s", id, e.line)
			}
		}
	}
}

// disturb kills one component, chosen by n, and restarts it.
func (w *swarm) disturb(n int) {
	switch n % 5 {
	case 0, 3:
		n = w.random(3)
		w.t.Logf("server %d is killed", n)
		w.server(n).kill()
		w.start(n)
	case 1:
		w.t.Log("Postgres is killed")
		w.pg.Kill(w.t)
		w.pg.Start(w.t)
	case 2:
		w.t.Log("Redis is killed")
		w.redis.Kill(w.t)
		w.redis.Start(w.t)
	case 4:
		w.t.Log("Redis is paused")
		w.redis.Freeze(w.t)
		time.Sleep(time.Duration(w.random(2000)) * time.Millisecond)
		w.redis.Thaw(w.t)
	}
}

// client holds a conversation: it asks at any server until one accepts the question, and reads at any server
// until the answer is there.
func (w *swarm) client(n int) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 4*time.Minute)
	defer cancel()
	id := ""
	for q := range 3 {
		body := map[string]any{"text": fmt.Sprintf("Now a crash, question %d.", q)}
		for ctx.Err() == nil {
			path := "/api/conversations/" + id + "/turns"
			if id == "" {
				path, body["client_id"] = "/api/conversations", fmt.Sprintf("client-%d", n)
			}
			status, got, err := w.server(w.random(3)).exchange(ctx, path, body)
			var ok struct{ Conversation, Run string }
			if err == nil && status == http.StatusAccepted && json.Unmarshal([]byte(got), &ok) == nil {
				id = ok.Conversation
				w.mu.Lock()
				w.runs[ok.Run] = id
				w.mu.Unlock()
				break
			}
			if err == nil && status != http.StatusConflict && status < 500 {
				w.t.Errorf("client %d: a question gets %d %s", n, status, got)
				return
			}
			pause(ctx, 100*time.Millisecond)
		}
		w.read(ctx, id)
	}
	if ctx.Err() != nil {
		w.t.Errorf("client %d, of %s: its questions were not answered in time", n, id)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// read follows a conversation, from where it was last seen and at any server, until nothing is running. An
// event that comes twice must be the same both times, and none may be missing.
func (w *swarm) read(ctx context.Context, id string) {
	last := int64(0)
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet,
			w.server(w.random(3)).url+"/api/conversations/"+id+"/events", nil)
		if err != nil {
			w.t.Error(err)
			return
		}
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("Last-Event-ID", fmt.Sprint(last))
		res, err := http.DefaultClient.Do(req)
		if err == nil && res.StatusCode == http.StatusNoContent {
			res.Body.Close()
			return
		}
		if err != nil || res.StatusCode != http.StatusOK {
			if err == nil {
				res.Body.Close()
			}
			pause(ctx, 100*time.Millisecond)
			continue
		}
		last = w.frames(res, id, last)
		res.Body.Close()
	}
}

// frames reads a stream to its end, and returns the number of the last complete event.
func (w *swarm) frames(res *http.Response, id string, last int64) int64 {
	lines := bufio.NewReader(res.Body)
	seq, data := int64(0), ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return last // an incomplete frame was not shown
		}
		switch field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); field {
		case "id":
			seq = sequence(value)
		case "data":
			data = value
		case "":
			if seq == 0 {
				continue
			}
			if seq != last+1 {
				w.t.Errorf("after event %d of %s comes %d", last, id, seq)
			}
			w.recordShown(id, seq, data)
			last, seq = seq, 0
		}
	}
}

func (w *swarm) recordShown(id string, seq int64, data string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shown[id] == nil {
		w.shown[id] = map[int64]string{}
	}
	if before, twice := w.shown[id][seq]; twice && before != data {
		w.t.Errorf("event %d of %s was %s and is %s", seq, id, before, data)
	}
	w.shown[id][seq] = data
}

// check checks that everything acknowledged or shown is stored, identically at each server, and that the log
// is consistent.
func (w *swarm) check(store string) {
	for id, seen := range w.shown {
		var first []event
		for i := range w.servers {
			events := w.servers[i].ended(w.t, id)
			if first == nil {
				first = events
			}
			if len(events) != len(first) {
				w.t.Errorf("%s has %d events at one server and %d at another", id, len(first), len(events))
			}
			for seq, data := range seen {
				if seq > int64(len(events)) || events[seq-1].line != data {
					w.t.Errorf("event %d of %s was shown, but is not in the log as it was:\n%s", seq, id, data)
				}
			}
		}
		for run, of := range w.runs {
			if of == id && !hasEnd(first, run) {
				w.t.Errorf("the run %s of %s was acknowledged and has no end", run, id)
			}
		}
	}
	if o := command(w.t, []string{store, "FOOTNOTE_DATA=" + w.t.TempDir()}, "", "doctor", "--log"); o.code != 0 ||
		!strings.Contains(o.stdout, "events in") {
		w.t.Errorf("the log is not sound: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	} else {
		w.t.Log(o.stdout)
	}
}

func hasEnd(events []event, run string) bool {
	for _, e := range events {
		if e.Run == run && terminal(e) {
			return true
		}
	}
	return false
}
