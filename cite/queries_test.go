package cite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/cite"
	"github.com/footnotehq/footnote/model/offline/evalset"
)

// maxAnswerRows is the number of rows up to which a result is answered in a list or table.
const maxAnswerRows = 12

// TestPublicQueries measures answers made by templates from the evaluation questions of the offline planner and the
// results of their gold SQL, over the sources in SQLite. Misses are not listed, so that nobody tunes for them.
func TestPublicQueries(t *testing.T) {
	answers := map[string][]*transcript{}
	for _, set := range []evalset.Set{evalset.Frozen, evalset.Heldout, evalset.Blind, evalset.Fresh, evalset.Unseen} {
		dir := t.TempDir()
		if _, err := set.Materialize(dir); err != nil {
			t.Fatal(err)
		}
		for _, source := range set.Sources() {
			if source.Kind != evalset.KindSQLite {
				continue
			}
			db, err := sql.Open("sqlite", filepath.Join(dir, source.File))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, q := range set.Questions() {
				if q.Source != source.Name || !q.Answerable {
					continue
				}
				result := cite.Table{ID: "r1", SQL: q.Gold, Result: queryAll(t, db, q.Gold)}
				result.RowCount = len(result.Result.Rows)
				for shape, tr := range answerQuery(q.Question, result) {
					tr.name = q.ID
					answers[shape] = append(answers[shape], tr)
				}
			}
		}
	}
	text, s := scoreTable([]string{"single figure", "list", "table"}, answers)
	t.Logf("answers over gold queries:\n%s", text)
	checkScore(t, s, 99.5, 0.5, 98.5)
}

// queryAll runs a statement. Columns get the kinds of their values.
func queryAll(t *testing.T, db *sql.DB, text string) footnote.Result {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text)
	if err != nil {
		t.Fatalf("run %s: %v", text, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var res footnote.Result
	for _, name := range names {
		res.Columns = append(res.Columns, footnote.Column{Name: name, Kind: footnote.KindInteger})
	}
	for rows.Next() {
		row, refs := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			refs[i] = &row[i]
		}
		if err := rows.Scan(refs...); err != nil {
			t.Fatal(err)
		}
		for i, cell := range row {
			switch v := cell.(type) {
			case nil, int64:
			case float64:
				if res.Columns[i].Kind == footnote.KindInteger {
					res.Columns[i].Kind = footnote.KindNumber
				}
			case time.Time:
				row[i], res.Columns[i].Kind = v.Format(time.DateOnly), footnote.KindDate
			default:
				res.Columns[i].Kind = footnote.KindText
			}
		}
		res.Rows = append(res.Rows, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return res
}

// answerQuery returns the answers of every shape that fits a result.
func answerQuery(question string, result cite.Table) map[string]*transcript {
	res := result.Result
	isNumber := func(col int) bool {
		return res.Columns[col].Kind == footnote.KindInteger || res.Columns[col].Kind == footnote.KindNumber
	}
	out := map[string]*transcript{}
	add := func(shape string, fill func(tr *transcript)) {
		tr := &transcript{question: question, results: []cite.Table{result}}
		if fill(tr); len(tr.marks) > 0 {
			out[shape] = tr
		}
	}
	if len(res.Rows) == 1 && len(res.Columns) == 1 && isNumber(0) {
		add("single figure", func(tr *transcript) {
			before, after := statement(question)
			tr.write(before)
			tr.cell(0, 0)
			tr.write(after)
		})
		return out
	}
	if len(res.Rows) == 0 || len(res.Rows) > maxAnswerRows || len(res.Columns) < 2 {
		return nil
	}
	heading := "**" + capital(strings.TrimSpace(question)) + "**\n\n"
	if len(res.Columns) == 2 && !isNumber(0) && isNumber(1) {
		add("list", func(tr *transcript) {
			tr.write(heading)
			for i, row := range res.Rows {
				tr.write("- " + shown(row[0]) + ": ")
				tr.cell(i, 1)
				tr.write("\n")
			}
		})
	}
	add("table", func(tr *transcript) {
		tr.write(heading + "|")
		for _, c := range res.Columns {
			tr.write(" " + c.Name + " |")
		}
		tr.write("\n|" + strings.Repeat("---|", len(res.Columns)) + "\n")
		for i, row := range res.Rows {
			tr.write("|")
			for c := range row {
				tr.write(" ")
				if c > 0 && isNumber(c) {
					tr.cell(i, c)
				} else {
					tr.write(shown(row[c]))
				}
				tr.write(" |")
			}
			tr.write("\n")
		}
	})
	return out
}

func shown(cell any) string {
	if cell == nil {
		return "–"
	}
	return fmt.Sprint(cell)
}

// cell appends a numeric cell of the only result to the answer, with wrong figures.
func (tr *transcript) cell(row, col int) {
	rows := tr.results[0].Result.Rows
	v := rows[row][col]
	if v == nil {
		tr.write(shown(v))
		return
	}
	var s style
	if _, ok := v.(float64); ok {
		s.decimals = 2
	}
	f := formula{
		cells: [][2]int{{row, col}},
		value: func(at [][2]int) float64 { return amount(rows[at[0][0]][at[0][1]]) },
		style: s,
	}
	tr.figure(s.figure(toFloat(v)), truth{class: "cell=", value: toFloat(v), cell: [3]int{0, row, col}, cellV: v},
		f.plants(tr.results[0]))
}
