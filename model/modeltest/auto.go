package modeltest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// table is a table that the schema of a system prompt lists.
type table struct {
	source string // empty if there is only one
	name   string // as written in the prompt
}

var (
	sourceLine = regexp.MustCompile(`^Source (\S+) \(`)
	tableLine  = regexp.MustCompile(`^- ((?:\w+|"[^"\\]*")(?:\.(?:\w+|"[^"\\]*"))*)(?: \(|: )`)
	nameParts  = regexp.MustCompile(`"([^"]*)"|(\w+)`)
	greeting   = regexp.MustCompile(
		`(?i)^\W*(hi|hello|hey|good (morning|afternoon|evening|day)|thanks?|thank you|bye|goodbye|who are you|what ` +
			`can you do|help)\b`)
	dataWords = regexp.MustCompile(
		`(?i)\b(how (many|much)|count|number|total|sum|average|mean|median|revenue|` +
			`sales|rows?|tables?|data|top|most|least|list|show|which|per|by|` +
			`between|trend|highest|lowest)\b`)
)

// tables returns the tables listed by the schema in the request's system prompt. It leaves out names with
// characters that would need escaping.
func tables(r Request) []table {
	_, schema, ok := strings.Cut(plainText(r.System), "<schema>")
	if !ok {
		return nil
	}
	schema, _, _ = strings.Cut(schema, "</schema>")
	var list []table
	source, sources := "", 0
	for line := range strings.Lines(schema) {
		if m := sourceLine.FindStringSubmatch(line); m != nil {
			source = m[1]
			sources++
		} else if m := tableLine.FindStringSubmatch(line); m != nil {
			list = append(list, table{source, m[1]})
		}
	}
	if sources == 1 {
		for i := range list {
			list[i].source = ""
		}
	}
	return list
}

// plain returns a table's name without quotes.
func (t table) plain() string { return strings.ReplaceAll(t.name, `"`, "") }

// count returns the input of the call that counts the rows.
func (t table) count() string {
	name := nameParts.ReplaceAllString(t.name, `"$1$2"`) // an unquoted name may be a SQL keyword
	input := `{"sql":` + quote("SELECT count(*) AS rows FROM "+name)
	if t.source != "" {
		input += `,"source":` + quote(t.source)
	}
	return input + "}"
}

// counted extracts the table name from a call that counted rows.
var counted = regexp.MustCompile(`^SELECT count\(\*\) AS rows FROM (.+)$`)

// mentioned returns the first table that a text names, by itself or in the singular.
func mentioned(text string, list []table) (table, bool) {
	text = strings.ToLower(text)
	for _, t := range list {
		name := strings.ToLower(t.plain())
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			name = name[i+1:]
		}
		for _, word := range []string{name, strings.TrimSuffix(name, "s"), strings.ReplaceAll(name, "_", " ")} {
			if regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(word) + `(\W|$)`).MatchString(text) {
				return t, true
			}
		}
	}
	return table{}, false
}

// countRule counts the rows of the table that the question names, or of the first one, and reports the
// result. It answers at once if the question is not about data. Requests without a schema or without the tool
// go to otherwise.
func countRule(p Params, otherwise Rule) Rule {
	return func(r Request) Reply {
		if results := r.Results(); len(results) > 0 {
			return Blocks(Block{Type: "text", Text: answerText(results), Gap: p.Gap})
		}
		list := tables(r)
		if len(list) == 0 || !r.HasTool(p.Tool) || r.Choice == "none" {
			return otherwise(r)
		}
		text := ""
		if texts := r.userTexts(); len(texts) > 0 {
			text = texts[0] // the program may follow the user's text with others
		}
		t, named := mentioned(text, list)
		switch {
		case named:
		case greeting.MatchString(text):
			return Say("Hello. I imitate a model: I can count the rows of " + list[0].plain() + " and of other tables.")
		case !dataWords.MatchString(text):
			return Say("I imitate a model, and only count rows: name a table, such as " + list[0].plain() + ".")
		default:
			t = list[0]
		}
		return Blocks(ThinkBlock("I look at the data first."), Block{
			Type: "text",
			Text: "Looking at the data.",
			Gap:  p.Gap,
		}, CallBlock(p.Tool, t.count()))
	}
}

// answerText builds an answer from the cells of results that have rows; other results are worded by summary.
func answerText(results []Result) string {
	var out []string
	for _, one := range results {
		cells, ok := cellsOf(one)
		var in struct{ SQL string }
		_ = json.Unmarshal(one.Input, &in) // its shape is unknown
		count := counted.FindStringSubmatch(in.SQL)
		switch {
		case !ok:
			out = append(out, summary([]Result{one}))
		case len(cells) == 0:
			out = append(out, "The result is empty.")
		case count != nil && len(cells) == 1:
			out = append(out, fmt.Sprintf("There are %s rows in %s.", cells[0], strings.ReplaceAll(count[1], `"`, "")))
		default:
			out = append(out, "The result holds "+strings.Join(cells, ", ")+".")
		}
	}
	return strings.Join(out, " ")
}

// cellsOf returns the first cells of a result's rows, at most twenty, as they are written. It returns false
// if the result has no rows.
func cellsOf(r Result) ([]string, bool) {
	t, ok := tableOf(r)
	if !ok {
		return nil, false
	}
	cells := []string{}
	for _, row := range t.Rows {
		if t.marked() && len(row) > 0 {
			row = row[1:]
		}
		for _, cell := range row {
			if len(cells) == 20 {
				return cells, true
			}
			cells = append(cells, cellText(cell))
		}
	}
	return cells, true
}
