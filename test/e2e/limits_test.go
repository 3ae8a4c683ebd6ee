package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote/model/modeltest"
)

// leftOf returns what GET /api/usage reports as left of a limit.
func leftOf(t *testing.T, p *process, name string) float64 {
	t.Helper()
	_, body := p.get(t, "/api/usage", "")
	var in struct {
		CostUSD float64 `json:"cost_usd"`
		Limits  []struct {
			Name string  `json:"name"`
			Left float64 `json:"left"`
		} `json:"limits"`
	}
	if err := json.Unmarshal([]byte(body), &in); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, l := range in.Limits {
		if l.Name == name {
			return l.Left
		}
	}
	t.Fatalf("there is no limit %s: %s", name, body)
	return 0
}

// TestKilledBetweenReserveAndSettle checks that a kill -9 during a model call loses no money: the reservation
// survives the process. The server that continues the run counts the approximate cost of the call, and the
// user gets the rest back.
func TestKilledBetweenReserveAndSettle(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	fake, settings := imitate(t, func(modeltest.Request) modeltest.Reply {
		reply := modeltest.Say("There are 846 orders.")
		if calls.Add(1) == 1 {
			reply.Wait = time.Hour // the process is killed before
		}
		return reply
	})
	settings = append(settings, "FOOTNOTE_DATA="+t.TempDir(), "FOOTNOTE_LOG_OUTPUT=file",
		"FOOTNOTE_LIMITS_DEFAULT_USD_PER_USER_DAY=10")
	p := serve(t, settings...)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		body := strings.NewReader(`{"text":"How many orders are there?"}`)
		res, err := http.Post(p.url+"/api/conversations", "application/json", body) // ends with the process
		if err == nil {
			_ = res.Body.Close()
		}
	}()
	eventually(t, "the model was asked", func() bool { return fake.Metrics().Requests > 0 })
	held := 10 - leftOf(t, p, "usd_per_user_day")
	p.kill()
	<-asked
	if held <= 0 {
		t.Fatalf("%v are reserved while the model is asked", held)
	}
	p = serve(t, settings...)
	var events string
	eventually(t, "the run continues and ends", func() bool {
		_, list := p.get(t, "/api/conversations", "")
		var in struct {
			Conversations []struct {
				ID string `json:"id"`
			} `json:"conversations"`
		}
		if err := json.Unmarshal([]byte(list), &in); err != nil || len(in.Conversations) != 1 {
			t.Fatalf("%v: %s", err, list)
		}
		_, events = p.get(t, "/api/conversations/"+in.Conversations[0].ID+"/events", "")
		return strings.Contains(events, `"run_finished"`)
	})
	if !strings.Contains(events, `"lost":true`) {
		t.Errorf("the lost call is not in the log: %s", events)
	}
	if spent := 10 - leftOf(t, p, "usd_per_user_day"); spent <= 0 || spent >= held {
		t.Errorf("%v count as spent; %v were reserved by the process that died", spent, held)
	}
}

// TestTooManyRequests checks that the limit of requests per minute gives a 429 that says so.
func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	p := serve(t, "FOOTNOTE_DATA="+t.TempDir(), "FOOTNOTE_LOG_OUTPUT=file",
		"FOOTNOTE_LIMITS_DEFAULT_REQUESTS_PER_MINUTE=1")
	for range 100 { // one per minute is admitted, however slow the machine is
		res, err := http.Get(p.url + "/api/usage")
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		_, err = body.ReadFrom(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode == http.StatusOK {
			continue
		}
		h := res.Header
		if res.StatusCode != http.StatusTooManyRequests || h.Get("Retry-After") == "" ||
			h.Get("X-Ratelimit-Limit-Requests") != "1" || h.Get("X-Ratelimit-Remaining-Requests") != "0" ||
			!strings.Contains(body.String(), `"code":"rate_limited"`) ||
			!strings.Contains(body.String(),
				`"limit":{"name":"requests_per_minute","unit":"requests","limit":1,"left":0`) {
			t.Errorf("request over the limit: %d %v %s", res.StatusCode, h, body.String())
		}
		return
	}
	t.Error("nothing was refused")
}
