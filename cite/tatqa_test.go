package cite_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/cite"
)

// tatqaSum is the SHA-256 sum of the file that the limits of TestPublicReports were measured on.
const tatqaSum = "c4d08418359c1d76468dec420ee748a37f48c06b63cb8ec2766f19d5d314b597"

// report is a table of TAT-QA, as in its file, and the questions about it.
type report struct {
	Table     struct{ Table [][]string }
	Questions []reportQuestion
}

type reportQuestion struct {
	UID, Question, Scale string
	Answer               json.RawMessage
	Type                 string              `json:"answer_type"`
	Tree                 []string            `json:"tree_derivation"` // in prefix notation
	Facts, Consts        []string            // Facts are the values at Mappings
	Mappings             []map[string][2]int // table: row and column
}

// TestPublicReports measures answers made by templates from TAT-QA: questions about tables of annual reports, whose
// answers people traced to cells. The file is not part of this repository; FOOTNOTE_TATQA is its path. Misses are not
// listed, so that nobody tunes for them.
func TestPublicReports(t *testing.T) {
	path := os.Getenv("FOOTNOTE_TATQA")
	if path == "" {
		t.Skip("The questions of TAT-QA are not part of this repository: make eval-public TATQA=FILE measures them.")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var reports []report
	if err := json.Unmarshal(data, &reports); err != nil {
		t.Fatal(err)
	}
	answers := map[string][]*transcript{}
	left := 0
	for _, r := range reports {
		table, headers := r.result()
		for _, q := range r.Questions {
			if kind, tr := q.answer(table, headers); tr != nil {
				answers[kind] = append(answers[kind], tr)
			} else {
				left++
			}
		}
	}
	text, s := scoreTable([]string{"cell", "list of cells", "difference", "change in percent", "share in percent",
		"sum", "average", "other arithmetic", "count"}, answers)
	t.Logf("answers over %d tables of TAT-QA; %d questions left out:\n%s", len(reports), left, text)
	if fmt.Sprintf("%x", sha256.Sum256(data)) != tatqaSum {
		t.Log("this is another version of the file, so the limits do not apply")
		return
	}
	checkScore(t, s, 35.5, 62, 93)
}

// TestReportsBecomeAnswers checks how TestPublicReports makes answers, with a table that is not from TAT-QA.
func TestReportsBecomeAnswers(t *testing.T) {
	var r report
	err := json.Unmarshal([]byte(`{
		"table": {"table": [
			["", "Years ended June 30,", "", ""], ["", "2019", "2018", "Change"],
			["Ferries", "$ 1,250", "1,000", "25%"], ["Bridges", "(40)", "—", "N/A"], ["Tunnels", "300", "(20)", "5 %"]
		]},
		"questions": [
			{"question": "What was the revenue of ferries and tunnels in 2019, respectively?",
				"answer_type": "multi-span", "answer": ["$1,250", "300"],
				"mappings": [{"table": [2, 1]}, {"table": [4, 1]}]},
			{"question": "What is the percentage change in the revenue of ferries from 2018 to 2019?", "answer": 25,
				"answer_type": "arithmetic", "scale": "percent", "facts": ["1250", "1000"], "consts": ["100"],
				"tree_derivation": ["*", "/", "-", "1250", "1000", "1000", "100"],
				"mappings": [{"table": [2, 1]}, {"table": [2, 2]}]},
			{"question": "What was the change in the revenue of bridges?", "answer": 40, "answer_type": "arithmetic",
				"tree_derivation": ["-", "0", "-40"], "facts": ["-40", "0"], "consts": [],
				"mappings": [{"table": [3, 1]}, {"table": [3, 2]}]},
			{"question": "Which years does the table show?", "answer_type": "multi-span", "answer": ["2019", "2018"],
				"mappings": [{"table": [1, 1]}, {"table": [1, 2]}]}
		]}`), &r)
	if err != nil {
		t.Fatal(err)
	}
	table, headers := r.result()
	var got []string
	for _, c := range table.Result.Columns {
		got = append(got, c.Name+":"+c.Kind)
	}
	for _, row := range table.Result.Rows {
		got = append(got, fmt.Sprint(row))
	}
	for _, q := range r.Questions {
		kind, tr := q.answer(table, headers)
		if tr == nil {
			got = append(got, "left out")
			continue
		}
		got = append(got, kind+": "+tr.text)
		for _, m := range tr.marks {
			got = append(got, fmt.Sprint(tr.text[m.start:m.end], " ", m.wrong))
		}
	}
	want := []string{
		"item:text", "Years ended June 30, 2019:integer", "Years ended June 30, 2018:integer",
		"Years ended June 30, Change:integer",
		"[Ferries 1250 1000 25]", "[Bridges -40 <nil> <nil>]", "[Tunnels 300 -20 5]",
		"list of cells: The revenue of ferries and tunnels in 2019 was $1,250 and 300, respectively.",
		"$1,250 [{$1,280 digit} {-$40 row} {$1,000 col}]", "300 [{330 digit} {1,250 row} {-20 col}]",
		"change in percent: The percentage change in the revenue of ferries from 2018 to 2019 is 25%.",
		"25% [{28% digit} {-1,600% row} {4,900% col}]",
		"left out", "left out",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

var isYear = regexp.MustCompile(`^(19|20)\d\d$`)

// result returns the table as the result of a query, and the number of its header rows. Header rows are the first row
// and those that follow it and have a text or year, and no other number, behind the first column.
func (r report) result() (cite.Table, int) {
	rows := r.Table.Table
	headers := 1
	for headers < len(rows) {
		row := rows[headers][1:]
		isHeader := slices.ContainsFunc(row, func(s string) bool { return s != "" }) &&
			!slices.ContainsFunc(row, func(s string) bool {
				_, ok := reportNumber(s)
				return ok && !isYear.MatchString(s)
			})
		if !isHeader {
			break
		}
		headers++
	}
	out := cite.Table{ID: "r1", SQL: "SELECT * FROM report", RowCount: len(rows) - headers}
	for col, name := range columnNames(rows[:headers]) {
		out.Result.Columns = append(out.Result.Columns,
			footnote.Column{Name: name, Kind: columnKind(rows[headers:], col)})
	}
	for _, row := range rows[headers:] {
		var cells []any
		for col, s := range row {
			x, isNumber := reportNumber(s)
			var cell any = s
			switch kind := out.Result.Columns[col].Kind; {
			case noValue(s):
				cell = nil
			case kind == footnote.KindInteger && isNumber:
				cell = int64(x)
			case kind == footnote.KindNumber && isNumber:
				cell = x
			}
			cells = append(cells, cell)
		}
		out.Result.Rows = append(out.Result.Rows, cells)
	}
	return out, headers
}

// columnNames joins the header cells above each column. Above the last header row, an empty cell has the text to its
// left, and a row with a single text applies to all columns.
func columnNames(headers [][]string) []string {
	names := make([]string, len(headers[0]))
	for i, row := range headers {
		row = slices.Clone(row)
		last := i == len(headers)-1
		texts := slices.DeleteFunc(slices.Clone(row[1:]), func(s string) bool { return s == "" })
		for col := range row {
			switch {
			case last || col == 0:
			case len(texts) == 1:
				row[col] = texts[0]
			case row[col] == "" && col > 1:
				row[col] = row[col-1]
			}
			names[col] = strings.TrimSpace(names[col] + " " + row[col])
		}
	}
	for i, name := range names {
		if name == "" && i == 0 {
			names[i] = "item"
		} else if name == "" || slices.Contains(names[:i], name) {
			names[i] = strings.TrimSpace(fmt.Sprintf("%s %d", name, i+1))
		}
	}
	return names
}

// columnKind returns the kind of a column: a number if every cell with a value is one.
func columnKind(rows [][]string, col int) string {
	kind := footnote.KindInteger
	for _, row := range rows {
		x, ok := reportNumber(row[col])
		switch {
		case col == 0 || !ok && !noValue(row[col]):
			return footnote.KindText
		case ok && (x != math.Trunc(x) || strings.Contains(row[col], ".")):
			kind = footnote.KindNumber
		}
	}
	return kind
}

// noValue reports whether a cell has no value, such as a dash.
func noValue(s string) bool {
	s = strings.Trim(s, " $%")
	return slices.Contains([]string{"", "-", "–", "—", "N/A", "n/a"}, s)
}

var numberOfReport = regexp.MustCompile(`^-?\$?\s*(\()?\s*(-?)\$?\s*(\d[\d,]*(?:\.\d+)?|\.\d+)\s*%?\s*\)?\s*%?$`)

// reportNumber reads a number as reports write it: $ 1,234, (12.5)% or -3.
func reportNumber(s string) (float64, bool) {
	m := numberOfReport.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, false
	}
	x, err := strconv.ParseFloat(strings.ReplaceAll(m[3], ",", ""), 64)
	if m[1] != "" || m[2] != "" || strings.HasPrefix(strings.TrimSpace(s), "-") {
		x = -x
	}
	return x, err == nil
}

// answer returns the kind of a question, and its answer, or nil if the figures of the answer do not come from numeric
// columns of the table, or if the derivation does not give the answer.
func (q reportQuestion) answer(table cite.Table, headers int) (string, *transcript) {
	var cells [][2]int
	for _, m := range q.Mappings {
		cell, ok := m["table"]
		cell[0] -= headers
		if !ok || q.Type != "count" && (cell[0] < 0 || math.IsNaN(amount(table.Result.Rows[cell[0]][cell[1]]))) {
			return "", nil
		}
		cells = append(cells, cell)
	}
	if len(cells) == 0 {
		return "", nil
	}
	tr := &transcript{name: q.UID, question: q.Question, results: []cite.Table{table}}
	before, after := statement(q.Question)
	tr.write(before)
	kind := ""
	switch q.Type {
	case "span", "multi-span":
		kind = q.spans(tr, cells, headers)
	case "arithmetic":
		kind = q.arithmetic(tr, cells)
	case "count":
		var n string
		if json.Unmarshal(q.Answer, &n) == nil {
			x, _ := strconv.ParseFloat(n, 64)
			kind = "count"
			tr.figure(n, truth{class: "count", value: x}, []plant{{changeDigit(n), "digit"}})
		}
	}
	if kind == "" {
		return "", nil
	}
	tr.write(after)
	return kind, tr
}

var decimalsOf = regexp.MustCompile(`\.(\d+)`)

// styleOf returns how a number of a report is written.
func styleOf(text string) style {
	var s style
	if strings.Contains(text, "$") {
		s.before = "$"
	}
	if strings.Contains(text, "%") {
		s.after = "%"
	}
	if m := decimalsOf.FindStringSubmatch(text); m != nil {
		s.decimals = len(m[1])
	}
	return s
}

// spans writes the cells of an answer.
func (q reportQuestion) spans(tr *transcript, cells [][2]int, headers int) string {
	var texts []string
	if json.Unmarshal(q.Answer, &texts) != nil || len(texts) != len(cells) {
		return ""
	}
	rows := tr.results[0].Result.Rows
	for i, cell := range cells {
		v := rows[cell[0]][cell[1]]
		x, ok := reportNumber(texts[i])
		if !ok || math.Abs(x) != math.Abs(toFloat(v)) {
			return ""
		}
		s := styleOf(texts[i])
		if q.Scale == "percent" {
			s.after = "%"
		}
		f := formula{[][2]int{cell}, func(at [][2]int) float64 { return amount(rows[at[0][0]][at[0][1]]) }, s}
		if i > 0 && i == len(cells)-1 {
			tr.write(" and ")
		} else if i > 0 {
			tr.write(", ")
		}
		tr.figure(s.figure(x), truth{class: "cell=", value: toFloat(v), cell: [3]int{0, cell[0], cell[1]}, cellV: v},
			f.plants(tr.results[0]))
	}
	if len(cells) > 1 {
		return "list of cells"
	}
	return "cell"
}

// arithmetic writes a computed figure.
func (q reportQuestion) arithmetic(tr *transcript, cells [][2]int) string {
	answer := strings.Trim(string(q.Answer), `"`)
	want, err := strconv.ParseFloat(answer, 64)
	s := styleOf(answer)
	value := q.compute(tr.results[0].Result.Rows, cells, cells)
	if err != nil || !(math.Abs(value-want) <= 0.5000001*math.Pow(10, -float64(s.decimals))) {
		return ""
	}
	if q.Scale == "percent" {
		s.after = "%"
	}
	f := formula{cells, func(at [][2]int) float64 { return q.compute(tr.results[0].Result.Rows, cells, at) }, s}
	tr.figure(s.figure(want), truth{class: "cells", value: value, cells: cells}, f.plants(tr.results[0]))
	has := func(op string) bool { return slices.Contains(q.Tree, op) }
	switch {
	case q.Scale == "percent" && has("-"):
		return "change in percent"
	case q.Scale == "percent":
		return "share in percent"
	case has("/") && has("+") && len(q.Consts) == 1:
		return "average"
	case has("-") && !has("/") && !has("*") && !has("+"):
		return "difference"
	case has("+") && !has("/") && !has("*") && !has("-"):
		return "sum"
	}
	return "other arithmetic"
}

// compute works out the derivation with the values of other cells in the place of the question's.
func (q reportQuestion) compute(rows [][]any, cells, other [][2]int) float64 {
	tree := q.Tree
	var next func() float64
	next = func() float64 {
		if len(tree) == 0 {
			return math.NaN()
		}
		node := tree[0]
		tree = tree[1:]
		switch node {
		case "+":
			return next() + next()
		case "-":
			return next() - next()
		case "*":
			return next() * next()
		case "/":
			return next() / next()
		}
		x, err := strconv.ParseFloat(node, 64)
		if err != nil {
			return math.NaN()
		}
		for i, c := range cells {
			v := amount(rows[c[0]][c[1]])
			if !slices.Contains(q.Consts, node) && math.Abs(v) == math.Abs(x) {
				return x / v * amount(rows[other[i][0]][other[i][1]])
			}
		}
		return x
	}
	return next()
}
