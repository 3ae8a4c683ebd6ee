package main

import (
	"bytes"
	"testing"
)

// TestTableWithLongRow prints an answer whose table has a row with more cells than columns.
func TestTableWithLongRow(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(false, streams{out: &out, err: &out})
	s.say("| a | b |\n|---|---|\n| x | y | 7 |\n| x |\n")
	s.newline()
	const want = "a    b\n───  ───  ─\nx    y    7\nx\n"
	if out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}
