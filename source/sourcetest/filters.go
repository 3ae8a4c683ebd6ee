package sourcetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

// Filters are the conditions for the tables created by FilterSetup, for RunFiltered.
var Filters = map[string]string{
	"orders":     "org = {org}",
	"accounts":   "org = {org} AND region IN ({attributes.regions[]})",
	"tickets":    "account IN (SELECT id FROM accounts) AND person = {user}",
	"keyed":      "org = {org}",
	"products":   "all",
	"totals":     "all",
	"large":      "amount > 25",
	"öffentlich": "org = {org}",
}

// canary is part of every text in the rows that no principal in these tests may see.
const canary = "canary"

// FilterSetup returns statements, in SQL that the engines share, that create tables of which acme may see some
// rows. The other rows depend on the variant: they differ, are more or fewer, have larger and smaller values, and
// come before and after acme's.
func FilterSetup(variant int) []string {
	var list []string
	ranges := [][2]int{{-300 - 100*variant, 3 + 40*variant}, {900 + variant, 9 - 7*variant}} // first, count
	for _, line := range setup("filters") {
		if line != "{foreign}" {
			list = append(list, strings.ReplaceAll(line, "{variant}", strconv.Itoa(variant)))
			continue
		}
		for i := ranges[0][0]; i < ranges[0][0]+ranges[0][1]; i++ {
			org := fmt.Sprintf("%s-%d", []string{"globex", "initech"}[variant%2], i%3)
			r := strings.NewReplacer("{i}", strconv.Itoa(i), "{org}", org, "{mark}", canary+"-"+org, "{account}",
				strconv.Itoa(1+i%2))
			for _, row := range setup("foreign") {
				list = append(list, r.Replace(row))
			}
		}
		ranges = ranges[1:]
	}
	return list
}

// RunFiltered runs the tests of filters. Open opens a source with Filters over the tables of FilterSetup and of the
// engine itself, for a variant.
//
// Everything a statement returns, rows, columns and messages, must be the same for all variants. Then none of it
// depends on the rows of others.
func RunFiltered(t *testing.T, open func(t testing.TB, variant int) source.Source) {
	sources := []source.Source{open(t, 0), open(t, 1)}
	ada := footnote.Principal{Org: "acme", User: "ada", Attributes: map[string]string{"regions": "north,south"}}
	hostile, allowed := Statements(t, "filters"), Statements(t, "filters-allowed", Executed)
	if len(hostile) < 80 {
		t.Errorf("there are %d hostile statements only", len(hostile))
	}
	for pass := range 2 { // a used connection must behave like a fresh one
		for _, st := range append(hostile, allowed...) {
			var seen []string
			for _, src := range sources {
				seen = append(seen, visibleTo(t, src, ada, st.SQL, len(st.Want) == 0))
			}
			if seen[0] != seen[1] {
				t.Errorf("pass %d, %s: it depends on the rows of others:\n%.600s\n%.600s", pass, st.Name, seen[0],
					seen[1])
			}
			if hit := strings.ReplaceAll(seen[0], "canary-globex-1-note-901", ""); strings.Contains(hit, canary) {
				t.Errorf("pass %d, %s: it shows rows of others:\n%.600s", pass, st.Name, seen[0])
			}
			if len(st.Want) > 0 && !strings.HasPrefix(seen[0], st.Want[0]) ||
				st.Rows != "" && !strings.HasSuffix(seen[0], " "+st.Rows) {
				t.Errorf("pass %d, %s: %.600s, want %s", pass, st.Name, seen[0], st.Rows)
			}
		}
	}
	t.Logf("%d hostile and %d allowed statements, 2 passes over 2 variants", len(hostile), len(allowed))
	testFilteredByPrincipal(t, sources[0])
	testFilteredSchema(t, sources)
}

