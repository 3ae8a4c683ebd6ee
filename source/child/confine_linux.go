package child

import (
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/footnotehq/footnote/internal/confine"
)

const maxOpenFiles = 256

// dropPrivileges drops the privileges the engine does not need. What the kernel cannot restrict is reported but not
// fatal: the gate and the engine's own read-only mode still apply.
func dropPrivileges(l launch) (Confinement, error) {
	var c Confinement
	if l.Temp != "" {
		os.Setenv("TMPDIR", l.Temp)
		if err := os.Chdir(l.Temp); err != nil {
			return c, err
		}
	}
	c.limits(l)
	if err := confine.NoNewPrivileges(); err != nil {
		c.Missing = append(c.Missing, "no new privileges: "+err.Error())
	}
	if abi := confine.Landlock(); abi > 0 {
		if err := restrictPaths(l); err != nil {
			return c, fmt.Errorf("landlock: %w", err)
		}
		c.Landlock = abi
	}
	if err := filterSyscalls(); err != nil {
		c.Missing = append(c.Missing, "seccomp: "+err.Error())
	} else {
		c.Seccomp = true
	}
	return c, nil
}

// limits sets the resource limits. The address space has none: Go and DuckDB map far more than they use.
func (c *Confinement) limits(l launch) {
	set := func(name string, resource int, n uint64, words string) {
		if err := confine.Limit(resource, n); err != nil {
			c.Missing = append(c.Missing, name+": "+err.Error())
			return
		}
		c.Limits = append(c.Limits, words)
	}
	set("core size", unix.RLIMIT_CORE, 0, "no core files")
	set("open files", unix.RLIMIT_NOFILE, maxOpenFiles, fmt.Sprintf("%d open files", maxOpenFiles))
	if l.Profile == Serve {
		signal.Ignore(unix.SIGXFSZ) // a write beyond the limit returns an error instead of ending the process
		set("file size", unix.RLIMIT_FSIZE, uint64(l.MaxFile), "files to "+bytesText(l.MaxFile))
	}
	if data := confine.DataSize(); data > 0 && !confine.Race { // RLIMIT_DATA counts shadow memory
		n := data + l.Memory + dataSlack
		set("data size", unix.RLIMIT_DATA, uint64(n), "data to "+bytesText(n))
	}
}

// dataSlack is added to the memory limit for RLIMIT_DATA, to allow for mapped but unused memory: Go's arenas of 64 MB
// and thread stacks. The server's watch on the resident size enforces the exact limit; this one holds between its
// checks.
const dataSlack = 384 << 20

// restrictPaths limits the child to the files of its launch and, where the kernel can, blocks binding and
// connecting sockets and signaling other processes.
func restrictPaths(l launch) error {
	rules := []landlock.Rule{
		landlock.ROFiles("/dev/urandom", "/proc/meminfo", "/proc/cpuinfo").IgnoreIfMissing(),
		landlock.RWFiles(os.DevNull).IgnoreIfMissing(),
	}
	for _, path := range l.Read {
		if dir, err := isDir(path); err == nil && dir {
			rules = append(rules, landlock.PathAccess(ll.AccessFSReadFile|ll.AccessFSReadDir, path))
		} else if err == nil {
			rules = append(rules, landlock.PathAccess(ll.AccessFSReadFile, path))
		}
	}
	for _, path := range append(l.Write, l.Temp) {
		if dir, err := isDir(path); err == nil && dir {
			rules = append(rules, landlock.PathAccess(writeDir, path))
		} else if err == nil {
			rules = append(rules,
				landlock.PathAccess(ll.AccessFSReadFile|ll.AccessFSWriteFile|ll.AccessFSTruncate, path))
		}
	}
	return landlock.V11.BestEffort().Restrict(rules...)
}

const writeDir = ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSWriteFile | ll.AccessFSTruncate |
	ll.AccessFSRemoveFile | ll.AccessFSRemoveDir | ll.AccessFSMakeReg | ll.AccessFSMakeDir

func isDir(path string) (bool, error) {
	if path == "" {
		return false, errors.New("no path")
	}
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	return info.IsDir(), nil
}
