package cite_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/cite"
)

// The corpus is testdata/corpus/*.txtar: transcripts whose answers mark every numeral as {text|spec|!wrong:class…}. A
// spec names the source of the numeral:
//
//	Berlin.revenue            a cell: its row by any cell in it, two cells joined by &, or # and the row number
//	r2:Berlin.revenue         a cell of a given result
//	sum revenue, avg, min, max, sum:A+B.revenue, avg:A+B.revenue, sum:r2:revenue; NULLs are skipped
//	diff X Y, ratio X Y, growth X Y, pp X Y, days X Y, share X, share2 X Y
//	per100 X Y                100 * X / Y
//	count r1 [column op value or column], rank X, top, thr
//	prod X Y, add X Y …       a product or a sum of cells in different columns
//	q, sql                    repeats the question or the SQL
//	cell                      any cell with the value
//	skip                      not a claim: any outcome except "unresolved" is right
//
// Alternatives are separated by " / ". For each wrong numeral there is a variant of the transcript in which it replaces
// the right one.

type transcript struct {
	name, question string
	results        []cite.Table
	text           string // with the right numerals
	marks          []mark
}

// mark is an annotated numeral of the answer.
type mark struct {
	start, end int // in text
	spec       string
	gold       *truth // instead of spec
	wrong      []plant
}

// plant is a wrong numeral that the resolver should flag. class says how it is wrong.
type plant struct{ text, class string }

var markup = regexp.MustCompile(`\{([^{}|]*)\|([^{}|]*)((?:\|![^{}|]*)*)\}`)

func loadCorpus(t testing.TB, pattern string) []*transcript {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "corpus", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus %s: %v", pattern, err)
	}
	var out []*transcript
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		byName := map[string]*transcript{}
		for _, f := range txtar.Parse(data).Files {
			id, part, _ := strings.Cut(f.Name, "/")
			tr := byName[id]
			if tr == nil {
				tr = &transcript{name: id}
				byName[id] = tr
				out = append(out, tr)
			}
			loadPart(t, tr, part, string(f.Data))
		}
	}
	return out
}

func loadPart(t testing.TB, tr *transcript, part, data string) {
	t.Helper()
	part, truncated := strings.CutSuffix(part, " truncated")
	switch id, ext, _ := strings.Cut(part, "."); {
	case part == "question":
		tr.question = strings.TrimSpace(data)
	case part == "answer":
		tr.parse(strings.TrimSuffix(data, "\n"))
	case ext == "sql":
		tr.results = append(tr.results, cite.Table{ID: id, SQL: strings.TrimSpace(data)})
	case ext == "csv":
		res := loadCSV(t, data)
		res.Truncated = truncated
		last := &tr.results[len(tr.results)-1]
		last.Result, last.RowCount = res, len(res.Rows)
	default:
		t.Fatalf("%s: unknown part %q", tr.name, part)
	}
}

func (tr *transcript) parse(marked string) {
	var b strings.Builder
	at := 0
	for _, m := range markup.FindAllStringSubmatchIndex(marked, -1) {
		b.WriteString(marked[at:m[0]])
		mk := mark{start: b.Len(), spec: marked[m[4]:m[5]]}
		b.WriteString(marked[m[2]:m[3]])
		mk.end = b.Len()
		for _, w := range strings.Split(marked[m[6]:m[7]], "|!") {
			if i := strings.LastIndex(w, ":"); i > 0 {
				mk.wrong = append(mk.wrong, plant{w[:i], w[i+1:]})
			}
		}
		tr.marks = append(tr.marks, mk)
		at = m[1]
	}
	b.WriteString(marked[at:])
	tr.text = b.String()
}

var csvKinds = map[string]string{"t": footnote.KindText, "i": footnote.KindInteger, "n": footnote.KindNumber,
	"d":    footnote.KindDecimal,
	"date": footnote.KindDate, "ts": footnote.KindTimestamp, "b": footnote.KindBoolean}

