package export_test

import (
	"encoding/json"
	"regexp"
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
		"_Showing the last 12 of 18 rows._": `<p class="aside"><em>Showing the last ` +
			`12 of 18 rows.</em></p>`,
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

var (
	tagOf      = regexp.MustCompile(`<[^>]*>?`)
	harmlessIn = regexp.MustCompile(`^</?(p|h3|ul|ol|li|br|hr|pre|code|strong|em|blockquote|table|thead|tbody|tr|div)>$|` +
		`^</?t[hd]>$|^<p class="aside">$|^<th scope="col"( class="num")?>$|^<td class="num">$|` +
		`^<div class="table" tabindex="0" role="region" aria-label="Table">$`)
)

// TestHostileMarkdown checks that no text can put an element of its own on the page, and that the page of a large
// text does not grow out of proportion.
func TestHostileMarkdown(t *testing.T) {
	const large = 1 << 14
	repeat := func(unit string) string { return strings.Repeat(unit, large/len(unit)) }
	columns := strings.Repeat("|a", 2000) + "|\n" + strings.Repeat("|-", 2000) + "|\n"
	for name, text := range map[string]string{
		"script":             "<script>alert(1)</script>",
		"handler":            `<img src=x onerror="alert(1)">`,
		"upper case":         "<SCRIPT SRC=//example.org/x.js>",
		"unfinished tag":     "<img src=x onerror=alert(1)//",
		"comment":            "<!-- --><svg/onload=alert(1)>",
		"block of HTML":      "<div>\n\n**bold** <iframe srcdoc='<p>'>\n</div>",
		"HTML in a list":     "- <b onclick=x>\n  <form action=//example.org>",
		"HTML in a table":    "| <b onclick=x> | n |\n| --- | --- |\n| <style>*{}</style> | `<u>` |",
		"HTML in a heading":  "# <base href=//example.org>",
		"HTML in a quote":    "> <meta http-equiv=refresh content=0>",
		"HTML in code":       "```html\n</code></pre><script>1</script>\n```\n`</code><b>`",
		"language of code":   "```\"><script>\nx\n```",
		"HTML in emphasis":   "**<b>** *<i>* _<u>_ **_<a href=x>_**",
		"escaped HTML":       `\<script\> &lt;script&gt; &#60;script&#62; \u003cscript\u003e`,
		"link":               "[a](javascript:alert(1)) [b](<data:text/html,x>) [c](https://example.org 'x')",
		"link by reference":  "[a][1] [1]\n\n[1]: javascript:alert(1)",
		"image":              "![x](https://example.org/x.png) ![](data:image/svg+xml,<svg>)",
		"automatic link":     "<https://example.org> https://example.org www.example.org <a@example.org>",
		"marks":              "\uE0000\uE001 \uE000\uE001 \uE00099\uE001 \uE000<b>\uE001 \uE002",
		"mark in a table":    "|a\uE002b|c|\n|-|-|\n|\\|\uE0000\uE001|<b>|",
		"invalid UTF-8":      "\xff<b\xc0>\x00</b>\xed\xa0\x80",
		"wrong nesting":      "**a _b** c_ *d **e* f** `g **h` i**",
		"brackets":           strings.Repeat("[", 1<<20),
		"links in links":     repeat("[a](b "),
		"images in images":   repeat("![a]("),
		"angle brackets":     repeat("<"),
		"tags":               repeat("<a>"),
		"quotes in quotes":   repeat("> "),
		"lists in lists":     repeat("- "),
		"numbers":            repeat("1. "),
		"open emphasis":      repeat("*a **b _c "),
		"stars":              repeat("*"),
		"open code":          repeat("`a``"),
		"fences":             repeat("```\n"),
		"headings":           repeat("# "),
		"separators":         repeat("|-"),
		"columns":            columns,
		"columns times rows": columns + strings.Repeat("|\n", large/2),
	} {
		page := answered(t, footnote.Answered{Text: text})
		_, html, begins := strings.Cut(page, `<div class="answer" dir="auto">`)
		html, _, ends := strings.Cut(html, `<details id="r1"`)
		html, closed := strings.CutSuffix(strings.TrimSpace(html), "</div>")
		if !begins || !ends || !closed {
			t.Fatal("this test no longer finds the answer on the page")
		}
		for _, tag := range tagOf.FindAllString(html, -1) {
			if !harmlessIn.MatchString(tag) {
				t.Errorf("%s: the page has %.80q", name, tag)
				break
			}
		}
		if limit := 40*len(text) + 1000; len(html) > limit {
			t.Errorf("%s: %d bytes of text become %d bytes of HTML", name, len(text), len(html))
		}
	}
}
