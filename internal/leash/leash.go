// Package leash runs servers for tests. A server ends when the process that started it ends, for whatever
// reason.
package leash

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
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
	PID   int
	Ended <-chan struct{} // closed when the server has exited and was waited for
	in    io.Closer
}

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
	p := &Process{PID: pid, Ended: ended, in: in}
	if err != nil || err2 != nil {
		p.Close()
		<-ended
		return nil, fmt.Errorf("%s printed %q instead of its process id", cmd.Path, line)
	}
	return p, nil
}

// Close ends the server. Wait for Ended to see it exit.
func (p *Process) Close() { _ = p.in.Close() }