func loadCSV(t testing.TB, data string) footnote.Result {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var res footnote.Result
	for _, h := range records[0] {
		name, kind, _ := strings.Cut(h, ":")
		res.Columns = append(res.Columns, footnote.Column{Name: name, Kind: csvKinds[kind]})
	}
	for _, rec := range records[1:] {
		var row []any
		for i, s := range rec {
			var cell any = s
			switch kind := res.Columns[i].Kind; {
			case s == "":
				cell = nil
			case kind == footnote.KindInteger:
				cell, err = strconv.ParseInt(s, 10, 64)
			case kind == footnote.KindNumber:
				cell, err = strconv.ParseFloat(s, 64)
			case kind == footnote.KindBoolean:
				cell, err = strconv.ParseBool(s)
			}
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, cell)
		}
		res.Rows = append(res.Rows, row)
	}
	return res
}

// cellAt reads a cell of a spec: [rN:]ROW.COLUMN.
func (tr *transcript) cellAt(spec string) (table, row, col int, err error) {
	rest := spec
	if len(spec) > 3 && spec[0] == 'r' && spec[2] == ':' {
		table, rest = int(spec[1]-'1'), spec[3:]
	}
	dot := strings.LastIndex(rest, ".")
	if dot < 0 {
		return 0, 0, 0, fmt.Errorf("no column in %q", spec)
	}
	label, column := rest[:dot], rest[dot+1:]
	res := tr.results[table].Result
	col = slices.IndexFunc(res.Columns, func(c footnote.Column) bool { return c.Name == column })
	if col < 0 {
		return 0, 0, 0, fmt.Errorf("no column %q", column)
	}
	if n, ok := strings.CutPrefix(label, "#"); ok {
		row, err = strconv.Atoi(n)
		return table, row, col, err
	}
	row = slices.IndexFunc(res.Rows, func(r []any) bool {
		matched := false
		parts := strings.Split(label, "&")
		if strings.Contains(label, "_&_") {
			parts = []string{label}
		}
		for _, l := range parts {
			matched = slices.ContainsFunc(r, func(c any) bool {
				return c != nil && strings.ReplaceAll(fmt.Sprint(c), " ", "_") == l
			})
			if !matched {
				return false
			}
		}
		return matched
	})
	if row < 0 {
		return 0, 0, 0, fmt.Errorf("no row %q", label)
	}
	return table, row, col, nil
}

func toFloat(c any) float64 {
	switch v := c.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case string:
		f, _ := strconv.ParseFloat(v, 64)
		return f
	}
	return math.NaN()
}

// operand returns the value of a cell, of sum:A+B.column, or of sum:[rN:]column.
func (tr *transcript) operand(spec string) (float64, []int, error) {
	if s, ok := strings.CutPrefix(spec, "sum:"); ok {
		dot := strings.LastIndex(s, ".")
		sum, rows := 0.0, []int{}
		if dot < 0 {
			table, prefix := 0, ""
			if len(s) > 3 && s[0] == 'r' && s[2] == ':' {
				table, prefix, s = int(s[1]-'1'), s[:3], s[3:]
			}
			for i := range tr.results[table].Result.Rows {
				v, _, err := tr.operand(fmt.Sprintf("%s#%d.%s", prefix, i, s))
				if err != nil {
					return 0, nil, err
				}
				if !math.IsNaN(v) {
					sum += v
				}
			}
			return sum, nil, nil
		}
		for l := range strings.SplitSeq(s[:dot], "+") {
			v, r, err := tr.operand(l + s[dot:])
			if err != nil {
				return 0, nil, err
			}
			sum += v
			rows = append(rows, r...)
		}
		sort.Ints(rows)
		return sum, rows, nil
	}
	t, r, c, err := tr.cellAt(spec)
	if err != nil {
		return 0, nil, err
	}
	return toFloat(tr.results[t].Result.Rows[r][c]), []int{r}, nil
}

// truth is the meaning of a spec, computed independently of the resolver.
type truth struct {
	class string
	value float64 // NaN if the spec has none
	rows  []int   // that the formula uses
	cell  [3]int  // class cell: table, row, column
	cellV any
	cells [][2]int // class cells: rows and columns that the formula uses
}

// withoutValue lists the classes of specs that name a source and no value.
var withoutValue = []string{"q", "sql", "skip", "top", "thr", "cell", "rank"}

