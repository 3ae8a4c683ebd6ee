package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/model/modeltest"
)

// keyed starts two servers over one store that require keys, and returns the settings of both.
func keyed(t *testing.T, settings []string) (s [2]*process, all []string) {
	t.Helper()
	all = append(settings, "FOOTNOTE_STORE="+pgtest.Database(t), "FOOTNOTE_AUTH_REQUIRED=true")
	return [2]*process{serve(t, all...), serve(t, all...)}, all
}

// manageKeys runs footnote keys while the servers run.
func manageKeys(t *testing.T, settings []string, args ...string) string {
	t.Helper()
	o := command(t, append(settings, "FOOTNOTE_DATA="+t.TempDir()), "", append([]string{"keys"}, args...)...)
	if o.code != 0 {
		t.Fatal(o)
	}
	return strings.TrimSpace(o.stdout)
}

// startRun asks a question in a new conversation with a key, and disconnects.
func (p *process) startRun(t *testing.T, key, body string) (id string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/api/conversations",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var in struct{ Conversation string }
	if err := json.NewDecoder(res.Body).Decode(&in); err != nil || res.StatusCode != http.StatusAccepted {
		t.Fatal(res.Status, err)
	}
	return in.Conversation
}

// TestRevocationEndsRuns checks that a run without a reader ends when its key is revoked, even if another
// server has taken it over, and that a run of another key continues.
func TestRevocationEndsRuns(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, endless)
	s, settings := keyed(t, settings)
	anns, bobs := manageKeys(t, settings, "create", "--org", "acme", "--user", "ann"),
		manageKeys(t, settings, "create", "--org", "acme", "--user", "bob")
	const ask = `{"text":"Go slowly."}`
	hers, his := s[0].startRun(t, anns, ask), s[0].startRun(t, bobs, ask)
	eventually(t, "the model is answering both", func() bool { return fake.Metrics().Open == 2 })
	s[0].kill()
	eventually(t, "the other server takes over", func() bool {
		return has(s[1].log(t, hers, anns), "run_resumed", "recovered") &&
			has(s[1].log(t, his, bobs), "run_resumed", "recovered")
	})
	manageKeys(t, settings, "revoke", anns)
	again := manageKeys(t, settings, "create", "--org", "acme", "--user", "ann")
	eventually(t, "her run ends", func() bool { return !running(s[1].log(t, hers, again)) })
	if events := s[1].log(t, hers, again); !has(events, "run_stopped", `"by":"revoked"`) {
		t.Errorf("her run ended with %s", events[len(events)-1].line)
	}
	if !running(s[1].log(t, his, bobs)) {
		t.Error("his run ended, too")
	}
}

// TestRevocationEndsWaitingRuns checks the same for a run that waits for a browser, with time left, when the
// server where it began is gone.
func TestRevocationEndsWaitingRuns(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
		if !r.HasTool("transform_data") {
			return modeltest.Say("A title.")
		}
		return modeltest.Blocks(modeltest.CallBlock("run_query", `{"thought":"I need it.","sql":"SELECT 42"}`))
	})
	s, settings := keyed(t, settings)
	first, second := manageKeys(t, settings, "create", "--org", "acme", "--user", "ann"),
		manageKeys(t, settings, "create", "--org", "acme", "--user", "ann")
	const ask = `{"text":"How many?","assistant":"explore"}`
	lost, kept := s[0].startRun(t, first, ask), s[0].startRun(t, second, ask)
	waits := func(id string) bool { return len(waiting(t, s[1].log(t, id, second))) == 1 }
	eventually(t, "the calls wait", func() bool { return waits(lost) && waits(kept) })
	s[0].kill()
	manageKeys(t, settings, "revoke", first)
	eventually(t, "the run has ended", func() bool {
		return has(s[1].log(t, lost, second), "run_stopped", `"by":"revoked"`)
	})
	if !waits(kept) {
		t.Error("the run of the other key no longer waits")
	}
}
