// Package leash runs servers for tests. A server ends when the process that started it ends, for whatever
// reason.
package leash

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// script starts the server, prints its process id, and sends it the signal when its own standard input ends.
// The server's output goes to the file log.
const script = `exec 3<&0
signal=$1; shift
"$@" </dev/null >>log 2>&1 &
server=$!
echo $server
( cat >/dev/null; kill -$signal $server 2>/dev/null ) <&3 >/dev/null &
wait $server
kill $! 2>/dev/null`

// Process is a server on a leash.
type Process struct {
	pid   int
	ended <-chan struct{} // closed when the server has exited and was waited for
	in    io.Closer
	name  string // of its program
	log   string // path
}

// Patience is the time that a server may take to start or stop.
const Patience = 60 * time.Second

// Start runs the program of cmd with its folder, environment and attributes. Signal, such as QUIT, ends the
// server together with its owner.
func Start(cmd *exec.Cmd, signal string) (*Process, error) {
	held := exec.Command("sh", append([]string{"-c", script, "sh", signal}, cmd.Args...)...)
	held.Dir, held.Env, held.SysProcAttr = cmd.Dir, cmd.Env, cmd.SysProcAttr
	in, err := held.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := held.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := held.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid, err2 := strconv.Atoi(strings.TrimSpace(line))
	ended := make(chan struct{})
	go func() { defer close(ended); _ = held.Wait() }() // ends with the server, or with Close
	p := &Process{
		pid: pid, ended: ended, in: in, name: filepath.Base(cmd.Path), log: filepath.Join(cmd.Dir, "log"),
	}
	if err != nil || err2 != nil {
		p.Close()
		<-ended
		return nil, fmt.Errorf("%s printed %q instead of its process id", cmd.Path, line)
	}
	return p, nil
}

// Close ends the server. Wait waits for that.
func (p *Process) Close() { _ = p.in.Close() }

// Ready calls try until it succeeds.
func (p *Process) Ready(try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-p.ended:
			return fmt.Errorf("%s ended at once\n%s", p.name, p.newestLog())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w\n%s", p.name, err, p.newestLog())
		}
	}
}

// Wait waits until the server has ended, because of a signal or of Close.
func (p *Process) Wait() error {
	select {
	case <-p.ended:
	case <-time.After(Patience):
		return fmt.Errorf("%s does not end\n%s", p.name, p.newestLog())
	}
	p.Close()
	return nil
}

func (p *Process) newestLog() []byte {
	out, _ := os.ReadFile(p.log) // a missing log counts as empty
	return out[max(0, len(out)-4000):]
}
