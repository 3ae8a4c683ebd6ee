package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote/internal/confine"
	"github.com/footnotehq/footnote/source"
)

// startTime limits how long a child may take to confine itself and open its database.
const startTime = 30 * time.Second

// process is one child, as the server sees it.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	pool   *Pool
	opts   Options
	stamp  string // of the files it has open
	hides  bool   // it was opened to hide columns
	temp   string
	held   *os.File // the lock on temp; nil where the system has none
	hello  hello
	base   int64 // resident bytes right after it opened
	stderr confine.Printed
	gone   chan struct{} // closed when the process has ended and is cleaned up
	left   bool          // the pool knows that it ended; guarded by the pool's mu

	writing sync.Mutex // held for one Write to in

	mu       sync.Mutex // guards below
	calls    map[uint32]chan frame
	next     uint32
	busy     int // users: running and imminent calls
	since    time.Time
	idle     *time.Timer
	retired  bool  // takes no new users and ends with its last one
	cause    error // why it was killed, or how it ended
	watching bool
}

var errUnused = errors.New("the engine was idle")

// childLostError is the error of a query whose child ended through no fault of the query's own.
type childLostError struct{ cause error }

func (e *childLostError) Error() string { return e.cause.Error() }

// startProcess starts a child and opens its database. The caller is its first user and must call release.
func startProcess(ctx context.Context, kind string, config any, stamp string, o Options) (_ *process, err error) {
	ctx, stop := context.WithTimeoutCause(ctx, startTime, errors.New("the database took too long to open"))
	defer stop()
	if o.Config != nil {
		if config, err = o.Config(); err != nil {
			return nil, err
		}
	}
	temp, held, err := makeTemp(o.TempDir)
	if err != nil {
		return nil, fmt.Errorf("make a directory for the engine: %w", err)
	}
	p := &process{
		pool: o.Pool, opts: o, stamp: stamp, temp: temp, held: held, busy: 1,
		gone: make(chan struct{}), calls: make(map[uint32]chan frame),
	}
	out, err := p.spawn(kind)
	if err != nil {
		p.removeTemp()
		return nil, fmt.Errorf("start the %s engine: %w", kind, err)
	}
	hellos := make(chan hello, 1)
	go p.read(bufio.NewReaderSize(out, 64<<10), hellos)
	if err := p.open(kind, config); err != nil {
		p.kill(err)
	}
	select {
	case p.hello = <-hellos:
	case <-p.gone:
		return nil, p.ended()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if p.hello.Error != nil {
		err = p.hello.Error.err()
	}
	if err != nil {
		p.kill(err)
		<-p.gone
		return nil, err
	}
	p.base, _ = residentMemory(p.cmd.Process.Pid)
	idle := time.AfterFunc(o.Idle, func() { p.retireIdle() })
	idle.Stop()
	p.mu.Lock()
	p.idle = idle
	p.mu.Unlock()
	return p, nil
}

// tempPrefix begins the names of private directories.
const tempPrefix = "footnote-engine-"

// makeTemp creates a private directory and locks it.
func makeTemp(parent string) (dir string, held *os.File, err error) {
	if dir, err = os.MkdirTemp(parent, tempPrefix); err != nil {
		return "", nil, err
	}
	if held, err = holdDir(dir); err != nil {
		os.RemoveAll(dir)
		return "", nil, fmt.Errorf("lock it: %w", err)
	}
	return dir, held, nil
}

// MakeTemp creates a private directory for files that a child will read. The caller must call remove. If this process
// is killed before that, a later one removes the directory.
func MakeTemp() (dir string, remove func(), err error) {
	dir, held, err := makeTemp("")
	return dir, func() {
		os.RemoveAll(dir)
		if held != nil {
			held.Close()
		}
	}, err
}

func (p *process) removeTemp() {
	os.RemoveAll(p.temp)
	if p.held != nil {
		p.held.Close()
	}
}

func (p *process) spawn(kind string) (out io.Reader, err error) {
	p.cmd = exec.Command(self())
	p.cmd.Args = []string{"footnote-engine " + kind}
	p.cmd.Env = confine.Environment(marker+"=1", "TMPDIR="+p.temp)
	p.cmd.Dir = p.temp
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = time.Second
	p.cmd.SysProcAttr = processAttr()
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if out, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return out, p.cmd.Start()
}

// open sends the child its launch configuration.
func (p *process) open(kind string, config any) error {
	raw, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("encode the engine's configuration: %w", err)
	}
	read := slices.Clone(p.opts.Read)
	if p.opts.Grant != nil {
		read = append(read, p.opts.Grant()...)
	}
	data, err := json.Marshal(launch{
		Kind: kind, Config: raw, Profile: p.opts.Profile, Temp: p.temp, Read: read, Write: p.opts.Write,
		Memory: p.opts.Limits.Memory, MaxFile: p.opts.MaxFile,
	})
	if err != nil {
		return err
	}
	p.write(appendFrame(nil, frameOpen, 0, data))
	return nil
}

// read delivers the child's frames to their calls until the pipe ends, and then cleans up after the child.
func (p *process) read(r *bufio.Reader, hellos chan<- hello) {
	for {
		f, err := readFrame(r)
		if err == nil {
			err = p.deliver(f, hellos)
		}
		if err == nil {
			continue
		}
		// A child that dies in the middle of a frame is not a garbled answer.
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, os.ErrClosed) {
			p.kill(errGarbled)
		}
		break
	}
	killProcess(p.cmd.Process) // its output has ended, but the process may still run
	err := p.cmd.Wait()
	p.mu.Lock()
	p.retired = true
	if p.cause == nil {
		p.cause = p.explain(err)
	}
	if p.idle != nil {
		p.idle.Stop()
	}
	p.mu.Unlock()
	p.removeTemp()
	p.pool.ended(p) // before close: those waiting for gone rely on the free place
	close(p.gone)
}

