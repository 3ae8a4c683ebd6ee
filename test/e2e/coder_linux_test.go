package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/footnotehq/footnote/model/modeltest"
)

// coder starts a server with the demo's sample files, and returns the folder of its workspaces.
func coder(t *testing.T, settings ...string) (*process, string) {
	t.Helper()
	data := t.TempDir()
	base := []string{"FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA=" + data}
	return launch(t, append(base, settings...), "demo"), filepath.Join(data, "workspaces")
}

// instruct sends a request to the coder and waits until its run has begun. It returns the conversation, a new one if id
// is empty.
func (p *process) instruct(t *testing.T, id, text string) string {
	t.Helper()
	path, body, begun := "/api/conversations", map[string]any{"assistant": "coder", "text": text}, 0
	started := func(id string) (n int) {
		for _, e := range p.log(t, id, "") {
			if e.Kind == "run_started" {
				n++
			}
		}
		return n
	}
	if id != "" {
		begun = started(id)
		path, body = "/api/conversations/"+id+"/turns", map[string]any{"text": text}
	}
	status, got := p.sendJSON(t, path, body)
	var taken struct{ Conversation string }
	if err := json.Unmarshal([]byte(got), &taken); err != nil || status != http.StatusAccepted {
		t.Fatalf("%s: %d %s", text, status, got)
	}
	eventually(t, "the run has begun", func() bool { return started(taken.Conversation) > begun })
	return taken.Conversation
}

// waitForApproval waits until the newest run needs an approval, and returns its call.
func (p *process) waitForApproval(t *testing.T, id string) (call string) {
	t.Helper()
	eventually(t, "the run waits for an approval", func() bool {
		events := p.log(t, id, "")
		return events[len(events)-1].Kind == "run_parked"
	})
	for _, e := range p.log(t, id, "") {
		if e.Kind == "approval_asked" {
			var b struct {
				CallID string `json:"call_id"`
			}
			if err := json.Unmarshal(e.Body, &b); err != nil {
				t.Fatal(err)
			}
			call = b.CallID
		}
	}
	return call
}

func (p *process) decide(t *testing.T, id, call string, approved, always bool) {
	t.Helper()
	status, got := p.sendJSON(t, "/api/conversations/"+id+"/turns", map[string]any{
		"approvals": []map[string]any{{"call_id": call, "approved": approved, "always": always, "reason": "I say so."}},
	})
	if status != http.StatusAccepted && status != http.StatusOK {
		t.Fatalf("approval: %d %s", status, got)
	}
}

// lastAnswer waits until the newest run has ended, and returns its answer and its newest tool result.
func (p *process) lastAnswer(t *testing.T, id string) (answer string, result struct {
	Name, Content string
	IsError       bool `json:"is_error"`
	Detail        struct {
		Kind, Path, Op, Diff, Output string
		Changes                      []struct{ Path, Op string }
	}
}) {
	t.Helper()
	eventually(t, "the run has ended", func() bool {
		return !running(p.log(t, id, ""))
	})
	events := p.log(t, id, "")
	checkLog(t, events)
	for _, e := range events {
		switch e.Kind {
		case "answered":
			var b struct{ Text string }
			if err := json.Unmarshal(e.Body, &b); err != nil {
				t.Fatal(err)
			}
			answer = b.Text
		case "tool_result":
			result.Detail.Diff, result.IsError = "", false
			if err := json.Unmarshal(e.Body, &result); err != nil {
				t.Fatal(err)
			}
		case "run_failed":
			t.Fatalf("the run failed: %s", e.line)
		}
	}
	return answer, result
}

