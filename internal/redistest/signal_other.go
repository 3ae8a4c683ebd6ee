//go:build !unix

package redistest

import (
	"errors"
	"os/exec"
)

type signal int

const (
	killed signal = iota
	stopped
	frozen
	thawed
)

func send(int, signal) error { return errors.New("the tests with Redis run on Unix only") }

func ownGroup(*exec.Cmd) {}