func (p *process) deliver(f frame, hellos chan<- hello) error {
	if f.kind == frameHello {
		var h hello
		if err := json.Unmarshal(f.payload, &h); err != nil {
			return errFrame
		}
		select {
		case hellos <- h:
			return nil
		default:
			return errFrame // only one hello is allowed
		}
	}
	if f.kind != frameRows && f.kind != frameTail && f.kind != frameEnd && f.kind != framePart {
		return errFrame
	}
	p.mu.Lock()
	c := p.calls[f.id]
	p.mu.Unlock()
	if c == nil {
		return nil // the caller has given up
	}
	select {
	case c <- f:
		return nil
	default:
		return errFrame // it exceeds its window
	}
}

// explain returns the error of a child that ended without being killed; p.mu must be held.
func (p *process) explain(err error) error {
	text := p.stderr.String()
	for _, sign := range []string{"out of memory", "cannot allocate memory", "bad_alloc"} {
		if strings.Contains(text, sign) {
			return outOfMemory(p.opts.Profile, p.opts.Limits.Memory)
		}
	}
	how := "it ended"
	if err != nil {
		how = err.Error()
	}
	p.opts.Logger.Error("database engine ended unexpectedly", "how", how, "stderr", text)
	return source.Failf("The database engine ended while the query ran (%s). The next query restarts it; a "+
		"simpler one may work.", how)
}

// ended returns why the process ended. It is valid only after gone is closed.
func (p *process) ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cause
}

// kill ends the process at once. The first cause wins.
func (p *process) kill(cause error) {
	p.mu.Lock()
	if p.cause == nil {
		p.cause = cause
	}
	p.retired = true
	p.mu.Unlock()
	killProcess(p.cmd.Process)
}

// retain makes the caller a user of the process, unless the process is retired.
func (p *process) retain() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.retired {
		return false
	}
	p.busy++
	p.idle.Stop()
	return true
}

func (p *process) release() {
	p.mu.Lock()
	p.busy--
	idle, end := p.busy == 0, p.busy == 0 && p.retired
	if idle && !end {
		p.since = time.Now()
		p.idle.Reset(p.opts.Idle)
	}
	p.mu.Unlock()
	if end {
		p.stop()
	} else if idle {
		p.pool.idle()
	}
}

// retire refuses new users; the process ends with its last one.
func (p *process) retire() {
	p.mu.Lock()
	p.retired = true
	idle := p.busy == 0
	p.mu.Unlock()
	if idle {
		p.stop()
	}
}

// retireIdle ends the process if it is not in use.
func (p *process) retireIdle() bool {
	p.mu.Lock()
	if p.busy > 0 || p.retired {
		p.mu.Unlock()
		return false
	}
	p.retired = true
	p.mu.Unlock()
	p.stop()
	return true
}

// stop ends an unused process. One that only reads is killed; a loader is asked to end first.
func (p *process) stop() {
	if p.opts.Profile != Load {
		p.kill(errUnused)
		return
	}
	p.mu.Lock()
	p.cause = errUnused
	p.mu.Unlock()
	p.in.Close()
	time.AfterFunc(2*time.Second, func() { p.kill(errUnused) })
}

// idleSince returns when the last user left, or zero while there is one.
func (p *process) idleSince() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy > 0 || p.retired {
		return time.Time{}
	}
	return p.since
}

// begin sends a request, a frame of the given kind, and returns the channel of its answer. The channel has room for
// everything a child may send, so that one slow query never blocks the reader of the pipe.
func (p *process) begin(kind byte, payload []byte) (uint32, chan frame) {
	c := make(chan frame, window+2) // plus the tail and the reply
	p.mu.Lock()
	p.next++
	id := p.next
	p.calls[id] = c
	watch := !p.watching
	p.watching = true
	p.mu.Unlock()
	if watch {
		go p.watch()
	}
	p.write(appendFrame(nil, kind, id, payload))
	return id, c
}

func (p *process) finish(id uint32) {
	p.mu.Lock()
	delete(p.calls, id)
	p.mu.Unlock()
}

// writeTime limits how long a child may leave a frame in the pipe.
const writeTime = 5 * time.Second

// write sends a frame. A write fails when the process has ended or has stopped reading and must be killed. No error
// is returned: read tells all callers when the process ends.
func (p *process) write(frame []byte) {
	p.writing.Lock()
	defer p.writing.Unlock()
	if d, ok := p.in.(interface{ SetWriteDeadline(time.Time) error }); ok {
		d.SetWriteDeadline(time.Now().Add(writeTime))
	}
	if _, err := p.in.Write(frame); err != nil {
		killProcess(p.cmd.Process)
	}
}

// watch checks the memory of a busy process and kills it when it exceeds its limit.
func (p *process) watch() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-p.gone:
			return
		}
		p.mu.Lock()
		if len(p.calls) == 0 {
			p.watching = false
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		if rss, ok := residentMemory(p.cmd.Process.Pid); ok && rss > p.base+p.opts.Limits.Memory {
			p.kill(outOfMemory(p.opts.Profile, p.opts.Limits.Memory))
		}
	}
}
