package export_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/export"
)

// answered returns the page of one answer to a result of three months.
func answered(t *testing.T, a footnote.Answered) string {
	t.Helper()
	events := []footnote.Event{
		{Seq: 1, Body: footnote.UserMessage{Text: "Revenue by month"}},
		{Seq: 2, Body: footnote.ToolResult{CallID: "c", Result: &footnote.StoredResult{
			ID: "r1", Source: "shop", SQL: "SELECT 1", RowCount: 3,
			Columns: []footnote.Column{
				{Name: "month", Kind: footnote.KindText}, {Name: "revenue", Kind: footnote.KindNumber},
			},
		}}},
		{Seq: 3, Body: a},
	}
	page, err := export.HTML(footnote.Stream{
		ID:      "c",
		Created: time.Unix(0, 0),
	}, events, func(footnote.StoredResult, int) ([][]any, error) {
		return [][]any{{"<2026-01>", 1200.5}, {"2026-02", nil}, {"2026-03", 1800.0}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func TestMarkdownOfAnAnswer(t *testing.T) {
	for text, want := range map[string]string{
		"| a | n |\n| --- | --- |\n| x \\| `y` | **1,200** |\n| <b> | 3 % |": `<thead><tr><th scope="col">a</th><th ` +
			`scope="col" class="num">n</th></tr></thead><tbody><tr><td>x | <code>y</code></td><td ` +
			`class="num"><strong>1,200</strong></td></tr><tr><td>&lt;b&gt;</td><td class="num">3 %</td></tr></tbody>`,
		"1. one\n2. *two*\n\n* three\n  " +
			"more": "<ol><li>one</li><li><em>two</em></li></ol><ul><li>three<br>more</li></ul>",
		"## A & B\ntext":    "<h3>A &amp; B</h3><p>text</p>",
		"Before:\n- a\n- b": "<p>Before:</p><ul><li>a</li><li>b</li></ul>",
		"```sql\nSELECT '<a>' **x**\n```\nafter": "<pre><code>SELECT &#39;&lt;a&gt;&#39; " +
			"**x**</code></pre><p>after</p>",
		"```\nnever closed": "<pre><code>never closed</code></pre>",
		"> said\n> so":      "<blockquote>said<br>so</blockquote>",
		"Reading: unit_price of order_items": `<p class="aside">Reading: unit_price ` +
			`of order_items</p>`,
		"Source: sales. Reading: total units": `<p class="aside">Source: sales. ` +
			`Reading: total units</p>`,
		"Source: `q1`. Reading: total units": `<p class="aside">Source: ` +
			`<code>q1</code>. Reading: total units</p>`,
		"_Of 18 rows, these are the last._": `<p class="aside"><em>Of 18 rows, ` +
			`these are the last.</em></p>`,
		"a | b\nno table":   "<p>a | b<br>no table</p>",
		"x \uE0000\uE001 y": "<p>x 0 y</p>",
		"[a](javascript:alert(1)) <a href='x'>": "<p>[a](javascript:alert(1)) &lt;a " +
			"href=&#39;x&#39;&gt;</p>",
	} {
		if page := answered(t, footnote.Answered{Text: text}); !strings.Contains(page, want) {
			t.Errorf("%q\nlacks %s\nin %s", text, want, page[strings.Index(page, "<main>"):])
		}
	}
}

// TestFootnotesOfAPage checks that numbers in prose get footnotes, one per source, and that numbers in a table link
// to their cells directly.
func TestFootnotesOfAPage(t *testing.T) {
	text := "It was **1,200.50**, or 1.2 k, of 9.\n\n| month | revenue |\n| --- | --- |\n| 2026-03 | 1,800.00 |"
	cite := func(words string, row int) footnote.Cite {
		at := strings.Index(text, words)
		return footnote.Cite{Start: at, End: at + len(words), Text: words, Result: "r1", Row: &row, Column: "revenue"}
	}
	asked := cite("9", 0)
	asked.Formula = "question"
	page := answered(t, footnote.Answered{
		Text:  text,
		Cites: []footnote.Cite{cite("1,200.50", 0), cite("1.2 k", 0), cite("1,800.00", 2), asked},
	})
	for _, want := range []string{
		`<strong>1,200.50<sup><a href="#n3-1">1</a></sup></strong>, or 1.2 k<sup><a href="#n3-1">1</a></sup>, of 9.`,
		`<td class="num"><a class="cell" href="#r1-2-1" title="r1, row 3, column revenue">1,800.00</a></td>`,
		`<td id="r1-2-1" class="num">1800</td>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s\nin %s", want, page[strings.Index(page, "<main>"):])
		}
	}
	if strings.Contains(page, `id="n3-2"`) {
		t.Error("a footnote is said twice, or of a table")
	}
	if strings.Index(page, "It was") > strings.Index(page, "SELECT 1") {
		t.Error("the query stands above the answer")
	}
}

func TestChartsOfAPage(t *testing.T) {
	draw := func(kind, y, more string) string {
		return answered(t, footnote.Answered{
			Text: "So.",
			Chart: json.RawMessage(`{"result":"r1","type":"` + kind + `","x":"month","y":["` + y +
				`"],"title":"A <b>"` + more + `}`),
		})
	}
	for _, kind := range []string{"line", "area", "bar", "pie"} {
		page := draw(kind, "revenue", "")
		if !strings.Contains(page, "<figcaption>A &lt;b&gt;</figcaption><svg") ||
			!strings.Contains(page, "&lt;2026-01&gt;") || strings.Contains(page, "NaN") {
			t.Errorf("%s: %s", kind, page[strings.Index(page, "<main>"):])
		}
	}
	for _, page := range []string{
		draw("line", "nowhere", ""), draw("point", "revenue", ""), draw("line", "revenue", `,"series":"month"`),
		draw("line", "month", ""),
	} {
		if strings.Contains(page, "<svg") {
			t.Error("a chart is drawn that says something else")
		}
	}
	if page := draw("line", "revenue", ""); !strings.Contains(page, "M72.0 ") || strings.Count(page, "M704.0 ") != 1 {
		t.Error("the gap is not left open")
	}
}
