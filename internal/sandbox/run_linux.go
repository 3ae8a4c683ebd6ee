package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/footnotehq/footnote/internal/confine"
	"golang.org/x/sys/unix"
)

// Descriptors of the re-executed program, besides the standard ones.
const (
	controlFD = 3 // receives the task; its end ends the process
	reportFD  = 4 // sends the report
)

// container is the input of the first stage, in its environment.
type container struct {
	Dir    string `json:"dir"`   // any folder: the new root is mounted on it
	Size   int64  `json:"size"`  // of the workspace, in bytes
	Inodes int    `json:"files"` // in the workspace
}

// task is the input of the second stage, through controlFD.
type task struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
	Limits Limits `json:"limits"`
	Full   bool   `json:"full"` // the workspace can only be emptied
}

// report is how a command ended, as the second stage saw it.
type report struct {
	Error string `json:"error,omitempty"` // the command was not run at all
	Exit  int    `json:"exit"`
	Ended string `json:"ended,omitempty"`
}

// lateTime is how long a command may continue after its time limit; drainTime is how long the pipes of a dead
// one may take to drain.
const (
	lateTime  = 2 * time.Second
	drainTime = 2 * time.Second
)

// maxReportBytes is the size limit of a report in bytes.
const maxReportBytes = 64 << 10

// Capabilities of the first stage, in its own user namespace.
const (
	capSetpcap     = 8
	capSysAdmin    = 21
	capSysResource = 24 // for its own limits on watches
)

// commandUID is the user id of commands, as they see it.
const commandUID = 1000

// Run runs a command to its end, and copies its changes back to its folder, which nobody else may use
// meanwhile. It returns ctx's cause if ctx ends first, ErrUnavailable if the command could not be confined
// and was therefore not run, a *FileError if its folder could not be copied and it was therefore not run, and
// ErrNotKept if its changes could not be copied back.
func Run(ctx context.Context, c Command) (Result, error) {
	c.Limits = c.Limits.withDefaults()
	shell := findShell()
	if shell == "" {
		return Result{}, fmt.Errorf("%w: there is no shell", ErrUnavailable)
	}
	dir, err := filepath.EvalSymlinks(c.Dir)
	if err != nil {
		return Result{}, fmt.Errorf("folder of the command: %w", err)
	}
	c.Dir = dir
	res, err := runIn(ctx, shell, c, false)
	if errors.Is(err, errOver) {
		res, err = runIn(ctx, shell, c, true)
	}
	return res, err
}

// runIn runs a command in a copy of its folder. With over, the copy holds only what fits and can only be
// emptied.
func runIn(ctx context.Context, shell string, c Command, over bool) (_ Result, err error) {
	run, stop := context.WithCancel(ctx)
	defer stop()
	p, err := start(run, stop, c, over)
	if ctx.Err() != nil && err != nil {
		return Result{}, context.Cause(ctx)
	}
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	b, err := p.enter(run, c, over)
	if err != nil {
		stop()
		_, rep, ended := p.wait()
		if rep.Error != "" {
			return Result{}, fmt.Errorf("%w: %s", ErrUnavailable, rep.Error)
		}
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		if errors.Is(err, errNoBox) {
			err = fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(err, ended))
		}
		return Result{}, err
	}
	defer b.close()
	begun, full := time.Now(), b.full()
	late := time.AfterFunc(c.Limits.Time+lateTime, stop)
	defer late.Stop()
	tell := json.NewEncoder(p.control).Encode(task{Shell: shell, Script: c.Script, Limits: c.Limits, Full: full})
	res, rep, err := p.wait()
	res.Elapsed, res.Full = time.Since(begun), full
	// Keep the command's changes to its files, however it ended.
	copyErr := b.copyBack()
	res.Filled, res.TooDeep = b.full(), b.deeper
	res.Lost, res.LostFirst = b.lost.n, b.lost.some
	switch {
	case ctx.Err() != nil:
		return res, errors.Join(context.Cause(ctx), copyErr)
	case rep.Error != "":
		return res, fmt.Errorf("%w: %s", ErrUnavailable, rep.Error)
	case copyErr != nil:
		return res, copyErr
	case res.Ended != "":
		return res, nil
	case run.Err() != nil:
		res.Ended, res.Exit = ByTime, 128+int(unix.SIGKILL)
		return res, nil
	case err != nil && rep.Ended == "":
		return res, fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(err, tell))
	}
	res.Exit, res.Ended = rep.Exit, rep.Ended
	return res, nil
}

// errNoBox is returned when the first stage did not send the workspace.
var errNoBox = errors.New("there is no workspace")

