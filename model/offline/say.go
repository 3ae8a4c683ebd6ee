package offline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
)

// Writer collects an answer's text and the footnotes of its numbers. The zero value is empty.
type Writer struct {
	b     strings.Builder
	cites []footnote.Cite
}

// Text writes words without a footnote.
func (w *Writer) Text(s string) { w.b.WriteString(s) }

// Answer returns what has been written.
func (w *Writer) Answer() Answer { return Answer{Text: w.b.String(), Cites: w.cites} }

// label writes the name of a column or a figure. It writes a name with a digit as code, so that the 2 of umsatz_2 is
// not taken for a figure.
func (w *Writer) label(s string) {
	if strings.ContainsAny(s, "0123456789") && !strings.Contains(s, "`") {
		s = "`" + s + "`"
	}
	w.Text(s)
}

// Parts of a sentence besides plain text: the name of a column or a figure, words of the question, and a cell.
type (
	label string
	echo  string
	cell  struct {
		res              Result
		row, col         int
		measure, percent bool
	}
)

// say writes the parts of a sentence, in order.
func (w *Writer) say(parts ...any) {
	for _, part := range parts {
		switch p := part.(type) {
		case string:
			w.Text(p)
		case label:
			w.label(string(p))
		case echo:
			w.echo(string(p))
		case cell:
			w.Cell(p.res, p.row, p.col, p.measure, p.percent)
		}
	}
}

// Cite writes a number with its footnote.
func (w *Writer) Cite(text string, c footnote.Cite) {
	c.Start = w.b.Len()
	w.b.WriteString(text)
	c.End, c.Text, c.Confidence = w.b.Len(), text, 1
	w.cites = append(w.cites, c)
}

// spelled matches numbers written as words.
var spelled = regexp.MustCompile(`\b(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b`)

// echo writes words of the question or its reading. Each numeral in them gets the footnote "question".
func (w *Writer) echo(s string) {
	for s != "" {
		i := strings.IndexAny(s, "0123456789")
		if at := spelled.FindStringIndex(s); at != nil && (i < 0 || at[0] < i) {
			w.Text(s[:at[0]])
			word := s[at[0]:at[1]]
			w.Cite(word, footnote.Cite{Formula: "question", Value: formatNumber(numberWords[word])})
			s = s[at[1]:]
			continue
		}
		if i < 0 {
			w.Text(s)
			return
		}
		w.Text(s[:i])
		s = s[i:]
		n := 0
		for n < len(s) && (s[n] >= '0' && s[n] <= '9' ||
			strings.IndexByte(".,-", s[n]) >= 0 && n+1 < len(s) && s[n+1] >= '0' && s[n+1] <= '9') {
			n++
		}
		w.Cite(s[:n], footnote.Cite{Formula: "question", Value: strings.ReplaceAll(s[:n], ",", "")})
		s = s[n:]
	}
}

// Result is the table that a tool returned.
type Result struct {
	ID        string            `json:"result"`
	Columns   []string          `json:"columns"`
	Rows      [][]any           `json:"rows"`
	Count     int               `json:"row_count"`
	Truncated bool              `json:"truncated"`
	Units     map[string]string `json:"units"` // by column

	currency func(row, col int) string // the ISO code of a cell's currency, or ""; may be nil
}

// ParseResult reads the table that a call returned.
func ParseResult(c *Call) (Result, error) {
	var r Result
	if c.Failed {
		return r, fmt.Errorf("%s", c.Content)
	}
	dec := json.NewDecoder(strings.NewReader(c.Content))
	dec.UseNumber()
	if err := dec.Decode(&r); err != nil {
		return r, fmt.Errorf("read the result: %w", err)
	}
	for _, row := range r.Rows {
		if len(row) != len(r.Columns) {
			return r, fmt.Errorf("read the result: a row has %d cells for %d columns", len(row), len(r.Columns))
		}
	}
	return r, nil
}