func (tr *transcript) truth(spec string) (truth, error) {
	f := strings.Fields(spec)
	out := truth{class: f[0], value: math.NaN()}
	v := make([]float64, max(2, len(f)-1))
	if len(f) > 1 && f[0] != "count" && f[0] != "sum" && f[0] != "avg" && f[0] != "min" && f[0] != "max" &&
		f[0] != "days" {
		for i, a := range f[1:] {
			x, rows, err := tr.operand(a)
			if err != nil {
				return out, err
			}
			v[i] = x
			out.rows = append(out.rows, rows...)
		}
		sort.Ints(out.rows)
		out.rows = slices.Compact(out.rows)
	}
	if slices.Contains(withoutValue, f[0]) {
		return out, nil
	}
	switch f[0] {
	case "sum", "avg", "min", "max":
		return out, tr.aggregate(f, &out)
	case "count":
		return out, tr.count(f[1:], &out)
	case "diff", "pp":
		out.value = v[0] - v[1]
	case "ratio", "share2":
		out.value = v[0] / v[1]
		if len(f) == 2 { // of the whole column
			dot := strings.LastIndex(f[1], ".")
			all, _, err := tr.operand("sum:" + f[1][dot+1:])
			out.value = v[0] / all
			return out, err
		}
	case "per100":
		out.value = 100 * v[0] / v[1]
	case "growth":
		out.value = v[0]/v[1] - 1
	case "prod":
		out.value = v[0] * v[1]
	case "add":
		out.value = 0
		for _, x := range v {
			out.value += x
		}
	case "share":
		dot := strings.LastIndex(f[1], ".")
		all, _, err := tr.operand("sum:" + f[1][dot+1:])
		out.value = v[0] / all
		return out, err
	case "days":
		return out, tr.days(f, &out)
	default:
		if rest, ok := strings.CutPrefix(f[0], "sum:"); ok {
			x, rows, err := tr.operand("sum:" + rest)
			out.class, out.value, out.rows = "sumrows", x, rows
			return out, err
		}
		if rest, ok := strings.CutPrefix(f[0], "avg:"); ok {
			x, rows, err := tr.operand("sum:" + rest)
			out.class, out.value, out.rows = "avgrows", x/float64(len(rows)), rows
			return out, err
		}
		t, r, c, err := tr.cellAt(f[0])
		if err != nil {
			return out, err
		}
		out.class, out.cell = "cell=", [3]int{t, r, c}
		out.cellV = tr.results[t].Result.Rows[r][c]
		out.value = toFloat(out.cellV)
	}
	return out, nil
}

func (tr *transcript) aggregate(f []string, out *truth) error {
	var xs []float64
	for i := range tr.results[0].Result.Rows {
		x, _, err := tr.operand(fmt.Sprintf("#%d.%s", i, f[1]))
		if err != nil {
			return err
		}
		if !math.IsNaN(x) {
			xs = append(xs, x)
		}
	}
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	out.value = map[string]float64{
		"sum": sum, "avg": sum / float64(len(xs)), "min": slices.Min(xs), "max": slices.Max(xs),
	}[f[0]]
	return nil
}

func (tr *transcript) count(f []string, out *truth) error {
	rows := tr.results[f[0][1]-'1'].Result.Rows
	if len(f) == 1 {
		out.value = float64(len(rows))
		return nil
	}
	out.value = 0
	limit, columnErr := strconv.ParseFloat(f[3], 64)
	for i := range rows {
		_, _, c, err := tr.cellAt(fmt.Sprintf("#%d.%s", i, f[1]))
		if err != nil {
			return err
		}
		if columnErr != nil && f[2] != "=" {
			if limit, _, err = tr.operand(fmt.Sprintf("#%d.%s", i, f[3])); err != nil {
				return err
			}
		}
		x := toFloat(rows[i][c])
		if f[2] == ">" && x > limit || f[2] == "<" && x < limit || f[2] == "=" && fmt.Sprint(rows[i][c]) == f[3] {
			out.value++
		}
	}
	return nil
}

