package e2e

import (
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

func TestDataFolderIsAFile(t *testing.T) {
	t.Parallel()
	o := command(t, []string{"FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA=" + shopDB}, "", "serve")
	if o.code != 1 || !strings.Contains(o.stderr, shopDB) {
		t.Errorf("exit code %d, %q", o.code, o.stderr)
	}
}

func TestDataFolderInUse(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, "FOOTNOTE_DATA="+data)
	o := command(t, []string{
		"FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA=" + data, "FOOTNOTE_SOURCES=shop=" + shopDB,
	}, "", "serve")
	if o.code != 1 || !strings.Contains(o.stderr, "another process") {
		t.Errorf("exit code %d, %q; want 1 and another process", o.code, o.stderr)
	}
	if status, _ := p.get(t, "/readyz", ""); status != http.StatusOK {
		t.Errorf("the first server says %d", status)
	}
}

func TestBusyPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, args := range [][]string{{"serve"}, {"demo"}, {"fake-model", "--listen", l.Addr().String()}} {
		o := command(t, []string{"FOOTNOTE_LISTEN=" + l.Addr().String(), "FOOTNOTE_DATA=" + t.TempDir()}, "", args...)
		if o.code != 1 || !strings.Contains(o.stderr, "another program uses that port") {
			t.Errorf("%v: exit code %d, %q", args, o.code, o.stderr)
		}
	}
}

// TestLogReaderExits checks that the server keeps running when the reader of its output exits.
func TestLogReaderExits(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, auto(t))
	cmd := exec.Command(binary, "serve")
	cmd.Env = environ(append(settings, "FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA="+t.TempDir(),
		"FOOTNOTE_SOURCES=shop="+shopDB)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	logs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line := make([]byte, 4096)
	n, err := io.ReadAtLeast(out, line, 10)
	if err != nil {
		t.Fatal(err)
	}
	_, address, _ := strings.Cut(string(line[:n]), `"listen":"`)
	address, _, _ = strings.Cut(address, `"`)
	out.Close()
	logs.Close()
	p := &process{url: "http://" + address}
	for range 3 {
		p.answered(t, question{text: "How many orders?", conversation: "unread"})
	}
}