// Number returns a cell as a number.
func Number(v any) (float64, bool) {
	s := ""
	switch x := v.(type) {
	case json.Number:
		s = x.String()
	case string:
		s = x
	default:
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

// Exact returns a cell unchanged.
func Exact(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case json.Number:
		return x.String()
	case string:
		return x
	case bool:
		return strconv.FormatBool(x)
	}
	return fmt.Sprint(v)
}

// Figure formats a number for reading: thousands separated, sensibly rounded.
func Figure(f float64) string {
	digits := 2
	switch a := math.Abs(f); {
	case a > 0 && a < 1e-4:
		return strings.Replace(strconv.FormatFloat(f, 'g', 6, 64), "e-0", "e-", 1)
	case f == math.Trunc(f) && a < 1e15:
		digits = 0
	case a < 0.01:
		digits = 6
	case a < 1:
		digits = 3
	}
	s := grouped(f, digits)
	if digits == 6 {
		s = strings.TrimRight(s, "0")
	}
	return s
}

// grouped formats a number with a fixed number of decimals.
func grouped(f float64, digits int) string {
	s := strconv.FormatFloat(math.Abs(f), 'f', digits, 64)
	whole, dec, _ := strings.Cut(s, ".")
	var b strings.Builder
	if f < 0 && strings.Trim(s, "0.") != "" {
		b.WriteByte('-')
	}
	for i, c := range []byte(whole) {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(c)
	}
	if dec != "" {
		b.WriteString("." + dec)
	}
	return b.String()
}

// hasDecimals reports whether a column has figures such as 12.50, so that all are shown with two decimals.
func hasDecimals(res Result, col int) bool {
	cents := false
	for _, row := range res.Rows {
		f, ok := Number(row[col])
		if !ok {
			continue
		}
		if f != 0 && math.Abs(f) < 1 {
			return false
		}
		cents = cents || f != math.Trunc(f)
	}
	return cents
}

// Figure2 formats a number like Figure, with two decimals.
func Figure2(f float64) string {
	s := Figure(f)
	if !strings.Contains(s, ".") {
		s += ".00"
	}
	return s
}

// Cell writes one cell with its footnote. Measures are formatted; labels are not.
func (w *Writer) Cell(res Result, row, col int, measure, percent bool) {
	v := res.Rows[row][col]
	text := Clip(Exact(v))
	if v == nil {
		text = "none"
	}
	f, ok := Number(v)
	_, isText := v.(string)
	code := ""
	if res.currency != nil {
		code = res.currency(row, col)
	}
	switch {
	case measure && ok && percent:
		text = strconv.FormatFloat(f, 'f', 1, 64) + "%"
	case measure && ok && code != "":
		text = amount(res, f, col, code)
	case measure && ok && hasDecimals(res, col):
		text = Figure2(f)
	case measure && ok:
		text = Figure(f)
	case ok && !isText:
		text = Exact(v)
	case strings.HasSuffix(text, " 00:00:00") || strings.HasSuffix(text, "T00:00:00"):
		text = text[:10]
	}
	if !strings.ContainsAny(text, "0123456789") {
		w.Text(text)
		return
	}
	w.Cite(text, footnote.Cite{Result: res.ID, Row: new(row), Column: res.Columns[col], Value: Exact(v)})
}

const badge = "_Offline planner: no AI model is connected, so simple questions are answered by fixed rules. " +
	"To connect one: `export ANTHROPIC_API_KEY=…`, or a local one: " +
	"`export ANTHROPIC_BASE_URL=http://127.0.0.1:11434 FOOTNOTE_MODEL=your-model`_"

// writeBadge says that the planner answers. It is written once per conversation.
func (w *Writer) writeBadge() {
	if w.b.Len() > 0 {
		w.Text("\n\n")
	}
	w.Text(badge)
}

// writeAnswer writes the rows of a query as an answer.
func (pn *Planner) writeAnswer(ctx context.Context, w *Writer, h History, r *reading) {
	res, err := ParseResult(h.Result("run_query"))
	if err != nil {
		w.Text("The query failed, so I have no answer: ")
		w.label(strings.Join(strings.Fields(Clip(err.Error())), " ")) // numbers in it are not figures of the answer
		w.Text("\n\n")
		w.writeReading(r)
		return
	}
	if r.plan != nil {
		res.currency = r.plan.currencies(res)
	}
	switch {
	case r.plan == nil || r.plan.kind == kindRaw:
		w.writeRawRows(res)
	case len(res.Rows) == 0:
		w.Text("No rows match, so there is nothing to report.")
	case r.plan.kind == kindList:
		w.writeList(r.plan, res)
	case len(r.plan.dims) == 0 && len(r.plan.measures) > 1:
		w.writeFigures(r.plan, res)
	case len(r.plan.dims) == 0:
		w.writeFigure(r.plan, res)
	case r.plan.dims[0].bucket != "" && len(r.plan.dims) == 1 && r.plan.limit == 0 && r.plan.order == 0:
		w.writePeriods(r.plan, res)
	default:
		w.writeGroups(r.plan, res)
	}
	w.Text("\n\n")
	w.writeReading(r)
}

func (w *Writer) writeRawRows(res Result) {
	w.Text("Your query gave ")
	w.writeRowCount(res)
	w.Text(".")
	if len(res.Rows) > 0 {
		w.writeTable(res, nil, false)
	}
}

func (w *Writer) writeRowCount(res Result) {
	unit := " rows"
	if res.Count == 1 {
		unit = " row"
	}
	w.citeCount(res)
	w.Text(unit)
}

// citeCount writes how many rows a result has.
func (w *Writer) citeCount(res Result) {
	n := strconv.Itoa(res.Count)
	w.Cite(n, footnote.Cite{Result: res.ID, Formula: "count(" + res.ID + ")", Value: n})
}

// writeFigure writes an answer with one number.
func (w *Writer) writeFigure(pl *plan, res Result) {
	m := pl.measures[0]
	if len(res.Rows[0]) == 0 || res.Rows[0][0] == nil {
		w.Text("There is no value: no row with a " + m.noun() + " matches.")
		return
	}
	number := cell{res, 0, len(res.Columns) - 1, true, pl.share}
	f, _ := lastFigure(res)
	switch {
	case pl.share:
		w.say("That is **", number, "** of "+shareWhole(m))
		w.writeScope(pl.shareOf)
	case m.agg == aggCount:
		verb := "There are "
		if f == 1 {
			verb = "There is "
		}
		w.say(verb, "**", number, "** "+m.countedTable(pl).counted(f))
	case m.agg == aggDistinct:
		w.say("There are **", number, "** different ", label(manyOf(m.col.title())))
	case m.col != nil && m.col.role == roleDate && m.since == nil:
		which := map[string]string{aggMin: "earliest ", aggMax: "latest "}[m.agg]
		w.say("The "+which, label(m.col.title()), " is **", number, "**")
	default:
		w.say("The ", label(m.name), " is **", number, "**")
	}
	w.writeScope(pl.filters)
	w.Text(".")
}

func lastFigure(res Result) (float64, bool) { return Number(res.Rows[0][len(res.Columns)-1]) }

func shareWhole(m measure) string {
	if m.agg == aggCount {
		return "all " + strings.TrimPrefix(m.name, "number of ")
	}
	return "the " + m.name
}

// writeScope writes the filters of an answer in brackets.
func (w *Writer) writeScope(filters []filter) {
	for i, f := range filters {
		if i == 0 {
			w.Text(" (")
		} else {
			w.Text(", ")
		}
		w.echo(f.describe())
	}
	if len(filters) > 0 {
		w.Text(")")
	}
}

func (m measure) noun() string {
	if m.col != nil {
		return m.col.title()
	}
	return "value"
}

func (m measure) countedTable(pl *plan) *table {
	if m.entity != nil {
		return m.entity
	}
	return pl.base
}

// counted returns the noun for n rows.
func (t *table) counted(n float64) string {
	if noun := t.title(); n == 1 && plural(noun, 2) == t.many() {
		return noun
	}
	return t.many()
}

// plural returns the plural of the last word of a noun.
func plural(s string, n float64) string {
	switch {
	case n == 1:
		return s
	case strings.HasSuffix(s, "y") && len(s) > 1 && !strings.ContainsRune("aeiou", rune(s[len(s)-2])):
		return s[:len(s)-1] + "ies"
	case strings.HasSuffix(s, "person"):
		return s[:len(s)-6] + "people"
	case strings.HasSuffix(s, "s"), strings.HasSuffix(s, "x"), strings.HasSuffix(s, "ch"), strings.HasSuffix(s, "sh"):
		return s + "es"
	}
	return s + "s"
}

// best returns the rows with the highest figure in a column or, if sign is -1, with the lowest.
func best(res Result, col int, sign float64) []int {
	var rows []int
	top := math.Inf(-1)
	for i, row := range res.Rows {
		f, ok := Number(row[col])
		if f *= sign; !ok || f < top {
			continue
		}
		if f > top {
			rows, top = nil, f
		}
		rows = append(rows, i)
	}
	return rows
}

func (w *Writer) writeLabels(pl *plan, res Result, row int) {
	if nameless(pl, res, row) { // "none has the highest" would mean that no group has it
		without := "rows without "
		if w.b.Len() == 0 {
			without = UpperFirst(without)
		}
		w.say(without, label(pl.dims[0].name))
		return
	}
	for i := range pl.dims {
		if i > 0 {
			w.Text(" / ")
		}
		w.Cell(res, row, i, false, false)
	}
}

// nameless reports whether a group consists of the rows without a value.
func nameless(pl *plan, res Result, row int) bool {
	return len(pl.dims) == 1 && res.Rows[row][0] == nil
}

// figure returns the cell of a row that the text describes.
func (pl *plan) figure(res Result, row int) cell {
	return cell{res, row, pl.figureColumn(res), true, pl.share}
}

// figureColumn returns the result's column that the text describes: that of the first measure.
func (pl *plan) figureColumn(res Result) int {
	if len(pl.measures) > 1 {
		return len(pl.dims)
	}
	return len(res.Columns) - 1
}

// writePeriods writes a development over time. It calls no period the lowest, because the first and the last may be
// incomplete and periods without rows are missing.
func (w *Writer) writePeriods(pl *plan, res Result) {
	d := pl.dims[0]
	w.say(label(UpperFirst(pl.measures[0].name)), " by "+d.bucket)
	switch hi := best(res, pl.figureColumn(res), 1); {
	case hi == nil:
		w.Text(": no figures.")
	case pl.mixesCurrencies():
		w.Text(" and currency:")
	case len(hi) == len(res.Rows):
		w.say(": every "+d.bucket+" with rows has **", pl.figure(res, hi[0]), "**.")
	default:
		in := map[string]string{"weekday": "on ", "day": "on ", "hour": "at hour "}[d.bucket]
		w.Text(" was highest " + cmp.Or(in, "in "))
		w.writeNames(pl, res, hi)
		w.say(" with **", pl.figure(res, hi[0]), "**.")
	}
	w.writeTable(res, pl, true)
}

// figureName returns the name of the first measure, or of its share.
func (pl *plan) figureName() string {
	name := pl.measures[0].name
	if pl.share {
		return "share of " + strings.TrimPrefix(strings.TrimPrefix(name, "total "), "number of ")
	}
	return name
}

// writeGroups writes a comparison of groups.
func (w *Writer) writeGroups(pl *plan, res Result) {
	what := pl.figureName()
	hi, lo := best(res, pl.figureColumn(res), 1), best(res, pl.figureColumn(res), -1)
	switch {
	case hi == nil && pl.measures[0].col != nil && pl.measures[0].col.role == roleDate:
		w.say("Here is the ", label(what), " of each ", label(pl.dims[0].name), ".")
	case hi == nil:
		w.Text("There are groups, but no figures.")
	case len(res.Rows) == 1:
		w.Text("**")
		w.writeLabels(pl, res, 0)
		w.say("**: ", label(what), " ", pl.figure(res, 0), ".")
	case len(hi) == len(res.Rows) && !pl.wantsFirstGroup():
		w.Text(map[bool]string{true: "These all", false: "All"}[pl.limit > 0 || res.Count > len(res.Rows)])
		w.say(" have the same ", label(what), ", **", pl.figure(res, 0), "**.")
	case pl.order == 0 && pl.mixesCurrencies():
		w.say(label(UpperFirst(what)), " in each currency:")
	case pl.order > 0:
		w.writeEnd(pl, res, lo, "lowest", what)
		w.Text(".")
	default:
		w.writeEnd(pl, res, hi, "highest", what)
		if pl.limit == 0 && pl.order == 0 {
			w.Text("; ")
			w.writeEnd(pl, res, lo, "lowest", "")
		}
		w.Text(".")
	}
	if len(res.Rows) > 1 {
		w.writeTable(res, pl, false)
	}
}

// writeEnd writes all groups that share the highest or the lowest figure. Without what, it continues a sentence.
func (w *Writer) writeEnd(pl *plan, res Result, rows []int, word, what string) {
	w.writeNames(pl, res, rows)
	if what != "" {
		w.Text(map[bool]string{true: " have", false: " has"}[len(rows) > 1 || nameless(pl, res, rows[0])])
	}
	w.Text(" the " + word)
	if what != "" {
		w.say(" ", label(strings.TrimPrefix(what, word+" ")))
	}
	w.say(", **", pl.figure(res, rows[0]), "**")
	if len(rows) > 1 {
		w.Text(" each")
	}
}

// namedEquals is the maximum number of groups with the same figure that the text names. The table shows more.
const namedEquals = 3

// writeNames writes the names of groups, at most namedEquals.
func (w *Writer) writeNames(pl *plan, res Result, rows []int) {
	some := rows[:min(namedEquals, len(rows))]
	for i, r := range some {
		switch {
		case i > 0 && i == len(rows)-1:
			w.Text(" and ")
		case i > 0:
			w.Text(", ")
		}
		w.writeLabels(pl, res, r)
	}
	if len(rows) > len(some) {
		w.Text(" and others")
	}
}

// chartFor returns the chart that suits a result: a line for periods, bars for groups.
func chartFor(pl *plan, res Result) (map[string]any, bool) {
	if pl.kind != kindAggregate || len(pl.dims) == 0 || len(pl.dims) > 2 ||
		pl.chart == "none" || res.Count < 2 || len(res.Columns) < 2 {
		return nil, false
	}
	if c := pl.measures[0].col; c != nil && c.role == roleDate && pl.measures[0].since == nil &&
		pl.measures[0].agg != aggDistinct {
		return nil, false // a bar cannot show a date
	}
	kind := "bar"
	time := pl.dims[0].bucket != ""
	if pl.mixesCurrencies() && !time {
		return nil, false // bars of different currencies cannot be compared
	}
	if time && !isRecurring(pl.dims[0].bucket) {
		kind = "line"
	}
	if time && res.Count < 3 {
		kind = "bar"
	}
	if pl.chart == "line" || pl.chart == "bar" || pl.chart == "pie" {
		kind = pl.chart
	}
	if !time && res.Count > 30 && pl.chart == "" || res.Count > 1000 ||
		kind == "pie" && (res.Count > 30 || len(pl.dims) > 1) {
		return nil, false
	}
	title := pl.figureName()
	spec := map[string]any{"result": res.ID, "type": kind, "x": res.Columns[0], "y": res.Columns[pl.figureColumn(res)],
		"title": UpperFirst(title) + " by " + pl.dims[0].name, "thought": "A chart of the result."}
	if len(pl.dims) == 2 {
		spec["series"] = res.Columns[1]
	}
	return spec, true
}
