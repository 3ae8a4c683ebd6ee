package e2e

import (
	"encoding/json"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote/model/modeltest"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite"
)

// TestAskContinuesAfterKill kills the program while it answers a question. The next question continues the
// conversation, and the audit has a line for both, without any key.
func TestAskContinuesAfterKill(t *testing.T) {
	t.Parallel()
	const ours = "a-key-of-this-very-server"
	h := newHolding(t)
	_, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
		// An answer that the killed run had not stored yet is lost: both questions may be in one message.
		if strings.Contains(r.LastUserText(), "What is") {
			return modeltest.Say("At once.")
		}
		return h.rule(r)
	})
	data := t.TempDir()
	settings = append(settings, "FOOTNOTE_DATA="+data, "FOOTNOTE_API_KEYS="+ours)
	killed := prepared(t, settings, "", "ask", "Please hold.")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	h.wait(t)
	waitForRun(t, filepath.Join(data, "terminal", "footnote.db")) // the model is asked while the question is stored
	_ = killed.Process.Kill()
	_ = killed.Wait()
	h.release()
	a := askJSON(t, settings, "--continue", "What is "+ours+"?")
	if a.Answer != "At once." {
		t.Errorf("the answer is %q", a.Answer)
	}
	audit, err := os.ReadFile(filepath.Join(data, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(audit)), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "Please hold.") || !strings.Contains(lines[0], "interrupted") ||
		!strings.Contains(lines[1], "What is ***?") {
		t.Errorf("the audit holds %s", audit)
	}
	if strings.Contains(string(audit), ours) || strings.Contains(string(audit), modelKey) {
		t.Errorf("the audit holds a key: %s", audit)
	}
}

// waitForRun waits until a run is stored in the store at path.
func waitForRun(t *testing.T, path string) {
	t.Helper()
	s, err := sqlite.OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for ; ; time.Sleep(5 * time.Millisecond) {
		page := store.Page{Org: "local", User: username(t), Kind: "conversation", Limit: 1}
		heads, _, err := s.List(t.Context(), page)
		if err != nil {
			t.Fatal(err)
		}
		if len(heads) > 0 && heads[0].Run != "" {
			return
		}
	}
}

func username(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// TestAskPipedIntoHead checks that a reader that stops early, as head does, leaves no engine process behind.
func TestAskPipedIntoHead(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	cmd := prepared(t, []string{
		"TMPDIR=" + temp, "FOOTNOTE_MODEL=offline", "FOOTNOTE_DATA=" + t.TempDir(),
	}, "", "ask", "--source", shopDB, "How many orders are there?")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the command ended with %v", err)
	}
	left, err := filepath.Glob(filepath.Join(temp, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestConcurrentAsks checks that questions in one data folder wait for each other.
func TestConcurrentAsks(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, auto(t))
	settings = append(settings, "FOOTNOTE_DATA="+t.TempDir())
	command(t, settings, "", "ask", "How many orders?") // create the shop
	var all sync.WaitGroup
	for range 4 {
		cmd := prepared(t, settings, "", "ask", "How many orders?")
		all.Go(func() {
			if o := finish(t, cmd); o.code != 0 {
				t.Errorf("exit code %d, %q", o.code, o.stderr)
			}
		})
	}
	all.Wait()
}

// TestAskJSONReportsSetupErrors checks that ask --json prints its object even if the source or the data folder cannot
// be opened.
func TestAskJSONReportsSetupErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data, source, want string
	}{
		"source":      {t.TempDir(), filepath.Join(t.TempDir(), "nowhere.db"), "not there"},
		"data folder": {shopDB, shopDB, shopDB},
		"demo shop":   {shopDB, "", shopDB},
	} {
		args := []string{"ask", "--json", "How many orders?"}
		if c.source != "" {
			args = append(args, "--source", c.source)
		}
		o := command(t, []string{"FOOTNOTE_DATA=" + c.data}, "", args...)
		var got struct {
			Outcome, Reason string
			SQL             []string
		}
		if err := json.Unmarshal([]byte(o.stdout), &got); err != nil || o.code != 1 || got.Outcome != "failed" ||
			got.SQL == nil || !strings.Contains(got.Reason, c.want) {
			t.Errorf("%s: exit code %d, %v, %q %q", name, o.code, err, o.stdout, o.stderr)
		}
	}
}
