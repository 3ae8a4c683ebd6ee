// Package e2e tests the program as it is delivered: the built binary in its own processes, real sockets, real
// files, and a strict imitation of the Messages API as its upstream. Processes are killed, disks fill up,
// files vanish.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/footnotehq/footnote/demo"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/test/program"
)

// Set up by TestMain for all tests.
var (
	binary string // the program
	shopDB string // the demo shop
	shared string // a folder that every user may read
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Most tests wait for processes and clocks, not for CPU time.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	code, err := prepare(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func prepare(m *testing.M) (code int, err error) {
	if shared, err = os.MkdirTemp("", "footnote-e2e-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(shared)
	if err := os.Chmod(shared, 0o755); err != nil { // some tests run as other users
		return 1, err
	}
	binary, shopDB = filepath.Join(shared, "footnote"), filepath.Join(shared, "shop.db")
	if err := program.Install("../..", binary); err != nil {
		return 1, err
	}
	if err := demo.Write(context.Background(), shopDB); err != nil {
		return 1, err
	}
	return pgtest.Run(m), nil
}
