package mark

import (
	"fmt"
	"strconv"

	"github.com/footnotehq/footnote/internal/strictjson"
)

// note asks for marks. Models write none unless each result has them.
const note = "Behind each figure that you state, write the mark of its cell: the row's mark, a dot and the column, " +
	"as 1,204[^%s.%s]. A figure that follows from few cells gets a formula: [^%[1]s.%[2]s/%[1]s.%[2]s-1]. Readers " +
	"see no marks."

// Print adds the mark of each row to a result as a model reads it: a JSON object with result, columns and rows. It
// returns any other text unchanged.
func Print(content string) string {
	v, err := strictjson.Parse([]byte(content))
	if err != nil || v.Kind() != strictjson.Object {
		return content
	}
	id, ok := v.Get("result").Text()
	rows, columns := v.Get("rows").Items(), v.Get("columns").Items()
	if !ok || len(rows) == 0 || len(columns) == 0 {
		return content
	}
	marks := rowMarks(id, v, rows)
	ask := fmt.Sprintf(note, marks[0], Column(figures(columns, rows[0].Items())))
	out := []byte{'{'}
	for i, m := range v.Members() {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, strictjson.MustEncode(m.Name)...), ':')
		switch m.Name {
		case "columns":
			out = first(out, "mark", columns)
			out = append(append(out, `,"marks":`...), strictjson.MustEncode(ask)...)
		case "rows":
			out = append(out, '[')
			for j, row := range rows {
				if j > 0 {
					out = append(out, ',')
				}
				out = first(out, marks[j], row.Items())
			}
			out = append(out, ']')
		default:
			out = append(out, m.Value.Raw()...)
		}
	}
	return string(append(out, '}'))
}

// first appends a list with one more text in front.
func first(out []byte, text string, rest []strictjson.Value) []byte {
	out = append(append(out, '['), strictjson.MustEncode(text)...)
	for _, v := range rest {
		out = append(append(out, ','), v.Raw()...)
	}
	return append(out, ']')
}

// rowMarks returns the marks of rows. They have keys only if all rows of the result are there.
func rowMarks(id string, v strictjson.Value, rows []strictjson.Value) []string {
	cells := make([][]any, len(rows))
	width := 0
	for i, row := range rows {
		for _, cell := range row.Items() {
			text, ok := cell.Text()
			if !ok {
				cells[i] = append(cells[i], nil)
			} else {
				cells[i] = append(cells[i], text)
			}
		}
		width = len(cells[i])
	}
	key := KeyColumn(width, cells)
	if cut, _ := v.Get("truncated").Bool(); cut {
		key = -1
	}
	marks := make([]string, len(rows))
	for i := range rows {
		if key >= 0 {
			marks[i] = fmt.Sprintf("%s:%s", id, cells[i][key])
		} else {
			marks[i] = id + "." + strconv.Itoa(i)
		}
	}
	return marks
}

// figures returns the name of the first column with a number in a row, or of the first column.
func figures(columns, row []strictjson.Value) string {
	at := 0
	for i := range min(len(columns), len(row)) {
		text, ok := row[i].Text()
		if _, err := strconv.ParseFloat(text, 64); row[i].Kind() == strictjson.Number || ok && err == nil {
			at = i
			break
		}
	}
	name, _ := columns[at].Text()
	return name
}
