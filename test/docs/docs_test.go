//go:build unix

// Package docs_test runs the examples in README.md and the pages under docs/: it types each console block
// into a shell, with a freshly built program, and compares the output with what the page shows. The blocks of
// one page share one shell and one folder.
package docs_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/internal/redistest"
	"github.com/footnotehq/footnote/test/program"
)

const root = "../.."

// patience limits the time of one command on a page.
const patience = 2 * time.Minute

var tools string // folder with bin/footnote and node_modules

func TestMain(m *testing.M) {
	code, err := prepare(m)
	if err != nil {
		log.Print(err)
		code = 1
	}
	os.Exit(code)
}

func prepare(m *testing.M) (code int, err error) {
	if tools, err = os.MkdirTemp("", "footnote-docs-"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tools)) }()
	if err := program.Install(root, filepath.Join(tools, "bin", "footnote")); err != nil {
		return 0, err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(root, "test", "clients", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(tools, name), data, 0o600)
		}
		if err != nil {
			return 0, err
		}
	}
	npm := exec.Command("npm", "ci", "--prefer-offline", "--no-audit", "--no-fund")
	npm.Dir = tools
	if out, err := npm.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("install the clients that the pages show: %w\n%s", err, out)
	}
	return pgtest.Run(m), nil
}

// pages returns the blocks of the files to check, by their path from the root.
func pages(t *testing.T) map[string][]block {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]block{}
	for _, path := range append(names, filepath.Join(root, "README.md")) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		if found[name], err = blocks(string(data)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return found
}

