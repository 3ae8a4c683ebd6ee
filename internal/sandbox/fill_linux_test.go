package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// countdown is a context that ends after a number of checks.
type countdown struct {
	context.Context
	looks int
}

func (c *countdown) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

func testBox(t *testing.T) *box {
	t.Helper()
	host, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBox(root, host, Limits{}.withDefaults().Files, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	return b
}

// TestFillEndsWithItsContext checks that filling stops soon after its context ends.
func TestFillEndsWithItsContext(t *testing.T) {
	t.Run("many files", func(t *testing.T) {
		b := testBox(t)
		for i := range 20 {
			if err := os.WriteFile(filepath.Join(b.host.Name(), fmt.Sprint(i)), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.fill(&countdown{t.Context(), 10}); !errors.Is(err, context.Canceled) {
			t.Errorf("fill = %v", err)
		}
		if names, err := os.ReadDir(b.root.Name()); err != nil || len(names) > 10 {
			t.Errorf("%d files were copied, %v", len(names), err)
		}
	})
	t.Run("one large file", func(t *testing.T) {
		b := testBox(t)
		if err := os.WriteFile(filepath.Join(b.host.Name(), "f"), make([]byte, 20*copyChunk), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := b.fill(&countdown{t.Context(), 10}); !errors.Is(err, context.Canceled) {
			t.Errorf("fill = %v", err)
		}
		if info, err := os.Stat(filepath.Join(b.root.Name(), "f")); err != nil || info.Size() > 10*copyChunk {
			t.Errorf("copied: %+v, %v", info, err)
		}
	})
	t.Run("clock", func(t *testing.T) {
		b := testBox(t)
		b.newest = time.Now().Add(time.Hour).UnixNano() // the clock has been set back since
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if err := b.settle(ctx); !errors.Is(err, gone) {
			t.Errorf("settle = %v", err)
		}
	})
	t.Run("before it starts", func(t *testing.T) {
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		_, err := Run(ctx, Command{Dir: t.TempDir(), Script: "true"})
		if !errors.Is(err, gone) || errors.Is(err, ErrUnavailable) {
			t.Errorf("Run = %v", err)
		}
	})
}