func (tr *transcript) days(f []string, out *truth) error {
	var at [2]time.Time
	for i, a := range f[1:] {
		t, r, c, err := tr.cellAt(a)
		if err != nil {
			return err
		}
		s, _ := tr.results[t].Result.Rows[r][c].(string)
		if at[i], err = time.Parse("2006-01-02", s[:10]); err != nil {
			return err
		}
		out.rows = append(out.rows, r)
	}
	sort.Ints(out.rows)
	out.rows = slices.Compact(out.rows)
	out.value = at[1].Sub(at[0]).Hours() / 24
	return nil
}

var hoursAndMinutes = regexp.MustCompile(`\d h \d+ min`)

var plainNumber = regexp.MustCompile(`\d[\d.,'  ]*`)

// TestCorpusAnnotations checks the corpus itself: every right numeral has the value of its spec, and every wrong
// numeral differs from the right one.
func TestCorpusAnnotations(t *testing.T) {
	numerals, plants, moved := 0, 0, 0
	for _, tr := range loadCorpus(t, "*.txtar") {
		for _, m := range tr.marks {
			text := tr.text[m.start:m.end]
			numerals++
			plants += len(m.wrong)
			for _, w := range m.wrong {
				if w.class == "row" || w.class == "col" {
					moved++
				}
				if w.text == text {
					t.Errorf("%s: the wrong numeral %q equals the right one", tr.name, w.text)
				}
			}
			for spec := range strings.SplitSeq(m.spec, " / ") {
				want, err := tr.truth(spec)
				if err != nil {
					t.Errorf("%s: {%s|%s}: %v", tr.name, text, spec, err)
					continue
				}
				if math.IsNaN(want.value) && !slices.Contains(withoutValue, want.class) {
					t.Errorf("%s: {%s|%s} has no value", tr.name, text, spec)
				}
				if !plausible(text, want, tr.text) {
					t.Errorf("%s: {%s|%s} is %v", tr.name, text, spec, want.value)
				}
			}
		}
	}
	t.Logf("%d numerals, %d wrong variants, %d of them values of another row or column", numerals, plants, moved)
	if numerals < 400 || plants < 100 || moved < 50 {
		t.Errorf("the corpus has shrunk")
	}
}

// plausible compares a numeral with its truth loosely. It accepts any usual meaning of the digits, at the written
// precision, in the unit of the numeral or of a header in the answer.
func plausible(text string, want truth, answer string) bool {
	raw := strings.TrimRight(plainNumber.FindString(text), "., ")
	if raw == "" || math.IsNaN(want.value) || hoursAndMinutes.MatchString(text) ||
		strings.ContainsAny(fmt.Sprint(want.cellV), ":") || strings.LastIndex(fmt.Sprint(want.cellV), "-") > 0 {
		return true
	}
	scale := 1.0
	low := strings.ToLower(strings.TrimSuffix(text, " m")) // metres, not millions
	for _, unit := range []string{"times", "minutes", "min", "mwh", "gwh", "kwh", "km", " mm", " kredite"} {
		low = strings.TrimSuffix(low, unit)
	}
	for _, s := range []struct {
		w string
		f float64
	}{
		{"million", 1e6},
		{"milh", 1e6},
		{"mio", 1e6},
		{"billion", 1e9},
		{" mil", 1e3},
		{"tsd", 1e3},
		{"m", 1e6},
		{"k", 1e3},
	} {
		if strings.Contains(low, s.w) {
			scale = s.f
			break
		}
	}
	for _, marks := range [][2]string{{",'  ", "."}, {".'  ", ","}} {
		s := strings.Map(func(c rune) rune {
			if strings.ContainsRune(marks[0], c) {
				return -1
			}
			return c
		}, raw)
		s = strings.ReplaceAll(s, marks[1], ".")
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			continue
		}
		unit := 1.0
		if i := strings.IndexByte(s, '.'); i >= 0 {
			unit = math.Pow(10, -float64(len(s)-i-1))
		}
		if strings.HasSuffix(s, "0000") {
			unit = 10000 // possibly rounded
		} else if strings.HasSuffix(s, "000") {
			unit = 1000
		} else if strings.HasSuffix(s, "00") && !strings.Contains(s, ".") {
			unit = 100
		} else if strings.HasSuffix(s, "0") && len(s) > 3 && !strings.Contains(s, ".") {
			unit = 10
		}
		for _, f := range append([]float64{1, 100}, unitFactors(text, answer)...) {
			if math.Abs(math.Abs(want.value)*f-x*scale) <= unit*scale*0.5000001+1e-6 {
				return true
			}
		}
	}
	return false
}