// enter receives the workspace that the first stage creates, and fills it.
func (p *running) enter(ctx context.Context, c Command, over bool) (*box, error) {
	fd, err := p.receive()
	if err != nil {
		return nil, err
	}
	b, err := openBox(fd, c, over)
	if err != nil {
		return nil, err
	}
	err = b.fill(ctx)
	if err == nil {
		err = b.settle(ctx)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// receive receives the descriptor of the workspace's folder.
func (p *running) receive() (int, error) {
	var first [1]byte
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := p.report.ReadMsgUnix(first[:], oob)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errNoBox, err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err == nil && len(messages) == 1 {
		if fds, err := unix.ParseUnixRights(&messages[0]); err == nil && len(fds) == 1 {
			return fds[0], nil
		}
	}
	p.reportStart = first[:n] // the start of a report that says why
	return 0, errNoBox
}

// running is the first process of a sandbox, as the server sees it.
type running struct {
	cmd         *exec.Cmd
	control     *os.File
	report      *net.UnixConn
	reportStart []byte // part of the report that was already read
	out         flood
	err         confine.Printed
}

// start starts the first stage. It calls stop if the output exceeds its limit.
func start(ctx context.Context, stop context.CancelFunc, c Command, over bool) (_ *running, err error) {
	setup := container{Dir: c.Dir, Size: c.Limits.Disk, Inodes: c.Limits.Files + 1} // plus the folder
	if over {
		setup.Inodes = maxEmptied + 1
	}
	input, err := json.Marshal(setup)
	if err != nil {
		return nil, err
	}
	controlIn, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer controlIn.Close()
	reported, reportOut, err := socketPair()
	if err != nil {
		control.Close()
		return nil, err
	}
	defer reportOut.Close()
	out := flood{ring: newRing(c.Limits.Output), limit: c.Limits.Flood, stop: stop}
	p := &running{control: control, report: reported, out: out}
	p.cmd = exec.CommandContext(ctx, "/proc/self/exe")
	p.cmd.Args = []string{"footnote-sandbox"}
	p.cmd.Env = confine.Environment(marker+"="+stageWorld, containerMarker+"="+string(input))
	p.cmd.Dir = "/"
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.ExtraFiles = []*os.File{controlIn, reportOut}
	p.cmd.WaitDelay = drainTime
	p.cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid: true, // a Ctrl-C in the server's terminal must not reach it
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: commandUID, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: commandUID, HostID: os.Getegid(), Size: 1}},
		AmbientCaps: []uintptr{capSetpcap, capSysAdmin, capSysResource},
	}
	if err := p.cmd.Start(); err != nil {
		control.Close()
		reported.Close()
		return nil, forbidden(err)
	}
	return p, nil
}

// socketPair returns the two ends of a socket, through which descriptors can be sent.
func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "report"), os.NewFile(uintptr(fds[1]), "report")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return conn.(*net.UnixConn), theirs, nil
}

// forbidden explains why a process with its own namespaces was not started.
func forbidden(err error) error {
	for _, no := range []error{unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EUSERS, unix.EINVAL} {
		if errors.Is(err, no) {
			return fmt.Errorf("this system does not allow user namespaces (%w); sysctl user.max_user_namespaces, "+
				"AppArmor or the container's seccomp profile forbids them", no)
		}
	}
	return fmt.Errorf("namespaces: %w", err)
}

// wait waits for the end and reads the report.
func (p *running) wait() (Result, report, error) {
	defer p.control.Close()
	defer p.report.Close()
	var rep report
	result := make(chan error, 1)
	go func() { // ends with the process, which has the only other end
		all := io.MultiReader(bytes.NewReader(p.reportStart), p.report)
		data, err := io.ReadAll(io.LimitReader(all, maxReportBytes))
		if err == nil && len(data) == 0 {
			err = errors.New("it ended without a report")
		}
		if err == nil {
			err = json.Unmarshal(data, &rep)
		}
		result <- err
	}()
	ended := p.cmd.Wait()
	err := <-result
	if err != nil {
		if text := strings.TrimSpace(p.err.String()); text != "" {
			ended = errors.Join(ended, errors.New(text))
		}
		err = errors.Join(err, ended)
	}
	var res Result
	res.Output, res.Dropped, res.Cut = p.out.ring.text()
	if p.out.over {
		res.Ended, res.Exit = ByOutput, 128+int(unix.SIGKILL)
	}
	return res, rep, err
}

// flood keeps the start and the end of the output, and stops a command that never stops printing.
type flood struct {
	ring  *ring
	limit int64
	over  bool
	stop  context.CancelFunc
}

func (f *flood) Write(b []byte) (int, error) {
	if f.ring.total > f.limit && !f.over {
		f.over = true
		f.stop()
	}
	return f.ring.Write(b)
}

// Probe runs a command that attempts forbidden accesses and returns an error that names those that succeeded. Temp is a
// folder for its files; hidden are files and folders that no command may see.
func Probe(ctx context.Context, temp string, hidden ...string) error {
	if err := Exposed(hidden...); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(temp, "probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	secret := dir + "-outside"
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		return err
	}
	defer os.Remove(secret)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	script := &strings.Builder{}
	attempt := func(name, command string) {
		fmt.Fprintf(script, "if (%s) >/dev/null 2>&1; then echo %s; fi\n", command, name)
	}
	attempt("file", "cat -- "+quote(secret)+" || ls -- "+quote(filepath.Dir(dir)))
	attempt("shadow", "cat /etc/shadow")
	attempt("environment", "cat /proc/1/environ")
	attempt("network", "exec 3<>/dev/tcp/127.0.0.1/"+port)
	attempt("write", "echo x >/usr/footnote-probe || echo x >/footnote-probe || echo x >/proc/sys/kernel/domainname")
	attempt("path", "grep -F -- "+quote(dir)+" /proc/self/mountinfo /proc/1/mountinfo")
	attempt("mount", "unshare -Ur true || mount -t tmpfs none /tmp")
	script.WriteString("echo x >probe && cat probe && echo done\n")
	res, err := Run(ctx, Command{Dir: dir, Script: script.String(), Limits: Limits{Time: 20 * time.Second}})
	if err != nil {
		return err
	}
	if got := string(res.Output); got != "x\ndone\n" || res.Exit != 0 {
		return fmt.Errorf("%w: the trial of the sandbox gave %.200q (exit code %d, ended by %q)", ErrUnavailable, got,
			res.Exit, res.Ended)
	}
	return nil
}

// quote quotes a text as one shell word.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
