package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
)

// TestLogHasOriginOfLine checks that a line about a run has its ids once, wherever they come from.
func TestLogHasOriginOfLine(t *testing.T) {
	var out bytes.Buffer
	log := NewLogger(&out, config.Config{}, "info")
	ctx := footnote.WithOrigin(t.Context(), footnote.Origin{Conversation: "conv_1", Run: "run_1", Request: "req_1"})
	log.WarnContext(ctx, "cache failed", "err", errors.New("broken"))
	log.With("run", "run_1").InfoContext(ctx, "given by the logger")
	log.InfoContext(ctx, "given by the line", "request", "req_1", "conversation", "conv_1")
	log.Info("no run")
	var lines []string
	for line := range bytes.Lines(out.Bytes()) {
		var at map[string]any
		if err := json.Unmarshal(line, &at); err != nil {
			t.Fatal(err)
		}
		want := any("run_1")
		if at["msg"] == "no run" {
			want = nil
		}
		if at["run"] != want || want != nil && (at["request"] != "req_1" || at["conversation"] != "conv_1") {
			t.Errorf("%s", line)
		}
		for _, key := range []string{`"run"`, `"request"`, `"conversation"`} {
			if bytes.Count(line, []byte(key)) > 1 {
				t.Errorf("%s is there twice: %s", key, line)
			}
		}
		lines = append(lines, string(line))
	}
	if len(lines) != 4 {
		t.Errorf("lines: %q", lines)
	}
}
