// Package transcript reads and checks the transcripts of protocol tests: the events of a run, and the output
// that a protocol produces from them. With -update it rewrites them.
package transcript

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/footnotehq/footnote"
)

var update = flag.Bool("update", false, "regenerate the transcripts")

// File is one transcript. Its script part holds the lines to play.
type File struct {
	Path    string
	archive *txtar.Archive
}

// Each runs a subtest for each transcript in testdata.
func Each(t *testing.T, f func(t *testing.T, file *File)) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f(t, &File{path, archive})
		})
	}
}

// find returns the index of a part, or -1.
func (f *File) find(name string) int {
	return slices.IndexFunc(f.archive.Files, func(p txtar.File) bool { return p.Name == name })
}

// Has reports whether the file has a part with that name.
func (f *File) Has(name string) bool { return f.find(name) >= 0 }

// Decode decodes a JSON part into v, if it exists.
func (f *File) Decode(t *testing.T, name string, v any) {
	t.Helper()
	if i := f.find(name); i >= 0 {
		if err := json.Unmarshal(f.archive.Files[i].Data, v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// Check compares a part with got.
func (f *File) Check(t *testing.T, name string, got []byte) {
	t.Helper()
	i := f.find(name)
	if i < 0 {
		i = len(f.archive.Files)
		f.archive.Files = append(f.archive.Files, txtar.File{Name: name})
	}
	part := &f.archive.Files[i]
	if !*update {
		if !bytes.Equal(got, part.Data) {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, part.Data)
		}
		return
	}
	part.Data = got
	if err := os.WriteFile(f.Path, txtar.Format(f.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Line is one line of a script: an event, or a delta.
type Line struct {
	Event string          `json:"event"` // kind; empty for a delta
	Run   string          `json:"run"`   // default r1
	Body  json.RawMessage `json:"body"`

	Delta string `json:"delta"` // text; empty for the other operations
	Op    string `json:"op"`
	Kind  string `json:"kind"` // default text
	Step  int    `json:"step"`
	Try   int    `json:"try"` // attempt, default 1
	Index int    `json:"index"`
	ID    string `json:"id"`
	Name  string `json:"name"`
}

// Script returns the lines to play.
func (f *File) Script(t *testing.T) []Line {
	t.Helper()
	i := f.find("script")
	if i < 0 {
		t.Fatal("no script")
	}
	return Parse(t, f.archive.Files[i].Data)
}

// Parse parses the lines of a script.
func Parse(t *testing.T, script []byte) (lines []Line) {
	t.Helper()
	for raw := range bytes.Lines(script) {
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		l := Line{Run: "r1", Kind: "text", Try: 1, Body: json.RawMessage("{}")}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&l); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		lines = append(lines, l)
	}
	return lines
}

var ops = map[string]footnote.DeltaOp{
	"start": footnote.BlockStarted, "": footnote.BlockGrew, "end": footnote.BlockEnded,
	"retrying": footnote.StepRetrying, "broke": footnote.StepBroke,
}

// AsDelta converts a line to a delta.
func (l Line) AsDelta(t *testing.T) footnote.Delta {
	t.Helper()
	op, ok := ops[l.Op]
	if !ok {
		t.Fatalf("unknown op %q", l.Op)
	}
	d := footnote.Delta{
		Run: l.Run, Step: l.Step, Attempt: l.Try, Index: l.Index, Op: op, Kind: l.Kind, ID: l.ID, Name: l.Name,
	}
	if op == footnote.BlockGrew {
		quoted, err := json.Marshal(l.Delta)
		if err != nil {
			t.Fatal(err)
		}
		d.Escaped = quoted[1 : len(quoted)-1]
	}
	return d
}

var begin = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// AsEvent converts a line to the event with sequence number seq.
func (l Line) AsEvent(t *testing.T, seq int64) footnote.Event {
	t.Helper()
	body, err := footnote.DecodeBody(l.Event, l.Body)
	if err != nil {
		t.Fatal(err)
	}
	return footnote.Event{
		Stream: "conv_1", Seq: seq, Run: l.Run, Time: begin.Add(time.Duration(seq) * time.Second), Body: body,
	}
}