// unitFactors returns the factors that convert the units of columns (keur, cents, ms, minutes, kwh, kg) to those in an
// answer.
func unitFactors(text, answer string) []float64 {
	var out []float64
	for unit, factors := range map[string][]float64{
		"million": {1e3}, "€": {1e3, 0.01}, "$": {0.01}, "min": {1.0 / 60000}, "seconds": {1e-3}, " s": {1e-3},
		"hours": {1.0 / 60},
		"MWh":   {1e-3}, "GWh": {1e-6}, "tonnes": {1e-3}, "cents": {100},
	} {
		if strings.Contains(text, unit) {
			out = append(out, factors...)
		}
	}
	if strings.Contains(answer, "(MWh)") || strings.Contains(answer, "| Mio. €") {
		out = append(out, 1e-3)
	}
	if strings.Contains(answer, "€{"+text) || strings.Contains(answer, "€"+text) {
		out = append(out, 1e3, 0.01)
	}
	if strings.Contains(answer, "$"+text) {
		out = append(out, 0.01)
	}
	return out
}

// verdict is the outcome for one numeral.
type verdict int

const (
	right     verdict = iota // the right cell or formula
	otherwise                // another cell or formula
	flagged                  // unresolved
	silent                   // neither cited nor unresolved
)

func (tr *transcript) judge(m mark, cites []footnote.Cite, open []footnote.Unresolved) (verdict, string) {
	for _, u := range open {
		if u.Start < m.end && m.start < u.End {
			return flagged, u.Reason
		}
	}
	if m.spec == "skip" {
		return right, ""
	}
	for _, c := range cites {
		if c.Start >= m.end || m.start >= c.End {
			continue
		}
		if slices.ContainsFunc(tr.truths(m), func(want truth) bool { return tr.isSame(want, c) }) {
			return right, ""
		}
		where := c.Formula
		if c.Row != nil {
			where = fmt.Sprintf("%s[%d].%s", c.Result, *c.Row, c.Column)
		}
		return otherwise, where
	}
	return silent, ""
}

// truths returns every right reading of a numeral.
func (tr *transcript) truths(m mark) []truth {
	if m.gold != nil {
		return []truth{*m.gold}
	}
	var out []truth
	for spec := range strings.SplitSeq(m.spec, " / ") {
		if want, err := tr.truth(spec); err == nil {
			out = append(out, want)
		}
	}
	return out
}

var conversion = regexp.MustCompile(` ([*/]) (\d+)$`)

var rowRef = regexp.MustCompile(`\[([\d,]+)\]`)

