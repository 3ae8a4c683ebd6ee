package offline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
)

// Searches: "search for boiler in notes" and "find documents about boilers" call search_database if it is offered. Any
// other question that begins like this, such as "search for customers in Japan", is an ordinary question.

const searchTool = "search_database"

// The patterns of searches, tried in turn. If only one table can be searched, any word stands for it.
var searchShapes = []struct {
	re          *regexp.Regexp
	words, from int // groups
}{
	{asked(`(?:search|look)\s+for\s+` + anyText +
		`\s+in\s+(?:all\s+)?(?:the\s+|our\s+|my\s+)?([\pL\pN _.-]+?)` + tail), 1, 2},
	{asked(`search\s+(?:through\s+|in\s+)?(?:all\s+)?(?:the\s+|our\s+|my\s+)?([\pL\pN _.-]+?)\s+for\s+` + anyText +
		tail), 2, 1},
	{asked(`(?:find|search(?:\s+for)?|look\s+for|show|list|get|which|what)\s+(?:me\s+|us\s+)?(?:all\s+)?` +
		`(?:the\s+|our\s+|my\s+|any\s+)?([\pL\pN _.-]+?)\s+(?:are\s+there\s+|are\s+)?` +
		`(?:about|mentioning|(?:that|which)\s+(?:mention|speak\s+of|talk\s+about|are\s+about)|mention)\s+` + anyText +
		tail), 2, 1},
	{asked(`search\s+for\s+` + anyText + tail), 1, 0},
}

var documentWords = set("document doc text article note page entry entrie record row file message post report")

// search is a question that asks for rows by their text.
type search struct {
	words, table string
	tables       []string // the choices, if there are several and the question names none
}

// readSearch reads a search. tables are those that can be searched.
func readSearch(q string, tables []string) *search {
	if len(tables) == 0 || len(q) > 500 {
		return nil
	}
	for _, shape := range searchShapes {
		m := shape.re.FindStringSubmatch(q)
		if m == nil {
			continue
		}
		s := &search{words: strings.TrimSpace(m[shape.words])}
		if shape.from == 0 {
			if len(tables) > 1 || strings.Contains(strings.ToLower(s.words), " in ") {
				continue
			}
			s.table = tables[0]
			return s
		}
		from := nounOf(m[shape.from])
		for _, t := range tables {
			if nounOf(t) == from {
				s.table = t
				return s
			}
		}
		if documentWords[from] {
			if s.table = tables[0]; len(tables) > 1 {
				s.table, s.tables = "", tables
			}
			return s
		}
	}
	return nil
}

// nounOf returns a table's name as people may say it: without case, punctuation and plural.
func nounOf(name string) string {
	name = strings.Join(strings.FieldsFunc(fold(name), func(r rune) bool { return !wordRune(r) }), " ")
	return strings.TrimSuffix(strings.TrimPrefix(name, "the "), "s")
}

// searchable returns the tables of search_database, as listed in its schema.
func searchable(tools json.RawMessage) []string {
	var list []struct {
		Name  string `json:"name"`
		Input struct {
			Properties struct {
				Table struct {
					Enum []string `json:"enum"`
				} `json:"table"`
			} `json:"properties"`
		} `json:"input_schema"`
	}
	if json.Unmarshal(tools, &list) != nil {
		return nil
	}
	for _, t := range list {
		if t.Name == searchTool {
			return t.Input.Properties.Table.Enum
		}
	}
	return nil
}

// search answers a search; ok is false for any other question. Earlier questions that are not searches stay in h.
func (h *History) search(req model.Request) (a Answer, ok bool) {
	tables := searchable(req.Tools)
	s := readSearch(h.Last(), tables)
	if s == nil {
		questions, from, last := h.Questions, h.from, len(h.Questions)-1
		h.Questions, h.from = nil, nil
		for i, q := range questions {
			if i == last || readSearch(q, tables) == nil {
				h.Questions, h.from = append(h.Questions, q), append(h.from, from[i])
			}
		}
		return Answer{}, false
	}
	w := &Writer{}
	c := h.Result(searchTool)
	switch {
	case len(s.tables) > 0:
		w.say("Where should I search? There are: ", label(Clip(strings.Join(s.tables, ", "))),
			". Ask, for example: `search for … in "+Clip(s.tables[0])+"`")
	case c == nil && req.NoTools:
		w.Text("No search can be run at this point. Please ask again.")
	case c == nil:
		return ToolCall(*h, searchTool, map[string]any{
			"query": s.words, "table": s.table,
			"thought": cut("Searching "+s.table+" for "+s.words, 300),
		}), true
	default:
		w.writeFound(s, c)
	}
	if len(h.Questions) <= 1 {
		w.writeBadge()
	}
	return Answer{Text: w.b.String(), Cites: w.cites}, true
}

// maxFound limits how many rows of a search an answer shows.
const maxFound = 10

// writeFound writes the rows that a search found.
func (w *Writer) writeFound(s *search, c *Call) {
	res, err := ParseResult(c)
	if err != nil {
		w.say("I could not search: ", label(strings.Join(strings.Fields(Clip(err.Error())), " ")))
		return
	}
	quoted := func() {
		w.say(" of "+Clip(s.table)+" with “", echo(Clip(strings.Trim(s.words, `"`))), "”")
	}
	if len(res.Rows) == 0 {
		w.Text("There is no row")
		quoted()
		w.Text(". Other forms of the words may help, or fewer of them.")
		return
	}
	matches := len(res.Columns) - 1
	all := Exact(res.Rows[0][matches])
	w.Text("I found ")
	w.Cite(all, footnote.Cite{Result: res.ID, Row: new(0), Column: res.Columns[matches], Value: all})
	w.Text(map[bool]string{true: " row", false: " rows"}[all == "1"])
	quoted()
	shown := min(len(res.Rows), maxFound)
	if fmt.Sprint(shown) != all {
		w.Text("; these fit best")
	}
	w.Text(":\n")
	snippet := slices.IndexFunc(res.Columns, func(name string) bool {
		return strings.TrimRight(name, "_") == "snippet"
	})
	for r := range shown {
		w.Text("\n- ")
		if snippet > 1 {
			w.say(cell{res, r, 1, false, false}, " (",
				label(Clip(res.Columns[0])), " ", cell{res, r, 0, false, false}, ")")
		} else {
			w.Cell(res, r, 0, false, false)
		}
		if snippet > 0 {
			w.Text(": ")
			w.writeExcerpt(res, r, snippet)
		}
	}
}

// writeExcerpt writes a snippet, which may be longer than other cells.
func (w *Writer) writeExcerpt(res Result, row, col int) {
	value := Exact(res.Rows[row][col])
	text := strings.Join(strings.Fields(plainLine(value)), " ")
	if c := cut(text, 300); c != text {
		text = c + "…"
	}
	if !strings.ContainsAny(text, "0123456789") {
		w.Text(text)
		return
	}
	w.Cite(text, footnote.Cite{Result: res.ID, Row: new(row), Column: res.Columns[col], Value: value})
}
