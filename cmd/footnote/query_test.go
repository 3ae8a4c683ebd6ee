package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
)

// TestBatchStopsWhileItWaits checks that a batch waiting for a line stops on request.
func TestBatchStopsWhileItWaits(t *testing.T) {
	in, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- batch(ctx, nil, in, io.Discard) }()
	if _, err := io.WriteString(writer, "\n"); err != nil { // the batch reads
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, errStopped) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it still waits for a line")
	}
}

// TestWrongFootnoteIsNotOK checks that a wrong footnote is not also reported as ok.
func TestWrongFootnoteIsNotOK(t *testing.T) {
	row := 0
	cite := func(start int, text string) footnote.Cite {
		return footnote.Cite{Start: start, End: start + len(text), Text: text, Result: "r1", Row: &row, Column: "n"}
	}
	var out bytes.Buffer
	printVerdicts(streams{out: &out}, verdicts{Answers: []verdict{{
		Answer: "12 and 34", Footnotes: []footnote.Cite{cite(0, "12"), cite(7, "34")},
		Problems: []problem{{Start: 7, End: 9, Text: "34", Reason: "the cell is 35"}},
	}}})
	if got := out.String(); !strings.Contains(got, "ok  12") || strings.Contains(got, "ok  34") ||
		!strings.Contains(got, "NO  34: the cell is 35") {
		t.Errorf("it prints\n%s", got)
	}
}
