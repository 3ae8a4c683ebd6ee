package aside_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/internal/aside"
)

func panics(f func() (int, error)) (p any) {
	defer func() { p = recover() }()
	_, _ = aside.Do(f)
	return nil
}

func deep() (int, error) { panic("out of order") }

func TestDo(t *testing.T) {
	n, err := aside.Do(func() (int, error) { return 42, io.EOF })
	if n != 42 || err != io.EOF {
		t.Errorf("Do returned %d, %v", n, err)
	}
	if p := fmt.Sprint(panics(deep)); !strings.HasPrefix(p, "out of order\n") || !strings.Contains(p, "deep") {
		t.Errorf("panicked with %s; want the words and the place", p)
	}
	if p := panics(func() (int, error) { panic(io.ErrUnexpectedEOF) }); p != io.ErrUnexpectedEOF {
		t.Errorf("panicked with %v; an error stays itself", p)
	}
	if p := panics(func() (int, error) { runtime.Goexit(); return 0, nil }); p == nil {
		t.Error("Goexit was reported as a normal return")
	}
}
