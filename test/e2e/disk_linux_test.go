package e2e

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// smallDisk is a folder on a file system of a few megabytes. If mounting is not permitted, it is instead a
// file size limit of the program, which fails at the same calls.
type smallDisk struct {
	dir     string
	mounted bool
}

func newSmallDisk(t *testing.T) smallDisk {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		return smallDisk{dir: dir}
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return smallDisk{dir, true}
}

func (d smallDisk) fill(t *testing.T, p *process) {
	t.Helper()
	if !d.mounted {
		limitFiles(t, p, 4096)
		return
	}
	f, err := os.Create(filepath.Join(d.dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 2 { // to the last byte
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}

func (d smallDisk) free(t *testing.T, p *process) {
	t.Helper()
	if !d.mounted {
		limitFiles(t, p, 1<<40)
		return
	}
	if err := os.Remove(filepath.Join(d.dir, "ballast")); err != nil {
		t.Fatal(err)
	}
}

func TestDiskFullWhileServing(t *testing.T) {
	t.Parallel()
	disk := newSmallDisk(t)
	_, settings := imitate(t, auto(t))
	settings = append(settings, "FOOTNOTE_DATA="+filepath.Join(disk.dir, "data"), "FOOTNOTE_LOG_OUTPUT=both")
	p := serve(t, settings...)
	first := p.answered(t, question{text: "fake: say Hello.", conversation: "full"})
	disk.fill(t, p)
	for _, q := range []question{
		{text: "fake: say Hello."},
		{text: "fake: say Hello.", conversation: "full"},
		{text: "How many orders?", stream: true},
	} {
		eventually(t, "storage_unavailable", func() bool { // the file's last pages may still have room for an event
			r := p.ask(t, q)
			return r.status == http.StatusServiceUnavailable && r.code == "storage_unavailable"
		})
	}
	eventually(t, "readyz says 503", func() bool {
		status, _ := p.get(t, "/readyz", "")
		return status == http.StatusServiceUnavailable
	})
	if status, _ := p.get(t, "/healthz", ""); status != http.StatusOK {
		t.Errorf("healthz says %d", status)
	}
	// Existing events can still be read.
	if events := p.log(t, first.conversation, ""); len(events) < 5 {
		t.Errorf("the log has %d events", len(events))
	}
	disk.free(t, p)
	eventually(t, "the conversation continues when there is space", func() bool {
		return p.ask(t, question{text: "fake: say Hello.", conversation: "full"}).status == http.StatusOK
	})
	checkLog(t, p.log(t, first.conversation, ""))
	p.signal(t, syscall.SIGTERM)
	if code := p.wait(t, 15*time.Second); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestDiskFullAtStart(t *testing.T) {
	t.Parallel()
	disk := newSmallDisk(t)
	if !disk.mounted {
		t.Log("mounting is not permitted; the store's own tests cover this")
		return
	}
	disk.fill(t, nil)
	o := command(t, []string{
		"FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA=" + filepath.Join(disk.dir, "data"),
		"FOOTNOTE_SOURCES=shop=" + shopDB,
	}, "", "serve")
	if o.code != 1 || !strings.Contains(o.stderr, "full") {
		t.Errorf("exit code %d, %q; want 1 and a full disk", o.code, o.stderr)
	}
}

// asNobody makes a command run as an unprivileged user if the test runs as root.
func asNobody(cmd *exec.Cmd) *exec.Cmd {
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: false},
		}
	}
	return cmd
}

// openTemp returns a folder that every user may enter.
func openTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(shared, "test-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDataFolderWithoutPermission(t *testing.T) {
	t.Parallel()
	dir := openTemp(t)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{
		dir:                       "is not writable for this user",
		filepath.Join(dir, "new"): "cannot be created",
	} {
		cmd := prepared(t, []string{
			"FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA=" + data, "FOOTNOTE_SOURCES=shop=" + shopDB,
		}, "", "serve")
		cmd.Dir = shared
		o := finish(t, asNobody(cmd))
		if o.code != 1 || o.stdout != "" || !strings.Contains(o.stderr, want) || !strings.Contains(o.stderr, data) {
			t.Errorf("exit code %d, %q %q; want 1 and words about %s", o.code, o.stdout, o.stderr, data)
		}
	}
}

// limitFiles limits the size of the files that a process writes from now on.
func limitFiles(t *testing.T, p *process, size uint64) {
	t.Helper()
	limit := unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		t.Fatal(err)
	}
}
