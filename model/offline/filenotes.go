package offline

import (
	"strings"
)

// fileFaults are parts of the notes in a table's comment that report a problem of its file: something is missing from
// the table, or was not understood. Other notes only describe the format.
var fileFaults = []string{
	"left out", "stays text", "called a total", "ambiguous", "is now called", "no header found",
	"cells than the header",
}

const fileNotes = 3 // shown in an answer

// fileNotes returns the faults of the file that a table was read from. A table of a database has none, because its
// comments do not begin like those of a loader.
func (t *table) fileNotes() []string {
	if t == nil || !strings.HasPrefix(t.schema.Comment, "read ") {
		return nil
	}
	var notes []string
	for _, note := range strings.Split(t.schema.Comment, "; ") {
		for _, fault := range fileFaults {
			if strings.Contains(note, fault) {
				notes = append(notes, note)
				break
			}
		}
	}
	return notes
}

// writeFileNotes writes the faults of a table's file in one sentence. It quotes them as code, because their numbers are
// not figures of the data.
func (w *Writer) writeFileNotes(t *table) {
	notes := t.fileNotes()
	if len(notes) == 0 {
		return
	}
	w.Text("\n\nAbout the file: ")
	for i, note := range notes[:min(fileNotes, len(notes))] {
		if i > 0 {
			w.Text("; ")
		}
		w.Text("`" + Clip(note) + "`")
	}
	if len(notes) > fileNotes {
		w.Text("; and more, which `footnote doctor` lists")
	}
	w.Text(".")
}