// TestPages types the console blocks of every page.
func TestPages(t *testing.T) {
	for name, list := range pages(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sh *shell
			for _, b := range list {
				switch {
				case b.lang == "console":
					if sh == nil {
						sh = newShell(t, list)
					}
					sh.play(t, name, b)
				case b.file != "":
					if sh == nil {
						sh = newShell(t, list)
					}
					if err := os.WriteFile(filepath.Join(sh.dir, b.file), []byte(sh.real(b.text)+"\n"),
						0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// TestOtherBlocks parses the blocks that are not run: they must be valid in their language.
func TestOtherBlocks(t *testing.T) {
	for name, list := range pages(t) {
		for _, b := range list {
			var err error
			switch b.lang {
			case "json":
				err = json.Unmarshal([]byte(b.text), new(any))
			case "yaml":
				err = yaml.Unmarshal([]byte(b.text), new(any))
			case "sh":
				err = exec.CommandContext(t.Context(), "bash", "-n", "-c", b.text).Run()
			case "sql": // the tests of source/postgres and cmd/footnote run it
			case "", "console", "js", "go", "text", "nginx", "caddy":
			default:
				err = fmt.Errorf("no check for blocks of %q", b.lang)
			}
			if err != nil {
				t.Errorf("%s:%d: %v", name, b.line, err)
			}
		}
	}
}

// TestDocsShowEveryCommand checks that the pages show every command and every address at least once in a block
// that is run.
func TestDocsShowEveryCommand(t *testing.T) {
	var all strings.Builder
	for _, list := range pages(t) {
		for _, b := range list {
			if b.lang != "console" {
				continue
			}
			typed, err := commands(b)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range typed {
				all.WriteString(strings.Join(strings.Fields(strings.ReplaceAll(c.text, "\\\n", " ")), " ") + "\n")
			}
		}
	}
	for _, want := range shown(t) {
		if !regexp.MustCompile(want).MatchString(all.String()) {
			t.Errorf("no page runs %s", want)
		}
	}
}

// shown returns patterns of what must be typed somewhere: the commands, as the program lists them, and the
// addresses.
func shown(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(tools, "bin", "footnote"), "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(out), "\nCommands:\n")
	if !ok {
		t.Fatalf("the help lists no commands:\n%s", out)
	}
	var want []string
	for line := range strings.Lines(list) {
		// Lines that continue a description are indented further.
		if words := strings.Fields(line); strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ") &&
			len(words) > 0 {
			want = append(want, `footnote `+words[0]+`\b`)
		}
	}
	if len(want) < 9 {
		t.Fatalf("the help lists %d commands", len(want))
	}
	return append(want,
		`footnote ask .*--json`, `footnote ask (-c|--continue)`, `footnote query .*--batch`, `footnote query .*--json`,
		`footnote verify .*--json`,
		`/v1/chat/completions .*"stream":true`, `/v1/chat/completions (.*[^e]"?)-d '\{"model":"analyst","messages"`,
		`/v1/models\s`, `/v1/models/analyst`,
		`/api/conversations/\S+/events`, `text/event-stream`, `/healthz`, `/readyz`, `/metrics`, `/api/analyze `,
		`/api/chat-v2 `, `view=seed`, `/api/ai `)
}

// TestLiteLLM checks the sample configuration of a proxy in front.
func TestLiteLLM(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "litellm_config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var conf struct {
		Models []struct {
			Name   string `yaml:"model_name"`
			Params struct {
				Model string `yaml:"model"`
				Base  string `yaml:"api_base"`
				Key   string `yaml:"api_key"`
			} `yaml:"litellm_params"`
		} `yaml:"model_list"`
	}
	if err := yaml.Unmarshal(data, &conf); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range conf.Models {
		names = append(names, m.Name)
	}
	if want := []string{"analyst", "claude-da/analyst"}; !slices.Equal(names, want) {
		t.Errorf("models = %q, want %q", names, want)
	}
	for _, m := range conf.Models {
		// The server would read a variable FOOTNOTE_… as a setting, too, or refuse to start.
		if strings.Contains(m.Params.Key, "FOOTNOTE_API") || strings.HasPrefix(m.Params.Key, "os.environ/FOOTNOTE_") {
			t.Errorf("%s: api_key is %s, which the server reads, too", m.Name, m.Params.Key)
		}
		if m.Params.Model != "openai/"+m.Name || m.Params.Base != "http://127.0.0.1:8787/v1" || m.Params.Key == "" {
			t.Errorf("%+v does not lead to the analyst", m)
		}
	}
}

// shell is one page's terminal.
type shell struct {
	dir   string
	pid   int // also its process group
	in    io.WriteCloser
	lines chan string
	n     int // commands so far
	// addresses maps the addresses on the pages to the real ones.
	addresses map[string]string
}

// Addresses on the pages: of the server (unless its command names another), the fake model, Postgres and
// Redis.
const (
	serverAddress = "127.0.0.1:8787"
	fakeAddress   = "127.0.0.1:8790"
	storeAddress  = "postgres://footnote:a-long-one@db.example.org/footnote"
	redisAddress  = "redis://redis.example.org:6379/0"
)

var listens = regexp.MustCompile(`--listen (127\.0\.0\.1:\d+)`)

// services starts the services that a page names, and returns their real addresses. They end after the page's
// shell.
func services(t *testing.T, page []block) map[string]string {
	t.Helper()
	real := map[string]string{}
	names := func(address string) bool {
		return slices.ContainsFunc(page, func(b block) bool {
			return b.lang == "console" && strings.Contains(b.text, address)
		})
	}
	if names(storeAddress) {
		real[storeAddress] = pgtest.Database(t)
	}
	if names(redisAddress) {
		real[redisAddress] = redistest.New(t).URL()
	}
	return real
}

func newShell(t *testing.T, page []block) *shell {
	t.Helper()
	s := &shell{dir: t.TempDir(), lines: make(chan string, 1024), addresses: services(t, page)}
	if err := os.Symlink(filepath.Join(tools, "node_modules"), filepath.Join(s.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	releaseFolder(t, s.dir, page)
	cmd := exec.Command("bash", "--norc")
	cmd.Dir = s.dir
	cmd.Env = environment(t, s.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	if s.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	s.pid = cmd.Process.Pid
	go func() {
		defer close(s.lines)
		scan := bufio.NewScanner(out)
		scan.Buffer(nil, 1<<20)
		for scan.Scan() {
			s.lines <- scan.Text()
		}
	}()
	t.Cleanup(func() {
		// Let servers end by themselves first, and then kill the rest of the group.
		_, _ = io.WriteString(s.in, "\nkill $(jobs -p) 2>/dev/null; wait; exit\n")
		late := time.AfterFunc(20*time.Second, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		_ = cmd.Wait() // the page may have left the shell in any state
		late.Stop()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		out.Close()
		for range s.lines { //nolint:revive // until the reader has ended
		}
	})
	return s
}

// environment returns what a page's shell starts with: no variable of ours that could change an answer, and
// no address of a model.
func environment(t *testing.T, dir string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache := strings.Fields(string(out))
	return []string{
		"PATH=" + filepath.Join(tools, "bin") + ":" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8", "TZ=UTC",
		"TMPDIR=" + os.TempDir(),
		"GOCACHE=" + cache[0], "GOMODCACHE=" + cache[1], "GOPATH=" + cache[2], "GOFLAGS=",
		"FOOTNOTE_LISTEN=127.0.0.1:0",
	}
}

// real replaces the addresses on a page with the real ones.
func (s *shell) real(text string) string {
	for shown, real := range s.addresses {
		text = strings.ReplaceAll(text, shown, real)
	}
	return text
}

// asShown replaces the real addresses with those on the page.
func (s *shell) asShown(text string) string {
	for shown, real := range s.addresses {
		text = strings.ReplaceAll(text, real, shown)
	}
	return text
}

// play types the commands of a block.
func (s *shell) play(t *testing.T, page string, b block) {
	t.Helper()
	list, err := commands(b)
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	for i, c := range list {
		var got string
		var status int
		if program, ok := c.background(); ok {
			got = s.start(t, program)
		} else {
			// Without a terminal, the shell may keep the number of a job that has ended, so that the next one
			// is not %1.
			got, status = s.run(t, strings.ReplaceAll(s.real(c.text), "kill %1", "kill $program"))
		}
		asks := i+1 < len(list) && strings.HasPrefix(list[i+1].text, "echo $?")
		if status != 0 && !asks {
			t.Errorf("%s:%d: %s\nends with %d, which the page does not show\n%s", page, c.line, c.text, status, got)
		}
		if got = s.asShown(got); !fits(c.want, got) {
			t.Errorf("%s:%d: %s\n--- the page says\n%s\n--- the program says\n%s", page, c.line, c.text, c.want, got)
		}
		if t.Failed() {
			t.FailNow() // later commands depend on this one
		}
	}
}

// run types a command and returns its output and status.
func (s *shell) run(t *testing.T, text string) (output string, status int) {
	t.Helper()
	s.n++
	mark := fmt.Sprintf("=== end of command %d:", s.n)
	typed := fmt.Sprintf("%s\n{ status=$?; printf '\\n%%s %%d\\n' '%s' $status; (exit $status); }\n", text, mark)
	if _, err := io.WriteString(s.in, typed); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	var got []string
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				t.Fatalf("%s: the shell ended\n%s", text, strings.Join(got, "\n"))
			}
			if rest, ok := strings.CutPrefix(line, mark); ok {
				if _, err := fmt.Sscan(rest, &status); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				return strings.Join(got, "\n"), status
			}
			got = append(got, line)
		case <-late.C:
			t.Fatalf("%s: no end after %s\n%s\n%s", text, patience, strings.Join(got, "\n"), s.background())
		}
	}
}

// background returns the latest output of the programs in the background, with the stacks of those that still
// run.
func (s *shell) background() string {
	_ = syscall.Kill(-s.pid, syscall.SIGQUIT)
	time.Sleep(time.Second) // until the stacks are written; there is no event to wait for
	logs, _ := filepath.Glob(filepath.Join(s.dir, "job*.err"))
	var all strings.Builder
	for _, path := range logs {
		words, _ := os.ReadFile(path)
		fmt.Fprintf(&all, "--- %s\n%s\n", filepath.Base(path), words)
	}
	return all.String()
}

// start runs a server in the background until it is ready, and returns the line that says so.
func (s *shell) start(t *testing.T, program string) string {
	t.Helper()
	address := serverAddress
	if strings.Contains(program, "fake-model") {
		address = fakeAddress
		program += " --listen 127.0.0.1:0"
	} else if m := listens.FindStringSubmatch(program); m != nil {
		address = m[1]
		program = strings.Replace(program, m[0], "--listen 127.0.0.1:0", 1)
	}
	log := fmt.Sprintf("job%d", s.n)
	got, _ := s.run(t, fmt.Sprintf(`: >%[2]s.out; %[1]s >>%[2]s.out 2>%[2]s.err & program=$!
for i in $(seq 1200); do grep -q '"ready":true' %[2]s.out && break; kill -0 $program || break; sleep 0.05; done
head -n1 %[2]s.out`, s.real(program), log))
	var ready struct {
		Listen string `json:"listen"`
	}
	if err := json.Unmarshal([]byte(strings.TrimSpace(got)), &ready); err != nil {
		words, _ := os.ReadFile(filepath.Join(s.dir, log+".err"))
		t.Fatalf("%s: not ready: %q\n%s", program, got, words)
	}
	s.addresses[address] = ready.Listen
	return got
}
