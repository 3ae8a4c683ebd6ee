package modeltest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// figure is a number in a result.
type figure struct{ column, text, mark string }

func (f figure) marked() string { return f.text + f.mark }

func sentences(figures []figure, word func(i int, f figure) string) string {
	out := make([]string, len(figures))
	for i, f := range figures {
		out[i] = fmt.Sprintf("The %s is %s.", f.column, word(i, f))
	}
	return strings.Join(out, " ")
}

func allMarked(figures []figure) string {
	return sentences(figures, func(_ int, f figure) string { return f.marked() })
}

// halfMarked marks every other figure, beginning with the first.
func halfMarked(figures []figure) string {
	return sentences(figures, func(i int, f figure) string {
		if i%2 == 0 {
			return f.marked()
		}
		return f.text
	})
}

// misstated states other figures than the cells that the marks name.
func misstated(figures []figure) string {
	return sentences(figures, func(_ int, f figure) string { return "7" + f.marked() })
}

// cutMark leaves out the end of the last mark.
func cutMark(figures []figure) string {
	return strings.TrimSuffix(allMarked(figures), "].")
}

func markedInCode(figures []figure) string {
	text := allMarked(figures)
	return "```\n" + text + "\n```\n`" + figures[0].mark + "` in code. " + text
}

func markedTable(figures []figure) string {
	out := "| column | figure |\n|---|---|\n"
	for _, f := range figures {
		out += "| " + f.column + " | " + f.marked() + " |\n"
	}
	return out
}

// marksRule calls the tool and states the figures of its result, worded by a marking. If it is not asked for marks, it
// says so.
func marksRule(word func([]figure) string) func(Params) Rule {
	return func(p Params) Rule {
		analyst := analystRule(p)
		return func(r Request) Reply {
			results := r.Results()
			if len(results) == 0 {
				return analyst(r)
			}
			figures := figuresOf(results[0])
			if len(figures) == 0 {
				return Say("The result has no rows with marks, or no numbers.")
			}
			return Blocks(Block{Type: "text", Text: word(figures), Deltas: p.Deltas, Gap: p.Gap})
		}
	}
}

var (
	number     = regexp.MustCompile(`^-?\d+(\.\d+)?$`)
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// figuresOf returns the numbers of a result whose rows have marks.
func figuresOf(r Result) []figure {
	t, ok := tableOf(r)
	if !ok || !t.marked() {
		return nil
	}
	var figures []figure
	for _, row := range t.Rows {
		for i := 1; i < min(len(row), len(t.Columns)); i++ {
			column, text := t.Columns[i], cellText(row[i])
			if !number.MatchString(text) {
				continue
			}
			name := column
			if !identifier.MatchString(name) {
				name = `"` + name + `"`
			}
			mark := "[^" + cellText(row[0]) + "." + name + "]"
			figures = append(figures, figure{column, text, mark})
		}
	}
	return figures
}

// resultTable is a result with rows, as a model reads it. With marks, the first column is named mark.
type resultTable struct {
	Columns []string            `json:"columns"`
	Marks   string              `json:"marks"` // asks for marks
	Rows    [][]json.RawMessage `json:"rows"`
}

func (t resultTable) marked() bool { return t.Marks != "" }

// tableOf decodes a result. It returns false if the result has no rows.
func tableOf(r Result) (resultTable, bool) {
	var t resultTable
	if r.IsError || json.Unmarshal([]byte(r.Content), &t) != nil || t.Rows == nil {
		return t, false
	}
	return t, true
}

// cellText returns a cell as a person would write it.
func cellText(cell json.RawMessage) string {
	text := string(cell)
	if strings.HasPrefix(text, `"`) {
		_ = json.Unmarshal(cell, &text) // it was decoded before
	}
	return text
}
