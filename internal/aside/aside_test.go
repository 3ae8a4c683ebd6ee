package aside_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/internal/aside"
)

func panics(f func()) (p any) {
	defer func() { p = recover() }()
	aside.Do(f)
	return nil
}

func deep() { panic("out of order") }

func TestDo(t *testing.T) {
	n := 0
	aside.Do(func() { n = 42 })
	if n != 42 {
		t.Errorf("n = %d", n)
	}
	if p := fmt.Sprint(panics(deep)); !strings.HasPrefix(p, "out of order\n") || !strings.Contains(p, "deep") {
		t.Errorf("panicked with %s; want the words and the place", p)
	}
	if p := panics(func() { panic(io.ErrUnexpectedEOF) }); p != io.ErrUnexpectedEOF {
		t.Errorf("panicked with %v; an error stays itself", p)
	}
	if p := panics(runtime.Goexit); p == nil {
		t.Error("Goexit was reported as a normal return")
	}
}
