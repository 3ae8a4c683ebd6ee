package reply

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/footnotehq/footnote"
)

// Limits on what the model reads of a result, unless a Table sets its own.
const (
	TableRows  = 200
	TableBytes = 50_000
)

// maxCell is how many bytes of one text cell the model reads. The stored result has the whole cell.
const maxCell = 2000

// Table is a stored result as the model reads it.
type Table struct {
	ID     string // of the result
	Result footnote.Result
	// Count is how many rows the query returned. If Result has fewer, the other rows are withheld from us and
	// from the model.
	Count int
	Rows  int    // rows to show; 0: TableRows
	Bytes int    // 0: TableBytes
	Cut   string // why reading stopped, if Result is truncated; a sentence
}

// JSON returns the table on one line, at most Bytes long except for its notes.
func (t Table) JSON() string {
	t.Rows, t.Bytes = cmp.Or(t.Rows, TableRows), cmp.Or(t.Bytes, TableBytes)
	columns := make([]string, len(t.Result.Columns))
	for i, c := range t.Result.Columns {
		columns[i], _ = Clip(c.Name, maxCell)
	}
	head := JSON(columns)
	var notes []string
	if room := t.Bytes / 2; len(head) > room { // thousands of columns
		columns = columns[:len(columns)*room/len(head)]
		head = JSON(columns)
		notes = append(notes,
			fmt.Sprintf("Only the first %d of %d columns are shown; select fewer.", len(columns),
				len(t.Result.Columns)))
	}
	rows, shown, cut := Head(firstCells(t.Result.Rows, len(columns), t.Rows), t.Rows, t.Bytes-len(head), maxCell)
	n := len(t.Result.Rows)
	all := max(n, t.Count)
	switch {
	case n == 0 && all > 0:
		notes = append(notes, fmt.Sprintf("The query gave %d rows, and the user keeps them private. "+
			"Do not guess what they hold, and do not query again to see them. Say what the result holds; the user "+
			"sees its figures.", all))
	case n < all:
		notes = append(notes,
			fmt.Sprintf("The query gave %d rows; %d of them are shown here, and the user keeps the others private. "+
				"Do not guess what they hold; aggregate in the query.", all, shown))
	case shown < n:
		notes = append(notes,
			fmt.Sprintf("Only the first %d of %d rows are shown here; result %s has them all.", shown, n, t.ID))
	}
	if t.Result.Truncated && t.Cut != "" {
		notes = append(notes, t.Cut)
	}
	if cut {
		notes = append(notes, fmt.Sprintf("Cells longer than %d bytes are cut here.", maxCell))
	}
	if all == 0 {
		notes = append(notes, "The query gave no rows.")
	}
	return string(JSON(struct {
		Result    string            `json:"result"`
		Columns   json.RawMessage   `json:"columns"`
		Units     map[string]string `json:"units,omitempty"` // by column
		Rows      json.RawMessage   `json:"rows"`
		RowCount  int               `json:"row_count"`
		Truncated bool              `json:"truncated"`
		Note      string            `json:"note,omitempty"`
	}{
		t.ID, head, units(t.Result.Columns[:len(columns)]), rows, all, shown < all || t.Result.Truncated,
		strings.Join(notes, " "),
	}))
}

// units returns the units of columns that have one.
func units(columns []footnote.Column) map[string]string {
	var list map[string]string
	for _, c := range columns {
		if c.Unit == "" {
			continue
		}
		if list == nil {
			list = map[string]string{}
		}
		list[c.Name], _ = Clip(c.Unit, 40)
	}
	return list
}

// firstCells cuts the first n rows to their first width cells.
func firstCells(rows [][]any, width, n int) [][]any {
	rows = rows[:min(n, len(rows))]
	if len(rows) == 0 || len(rows[0]) <= width {
		return rows
	}
	out := make([][]any, len(rows))
	for i, row := range rows {
		out[i] = row[:min(width, len(row))]
	}
	return out
}