// visibleTo returns everything a principal sees of a statement. With sorted, it ignores the order of rows, which an
// engine may choose.
func visibleTo(t *testing.T, src source.Source, p footnote.Principal, sql string, sorted bool) string {
	ctx := footnote.WithPrincipal(t.Context(), p)
	r, sum, err := source.Collect(ctx, src, source.Query{SQL: sql, Limits: source.Limits{Time: 10 * time.Second}})
	if sorted {
		slices.SortFunc(r.Rows, func(a, b []any) int { return strings.Compare(Text([][]any{a}), Text([][]any{b})) })
	}
	if err == nil {
		return Executed + fmt.Sprint(" ", sum.Columns, " ", sum.Rows, " ") + Text(r.Rows)
	}
	if bad, ok := errors.AsType[*source.Error](err); ok {
		return bad.Kind + " " + bad.Reason
	}
	t.Errorf("%s: %v", sql, err)
	return err.Error()
}

// testFilteredByPrincipal queries one source as several principals in turn.
func testFilteredByPrincipal(t *testing.T, src source.Source) {
	const all = "SELECT count(*), count(DISTINCT org), min(org) FROM orders"
	who := func(org, user, regions string) footnote.Principal {
		return footnote.Principal{Org: org, User: user, Attributes: map[string]string{"regions": regions}}
	}
	for _, c := range []struct {
		p         footnote.Principal
		sql, rows string
	}{
		{footnote.Principal{Org: "acme"}, all, `[[4,1,"acme"]]`},
		{footnote.Principal{Org: "globex-1"}, all, `[[3,1,"globex-1"]]`},
		{footnote.Principal{Org: "ACME"}, all, `[[0,0,null]]`},
		{footnote.Principal{}, all, `[[0,0,null]]`},
		{footnote.Principal{Org: "x' OR '1'='1"}, all, `[[0,0,null]]`},
		{footnote.Principal{Org: "x') OR (1=1) --"}, all, `[[0,0,null]]`},
		{footnote.Principal{Org: `x\' OR 1=1 --`}, all, `[[0,0,null]]`},
		{footnote.Principal{Org: "acme"}, "SELECT count(*) FROM accounts", `[[0]]`},
		{who("acme", "", "south"), "SELECT name FROM accounts", `[["Bob"]]`},
		{who("acme", "", "north') OR ('1'='1"), "SELECT count(*) FROM accounts", `[[0]]`},
		{who("acme", "", ""), "SELECT count(*) FROM accounts", `[[0]]`},
		{who("acme", "bob", "north"), "SELECT count(*) FROM tickets", `[[0]]`},
	} {
		if got := visibleTo(t, src, c.p, c.sql, false); !strings.HasSuffix(got, " "+c.rows) {
			t.Errorf("%+v: %s gave %s, want %s", c.p, c.sql, got, c.rows)
		}
	}
	r, _, err := source.Collect(t.Context(), src, source.Query{SQL: all})
	if err != nil || Text(r.Rows) != `[[0,0,null]]` {
		t.Errorf("a query without a principal sees %v, %v", r.Rows, err)
	}
}

// testFilteredSchema checks what the schema reveals before any query.
func testFilteredSchema(t *testing.T, sources []source.Source) {
	acme := footnote.WithPrincipal(t.Context(), footnote.Principal{Org: "acme"})
	other := footnote.WithPrincipal(t.Context(), footnote.Principal{Org: "globex-1"})
	var texts []string
	for _, src := range sources {
		s, err := src.Schema(acme)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, fmt.Sprintf("%+v", s.Tables))
		if len(s.Tables) != len(Filters) {
			t.Errorf("the schema has %d tables, want %d: %s", len(s.Tables), len(Filters), texts[0])
		}
		mine, err1 := src.Version(acme)
		theirs, err2 := src.Version(other)
		if err1 != nil || err2 != nil || mine == theirs || mine != s.Version {
			t.Errorf("versions %q and %q, of the schema %q: %v, %v", mine, theirs, s.Version, err1, err2)
		}
		if err := src.Probe(t.Context()); err != nil {
			t.Errorf("probe: %v", err)
		}
	}
	if texts[0] != texts[1] || strings.Contains(texts[0], canary) {
		t.Errorf("the schema depends on the rows of others:\n%s\n%s", texts[0], texts[1])
	}
}
