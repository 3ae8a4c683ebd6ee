package drawing_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/board"
	core "github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/market/tool/drawing"
	"github.com/footnotehq/footnote/tool"
)

// reading is the output of get_drawings.
type reading struct {
	Symbol             string
	Version            int64
	Total, Page, Pages int
	Drawing            *core.Drawing
	Changes            []struct {
		Version            int64
		By, Action, Reason string
		Changes            map[string]core.Diff
	}
	Table struct {
		Result  string
		Columns []string
		Rows    [][]any
	}
}

// cell returns a cell of a row, by its column.
func (r reading) cell(row int, column string) any {
	for i, c := range r.Table.Columns {
		if c == column {
			return r.Table.Rows[row][i]
		}
	}
	panic("there is no column " + column)
}

// ask calls get_drawings on behalf of a principal.
func (r *rig) ask(p footnote.Principal, input string) (answer reading, out tool.Output) {
	r.t.Helper()
	for _, tl := range r.tools {
		if tl.Spec().Name != "get_drawings" {
			continue
		}
		if tl.Spec().Side != tool.Server || !tl.Spec().ReadOnly {
			r.t.Errorf("spec: %+v", tl.Spec())
		}
		out, err := tl.Call(r.t.Context(), tool.Call{
			ID: "l", Name: "get_drawings", Input: json.RawMessage(input), Principal: p, Where: where, ResultID: "r1",
		})
		if err != nil {
			r.t.Fatal(err)
		}
		if !out.IsError {
			if err := json.Unmarshal([]byte(out.Content), &answer); err != nil {
				r.t.Fatalf("%v in %s", err, out.Content)
			}
		}
		return answer, out
	}
	panic("there is no such tool")
}

// TestListPages creates more drawings than a message mentions and reads each of them once, page by page,
// in the order in which a message would list them.
func TestListPages(t *testing.T) {
	r := newRig(t, agenttest.Script())
	var all []core.Drawing
	for i := range 130 {
		d := core.Drawing{
			Type: core.HorizontalLine, Symbol: "EURUSD", Timeframe: "1h", Price: new(1.06 + float64(i)/1e4),
			Notes: strings.Repeat("é", 300),
		}
		if i%2 == 1 {
			d = core.Drawing{
				Type: core.Text, Symbol: "EURUSD", Timeframe: "1h", Text: fmt.Sprint("no ", i),
				Anchors: []core.Anchor{{Time: first, Price: 1.1}},
			}
		}
		all = append(all, d)
	}
	if _, err := r.boards.Import(t.Context(), alice, "EURUSD", all, false, core.Cause{By: core.Human}); err != nil {
		t.Fatal(err)
	}
	if description := r.around.Describe(t.Context(), alice, where); !strings.Contains(description,
		"- and 70 others, which are not listed here: get_drawings lists them") {
		t.Error(description)
	}
	seen := map[any]bool{}
	for page := 1; page <= 3; page++ {
		answer, out := r.ask(alice, fmt.Sprintf(`{"page":%d}`, page))
		if answer.Symbol != "EURUSD" || answer.Version != 130 || answer.Total != 130 || answer.Page != page ||
			answer.Pages != 3 || answer.Table.Result != "r1" || len(out.Rows.Rows) != len(answer.Table.Rows) ||
			out.SQL != fmt.Sprintf(`-- get_drawings {"page":%d}`, page) {
			t.Fatalf("page: %.300s", out.Content)
		}
		for row := range answer.Table.Rows {
			seen[answer.cell(row, "id")] = true
		}
		if first := answer.cell(0, "type"); page < 3 && first != core.HorizontalLine ||
			page == 3 && first != core.Text {
			t.Errorf("page %d begins with %v", page, first)
		}
		if notes, _ := answer.cell(0, "notes").(string); page == 1 && notes != strings.Repeat("é", 200)+"…" {
			t.Errorf("its notes are %q", notes)
		}
	}
	if len(seen) != 130 {
		t.Errorf("%d drawings were read", len(seen))
	}
	if answer, out := r.ask(alice,
		`{"type":"text"}`); answer.Total != 65 || answer.Pages != 2 || answer.cell(0, "text") != "no 129" ||
		answer.cell(0, "price") != 1.1 || answer.cell(0, "drawn_by") != "human" {
		t.Errorf("drawings of one type: %.300s", out.Content)
	}
	for input, words := range map[string]string{
		`{"page":4}`:              "the last one is 3",
		`{"drawingId":"dr_none"}`: "There is no drawing",
	} {
		if _, out := r.ask(alice, input); !out.IsError || !strings.Contains(out.Content, words) {
			t.Errorf("%s: %.300s", input, out.Content)
		}
	}
	bob := footnote.Principal{Org: "acme", User: "bob"}
	if answer, out := r.ask(bob, `{}`); answer.Total != 0 || len(answer.Table.Rows) != 0 || answer.Pages != 1 {
		t.Errorf("another user reads %.300s", out.Content)
	}
	mine := r.view().Drawings[0].ID
	if _, out := r.ask(bob, `{"drawingId":"`+mine+`"}`); !out.IsError || strings.Contains(out.Content, "1.06") {
		t.Errorf("another user reads %.300s", out.Content)
	}
}

