package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/internal/redistest"
	"github.com/footnotehq/footnote/model/modeltest"
)

// checkSound checks that doctor --log finds nothing wrong in the log of a server with these settings. The server may be
// running.
func checkSound(t *testing.T, settings ...string) {
	t.Helper()
	o := command(t, append(settings[:len(settings):len(settings)], "FOOTNOTE_LISTEN=127.0.0.1:0"), "", "doctor",
		"--log")
	if !strings.Contains(o.stdout, "compared with the usage in the log") {
		t.Errorf("the log was not read to its end: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	for line := range strings.Lines(o.stdout) {
		if strings.HasPrefix(line, "log ") && strings.Contains(line, stateFail) {
			t.Errorf("the log is not sound: %s", line)
		}
	}
}

// checkSoundIfReadable does the same for a server that has ended, unless its log cannot be read: some tests break the
// database or the data folder.
func checkSoundIfReadable(t *testing.T, p *process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "doctor", "--log")
	cmd.Env, cmd.Dir = p.cmd.Env, os.TempDir()
	out, _ := cmd.CombinedOutput() // the exit code covers more than the log
	if !strings.Contains(string(out), "compared with the usage in the log") {
		return
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "log ") && strings.Contains(line, stateFail) {
			t.Errorf("the log is not sound: %s", line)
		}
	}
}

// stateFail marks a failed check in the output of doctor.
const stateFail = "FAIL"

// lines reads an event stream until it ends. The function got returns what has arrived so far, and ended is closed at
// the end.
func (p *process) lines(ctx context.Context, t *testing.T, id string) (got func() string, ended <-chan struct{}) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/api/conversations/"+id+"/events?follow=true",
		nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	var all buffer
	end := make(chan struct{})
	go func() { // ends with the connection
		defer close(end)
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			_, _ = all.Write(append(lines.Bytes(), '\n')) // a buffer accepts every write
		}
	}()
	return all.String, end
}

// TestPostgresUnavailable checks that while the database is unavailable, questions are rejected at once with a clear
// message, nothing hangs and streams stay open, and that everything recovers by itself. FOOTNOTE_AWAY is the
// minimum outage in seconds.
func TestPostgresUnavailable(t *testing.T) {
	t.Parallel()
	pg := pgtest.New(t)
	_, settings := imitate(t, auto(t))
	settings = append(settings, "FOOTNOTE_STORE="+pg.Database(t), "FOOTNOTE_DATA="+t.TempDir())
	p := serve(t, settings...)
	first := p.answered(t, question{text: "fake: say Hello.", conversation: "away"})
	got, ended := p.lines(t.Context(), t, first.conversation)
	pg.Kill(t)
	away := time.Now()
	back := away.Add(time.Duration(number(t, "FOOTNOTE_AWAY", 2)) * time.Second)
	longest := time.Duration(0)
	for n := 0; n < 3 || time.Now().Before(back); n++ {
		begun := time.Now()
		r := p.ask(t, question{text: "fake: say Hello.", conversation: []string{"", "away"}[n%2], stream: n%4 > 1})
		longest = max(longest, time.Since(begun))
		if r.status != http.StatusServiceUnavailable || r.code != "storage_unavailable" ||
			r.header.Get("Retry-After") == "" {
			t.Fatalf("a question gets %d %q, Retry-After %q", r.status, r.code, r.header.Get("Retry-After"))
		}
		if status, _ := p.get(t, "/readyz", ""); status != http.StatusServiceUnavailable {
			t.Errorf("readyz says %d", status)
		}
		if status, _ := p.get(t, "/healthz", ""); status != http.StatusOK {
			t.Errorf("healthz says %d", status)
		}
	}
	select {
	case <-ended:
		t.Errorf("the stream has ended: %s", got())
	default:
	}
	gone := time.Since(away)
	pg.Start(t)
	begun := time.Now()
	eventually(t, "a question is answered", func() bool {
		return p.ask(t, question{text: "fake: say Welcome back.", conversation: "away"}).status == http.StatusOK
	})
	t.Logf("unavailable for %v; a refusal took at most %v; the first answer came %v after the restart", gone, longest,
		time.Since(begun))
	eventually(t, "the stream shows the answer", func() bool { return strings.Contains(got(), "Welcome back.") })
	checkLog(t, p.log(t, first.conversation, ""))
	checkSound(t, settings...)
}

// counting matches the statement of a question.
var counting = regexp.MustCompile(`SELECT count\(\*\) AS orders FROM orders WHERE customer_id > \d+`)

