package offline

import (
	"strings"
)

// What a table's comment says of the file it was read from, where that is more than
// how it is written: what is not in the table, and what was not understood.
var fileFaults = []string{
	"left out", "stays text", "called a total", "ambiguous", "is now called", "no header found",
	"cells than the header",
}

const fileNotes = 3 // that an answer tells

// fileNotes are the faults of the file that a table was read from. Tables of other
// kinds have none: a comment of a database's own does not begin like a loader's.
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

// file tells the faults of a table's file in one sentence. They are quoted as they
// stand: their numbers are not of the data.
func (w *Writer) file(t *table) {
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
