package cite_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/cite"
)

func regions() []cite.Table {
	return []cite.Table{{
		ID: "r1", SQL: "SELECT region, revenue, orders, since FROM regions WHERE orders > 5 ORDER BY revenue DESC",
		RowCount: 3,
		Result: footnote.Result{
			Columns: []footnote.Column{
				{
					Name: "region",
					Kind: footnote.KindText,
				},
				{Name: "revenue", Kind: footnote.KindDecimal},
				{Name: "orders", Kind: footnote.KindInteger},
				{Name: "since", Kind: footnote.KindDate},
			},
			Rows: [][]any{
				{"Berlin", "1204.50", int64(120), "2021-03-05"},
				{"Hamburg", "980.25", int64(98), "2022-11-30"},
				{"Bremen", "0.1", int64(7), nil},
			},
		},
	}}
}

func TestResolveCitesCell(t *testing.T) {
	cites, open := cite.Resolve("Berlin made 1,204.50.", regions(), "")
	if len(cites) != 1 || len(open) != 0 {
		t.Fatalf("Resolve = %v, %v", cites, open)
	}
	c := cites[0]
	if c.Result != "r1" || c.Row == nil || *c.Row != 0 || c.Column != "revenue" || c.Value != "1204.5" ||
		c.Confidence != 1 && c.Confidence < 0.9 {
		t.Errorf("cite = %+v", c)
	}
}

// A label may contain invisible characters. The model reads and repeats their code points.
func TestResolveFindsLabelWithInvisibleCharacters(t *testing.T) {
	tables := regions()
	tables[0].Result.Rows[0][0] = "Ber\u200blin \U000e0041West"
	cites, open := cite.Resolve("Ber<U+200B>lin <U+E0041>West made 1,204.50 with 120 orders.", tables, "")
	if len(cites) != 2 || len(open) != 0 || *cites[0].Row != 0 || cites[0].Column != "revenue" ||
		cites[1].Column != "orders" {
		t.Errorf("Resolve = %+v, %v", cites, open)
	}
}

func TestReasonNamesRowWithTheValue(t *testing.T) {
	for text, want := range map[string]string{
		"Berlin made 980.25.":            "980.25 is in the row of Hamburg, not Berlin",
		"Berlin had orders of 1,204.50.": "1,204.50 is the revenue of Berlin, not its orders",
		"Berlin made 7,777.":             "no cell and no formula of the results gives 7,777",
	} {
		cites, open := cite.Resolve(text, regions(), "")
		if len(open) != 1 || open[0].Reason != want {
			t.Errorf("Resolve(%q) = %v, %v; want reason %q", text, cites, open, want)
		}
	}
}

func TestResolveComparesDecimalsExactly(t *testing.T) {
	tables := []cite.Table{{ID: "r1", Result: footnote.Result{
		Columns: []footnote.Column{
			{Name: "entity", Kind: footnote.KindText}, {Name: "balance", Kind: footnote.KindDecimal},
		},
		Rows: [][]any{{"Holding", "12345678901234567890.12"}, {"Trading", "0.10"}, {"Rest", "0.20"}},
	}}}
	for text, ok := range map[string]bool{
		"Holding has 12,345,678,901,234,567,890.12.":  true,
		"Holding has 12,345,678,901,234,567,890.13.":  false,
		"Holding has 12,345,678,901,234,567,890.1.":   true,
		"Trading and Rest together have 0.3.":         true,
		"Trading and Rest together have 0.30.":        true,
		"Trading and Rest together have 0.3000000001": false,
	} {
		_, open := cite.Resolve(text, tables, "")
		if (len(open) == 0) != ok {
			t.Errorf("Resolve(%q): unresolved = %v", text, open)
		}
	}
}

func TestResolveComputesNoTotalsOfTruncatedResults(t *testing.T) {
	for _, text := range []string{
		"In total, revenue is 2,184.85.", "There are 3 regions.", "On average, revenue is 728.28.",
	} {
		if _, open := cite.Resolve(text, regions(), ""); len(open) != 0 {
			t.Errorf("Resolve(%q): unresolved = %v", text, open)
		}
		cut := regions()
		cut[0].Result.Truncated = true
		if cites, _ := cite.Resolve(text, cut, ""); len(cites) != 0 {
			t.Errorf("Resolve(%q) over a truncated result = %v, want nothing", text, cites)
		}
	}
}