// TestRedisUnavailable checks that without Redis, with one that hangs, and with one that has lost its data, each
// server answers every question, and that no result cached for one organisation answers another.
func TestRedisUnavailable(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	_, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
		if len(r.Results()) > 0 {
			return modeltest.Say("Done.")
		}
		input, err := json.Marshal(map[string]string{"sql": counting.FindString(r.LastUserText())})
		if err != nil {
			panic(err)
		}
		return modeltest.Use("run_query", string(input))
	})
	settings = append(settings, "FOOTNOTE_STORE="+pgtest.Database(t), "FOOTNOTE_REDIS="+redis.URL(),
		"FOOTNOTE_DATA="+t.TempDir(),
		"FOOTNOTE_API_KEYS=key-of-acme-0123456789=acme/ann,key-of-globex-0123456789=globex/bob",
		"FOOTNOTE_LIMITS_DEFAULT_USD_PER_ORG_DAY=100", "FOOTNOTE_LIMITS_DEFAULT_REQUESTS_PER_MINUTE=100000")
	s := [2]*process{
		serve(t, settings...),
		serve(t, append(settings[:len(settings):len(settings)], "FOOTNOTE_DATA="+t.TempDir())...),
	}
	hit := func(n int, key, sql string) bool {
		t.Helper()
		r := s[n%2].answered(t, question{text: "sql: " + sql, key: key})
		events := s[(n+1)%2].log(t, r.conversation, key)
		checkLog(t, events)
		if has(events, "tool_result", `"is_error":true`) {
			t.Fatalf("the statement failed: %s", events[len(events)-3].line)
		}
		return has(events, "tool_result", `"cache_hit":true`)
	}
	const acme, globex = "key-of-acme-0123456789", "key-of-globex-0123456789"
	var took [2][]time.Duration
	rounds := number(t, "FOOTNOTE_REDIS_ROUNDS", 2)
	for phase, c := range []struct {
		name         string
		break_, mend func()
		works        bool
	}{
		{"it works", func() {}, func() {}, true},
		{"it is killed", func() { redis.Kill(t) }, func() { redis.Start(t) }, false},
		{"it is back", func() {}, func() {}, true},
		{"it hangs", func() { redis.Freeze(t) }, func() { redis.Thaw(t) }, false},
		{"it forgets", func() {
			if _, err := redis.Client(t).Do(t.Context(), "FLUSHALL"); err != nil {
				t.Fatal(err)
			}
		}, func() {}, true},
	} {
		c.break_()
		for round := range rounds {
			sql := fmt.Sprintf("SELECT count(*) AS orders FROM orders WHERE customer_id > %d", 100*phase+round)
			begun := time.Now()
			if hit(round, acme, sql) {
				t.Errorf("%s: the first call is answered from the cache", c.name)
			}
			if hit(round, globex, sql) {
				t.Errorf("%s: one organisation got the rows of another", c.name)
			}
			took[map[bool]int{true: 0, false: 1}[c.works]] = append(took[map[bool]int{true: 0, false: 1}[c.works]],
				time.Since(begun)/2)
			if c.works { // the pause after a failure may last two seconds
				eventually(t, c.name+": the second call is answered from the cache of another server", func() bool {
					return hit(round+1, acme, sql)
				})
			}
		}
		c.mend()
	}
	t.Logf("an answer took with Redis %v, without %v", took[0], took[1])
	checkSound(t, settings...)
}

// TestBudgetRace checks that concurrent questions on two servers, with money for only a few of them, spend no
// more than there is, even if a server is killed meanwhile, and that the amount counted matches the log.
func TestBudgetRace(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, func(modeltest.Request) modeltest.Reply {
		return modeltest.Blocks(modeltest.Block{
			Type: "text",
			Text: "Some words that take a while to be said.",
			Gap:  20 * time.Millisecond,
		})
	})
	const limit = 1.0
	settings = append(settings, "FOOTNOTE_STORE="+pgtest.Database(t),
		fmt.Sprint("FOOTNOTE_LIMITS_DEFAULT_USD_PER_ORG_DAY=", limit), "FOOTNOTE_DATA="+t.TempDir(),
		"FOOTNOTE_LOG_OUTPUT=file")
	other := append(settings[:len(settings):len(settings)], "FOOTNOTE_DATA="+t.TempDir())
	first, second := serve(t, settings...), serve(t, other...)
	var taken, refused atomic.Int64
	var asked sync.WaitGroup
	for n := range number(t, "FOOTNOTE_BUDGET_RUNS", 24) {
		asked.Go(func() {
			status, body, err := []*process{first, second}[n%2].exchange(t.Context(), "/api/conversations",
				map[string]any{
					"text": "How many?",
				})
			switch {
			case err != nil: // the server was killed
			case status == http.StatusAccepted:
				taken.Add(1)
			case status == http.StatusTooManyRequests && strings.Contains(body, "budget_exceeded"):
				refused.Add(1)
			default:
				t.Errorf("question: %d %s", status, body)
			}
		})
	}
	eventually(t, "some questions were taken", func() bool { return taken.Load() > 3 })
	first.kill()
	asked.Wait()
	first = serve(t, settings...)
	eventually(t, "all runs are over", func() bool {
		status, body := second.get(t, "/api/conversations?limit=100", "")
		var in struct {
			Conversations []struct {
				ID string `json:"id"`
			} `json:"conversations"`
		}
		if err := json.Unmarshal([]byte(body), &in); err != nil || status != http.StatusOK {
			t.Fatalf("%v: %d %s", err, status, body)
		}
		for _, c := range in.Conversations {
			if running(second.log(t, c.ID, "")) {
				return false
			}
		}
		return len(in.Conversations) > 0
	})
	left := leftOf(t, first, "usd_per_org_day")
	t.Logf("%d questions were taken and %d refused; %v of %v USD are left", taken.Load(), refused.Load(), left, limit)
	if left < 0 || left > limit {
		t.Errorf("%v of %v USD are left", left, limit)
	}
	checkSound(t, settings...)
	o := command(t, settings, "", "doctor", "--log")
	var spent float64
	for line := range strings.Lines(o.stdout) {
		if _, words, ok := strings.Cut(line, " calls, "); ok {
			_, _ = fmt.Sscanf(words, "%f USD", &spent) // stays 0 if it cannot be read
		}
	}
	if spent <= 0 || spent > limit+0.005 {
		t.Errorf("the log says that %v USD of %v were spent:\n%s", spent, limit, o.stdout)
	}
}
