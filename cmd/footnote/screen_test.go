package main

import (
	"bytes"
	"strings"
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

// Figures with a currency are aligned like others, and the space after a code is kept.
func TestCurrenciesInATable(t *testing.T) {
	var out strings.Builder
	s := &screen{out: &out, seen: map[[2]int]bool{}}
	s.say("| city | fee |\n| --- | --- |\n| Bern | CHF\u00a01,219.50 |\n| Chur | -₹1.25 |\n")
	s.newline()
	if got := out.String(); !strings.Contains(got, "Bern  CHF 1,219.50\n") ||
		!strings.Contains(got, "Chur        -₹1.25\n") {
		t.Errorf("got\n%s", got)
	}
}