// TestCoder follows a change from start to end, without a model: requested in plain words, approved or not,
// made, shown as a diff, and kept.
func TestCoder(t *testing.T) {
	t.Parallel()
	p, folder := coder(t)
	id := p.instruct(t, "", "list files")
	if answer, _ := p.lastAnswer(t, id); !strings.Contains(answer, "- README.md (") ||
		!strings.Contains(answer, "sales.csv") || !strings.Contains(answer, "Offline planner") {
		t.Fatalf("list: %s", answer)
	}
	readme := filepath.Join(folder, id, "README.md")
	content := func() string {
		data, err := os.ReadFile(readme)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	before := content()

	p.instruct(t, id, "replace draft by final in README.md")
	call := p.waitForApproval(t, id)
	if content() != before {
		t.Fatal("the file changed before the approval")
	}
	p.decide(t, id, call, false, false)
	if answer, res := p.lastAnswer(t, id); !strings.Contains(answer, "nothing was changed") || res.Name != "Edit" ||
		!res.IsError || content() != before {
		t.Fatalf("not approved: %s, %+v", answer, res)
	}

	p.instruct(t, id, "replace draft by final in README.md")
	call = p.waitForApproval(t, id)
	p.decide(t, id, call, true, true)
	answer, res := p.lastAnswer(t, id)
	if want := strings.ReplaceAll(before, "draft", "final"); content() != want {
		t.Errorf("the file is %q, want %q", content(), want)
	}
	for _, want := range []string{"```diff", "-Status: draft", "+Status: final"} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer lacks %q: %s", want, answer)
		}
	}
	if d := res.Detail; res.Name != "Edit" || res.IsError || d.Kind != "file" || d.Path != "README.md" ||
		d.Op != "write" || !strings.Contains(d.Diff, "+Status: final") {
		t.Errorf("result = %+v", res)
	}

	// The approval holds for this conversation only.
	p.instruct(t, id, "replace final by done in README.md")
	if answer, _ := p.lastAnswer(t, id); !strings.Contains(answer, "+Status: done") {
		t.Errorf("approved permanently: %s", answer)
	}
	other := p.instruct(t, "", "replace draft by final in README.md")
	p.waitForApproval(t, other)

	p.instruct(t, id, "run sh report.sh >sums.txt; cat sums.txt")
	p.decide(t, id, p.waitForApproval(t, id), true, false)
	if answer, res := p.lastAnswer(t, id); !strings.Contains(answer, "north 3815\nsouth 2765") ||
		len(res.Detail.Changes) != 1 || res.Detail.Changes[0].Path != "sums.txt" {
		t.Errorf("run: %s, %+v", answer, res)
	}

	status, shown := p.get(t, "/api/conversations/"+id+"/workspace", "")
	for _, want := range []string{
		`{"path":"sums.txt","size":`, `"tool":"template"`, `"tool":"Edit"`, `"path":"sums.txt","op":"create"`,
	} {
		if status != http.StatusOK || !strings.Contains(shown, want) {
			t.Errorf("workspace: %d, %q is not in %s", status, want, shown)
		}
	}
	if status, sums := p.get(t, "/api/conversations/"+id+"/workspace/file?path=sums.txt",
		""); status != http.StatusOK || sums != "north 3815\nsouth 2765\n" {
		t.Errorf("file: %d %q", status, sums)
	}
	if status, _ := p.get(t, "/api/conversations/"+id+"/workspace/file?path=../../footnote.db",
		""); status != http.StatusBadRequest {
		t.Errorf("a path that leads out: %d", status)
	}
	// The owner of the files reverts a change.
	if status, body := p.sendJSON(t, "/api/conversations/"+id+"/workspace/revert", map[string]any{
		"path": "sums.txt",
	}); status != http.StatusNoContent {
		t.Errorf("revert: %d %s", status, body)
	}
	if status, _ := p.get(t, "/api/conversations/"+id+"/workspace/file?path=sums.txt",
		""); status != http.StatusNotFound {
		t.Errorf("a file that was reverted to nothing: %d", status)
	}
	for body, want := range map[string]int{
		`{"path":"README.md","digest":"sha256:none"}`: http.StatusNotFound,
		`{"path":""}`:        http.StatusBadRequest,
		`{"path":"a","x":1}`: http.StatusBadRequest,
	} {
		if status, answer := p.sendJSON(t, "/api/conversations/"+id+"/workspace/revert",
			json.RawMessage(body)); status != want {
			t.Errorf("revert %s: %d %s", body, status, answer)
		}
	}

	// Deleting the conversation deletes its files and no others.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, p.url+"/api/conversations/"+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	deleted, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	deleted.Body.Close()
	if _, err := os.Stat(filepath.Dir(readme)); deleted.StatusCode >= 300 || !os.IsNotExist(err) {
		t.Errorf("delete: %d, %v", deleted.StatusCode, err)
	}
	if _, err := os.Stat(filepath.Join(folder, other, "README.md")); err != nil {
		t.Error(err)
	}
}

