package sandbox

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/footnotehq/footnote/internal/confine"
)

// A process can make the kernel hold far more memory than its own pages: in pipes, sockets, mappings, locks.
// Only a control group would count that exactly, and a server without privileges has none. So the meter counts
// the objects, several times a second, and charges for each what it takes at most. What cannot be counted is
// refused (see uncounted) or has a small limit of the kernel.

// meterEvery is how long the meter rests.
const meterEvery = 100 * time.Millisecond

// Prices of the kernel's objects in bytes: the most that one takes. An object that is small but takes long to
// find has a higher price, so that a reading never lasts long.
const (
	priceFile    = 4 << 10   // an open descriptor
	pricePipe    = 80 << 10  // 16 pages, and their descriptions
	priceText    = 128 << 10 // an open file of /proc, which keeps the text that it has shown
	priceItem    = 2 << 10   // a descriptor that epoll watches, or a lock
	priceMapping = 512       // of memory
	priceLink    = 64        // from a mapping to one of another process, which has the same pages
	priceInode   = 3 << 9    // a file in memory, with a long name
	priceFilter  = 256 << 10 // a seccomp filter of full length
)

// meter counts the memory that the kernel needs for the processes.
type meter struct {
	socket  int64  // price of a socket
	filters int64  // of every process, from the start
	inodes  int64  // in use at the start
	proc    uint64 // device of /proc
	text    int64  // longest text of a descriptor seen so far

	hidden, hiding map[string]bool // processes that hid their memory at the last reading, and at this one
}

// newMeter returns a meter for processes that do not exist yet.
func newMeter() (*meter, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	buffer, err := unix.GetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_SNDBUF)
	if err != nil {
		return nil, err
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc", &st); err != nil {
		return nil, fmt.Errorf("/proc: %w", err)
	}
	return &meter{
		socket:  2 * int64(buffer), // a message may begin just below the limit, and be as long
		filters: confine.StatusNumber(string(status), "Seccomp_filters:"),
		inodes:  inodes(),
		proc:    st.Dev,
	}, nil
}

// inodes returns the number of files in the file systems that commands can write to.
func inodes() (n int64) {
	for _, at := range []string{Folder, "/tmp", "/dev/shm"} {
		var st unix.Statfs_t
		if unix.Statfs(at, &st) == nil {
			n += int64(st.Files - st.Ffree)
		}
	}
	return n
}

// inode identifies a file.
type inode struct{ dev, ino uint64 }

// tally sums up one reading so far.
type tally struct {
	bytes, mappings int64
	links           int64           // from each mapping to those of other processes
	texts           int64           // open files of /proc
	pipes           map[inode]bool  // each once, however many have it open
	shared          map[string]bool // shared mappings without a file, the same
}

// total returns the price of everything that was found.
func (t *tally) total(text int64) int64 {
	return t.bytes +
		int64(len(t.pipes))*pricePipe +
		int64(len(t.shared))*maxSharedMapping +
		t.mappings*(priceMapping+priceLink*t.links) +
		t.texts*(priceText+2*text)
}

// read returns what the kernel needs now, in bytes. It stops looking when it has found more than limit.
func (m *meter) read(limit int64) int64 {
	pids, err := processes()
	if err != nil {
		return 0 // the watch sees the same
	}
	t := tally{
		bytes: max(0, inodes()-m.inodes) * priceInode,
		links: int64(len(pids)), // an upper limit: the kernel links a mapping to those of its ancestors
		pipes: map[inode]bool{}, shared: map[string]bool{},
	}
	if data, err := os.ReadFile("/proc/net/sockstat"); err == nil {
		t.bytes += confine.StatusNumber(string(data), "sockets: used") * m.socket
	}
	m.hidden, m.hiding = m.hiding, map[string]bool{}
	for _, pid := range pids {
		if t.total(m.text) > limit {
			break
		}
		m.process(&t, pid)
	}
	return t.total(m.text)
}