// isSame reports whether a footnote has the cell or formula of a truth, or an equivalent one.
func (tr *transcript) isSame(want truth, c footnote.Cite) bool {
	if want.class == "cells" {
		return tr.isFormulaOver(want, c)
	}
	if c.Row != nil {
		got := tr.results[c.Result[1]-'1'].Result
		col := slices.IndexFunc(got.Columns, func(x footnote.Column) bool { return x.Name == c.Column })
		cell := got.Rows[*c.Row][col]
		if want.class == "cell=" { // the same value in the same row counts
			return c.Result == tr.results[want.cell[0]].ID && *c.Row == want.cell[1] &&
				fmt.Sprint(cell) == fmt.Sprint(want.cellV)
		}
		if want.class == "cell" || want.class == "q" || want.class == "sql" {
			return true
		}
		return (want.class == "min" || want.class == "max") && toFloat(cell) == want.value
	}
	v, _ := strconv.ParseFloat(c.Value, 64)
	near := math.Abs(v-want.value) <= 1e-6*math.Max(1, math.Abs(want.value))
	if m := conversion.FindStringSubmatch(c.Formula); m != nil && !near { // specs use the unit of the cells
		f, _ := strconv.ParseFloat(m[2], 64)
		if m[1] == "*" {
			f = 1 / f
		}
		near = math.Abs(v*f-want.value) <= 1e-6*math.Max(1, math.Abs(want.value))
	}
	rows := []int{}
	for _, m := range rowRef.FindAllStringSubmatch(c.Formula, -1) {
		for s := range strings.SplitSeq(m[1], ",") {
			n, _ := strconv.Atoi(s)
			rows = append(rows, n)
		}
	}
	sort.Ints(rows)
	rows = slices.Compact(rows)
	switch want.class {
	case "q", "sql":
		return c.Formula == "question" || c.Formula == "sql filter"
	case "rank":
		return strings.HasPrefix(c.Formula, "rank(") || strings.HasPrefix(c.Formula, "row(")
	case "top":
		return strings.HasPrefix(c.Formula, "top(") || c.Formula == "question" || c.Formula == "sql filter"
	case "thr":
		return strings.ContainsAny(c.Formula, "<>")
	case "sum", "avg", "min", "max", "count":
		return strings.HasPrefix(c.Formula, want.class+"(") && near
	case "cell=":
		return (strings.HasPrefix(c.Formula, "max(") || strings.HasPrefix(c.Formula, "min(")) && near
	}
	return (near || math.Abs(v+want.value) < 1e-9) && (want.rows == nil || slices.Equal(rows, want.rows))
}

// score counts the verdicts on a set of transcripts.
type score struct {
	transcripts, numerals int
	verdicts              [4]int
	plants                map[string][2]int // class → planted, flagged
	ofRight               [2]int            // the same for numerals whose right text has its right footnote
}

// scoreCorpus runs the resolver over the transcripts and their wrong variants, and calls misses, if not nil, with each
// mistake.
func scoreCorpus(t testing.TB, pattern string, misses func(string)) score {
	return scoreAll(loadCorpus(t, pattern), misses)
}

// scoreAll is scoreCorpus for transcripts that are no files of the corpus.
func scoreAll(all []*transcript, misses func(string)) score {
	s := score{plants: map[string][2]int{}}
	for _, tr := range all {
		s.transcripts++
		cites, open := cite.Resolve(tr.text, tr.results, tr.question)
		for _, m := range tr.marks {
			v, why := tr.judge(m, cites, open)
			s.numerals++
			s.verdicts[v]++
			if v != right && misses != nil {
				misses(fmt.Sprintf("%s: {%s|%s}: %s %s", tr.name, tr.text[m.start:m.end], m.spec,
					[...]string{"", "OTHER", "FLAGGED", "SILENT"}[v], why))
			}
			for _, w := range m.wrong {
				text := tr.text[:m.start] + w.text + tr.text[m.end:]
				cites, open := cite.Resolve(text, tr.results, tr.question)
				moved := mark{start: m.start, end: m.start + len(w.text), spec: "plant"}
				outcome, why := tr.judge(moved, cites, open)
				n := s.plants[w.class]
				n[0]++
				if v == right {
					s.ofRight[0]++
					if outcome == flagged {
						s.ofRight[1]++
					}
				}
				if outcome == flagged {
					n[1]++
				} else if misses != nil {
					misses(fmt.Sprintf("%s: {%s→%s:%s}: NOT FLAGGED %d %s", tr.name, tr.text[m.start:m.end], w.text,
						w.class, outcome, why))
				}
				s.plants[w.class] = n
			}
		}
	}
	return s
}

func (s *score) add(other score) {
	s.transcripts += other.transcripts
	s.numerals += other.numerals
	for v, n := range other.verdicts {
		s.verdicts[v] += n
	}
	s.ofRight[0] += other.ofRight[0]
	s.ofRight[1] += other.ofRight[1]
	for class, n := range other.plants {
		sum := s.plants[class]
		s.plants[class] = [2]int{sum[0] + n[0], sum[1] + n[1]}
	}
}

func (s score) planted() (all, caught int) {
	for _, n := range s.plants {
		all += n[0]
		caught += n[1]
	}
	return all, caught
}

