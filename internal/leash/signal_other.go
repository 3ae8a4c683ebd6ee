//go:build !unix

package leash

import (
	"errors"
	"os/exec"
	"syscall"
)

// Signals for Signal and SignalTree.
const (
	Interrupt syscall.Signal = iota
	Quit
	Terminate
	Kill
	Stop
	Continue
)

var errSystem = errors.New("the tests with servers of their own run on Unix only")

// Signal returns an error.
func (p *Process) Signal(syscall.Signal) error { return errSystem }

// SignalTree returns an error.
func (p *Process) SignalTree(syscall.Signal) error { return errSystem }

// OwnGroup does nothing.
func OwnGroup(*exec.Cmd) {}