// TestVerify checks that Verify accepts everything that Resolve returns, and rejects wrong footnotes.
func TestVerify(t *testing.T) {
	for _, tr := range loadCorpus(t, "*.txtar") {
		cites, _ := cite.Resolve(tr.text, tr.results, tr.question)
		for _, p := range cite.Verify(tr.text, cites, tr.results) {
			t.Errorf("%s: %q %s %s: %s", tr.name, p.Cite.Text, p.Cite.Column, p.Cite.Formula, p.Reason)
		}
	}
	text := "Berlin made 1,204.50."
	row := 1
	for _, c := range []footnote.Cite{
		{Start: 12, End: 20, Text: "1,204.50", Result: "r1", Row: &row, Column: "revenue"},
		{Start: 12, End: 20, Text: "1,204.50", Result: "r9", Row: &row, Column: "revenue"},
		{Start: 12, End: 20, Text: "1,204.50", Result: "r1", Row: &row, Column: "nothing"},
		{Start: 12, End: 20, Text: "1,204.50", Result: "r1"},
		{Start: 11, End: 20, Text: "1,204.50", Formula: "r1[0].revenue"},
		{Start: 12, End: 200, Text: "1,204.50", Formula: "r1[0].revenue"},
		{Start: 12, End: 20, Text: "1,204.50", Formula: "sum(r1.revenue)"},
		{Start: 12, End: 20, Text: "1,204.50", Formula: "r1[0].revenue / (r1[0].revenue - r1[0].revenue)"},
		{Start: 12, End: 20, Text: "1,204.50", Formula: strings.Repeat("(", 4000)},
		{Start: 12, End: 20, Text: "1,204.50", Formula: "r1[0].revenue > 5000"},
		{Start: 12, End: 20, Text: "1,204.50", Formula: "sql filter", Result: "r1"},
		{Start: 12, End: 20, Text: "1,204.50", Formula: "system(r1)"},
	} {
		if got := cite.Verify(text, []footnote.Cite{c}, regions()); len(got) != 1 || got[0].Reason == "" {
			t.Errorf("Verify(%+v) = %v, want one problem", c, got)
		}
	}
	good := []footnote.Cite{
		{Start: 12, End: 20, Text: "1,204.50", Formula: "r1[0].revenue * (3 - 2)"},
		{Start: 12, End: 20, Text: "1,204.50", Formula: "max(r1.revenue)"},
	}
	if got := cite.Verify(text, good, regions()); len(got) != 0 {
		t.Errorf("Verify = %v, want none", got)
	}
}

// checkSound checks what must hold for any text: offsets are rune boundaries in order, do not overlap, and enclose the
// text of the footnote, and Verify accepts the footnotes.
func checkSound(t *testing.T, text string, tables []cite.Table, question string) {
	t.Helper()
	cites, open := cite.Resolve(text, tables, question)
	type piece struct {
		start, end int
		text       string
	}
	var lists [2][]piece
	for _, c := range cites {
		lists[0] = append(lists[0], piece{c.Start, c.End, c.Text})
		if c.Confidence <= 0 || c.Confidence > 1 {
			t.Errorf("confidence of %q = %v", c.Text, c.Confidence)
		}
	}
	for _, u := range open {
		lists[1] = append(lists[1], piece{u.Start, u.End, u.Text})
		if u.Reason == "" {
			t.Errorf("%q is unresolved without a reason", u.Text)
		}
	}
	taken := map[int]bool{}
	for _, list := range lists {
		at := 0
		for _, p := range list {
			if p.start < at || p.end <= p.start || p.end > len(text) || text[p.start:p.end] != p.text {
				t.Fatalf("piece %+v of %d bytes, after %d", p, len(text), at)
			}
			if utf8.ValidString(text) && !utf8.RuneStart(text[p.start]) ||
				utf8.ValidString(text) && p.end < len(text) && !utf8.RuneStart(text[p.end]) {
				t.Fatalf("piece %+v splits a rune", p)
			}
			if taken[p.start] {
				t.Fatalf("piece %+v is in both lists", p)
			}
			taken[p.start] = true
			at = p.end
		}
	}
	for _, p := range cite.Verify(text, cites, tables) {
		t.Errorf("%q %s %s does not verify: %s", p.Cite.Text, p.Cite.Column, p.Cite.Formula, p.Reason)
	}
}

func TestResolveIsSoundOnMangledTranscripts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := loadCorpus(t, "*.txtar")
	for range 1500 {
		tr := all[rng.IntN(len(all))]
		other := all[rng.IntN(len(all))]
		b := []byte(tr.text)
		for range rng.IntN(8) {
			i, j := rng.IntN(len(b)), rng.IntN(len(b))
			switch rng.IntN(4) {
			case 0:
				b[i] = byte(rng.IntN(256))
			case 1:
				b[i], b[j] = b[j], b[i]
			case 2:
				b = append(b[:min(i, j)], b[max(i, j):]...)
				b = append(b, ' ')
			case 3:
				b = append(b, other.text[rng.IntN(len(other.text)):]...)
			}
		}
		tables := tr.results
		if rng.IntN(3) == 0 {
			tables = other.results
		}
		checkSound(t, strings.ToValidUTF8(string(b), "\ufffd"), tables, tr.question)
	}
}