// TestCoderApprovedAfterCrash checks that an approval may be given to a later process.
func TestCoderApprovedAfterCrash(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	settings := []string{"FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA=" + data}
	p := launch(t, settings, "demo")
	id := p.instruct(t, "", "replace draft by final in README.md")
	call := p.waitForApproval(t, id)
	p.kill()
	p = launch(t, settings, "demo")
	p.decide(t, id, call, true, false)
	if answer, _ := p.lastAnswer(t, id); !strings.Contains(answer, "+Status: final") {
		t.Errorf("answer = %s", answer)
	}
}

// TestKilledDuringCommand checks that a command that was running when the server was killed is not run again:
// the model is told, once, that it may have run. Its changes are lost with the copy it worked on, so the test
// detects the command by its process.
func TestKilledDuringCommand(t *testing.T) {
	t.Parallel()
	seconds := fmt.Sprintf("600.%d%d", os.Getpid(), time.Now().UnixNano())
	_, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
		if len(r.Results()) > 0 {
			return modeltest.Say("So it may have run.")
		}
		return modeltest.Use("Bash", `{"command":"sleep `+seconds+`"}`)
	})
	settings = append(settings, "FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA="+t.TempDir(), "FOOTNOTE_CODER_ALLOW=*")
	running := func() bool {
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(lines, func(path string) bool {
			line, _ := os.ReadFile(path) // the process may have exited meanwhile
			return string(line) == "sleep\x00"+seconds+"\x00"
		})
	}
	p := launch(t, settings, "demo")
	for range number(t, "FOOTNOTE_TOOL_KILLS", 2) {
		id := p.instruct(t, "", "Run it.")
		eventually(t, "the command runs", running)
		p.kill()
		eventually(t, "the command ends with its server", func() bool { return !running() })
		p = launch(t, settings, "demo")
		answer, result := p.lastAnswer(t, id)
		if answer != "So it may have run." || !result.IsError || !strings.Contains(result.Content, "may have run") {
			t.Errorf("%q after %+v", answer, result)
		}
		if running() {
			t.Error("the command runs again")
		}
		checkSound(t, settings...)
	}
}

// dataOf returns the data folder in settings.
func dataOf(settings []string) (folder string) {
	for _, s := range settings {
		if v, ok := strings.CutPrefix(s, "FOOTNOTE_DATA="); ok {
			folder = v
		}
	}
	return folder
}

// TestCoderIsConfined checks that a malicious model cannot access anything of the server through Bash: not
// its environment, its store, its other files or its port.
func TestCoderIsConfined(t *testing.T) {
	t.Parallel()
	const canary = "canary-5d1c77"
	var port string
	var step atomic.Int64
	attacks := []string{
		"cat /proc/1/environ; cat /proc/*/environ | tr '\\0' '\\n' | grep -a canar[y]; env",
		"cat /etc/shadow; ls /; find / -name 'footnote.db*' 2>/dev/null; find / -name '*.db' -size +0 2>/dev/null",
		"exec 3<>/dev/tcp/127.0.0.1/PORT && printf 'GET /healthz HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && " +
			"cat <&3",
		"ls -la .. ../..; cat ../../footnote.db | head -c 100",
	}
	_, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
		if n := int(step.Add(1)); n <= len(attacks) {
			command := strings.ReplaceAll(attacks[n-1], "PORT", port)
			input, err := json.Marshal(map[string]string{"command": command})
			if err != nil {
				panic(err)
			}
			return modeltest.Use("Bash", string(input))
		}
		return modeltest.Blocks(modeltest.Block{Type: "text", Text: "I tried."})
	})
	p, _ := coder(t, append(settings, "FOOTNOTE_CODER_ALLOW=*", "CANARY="+canary)...)
	port = p.url[strings.LastIndex(p.url, ":")+1:]
	id := p.instruct(t, "", "Break out.")
	if answer, _ := p.lastAnswer(t, id); answer != "I tried." {
		t.Errorf("answer = %s", answer)
	}
	results := 0
	for _, e := range p.log(t, id, "") {
		if e.Kind != "tool_result" {
			continue
		}
		results++
		for _, secret := range []string{
			canary, modelKey, "ANTHROPIC_API_KEY", "root:", "SQLite format", "footnote.db\\n", "200 OK",
		} {
			if strings.Contains(e.line, secret) {
				t.Errorf("a command got at %q: %s", secret, e.line)
			}
		}
	}
	if results != len(attacks) {
		t.Errorf("%d commands were run, want %d", results, len(attacks))
	}
}

