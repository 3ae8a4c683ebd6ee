package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNoProcessesRemain checks that a server that exits or is killed leaves no engine process running.
func TestNoProcessesRemain(t *testing.T) {
	t.Parallel()
	own := filepath.Join(t.TempDir(), "footnote-own") // tells its processes from those of other tests
	data, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, data, 0o755); err != nil {
		t.Fatal(err)
	}
	_, settings := imitate(t, auto(t))
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGINT} {
		p := launchBinary(t, own,
			append(settings, "FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA="+t.TempDir(),
				"FOOTNOTE_SOURCES=shop="+shopDB), "serve")
		p.answered(t, question{text: "How many orders?"})
		if n := len(processesOf(t, own)); n < 2 {
			t.Errorf("%d processes while it serves; the source should have one of its own", n)
		}
		p.signal(t, end)
		p.wait(t, 10*time.Second)
		eventually(t, "no process is left after "+end.String(), func() bool { return len(processesOf(t, own)) == 0 })
	}
}

// processesOf returns the ids of the processes that run a program.
func processesOf(t *testing.T, program string) (ids []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == program {
			ids = append(ids, strings.Split(link, "/")[2])
		}
	}
	return ids
}
