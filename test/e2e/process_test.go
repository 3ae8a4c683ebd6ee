package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/footnotehq/footnote/model/modeltest"
)

// startLimit is how long a server may take to be ready on a busy machine.
const startLimit = 30 * time.Second

// modelKey is the key of the fake API.
const modelKey = "sk-model-0123456789abcdef"

// environ returns an environment with only what a test sets: no keys and no addresses of the developer's.
// Later settings override earlier ones.
func environ(settings ...string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8"}
	return append(env, settings...)
}

// upstream returns the settings that connect a program to a fake API.
func upstream(url string) []string {
	return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=" + modelKey, "FOOTNOTE_UPSTREAM=anthropic"}
}

// imitate starts a fake API that follows a rule, and checks that it never rejects a request of the program.
func imitate(t *testing.T, rule modeltest.Rule) (*modeltest.Server, []string) {
	t.Helper()
	fake := modeltest.New(modeltest.Options{Rule: rule, Key: modelKey})
	url := fake.Start(t)
	t.Cleanup(func() {
		for _, r := range fake.Refusals() {
			t.Error("the API refused ", r)
		}
	})
	return fake, upstream(url)
}

// auto returns the rule that follows the lines "fake: …" in a question, and otherwise counts the orders.
func auto(t *testing.T) modeltest.Rule {
	t.Helper()
	rule, err := modeltest.Builtin("auto", modeltest.Params{SQL: "SELECT count(*) AS orders FROM orders"})
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// buffer is a bytes.Buffer that is safe for concurrent use.
type buffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// process is a running program that has reported that it is ready.
type process struct {
	url    string
	cmd    *exec.Cmd
	stdout *buffer // without the first line
	stderr *buffer
	exited chan struct{} // closed when the process has exited
}

// serve starts a server over the demo shop with its own data folder.
func serve(t *testing.T, settings ...string) *process {
	t.Helper()
	base := []string{"FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA=" + t.TempDir(), "FOOTNOTE_SOURCES=shop=" + shopDB}
	return launch(t, append(base, settings...), "serve")
}

// launch starts a server program and waits until it is ready. At the end of the test it is killed if it still
// runs, and its log must not contain a panic.
func launch(t *testing.T, settings []string, args ...string) *process {
	t.Helper()
	return launchBinary(t, binary, settings, args...)
}

func launchBinary(t *testing.T, program string, settings []string, args ...string) *process {
	t.Helper()
	return launchCommand(t, exec.Command(program, args...), settings)
}

func launchCommand(t *testing.T, cmd *exec.Cmd, settings []string) *process {
	t.Helper()
	p := &process{cmd: cmd, stdout: &buffer{}, stderr: &buffer{}, exited: make(chan struct{})}
	p.cmd.Env, p.cmd.Stderr, p.cmd.WaitDelay = environ(settings...), p.stderr, 5*time.Second
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout = in
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	t.Cleanup(func() {
		p.kill()
		if os.Getenv("FOOTNOTE_AUDIT") != "" {
			checkSoundIfReadable(t, p)
		}
		if log := p.stderr.String(); strings.Contains(log, "panic") || strings.Contains(log, "goroutine ") {
			t.Errorf("the log holds a stack trace:\n%s", log)
		}
		if t.Failed() {
			t.Logf("log of the server:\n%.4000s", p.stderr.String())
		}
	})
	first := make(chan string, 1)
	copied := make(chan struct{})
	go func() { // ends with the process
		defer close(copied)
		defer out.Close()
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		first <- line
		_, _ = io.Copy(p.stdout, lines)
	}()
	go func() {
		_ = p.cmd.Wait()
		<-copied
		close(p.exited)
	}()
	select {
	case line := <-first:
		var ready struct {
			Ready  bool
			Listen string
		}
		if err := json.Unmarshal([]byte(line), &ready); err != nil || !ready.Ready {
			p.kill()
			t.Fatalf("the first line of %v is %q\n%s", cmd.Args, line, p.stderr)
		}
		p.url = "http://" + ready.Listen
	case <-time.After(startLimit):
		p.kill()
		t.Fatalf("%v was not ready within %v\n%s", cmd.Args, startLimit, p.stderr)
	}
	return p
}

// kill kills the process with kill -9, and waits for it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// wait waits for the end of the process and returns its exit code.
func (p *process) wait(t *testing.T, limit time.Duration) int {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(limit):
		t.Fatalf("the process did not end within %v\n%s", limit, p.stderr)
	}
	return p.cmd.ProcessState.ExitCode()
}

// outcome is the result of a command.
type outcome struct {
	stdout, stderr string
	code           int
}

// command runs the program to its end.
func command(t *testing.T, settings []string, stdin string, args ...string) outcome {
	t.Helper()
	return finish(t, prepared(t, settings, stdin, args...))
}

func prepared(t *testing.T, settings []string, stdin string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.WaitDelay = environ(settings...), t.TempDir(), strings.NewReader(stdin),
		5*time.Second
	return cmd
}

func finish(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.String())
	}
	o := outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	if strings.Contains(o.stderr, "goroutine ") || strings.Contains(o.stderr, "panic:") {
		t.Errorf("%v left a stack trace:\n%s", cmd.Args, o.stderr)
	}
	return o
}

// patience is how long to wait for something that should happen within seconds, on a busy machine.
const patience = time.Minute

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