// process adds the memory of a process. It kills a process whose memory it may not read at two readings: at one, the
// process may just be starting a program, or ending.
func (m *meter) process(t *tally, pid string) {
	dir, status := living(pid)
	if !strings.Contains(status, "\nVmSize:") {
		return // it has exited
	}
	if !m.descriptors(t, dir+"/fd") || !t.addMappings(dir+"/maps") {
		m.hiding[pid] = true
		if id, err := strconv.Atoi(pid); err == nil && m.hidden[pid] {
			_ = unix.Kill(id, unix.SIGKILL)
		}
	}
	m.addFilters(t, "/proc/"+pid)
}

// descriptors adds the open descriptors of a process. It returns false if the process hides them.
func (m *meter) descriptors(t *tally, dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return !os.IsPermission(err)
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	t.bytes += int64(len(names)) * priceFile
	for _, name := range names {
		m.descriptor(t, f, name)
	}
	return true
}

// descriptor adds the memory behind one descriptor, in addition to priceFile.
func (m *meter) descriptor(t *tally, dir *os.File, name string) {
	var st unix.Stat_t
	if unix.Fstatat(int(dir.Fd()), name, &st, 0) != nil {
		return // it was closed
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		t.pipes[inode{st.Dev, st.Ino}] = true
	case unix.S_IFSOCK, unix.S_IFDIR, unix.S_IFCHR:
	default:
		if st.Dev == m.proc {
			t.texts++
			return
		}
		// Only such files have locks, and epoll items.
		text, _ := os.ReadFile(path.Join(path.Dir(dir.Name()), "fdinfo", name)) // an error: it was closed
		m.text = max(m.text, int64(len(text)))
		t.bytes += int64(bytes.Count(text, []byte("\ntfd:"))+bytes.Count(text, []byte("\nlock:"))) * priceItem
	}
}

// addMappings adds the mappings of a process. It returns false if the process hides them.
func (t *tally) addMappings(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return !os.IsPermission(err)
	}
	t.mappings += int64(bytes.Count(text, []byte("\n")))
	const anonymous = " /dev/zero (deleted)" // how shared memory without a file is shown
	if !bytes.Contains(text, []byte(anonymous)) {
		return true
	}
	for line := range bytes.Lines(text) {
		// address, rights, offset, device, inode, path
		fields := bytes.Fields(line)
		if len(fields) > 5 && bytes.HasSuffix(bytes.TrimSpace(line), []byte(anonymous)) {
			t.shared[string(fields[4])] = true
		}
	}
	return true
}

// addFilters adds the seccomp filters of all threads of a process.
func (m *meter) addFilters(t *tally, dir string) {
	for _, status := range threads(dir) {
		t.bytes += max(0, confine.StatusNumber(status, "Seccomp_filters:")-m.filters) * priceFilter
	}
}

// processes lists the ids of all processes but this one.
func processes() ([]string, error) {
	pids, err := numbers("/proc")
	return slices.DeleteFunc(pids, func(pid string) bool { return pid == "1" }), err
}

// numbers lists the names in a folder of /proc that are numbers.
func numbers(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	return slices.DeleteFunc(names, func(name string) bool { return name[0] < '1' || name[0] > '9' }), err
}

// threads returns the status of each thread of a process, by folder in /proc.
func threads(dir string) iter.Seq2[string, string] {
	return func(yield func(dir, status string) bool) {
		tids, _ := numbers(dir + "/task") // an error: it has exited
		for _, tid := range tids {
			of := dir + "/task/" + tid
			if data, err := os.ReadFile(of + "/status"); err == nil && !yield(of, string(data)) {
				return
			}
		}
	}
}

// living returns the folder in /proc and the status of a process, or of another of its threads if the first
// one has exited: that one has no memory and no descriptors, even if the others still run.
func living(pid string) (dir, status string) {
	dir = "/proc/" + pid
	data, err := os.ReadFile(dir + "/status")
	if err != nil {
		return dir, ""
	}
	status = string(data)
	if strings.Contains(status, "\nVmSize:") || confine.StatusNumber(status, "Threads:") < 2 {
		return dir, status
	}
	for of, its := range threads(dir) {
		if strings.Contains(its, "\nVmSize:") {
			return of, its
		}
	}
	return dir, status
}