// TestCoderUnavailable checks that without a folder there is no coder, and that where commands cannot be
// confined there is no Bash; the server says so at the start.
//
// It does not run in parallel: its data folder is readable by the commands of every test.
func TestCoderUnavailable(t *testing.T) {
	p := serve(t)
	if _, list := p.get(t, "/api/assistants", ""); !strings.Contains(list, `"name":"coder"`) ||
		!strings.Contains(list, "set FOOTNOTE_WORKSPACE") {
		t.Errorf("assistants = %s", list)
	}
	if status, body := p.sendJSON(t, "/api/conversations", map[string]any{
		"assistant": "coder",
		"text":      "list files",
	}); status != http.StatusServiceUnavailable || !strings.Contains(body, "FOOTNOTE_WORKSPACE") {
		t.Errorf("without a folder: %d %s", status, body)
	}
	// A data folder that commands could read.
	exposed, err := os.MkdirTemp("/usr/share", "footnote-e2e-")
	if err != nil {
		return // only root may write there; tool/workspace tests the check, too
	}
	t.Cleanup(func() { os.RemoveAll(exposed) })
	p = serve(t, "FOOTNOTE_WORKSPACE="+t.TempDir(), "FOOTNOTE_DATA="+exposed)
	eventually(t, "the start says that there is no Bash, and why", func() bool {
		log := p.stderr.String()
		return strings.Contains(log, "the coder has no Bash") && strings.Contains(log, "is inside /usr") &&
			!strings.Contains(log, "Bash   server")
	})
	if _, list := p.get(t, "/api/assistants", ""); strings.Contains(list, `"name":"Bash"`) ||
		!strings.Contains(list, "Commands are not run here") {
		t.Errorf("assistants = %s", list)
	}
	id := p.instruct(t, "", "run true")
	answer, _ := p.lastAnswer(t, id)
	if !strings.Contains(answer, "the tool Bash for that, which is not available here") {
		t.Errorf("answer = %s", answer)
	}
	if res := command(t, []string{
		"FOOTNOTE_DATA=" + t.TempDir(), "FOOTNOTE_WORKSPACE=" + t.TempDir(), "FOOTNOTE_CODER_DENY=Bsh",
	}, "", "serve"); res.code != 2 || !strings.Contains(res.stderr, `coder.deny has "Bsh"`) {
		t.Errorf("an unknown tool: %d %s", res.code, res.stderr)
	}
}

// TestNoUserNamespaces checks that there is no Bash where user namespaces are forbidden, whatever else is
// available.
func TestNoUserNamespaces(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("/bin/sh", "-c", "echo 0 >/proc/sys/user/max_user_namespaces && exec "+binary+" serve")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	trial := exec.Command("/bin/true")
	trial.SysProcAttr = cmd.SysProcAttr
	if trial.Run() != nil { // they are forbidden here anyway
		cmd = exec.Command(binary, "serve")
	}
	p := launchCommand(t, cmd, []string{
		"FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA=" + t.TempDir(), "FOOTNOTE_WORKSPACE=" + t.TempDir(),
	})
	eventually(t, "the start says that there is no Bash, and why", func() bool {
		log := p.stderr.String()
		return strings.Contains(log, "the coder has no Bash") && strings.Contains(log, "user namespaces") &&
			!strings.Contains(log, "Bash   server")
	})
	_, list := p.get(t, "/api/assistants", "")
	if strings.Contains(list, `"name":"Bash"`) || !strings.Contains(list, `"name":"Read"`) ||
		!strings.Contains(list, "user namespaces") {
		t.Errorf("assistants = %s", list)
	}
}
