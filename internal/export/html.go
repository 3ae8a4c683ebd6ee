package export

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// Limits on the rows of a result that a page shows.
const (
	pageRows  = 200
	pageCells = 20_000
	pageCell  = 500 // characters of a cell
)

// HTML returns a conversation as one page: questions, answers with their footnotes, and the queries and rows
// behind them. The page has no script and loads nothing. rows reads the first rows of a result.
func HTML(head footnote.Stream, events []footnote.Event,
	rows func(res footnote.StoredResult, limit int) ([][]any, error)) ([]byte, error) {
	kept := withoutRewound(events)
	d := document{
		Title: cmp.Or(head.Title, "Conversation"), Created: day(head.Created), Updated: day(head.Updated),
		Conversation: head.ID, cited: citedCells(kept), rows: rows,
	}
	for _, ev := range kept {
		if err := d.add(ev); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	if err := page.Execute(&out, d); err != nil {
		return nil, fmt.Errorf("write the page: %w", err)
	}
	return out.Bytes(), nil
}

// document is the content of the page.
type document struct {
	Title, Conversation, Created, Updated string
	Parts                                 []part

	cited map[cellKey]bool
	rows  func(res footnote.StoredResult, limit int) ([][]any, error)
}

// part is one item of the page; the field that is set determines its kind.
type part struct {
	Question string
	Answer   *answer
	Result   *shownResult
	Note     string
}

type answer struct {
	Text, Chart template.HTML
	Footnotes   []note
	Open        []string // numbers without a footnote
	Verified    []footnote.VerifiedResult
}

// note is a footnote: its text and its target.
type note struct {
	Number             int
	Seq                int64
	Text, Value, Where string
	Link               string // an anchor on the page; empty when the cell is not shown
}

type shownResult struct {
	ID, Source, SQL, By string
	Verified            *footnote.Verified
	Count               int
	Left                int // number of rows not shown
	Truncated           bool
	Columns             []string
	Units               []string // of the columns, or ""
	Nums                []bool   // whether each column holds figures
	Rows                [][]shownCell
	raw                 [][]any
}

// Head returns the column names, each aligned like its cells.
func (r *shownResult) Head() []shownCell {
	head := make([]shownCell, len(r.Columns))
	for i, name := range r.Columns {
		if unit := r.Units[i]; unit != "" {
			name += " (" + short(unit, 40) + ")"
		}
		head[i] = shownCell{Text: name, Num: r.Nums[i]}
	}
	return head
}

type shownCell struct {
	ID   string // set if a footnote links here
	Text string
	Num  bool
}

func day(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

// withoutRewound returns the events that were not rewound.
func withoutRewound(events []footnote.Event) []footnote.Event {
	var kept []footnote.Event
	for _, ev := range events {
		if b, ok := ev.Body.(footnote.Rewound); ok {
			kept = slices.DeleteFunc(kept, func(e footnote.Event) bool { return e.Seq > b.ToSeq })
			continue
		}
		kept = append(kept, ev)
	}
	return kept
}

// cellKey identifies a cell of a result.
type cellKey struct {
	result string
	row    int
	column string
}

func citedCells(events []footnote.Event) map[cellKey]bool {
	cells := map[cellKey]bool{}
	for _, ev := range events {
		if a, ok := ev.Body.(footnote.Answered); ok {
			for _, c := range a.Cites {
				if c.Row != nil && c.Column != "" {
					cells[cellKey{c.Result, *c.Row, c.Column}] = true
				}
			}
		}
	}
	return cells
}

func (d *document) add(ev footnote.Event) error {
	switch b := ev.Body.(type) {
	case footnote.UserMessage:
		d.Parts = append(d.Parts, part{Question: b.Text})
	case footnote.Imported:
		for _, t := range b.Turns {
			p := part{Question: t.Text}
			if t.Role != "user" {
				p = part{Answer: &answer{Text: render(t.Text, nil)}}
			}
			d.Parts = append(d.Parts, p)
		}
	case footnote.ToolResult:
		if b.Result != nil {
			return d.result(*b.Result, "")
		}
	case footnote.QueryRun:
		return d.result(b.Result, b.By)
	case footnote.SourceAdded:
		d.Parts = append(d.Parts, part{Note: "The source " + b.Source + " was added."})
	case footnote.Answered:
		// The results behind an answer come below it.
		i := len(d.Parts)
		for i > 0 && d.Parts[i-1].Result != nil {
			i--
		}
		d.Parts = slices.Insert(d.Parts, i, part{Answer: d.answer(ev.Seq, b)})
	case footnote.Unreadable:
		d.Parts = append(d.Parts, part{Note: fmt.Sprintf("Event %d of this conversation cannot be read.", ev.Seq)})
	case footnote.RunFailed:
		d.Parts = append(d.Parts, part{Note: "No answer: " + b.Message})
	case footnote.RunStopped:
		d.Parts = append(d.Parts, part{Note: "The answer was stopped."})
	}
	return nil
}

func (d *document) result(res footnote.StoredResult, by string) error {
	limit := min(pageRows, pageCells/max(1, len(res.Columns)))
	rows, err := d.rows(res, limit)
	switch footnote.CodeOf(err) {
	case "":
	case footnote.StorageDamaged:
		d.Parts = append(d.Parts, part{Note: fmt.Sprintf("The rows of result %s cannot be read.", res.ID)})
		return nil
	case footnote.NotFound: // the statement is still there
		d.Parts = append(d.Parts, part{Note: fmt.Sprintf("The rows of result %s have expired.", res.ID)})
	default:
		return err
	}
	shown := &shownResult{
		ID: res.ID, Source: res.Source, SQL: res.SQL, By: by, Count: res.RowCount, Left: res.RowCount - len(rows),
		Truncated: res.Truncated, Verified: res.Verified, raw: rows,
	}
	if shown.Source == "client" {
		shown.Source = "in the browser"
	}
	for _, c := range res.Columns {
		shown.Columns, shown.Units = append(shown.Columns, c.Name), append(shown.Units, c.Unit)
		shown.Nums = append(shown.Nums,
			c.Kind == footnote.KindInteger || c.Kind == footnote.KindNumber || c.Kind == footnote.KindDecimal)
	}
	months := monthColumns(rows, len(res.Columns))
	for r, row := range rows {
		cells := make([]shownCell, len(res.Columns))
		for i, c := range res.Columns {
			cells[i] = shownCell{Text: short(text(at(row, i)), pageCell), Num: shown.Nums[i]}
			if months[i] {
				cells[i].Text = words(cells[i].Text)
			}
			if d.cited[cellKey{res.ID, r, c.Name}] {
				cells[i].ID = anchor(res.ID, r, i)
			}
		}
		shown.Rows = append(shown.Rows, cells)
	}
	d.Parts = append(d.Parts, part{Result: shown})
	return nil
}

func anchor(result string, row, column int) string {
	return result + "-" + strconv.Itoa(row) + "-" + strconv.Itoa(column)
}

// shown returns the first result on the page with an id, or nil.
func (d *document) shown(id string) *shownResult {
	for _, p := range d.Parts {
		if p.Result != nil && p.Result.ID == id {
			return p.Result
		}
	}
	return nil
}

// anchorOf returns the anchor of a footnote's cell on the page.
func (d *document) anchorOf(c footnote.Cite) string {
	r := d.shown(c.Result)
	if r == nil {
		return ""
	}
	column := slices.Index(r.Columns, c.Column)
	if c.Row == nil || *c.Row < 0 || *c.Row >= len(r.Rows) || column < 0 {
		return r.ID
	}
	return anchor(c.Result, *c.Row, column)
}

func (d *document) answer(seq int64, b footnote.Answered) *answer {
	b.Text, b.Cites = inWords(b.Text, b.Cites)
	a := &answer{}
	marks := map[int]string{}   // by position
	numbers := map[string]int{} // by citation, to reuse numbers
	for _, c := range b.Cites {
		if c.Formula == fromQuestion {
			continue
		}
		link, where := d.anchorOf(c), whereFrom(c)
		if inTable(b.Text, c.Start) {
			if link != "" && !strings.ContainsAny(b.Text[c.Start:c.End], "*`|\n") {
				marks[c.Start] += fmt.Sprintf(`<a class="cell" href="#%s" title="%s">`, template.HTMLEscapeString(link),
					template.HTMLEscapeString(where))
				marks[c.End] = "</a>" + marks[c.End]
			}
			continue
		}
		key := fmt.Sprint(c.Result, "|", where)
		n, known := numbers[key]
		if !known {
			n = len(a.Footnotes) + 1
			numbers[key] = n
			a.Footnotes = append(a.Footnotes, note{
				Number: n, Seq: seq, Text: c.Text, Value: c.Value, Where: where, Link: link,
			})
		}
		marks[c.End] += fmt.Sprintf(`<sup><a href="#n%d-%d">%d</a></sup>`, seq, n, n)
	}
	for _, u := range b.Unresolved {
		a.Open = append(a.Open, u.Text)
	}
	a.Text = render(b.Text, marks)
	a.Chart = d.draw(b.Chart)
	a.Verified = b.Verified
	return a
}

// fromQuestion is the formula of a number that came from the question itself: it needs no footnote.
const fromQuestion = "question"

// inTable reports whether an offset in a text is inside a table, whose cells link to their sources themselves.
func inTable(s string, at int) bool {
	line := s[strings.LastIndexByte(s[:at], '\n')+1 : at]
	return strings.HasPrefix(strings.TrimSpace(line), "|")
}

// whereFrom describes the origin of a number.
func whereFrom(c footnote.Cite) string {
	switch {
	case c.Formula != "":
		return c.Formula
	case c.Row != nil:
		return fmt.Sprintf("%s, row %d, column %s", c.Result, *c.Row+1, c.Column)
	default:
		return c.Result
	}
}