func (s score) String() string {
	var b bytes.Buffer
	pct := func(n, of int) string {
		return fmt.Sprintf("%4d of %4d (%.1f %%)", n, of, 100*float64(n)/float64(max(of, 1)))
	}
	fmt.Fprintf(&b, "  %d transcripts\n", s.transcripts)
	fmt.Fprintf(&b, "  right cell or formula  %s\n", pct(s.verdicts[right], s.numerals))
	fmt.Fprintf(&b, "  other cell or formula  %s\n", pct(s.verdicts[otherwise], s.numerals))
	fmt.Fprintf(&b, "  flagged though right   %s\n", pct(s.verdicts[flagged], s.numerals))
	fmt.Fprintf(&b, "  not found              %s\n", pct(s.verdicts[silent], s.numerals))
	all, caught := s.planted()
	fmt.Fprintf(&b, "  wrong ones flagged     %s\n", pct(caught, all))
	classes := []string{}
	for c := range s.plants {
		classes = append(classes, c)
	}
	sort.Strings(classes)
	for _, c := range classes {
		fmt.Fprintf(&b, "    %-8s             %s\n", c, pct(s.plants[c][1], s.plants[c][0]))
	}
	return b.String()
}

// TestCorpus guards the transcripts that the rules were once written for against regressions. Rules that helped only
// these transcripts have been deleted, so the limits are below the goals of the package. They are close to the current
// values, so that the test notices a change for the worse.
func TestCorpus(t *testing.T) {
	for _, split := range []split{
		{"tune-*", logMiss, 0.9, 0.09, 0.96},
		{"held-*", logMiss, 0.975, 0.025, 0.995},
		{"blind-[ab]", logMiss, 0.935, 0.055, 0.975},
		{"fresh-a", logMiss, 0.89, 0.105, 0.98},
	} {
		split.check(t)
	}
}

// split is a part of the corpus with the limits of its score.
type split struct {
	name                string
	misses              func(t *testing.T) func(string)
	right, over, caught float64 // right: at least, flagged though right: at most, wrong ones flagged: at least
}

func logMiss(t *testing.T) func(string) { return func(miss string) { t.Log(miss) } }

func hideMiss(*testing.T) func(string) { return nil }

func (split split) check(t *testing.T) {
	t.Run(split.name, func(t *testing.T) {
		s := scoreCorpus(t, split.name+".txtar", split.misses(t))
		t.Logf("\n%s", s)
		if got := float64(s.verdicts[right]) / float64(s.numerals); got < split.right {
			t.Errorf("right = %.3f, want at least %.3f", got, split.right)
		}
		if got := float64(s.verdicts[flagged]) / float64(s.numerals); got > split.over {
			t.Errorf("flagged though right = %.3f, want at most %.3f", got, split.over)
		}
		if all, caught := s.planted(); float64(caught) < split.caught*float64(all) {
			t.Errorf("%d of %d wrong numerals flagged, want %.1f %%", caught, all, 100*split.caught)
		}
	})
}

// TestCorpusUnseen measures the transcripts that were written without knowledge of the rules. The rules have since been
// changed because of misses in blind-c and blind-f to blind-h, which the test lists. It does not list the misses of the
// others, so that nobody tunes the rules for them; they decided which rules to delete. The limits are slightly below
// the last measured values, which are in README.md.
func TestCorpusUnseen(t *testing.T) {
	for _, split := range []split{
		{"blind-c", logMiss, 0.91, 0.08, 0.925},
		{"blind-d", hideMiss, 0.85, 0.14, 0.96},
		{"blind-e", hideMiss, 0.945, 0.055, 0.965},
		{"blind-f", logMiss, 0.875, 0.1, 0.955},
		{"blind-g", logMiss, 0.79, 0.205, 0.98},
		{"blind-h", logMiss, 0.8, 0.18, 0.95},
		{"blind-i", hideMiss, 0.875, 0.1, 0.975},
		{"blind-j", hideMiss, 0.775, 0.2, 0.93},
		{"fresh-b", hideMiss, 0.81, 0.19, 0.965},
	} {
		split.check(t)
	}
}
