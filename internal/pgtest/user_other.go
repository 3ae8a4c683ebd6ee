//go:build !unix

package pgtest

import (
	"errors"
	"os/exec"
)

func giveAway(string) error { return errors.New("the tests with Postgres run on Unix only") }

func asUser(*exec.Cmd) {}
