package app

import (
	"log/slog"
	"testing"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/telemetry"
)

func TestMarksAreTurnedOff(t *testing.T) {
	for _, tt := range []struct {
		name, mode, upstream  string
		figures, held, broken int
		want                  bool
	}{
		{"new", "auto", "anthropic", 0, 0, 0, true},
		{"marks all", "auto", "anthropic", 100, 98, 2, true},
		{"marks none", "auto", "anthropic", 100, 0, 0, false},
		{"marks wrongly", "auto", "anthropic", 100, 60, 30, false},
		{"too early to tell", "auto", "anthropic", 10, 0, 0, true},
		{"asked anyway", "on", "anthropic", 100, 0, 0, true},
		{"never asked", "off", "anthropic", 100, 98, 2, false},
		{"the planner", "on", config.Offline, 0, 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			metrics := telemetry.New(0)
			m := newMarks(config.Config{Marks: tt.mode, Upstream: tt.upstream}, metrics, slog.New(slog.DiscardHandler))
			m.Counted("other", 100, 0, 0)
			m.Counted("m", tt.figures, tt.held, tt.broken)
			if got := m.Wanted("m"); got != tt.want {
				t.Errorf("Wanted = %v", got)
			}
		})
	}
}
