// Package sandbox runs a shell command in a folder and hides everything else from it: no network, no other
// files than read-only system folders, no other processes, none of the server's environment, and limits on
// memory, processors, processes, files, output and time. When a command ends, so does everything it started.
//
// The program executes itself twice. The first stage runs in its own namespaces (users, mounts, processes,
// network, IPC, names), builds a file system, and then drops every capability. The second stage, as the first
// process of that world, restricts the rest with Landlock, seccomp and resource limits, starts the shell, and
// watches it. When it ends, the kernel ends every process in the sandbox, whatever they did; and it ends when
// the server does.
//
// If the system cannot provide any of this, Probe reports it and nothing is run: there is no weaker mode.
package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Folder is the path of a command's folder, which is also its home and working directory.
const Folder = "/workspace"

// Sizes of the other places that a command can write to, and of all of them together.
const (
	tempSize   = 64 << 20
	sharedSize = 16 << 20

	Scratch = tempSize + sharedSize
)

// Command is one command to run.
type Command struct {
	Dir    string // the host's folder that it may change
	Script string // shell script
	Limits Limits
}

// Limits are the limits of a command. Zero fields take the defaults.
type Limits struct {
	Time      time.Duration // until it is killed; default 2 min
	Memory    int64         // bytes of all its processes together; default 512 MB
	Processes int           // including threads, at a time; default 128
	File      int64         // bytes of one file; default 64 MB
	Disk      int64         // bytes of all files in the folder, even unlinked; default 256 MB
	Files     int           // files, folders and links in the folder; default 50,000
	Output    int           // bytes of output to keep, from the start and the end; default 30,000
	Flood     int64         // bytes of output after which it is killed; default 64 MB
}

func (l Limits) withDefaults() Limits {
	l.Time = cmp.Or(max(l.Time, 0), 2*time.Minute)
	l.Memory = cmp.Or(max(l.Memory, 0), 512<<20)
	l.Processes = cmp.Or(max(l.Processes, 0), 128)
	l.File = cmp.Or(max(l.File, 0), 64<<20)
	l.Disk = cmp.Or(max(l.Disk, 0), 256<<20)
	l.Files = cmp.Or(max(l.Files, 0), 50_000)
	l.Output = cmp.Or(max(l.Output, 0), 30_000)
	l.Flood = cmp.Or(max(l.Flood, 0), 64<<20)
	return l
}

// Reasons for which a command was ended.
const (
	ByTime      = "time"
	ByMemory    = "memory"
	ByProcesses = "processes"
	ByDisk      = "disk"
	ByOutput    = "output"
	ByFault     = "fault" // its first process died, possibly because the kernel was short of memory
)

// Result describes how a command ended.
type Result struct {
	Output    []byte      // standard output and error, interleaved
	Dropped   int64       // bytes left out of the middle of Output
	Cut       int         // position in Output of the missing bytes; 0 if none are missing
	Exit      int         // the shell's exit code; 128 + signal if a signal killed it
	Ended     string      // which limit ended it; empty if it ended by itself
	Full      bool        // the folder was full before: it could only be read and emptied
	Filled    bool        // the folder is full now
	TooDeep   int         // number of its folders that were not kept because they are too deep
	Lost      int         // number of files and folders that could not be copied back
	LostFirst []FileError // the first of these
	Elapsed   time.Duration
}

// FileError says why a file or folder could not be copied.
type FileError struct {
	Path string // relative to the command's folder
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("copy %s: %v", e.Path, e.Err) }

func (e *FileError) Unwrap() error { return e.Err }

// ErrNotKept is returned when a command was run, but not all its changes were copied back.
var ErrNotKept = errors.New("not all changes of a command were kept")

// ErrNoSpace is returned, with ErrNotKept, when the disk has no room for a command's changes.
var ErrNoSpace = errors.New("no space for the changes of a command")

// ErrUnavailable is returned on a system on which commands cannot be confined.
var ErrUnavailable = errors.New("commands cannot be confined here")

// system lists the host's folders that commands see, read-only.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"}

// Exposed returns an error for the first path that commands could read because it is inside a system folder.
func Exposed(paths ...string) error {
	for _, p := range paths {
		if p == "" {
			continue
		}
		real, err := filepath.Abs(p)
		if err != nil {
			return err
		}
		if r, err := filepath.EvalSymlinks(real); err == nil {
			real = r
		}
		for _, dir := range system {
			if real == dir || strings.HasPrefix(real, dir+"/") {
				return fmt.Errorf("%w: %s is inside %s, which commands can read; move it", ErrUnavailable, p, dir)
			}
		}
	}
	return nil
}

// findShell returns the shell that commands run in, or "" if there is none.
func findShell() string {
	for _, path := range []string{"/bin/bash", "/usr/bin/bash", "/bin/sh"} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// ring keeps the start and the end of its input.
type ring struct {
	head, tail []byte // the tail may be longer than what is kept
	size       int    // of what is kept, of each
	total      int64
}

func newRing(size int) *ring { return &ring{size: max(size/2, 1)} }

func (r *ring) Write(b []byte) (int, error) {
	n := len(b)
	r.total += int64(n)
	take := min(r.size-len(r.head), n)
	r.head, b = append(r.head, b[:take]...), b[take:]
	if r.tail = append(r.tail, b...); len(r.tail) > 2*r.size {
		r.tail = slices.Delete(r.tail, 0, len(r.tail)-r.size)
	}
	return n, nil
}

// text returns what was kept, and how much is missing after its first cut bytes.
func (r *ring) text() (all []byte, dropped int64, cut int) {
	all = slices.Concat(r.head, r.tail[max(len(r.tail)-r.size, 0):])
	if dropped = r.total - int64(len(all)); dropped > 0 {
		cut = len(r.head)
	}
	return all, dropped, cut
}
