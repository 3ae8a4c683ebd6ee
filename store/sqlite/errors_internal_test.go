package sqlite

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/footnotehq/footnote"
)

func TestFullDiskIsReportedAfterTheContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := translate(ctx, "append", fmt.Errorf("write: %w", syscall.ENOSPC))
	if footnote.CodeOf(err) != footnote.StorageUnavailable || footnote.MessageOf(err) != msgFull {
		t.Errorf("translate = %v, want %q", err, msgFull)
	}
}
