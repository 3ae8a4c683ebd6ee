//go:build !unix

package pgtest

import (
	"errors"
	"os/exec"
)

var errSystem = errors.New("the tests with Postgres run on Unix only")

func giveAway(string) error { return errSystem }

func asUser(*exec.Cmd) {}

func interrupt(int) error { return errSystem }

func quit(int) error { return errSystem }

func freezeTree(int) error { return errSystem }

func thawTree(int) error { return errSystem }

func killTree(int) error { return errSystem }