var hostileTexts = map[string]func(n int) string{
	"digits":     func(n int) string { return strings.Repeat("1", n) },
	"numbers":    func(n int) string { return strings.Repeat("1 ", n/2) },
	"decimals":   func(n int) string { return strings.Repeat("1.5,", n/4) },
	"exponents":  func(n int) string { return strings.Repeat("1e999999999 ", n/12) },
	"signs":      func(n int) string { return strings.Repeat("-", n) },
	"brackets":   func(n int) string { return strings.Repeat("(", n) + "1" },
	"items":      func(n int) string { return strings.Repeat("- ", n/2) + "1" },
	"indents":    func(n int) string { return indented(n / 1000) },
	"labels":     func(n int) string { return strings.Repeat("Berlin ", n/7) },
	"pairs":      func(n int) string { return strings.Repeat("Berlin 7, ", n/10) },
	"columns":    func(n int) string { return strings.Repeat("a b ", n/4) + " 5" },
	"percents":   func(n int) string { return strings.Repeat("Berlin grew 5 % more than a, ", n/29) },
	"dates":      func(n int) string { return strings.Repeat("2024-01-02 ", n/11) },
	"months":     func(n int) string { return strings.Repeat("May ", n/4) },
	"table":      func(n int) string { return strings.Repeat("| 1 | 2 | 3 |\n", n/14) },
	"bars":       func(n int) string { return strings.Repeat("|", n) },
	"fences":     func(n int) string { return strings.Repeat("```\n1\n", n/6) },
	"ticks":      func(n int) string { return strings.Repeat("`", n) + "1" },
	"broken":     func(n int) string { return strings.Repeat("\xff1", n/2) },
	"groups":     func(n int) string { return "1" + strings.Repeat(",234", n/4) },
	"words":      func(n int) string { return strings.Repeat("twenty-five ", n/12) },
	"ordinals":   func(n int) string { return strings.Repeat("Berlin ranked third ", n/20) },
	"total":      func(n int) string { return strings.Repeat("in total 12345 ", n/15) },
	"urls":       func(n int) string { return strings.Repeat("http://1.2/3 ", n/13) },
	"combining":  func(n int) string { return strings.Repeat("a\u0301\u0301", n/5) },
	"one letter": func(n int) string { return strings.Repeat("a", n) + " 7" },
}

// The time for hostile text must grow about linearly: a text that is eight times as long may take at most 24 times as
// long.
func TestResolveTimeIsBoundedForHostileText(t *testing.T) {
	big := cite.Table{
		ID: "r1",
		Result: footnote.Result{
			Columns: []footnote.Column{
				{Name: "name"}, {Name: "a"}, {Name: "b"}, {Name: "day", Kind: footnote.KindDate},
			},
		},
	}
	for i := range 20000 {
		big.Result.Rows = append(big.Result.Rows, []any{"Berlin", int64(i), float64(i) / 7, "2024-01-02"})
	}
	cost := func(text string) time.Duration {
		began := time.Now()
		checkSound(t, text, []cite.Table{big}, "top 5 "+text[:min(len(text), 1000)])
		return time.Since(began)
	}
	for name, text := range hostileTexts {
		var before time.Duration
		for _, n := range []int{1 << 11, 1 << 14, 1 << 17} { // up to the length that is analysed
			took := cost(text(n))
			t.Logf("%-10s %7d bytes %v", name, n, took.Round(time.Millisecond))
			if before > 0 && took > 2*time.Second && took > 24*before {
				t.Errorf("%s: %d bytes took %v, an eighth of the bytes took %v", name, n, took, before)
			}
			before = took
		}
	}
}

func indented(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s- Berlin %d\n", strings.Repeat(" ", i), i)
	}
	return b.String()
}

