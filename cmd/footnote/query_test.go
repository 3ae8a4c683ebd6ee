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

// TestForgedBadge checks that verify finds a badge whose statement is another one than was verified.
func TestForgedBadge(t *testing.T) {
	const sql = "SELECT 1 -- $1\nFROM t"
	v := footnote.Verified{
		Query: "q", Question: "Q", By: "Ann", On: "2026-11-02", Digest: footnote.DigestOf([]byte(sql)),
	}
	other := v
	other.By = "Eve"
	for name, c := range map[string]struct {
		result footnote.StoredResult
		holds  bool
	}{
		"as it was":     {footnote.StoredResult{ID: "r1", SQL: sql, Verified: &v}, true},
		"with values":   {footnote.StoredResult{ID: "r1", SQL: sql + "\n-- $1 a: 1\n-- $2 b: 2", Verified: &v}, true},
		"another text":  {footnote.StoredResult{ID: "r1", SQL: "SELECT 2 FROM t", Verified: &v}, false},
		"more text":     {footnote.StoredResult{ID: "r1", SQL: sql + "\n-- $1 a: 1\nWHERE x", Verified: &v}, false},
		"no badge":      {footnote.StoredResult{ID: "r1", SQL: sql}, false},
		"another badge": {footnote.StoredResult{ID: "r1", SQL: sql, Verified: &other}, false},
		"no result":     {footnote.StoredResult{ID: "r2", SQL: sql, Verified: &v}, false},
	} {
		badges := []footnote.VerifiedResult{{Result: "r1", Verified: v}}
		problems := unproven(badges, map[string]footnote.StoredResult{c.result.ID: c.result})
		if (len(problems) == 0) != c.holds {
			t.Errorf("%s: %+v", name, problems)
		}
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