// TestListSaysWhichLinesWereCrossed checks the cells about lines that closes have crossed, also those that are empty.
func TestListSaysWhichLinesWereCrossed(t *testing.T) { synctest.Test(t, listCrossed) }

func listCrossed(t *testing.T) {
	r := newRig(t, agenttest.Script())
	r.boards = board.New(board.Options{Log: r.log}) // accepts any time
	start := time.Now().UTC().Truncate(time.Hour)
	var fault error
	r.tools = drawing.New(drawing.Options{Boards: r.boards, Candles: func(_ context.Context, symbol, timeframe string,
		from int64) (list []market.Candle, err error) {
		if symbol != "EURUSD" || timeframe != "1h" || from != start.Unix() {
			t.Errorf("candles of %s, %s, from %d", symbol, timeframe, from)
		}
		for i, c := range []float64{1.1, 1.12, 1.09, 1.08, 1.13} { // the lines are placed during the second one
			list = append(list, market.Candle{Time: start.Add(time.Duration(i-1) * time.Hour), Close: c})
		}
		return list, fault
	}})
	for _, d := range []core.Drawing{
		{Type: core.Text, Text: "no line", Anchors: []core.Anchor{{Time: start.Unix(), Price: 1.1}}},
		{Type: core.HorizontalLine, Price: new(1.06), Anchors: []core.Anchor{}},
		{Type: core.HorizontalRay, Anchors: []core.Anchor{{Time: start.Unix(), Price: 1.095}}},
	} {
		d.Symbol, d.Timeframe = "EURUSD", "1h"
		if _, err := r.boards.Put(t.Context(), alice, d, 0, core.Cause{By: core.Human}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(5 * time.Hour)
	read := func() (cells, content string) {
		answer, out := r.ask(alice, `{}`)
		for row := range answer.Table.Rows {
			cells += fmt.Sprintln(answer.cell(row, "type"), answer.cell(row, "crossed_closes"),
				answer.cell(row, "crossed_side"), answer.cell(row, "crossed_since"))
		}
		return cells, out.Content
	}
	since := start.Add(time.Hour).Format(time.RFC3339)
	want := "horizontal_ray 2 below " + since + "\nhorizontal_line 0 <nil> <nil>\ntext <nil> <nil> <nil>\n"
	if got, _ := read(); got != want {
		t.Errorf("the cells are\n%swant\n%s", got, want)
	}
	fault = footnote.Errorf(footnote.MarketUnavailable, "The market database is down.")
	if got, content := read(); strings.Contains(got, since) || !strings.Contains(content, "market database is down") {
		t.Errorf("without the market: %s", content)
	}
}

// TestReadOneDrawing checks that reading one drawing shows who changed it, when and why, and no characters
// that a person cannot see.
func TestReadOneDrawing(t *testing.T) {
	r := newRig(t, agenttest.Script())
	notes := strings.Repeat("Held. ", 100)
	line := core.Drawing{
		Type: core.HorizontalLine, Symbol: "EURUSD", Timeframe: "1h", Price: new(1.1), Notes: notes + "\U000e0049",
		Label: "Low",
	}
	made, err := r.boards.Put(t.Context(), alice, line, 0, core.Cause{By: core.Human, Reason: "Mine.\U000e0049"})
	if err != nil {
		t.Fatal(err)
	}
	line.ID, line.Price, line.Notes = made.Drawing().ID, new(1.09), "Broken.\u2060"
	if _, err := r.boards.Put(t.Context(), alice, line, 0, core.Cause{
		By: core.Agent, Conversation: "conv_1", Call: "a", Reason: "It closed below.",
	}); err != nil {
		t.Fatal(err)
	}
	answer, out := r.ask(alice, `{"drawingId":"`+line.ID+`"}`)
	if strings.ContainsAny(out.Content, "\U000e0049\u2060") {
		t.Errorf("the model reads invisible text: %q", out.Content)
	}
	if answer.Drawing == nil || answer.Drawing.Notes != "Broken." || *answer.Drawing.Price != 1.09 ||
		answer.Drawing.Version != 2 || len(answer.Table.Rows) != 1 || len(answer.Changes) != 2 {
		t.Fatal(out.Content)
	}
	moved, drawn := answer.Changes[0], answer.Changes[1]
	if moved.By != core.Agent || moved.Reason != "It closed below." || string(moved.Changes["price"].From) != "1.1" ||
		string(moved.Changes["price"].To) != "1.09" || string(moved.Changes["notes"].From) != "null" {
		t.Errorf("newest change: %+v", moved)
	}
	if drawn.Action != core.Create || drawn.Reason != "Mine." || drawn.By != core.Human || drawn.Changes != nil {
		t.Errorf("first change: %+v", drawn)
	}
	for _, tl := range drawing.New(drawing.Options{Boards: r.boards}) {
		if tl.Spec().Name != "get_drawings" {
			continue
		}
		if out, err := tl.Call(t.Context(), tool.Call{
			Name:      "get_drawings",
			Input:     json.RawMessage(`{}`),
			Principal: alice,
		}); err != nil || !out.IsError || !strings.Contains(out.Content, "No chart is open") {
			t.Errorf("without a chart: %+v, %v", out, err)
		}
	}
}