// The cells are whole numbers, and only the headings say that they are percentages.
func TestResolveReadsPercentSignInHeader(t *testing.T) {
	const text = "| Name | FTE % |\n| --- | --- |\n| Ada | 80 |\n| Bob | 50 |\n"
	table := []cite.Table{{ID: "r1", RowCount: 2, Result: footnote.Result{
		Columns: []footnote.Column{
			{Name: "Name", Kind: footnote.KindText}, {Name: "FTE %", Kind: footnote.KindInteger},
		},
		Rows: [][]any{{"Ada", int64(80)}, {"Bob", int64(50)}},
	}}}
	cites, open := cite.Resolve(text, table, "")
	if len(cites) != 2 || len(open) != 0 {
		t.Fatalf("Resolve = %+v, %+v", cites, open)
	}
	for i, c := range cites {
		if c.Row == nil || *c.Row != i || c.Column != "FTE %" {
			t.Errorf("cite = %+v", c)
		}
	}
	if got := cite.Verify(text, cites, table); len(got) != 0 {
		t.Errorf("Verify = %v, want none", got)
	}
	cites[0].Row, cites[1].Row = cites[1].Row, cites[0].Row
	if got := cite.Verify(text, cites, table); len(got) != 2 {
		t.Errorf("Verify of the neighbours' cells = %v, want two problems", got)
	}
}

func TestResolveIsSoundOnOddTables(t *testing.T) {
	for _, tables := range [][]cite.Table{
		nil,
		{{}},
		{
			{
				ID:       "r1",
				RowCount: 5,
				Result: footnote.Result{
					Columns: []footnote.Column{{Name: "a"}},
					Rows:    [][]any{{}, {nil}, {"1e99999999"}, {true}},
				},
			},
		},
		{
			{
				ID: "r1",
				Result: footnote.Result{
					Columns: []footnote.Column{{Name: ""}, {Name: `x "y" z`}},
					Rows:    [][]any{{"q", int64(5)}, {"Ünï", int64(6)}},
				},
			},
		},
		{{ID: "r1", Result: footnote.Result{Rows: [][]any{{int64(1)}}}}},
	} {
		checkSound(t, "Total of 5 and 6, q has 5 and Ünï 6, 1e9 %, in total 11 on 2024-01-01.", tables, "5?")
	}
}

func FuzzResolve(f *testing.F) {
	for _, tr := range loadCorpus(f, "*.txtar") {
		f.Add(tr.text, tr.question)
	}
	f.Add("1e999999999 1,234,567.8.9 $-−+5 1’234 Q1 2024 12:99 31.02.2024", "")
	tables := append(regions(), cite.Table{ID: "r2", Result: footnote.Result{
		Columns: []footnote.Column{{Name: "x"}, {Name: "share_pct", Kind: footnote.KindNumber}},
		Rows:    [][]any{{int64(5), 12.5}},
	}})
	f.Fuzz(func(t *testing.T, text, question string) {
		checkSound(t, text, tables, question)
	})
}

func FuzzVerifyFormula(f *testing.F) {
	f.Add("sum(r1.revenue) / r1[0].orders - 1")
	f.Add(`count(r1.region = "Berlin")`)
	f.Add("days(r1[0].since, r1[1].since)")
	f.Fuzz(func(t *testing.T, formula string) {
		cite.Verify("7", []footnote.Cite{{Start: 0, End: 1, Text: "7", Formula: formula, Result: "r1"}}, regions())
	})
}

func benchTable(rows int) cite.Table {
	t := cite.Table{ID: "r1", SQL: "SELECT * FROM shops ORDER BY m0 DESC"}
	t.Result.Columns = append(t.Result.Columns, footnote.Column{
		Name: "shop",
		Kind: footnote.KindText,
	}, footnote.Column{Name: "opened", Kind: footnote.KindDate})
	for c := range 8 {
		t.Result.Columns = append(t.Result.Columns, footnote.Column{
			Name: fmt.Sprintf("metric_%c", 'a'+c),
			Kind: footnote.KindNumber,
		})
	}
	for i := range rows {
		row := []any{fmt.Sprintf("Shop %c%d", 'A'+i%26, i), fmt.Sprintf("20%02d-%02d-%02d", i%25, 1+i%12, 1+i%28)}
		for c := range 8 {
			row = append(row, float64(i*977%10007)+float64(c)/8)
		}
		t.Result.Rows = append(t.Result.Rows, row)
	}
	return t
}

func BenchmarkResolve(b *testing.B) {
	for _, rows := range []int{20, 200, 10_000, 100_000} {
		tables := []cite.Table{benchTable(rows)}
		var text strings.Builder
		for i := 0; text.Len() < 2048; i++ {
			r := tables[0].Result.Rows[i%20]
			fmt.Fprintf(&text, "%s reached a metric a of %.1f and a metric b of %.2f, which is %d %% more than "+
				"before. ", r[0], r[2], r[3], i)
		}
		b.Run(fmt.Sprintf("%drows", rows), func(b *testing.B) {
			for b.Loop() {
				cite.Resolve(text.String(), tables, "Which shops did best?")
			}
		})
	}
}
