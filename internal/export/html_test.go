package export_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/export"
)

const hostile = `<script>alert(1)</script><img src=x onerror=alert(1)> "&'`

func conversation() []footnote.Event {
	row := 1
	bodies := []footnote.Body{
		footnote.Opened{},
		footnote.UserMessage{Text: "Taken back?"},
		footnote.Answered{Text: "Taken back."},
		footnote.Rewound{ToSeq: 1},
		footnote.UserMessage{Text: "How many? " + hostile},
		footnote.ToolResult{CallID: "c", Result: &footnote.StoredResult{
			ID: "r1", Source: "shop", SQL: "SELECT '" + hostile + "'", RowCount: 500,
			Columns: []footnote.Column{
				{Name: hostile, Kind: footnote.KindText}, {Name: "n", Kind: footnote.KindInteger},
			},
		}},
		footnote.Answered{
			Text: "There are **42** orders, é 7.\n\n- one `a<b`\n- two " + hostile,
			Cites: []footnote.Cite{
				{Start: 12, End: 14, Text: "42", Result: "r1", Row: &row, Column: "n", Value: "42"},
				{Start: 90_000, End: 90_001, Text: "x"},
			},
			Unresolved: []footnote.Unresolved{{Text: "7"}},
		},
		footnote.RunFailed{Message: hostile},
	}
	var events []footnote.Event
	for i, b := range bodies {
		events = append(events, footnote.Event{Seq: int64(i + 1), Body: b})
	}
	return events
}

func htmlOf(t *testing.T, events []footnote.Event) string {
	t.Helper()
	head := footnote.Stream{ID: "conv_1", Title: hostile, Created: time.Unix(0, 0), Updated: time.Unix(0, 0)}
	page, err := export.HTML(head, events, func(_ footnote.StoredResult, limit int) ([][]any, error) {
		rows := make([][]any, limit)
		for i := range rows {
			rows[i] = []any{hostile, int64(i + 41)}
		}
		return rows, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestHTMLIsInert checks that all conversation content appears on the page as plain text, and that the page loads
// nothing.
func TestHTMLIsInert(t *testing.T) {
	page := htmlOf(t, conversation())
	for _, bad := range []string{
		"<script", "<img", "onerror=alert(1)>", "http://", "https://", "url(", "@import", "src=",
	} {
		text := strings.ReplaceAll(page, "&lt;img src=x", "")
		if strings.Contains(text, bad) {
			t.Errorf("the page holds %s", bad)
		}
	}
	if !strings.Contains(page, `content="default-src 'none'; style-src 'unsafe-inline'"`) {
		t.Error("the page has no policy")
	}
}

func TestHTMLShowsSources(t *testing.T) {
	page := htmlOf(t, conversation())
	for _, want := range []string{
		`There are <strong>42<sup><a href="#n7-1">1</a></sup></strong> orders, é 7.`,
		`<li id="n7-1"><b>42</b>: <a href="#r1-1-1">r1, row 2, column n</a> = 42</li>`,
		`<td id="r1-1-1" class="num">42</td>`, `<code>a&lt;b</code>`, "Without a footnote: 7.",
		"300 more rows are not shown here.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(page, "Taken back") {
		t.Error("a rewound message is exported")
	}
	for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, `id="`+link[1]+`"`) {
			t.Errorf("a link leads nowhere: %s", link[1])
		}
	}
}

func TestHTMLWithoutRows(t *testing.T) {
	gone := errors.New("gone")
	_, err := export.HTML(footnote.Stream{}, conversation(), func(footnote.StoredResult, int) ([][]any, error) {
		return nil, gone
	})
	if !errors.Is(err, gone) {
		t.Error(err)
	}
}

func TestUnclosedSigns(t *testing.T) {
	events := []footnote.Event{{Seq: 1, Body: footnote.Answered{Text: "a ** b ` c\nd **e** f"}}}
	if page := htmlOf(t, events); !strings.Contains(page, "<p>a ** b ` c<br>d <strong>e</strong> f</p>") {
		t.Error(page[strings.Index(page, "<main>"):])
	}
}

// TestFigureFormatting checks that percents have their sign, headers align with their figures, and no figure
// has an unnecessary exponent.
func TestFigureFormatting(t *testing.T) {
	head := footnote.Stream{ID: "conv_1", Created: time.Unix(0, 0), Updated: time.Unix(0, 0)}
	events := []footnote.Event{
		{Seq: 1, Body: footnote.ToolResult{CallID: "c", Result: &footnote.StoredResult{
			ID: "r1", RowCount: 2,
			Columns: []footnote.Column{
				{Name: "status", Kind: footnote.KindText}, {Name: "share_percent", Kind: footnote.KindNumber},
			},
		}}},
		{
			Seq: 2,
			Body: footnote.Answered{
				Text:  "Shares.",
				Chart: []byte(`{"result":"r1","type":"bar","x":"status","y":["share_percent"]}`),
			},
		},
	}
	page, err := export.HTML(head, events, func(footnote.StoredResult, int) ([][]any, error) {
		return [][]any{{"open", 12.5}, {"closed", 1234567.5}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<th scope="col">status</th><th scope="col" class="num">share_percent</th>`, ">12.5%</text>",
		`<td class="num">1234567.5</td>`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// A reader of the page reads the same words as in the app.
func TestMonthsAndTimesAreInWords(t *testing.T) {
	row := 0
	text := "The best was 2025-12, first sold 2025-12-03T10:15:00, with 42. Not 2025-11.\n\n| month |\n| --- |\n| 2025-12 |\n"
	cite := func(said string, last bool, column string) footnote.Cite {
		at := strings.Index(text, said)
		if last {
			at = strings.LastIndex(text, said)
		}
		return footnote.Cite{Start: at, End: at + len(said), Text: said, Result: "r1", Row: &row, Column: column}
	}
	events := []footnote.Event{
		{Seq: 1, Body: footnote.ToolResult{CallID: "c", Result: &footnote.StoredResult{ID: "r1", RowCount: 3,
			Columns: []footnote.Column{{Name: "month", Kind: footnote.KindText}, {Name: "revenue_eur"}}}}},
		{Seq: 2, Body: footnote.Answered{Text: text, Cites: []footnote.Cite{
			cite("2025-12", true, "month"), cite("42", false, "n"), cite("2025-12", false, "month"),
			cite("2025-12-03T10:15:00", false, "sold"),
		}, Chart: []byte(`{"result":"r1","type":"line","x":"month","y":["revenue_eur"]}`)}},
	}
	page, err := export.HTML(footnote.Stream{ID: "conv_1"}, events, func(footnote.StoredResult, int) ([][]any, error) {
		return [][]any{{"2025-12", int64(1000)}, {"2026-01", int64(7)}, {"2026-02", int64(8)}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"The best was December 2025<sup>", "first sold 3 December 2025, 10:15<sup>", "with 42<sup>", "Not 2025-11.",
		">December 2025</a></td>", ">January 2026</td>", ">Feb 2026</text>", ">€1,000</text>",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	if t.Failed() {
		t.Log(string(page[strings.Index(string(page), "<body"):]))
	}
}
