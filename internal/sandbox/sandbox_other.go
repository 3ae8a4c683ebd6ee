//go:build !linux

package sandbox

import (
	"context"
	"fmt"
	"runtime"
)

// Main does nothing on this system.
func Main() {}

// Probe returns an error: commands cannot be confined on this system.
func Probe(context.Context, string, ...string) error {
	return fmt.Errorf("%w: it needs Linux, and this is %s", ErrUnavailable, runtime.GOOS)
}

// Run always returns ErrUnavailable on this system.
func Run(context.Context, Command) (Result, error) { return Result{}, ErrUnavailable }
