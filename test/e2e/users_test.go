package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	adasKey = "key-of-ada-0123456789"
	bobsKey = "key-of-bob-0123456789"
	keys    = "FOOTNOTE_API_KEYS=" + adasKey + "=acme/ada," + bobsKey + "=acme/bob"
)

var requestID = regexp.MustCompile(`req_[A-Z0-9]+`)

// TestUsersAreIsolated checks that another user's data is reported as missing.
func TestUsersAreIsolated(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, auto(t))
	p := serve(t, append(settings, keys)...)
	hers := p.answered(t, question{text: "fake: say Hello, Ada.", key: adasKey, conversation: "mine"}).conversation
	his := p.answered(t, question{text: "fake: say Hello, Bob.", key: bobsKey, conversation: "mine"}).conversation
	if hers == his {
		t.Fatal("two users share the conversation of one name")
	}
	var answers []string
	for _, id := range []string{hers, "conv_NEVERTHERE"} {
		status, body := p.get(t, "/api/conversations/"+id+"/events", bobsKey)
		if status != http.StatusNotFound {
			t.Errorf("Bob reads %s: status %d", id, status)
		}
		answers = append(answers, requestID.ReplaceAllString(body, "req"))
	}
	if answers[0] != answers[1] {
		t.Errorf("a foreign conversation answers %s, a missing one %s", answers[0], answers[1])
	}
	before := len(p.log(t, hers, adasKey))
	taken := p.answered(t, question{text: "fake: say Hello.", key: bobsKey, conversation: hers})
	if taken.conversation == hers || len(p.log(t, hers, adasKey)) != before {
		t.Error("Bob wrote to the conversation of Ada")
	}
	for _, key := range []string{"", "key-of-eve-0123456789"} {
		r := p.ask(t, question{text: "fake: say Hello.", key: key})
		if r.status != http.StatusUnauthorized || !strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("key %q: status %d", key, r.status)
		}
		for _, path := range []string{"/v1/models", "/metrics", "/api/conversations/" + hers + "/events"} {
			if status, _ := p.get(t, path, key); status != http.StatusUnauthorized {
				t.Errorf("%s with the key %q: status %d", path, key, status)
			}
		}
	}
}

// TestAudit checks that each run has one line on each output, and that no line contains a secret.
func TestAudit(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, auto(t))
	data := t.TempDir()
	p := serve(t, append(settings, keys, "FOOTNOTE_DATA="+data, "FOOTNOTE_LOG_OUTPUT=both", "FOOTNOTE_LOG_VERBOSE=true",
		"FOOTNOTE_LOG_LEVEL=debug")...)
	p.answered(t, question{text: "How many orders?", key: adasKey})
	p.answered(t, question{text: "fake: say My key is " + bobsKey + " and yours is " + modelKey, key: bobsKey})
	p.ask(t, question{text: "fake: fail 401", key: bobsKey})
	var onFile []byte
	eventually(t, "three lines in the file and on the output", func() bool {
		onFile, _ = os.ReadFile(filepath.Join(data, "audit.jsonl"))
		return strings.Count(string(onFile), "\n") == 3 && strings.Count(p.stdout.String(), "\n") == 3
	})
	p.signal(t, syscall.SIGTERM)
	if code := p.wait(t, 10*time.Second); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if string(onFile) != p.stdout.String() {
		t.Errorf("the file and the output differ:\n%s\n%s", onFile, p.stdout)
	}
	for name, text := range map[string]string{"audit": string(onFile), "log": p.stderr.String()} {
		for _, secret := range []string{adasKey, bobsKey, modelKey} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s holds the secret %s", name, secret)
			}
		}
	}
	type line struct {
		Type, User, Outcome, Error string
		Question                   string   `json:"user_question"`
		Queries                    []string `json:"sql_queries_executed"`
		Response                   string   `json:"final_response"`
		Metadata                   struct {
			Model string
			Cost  *float64 `json:"cost_estimate_usd"`
		}
	}
	var lines []line
	for text := range strings.Lines(string(onFile)) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		lines = append(lines, l)
	}
	first := lines[0]
	if first.Type != "audit" || first.User != "ada" || first.Outcome != "finished" ||
		first.Question != "How many orders?" ||
		len(first.Queries) != 1 || !strings.Contains(first.Response, "846") || first.Metadata.Cost == nil {
		t.Errorf("the first line is %+v", first)
	}
	if last := lines[2]; last.User != "bob" || last.Outcome != "failed" || last.Error != "model_unavailable" {
		t.Errorf("the last line is %+v", last)
	}
}

func TestHealthAndMetrics(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, auto(t))
	p := serve(t, settings...)
	p.answered(t, question{text: "How many orders?", stream: true})
	for path, want := range map[string]string{"/healthz": `{"status":"ok"}`, "/readyz": `{"status":"ready"}`} {
		if status, body := p.get(t, path, ""); status != http.StatusOK || body != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	status, body := p.get(t, "/metrics", "")
	if status != http.StatusOK {
		t.Errorf("/metrics: status %d", status)
	}
	for _, name := range []string{
		"footnote_audit_lag_events", "footnote_live_readers", "run", "token", "tool", "request",
	} {
		if !strings.Contains(body, name) {
			t.Errorf("the metrics lack %s:\n%s", name, body)
		}
	}
	if strings.Contains(body, "conv_") || strings.Contains(body, modelKey) {
		t.Error("the metrics name a conversation or contain the key")
	}
}

func TestWrongSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "footnote.yaml")
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:0\nmax_turn: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ setting, want string }{
		{"FOOTNOTE_CONFIG=" + file, "max_turn"},
		{"FOOTNOTE_CONFIG=" + filepath.Join(dir, "nowhere.yaml"), "nowhere.yaml"},
		{"FOOTNOTE_MAX_TRUNS=5", "max_truns"},
		{"FOOTNOTE_MAX_TURNS=many", "max_turns"},
		{"FOOTNOTE_RUN_TIMEOUT=1h", "run_timeout"},
		{"FOOTNOTE_LISTEN=0.0.0.0:0", "api_keys"},
		{"FOOTNOTE_LISTEN=here", "listen"},
		{"FOOTNOTE_UPSTREAM=anthropic", "model_key"},
		{"FOOTNOTE_UPSTREAM=elsewhere", "upstream"},
		{"FOOTNOTE_SOURCES=/tmp/x.db", "sources"},
		{"FOOTNOTE_SOURCES=a=x.db,a=y.db", "two sources"},
		{"FOOTNOTE_API_KEYS=short", "8 characters"},
		{"FOOTNOTE_API_KEYS=long-enough-key=acme", "api_keys"},
		{"FOOTNOTE_LOG_OUTPUT=printer", "log_output"},
		{"FOOTNOTE_CONFIG=" + pipe, "named pipe"},
		{"FOOTNOTE_KEYBOARD=qwerty", "qwerty"},
	} {
		o := command(t, []string{"FOOTNOTE_DATA=" + t.TempDir(), c.setting}, "", "serve")
		if o.code != 2 || o.stdout != "" || !strings.Contains(o.stderr, c.want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, %q; want 2 and words about %s", c.setting, o.code, o.stderr, c.want)
		}
		if strings.Contains(o.stderr, "long-enough-key") {
			t.Errorf("it reveals the key: %s", o.stderr)
		}
	}
}
