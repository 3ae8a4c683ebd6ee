package sourcetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

// Hidden lists the columns and tables that the suite RunHidden hides from everybody without the role payroll.
var Hidden = source.Hidden{
	{Table: "staff", Columns: []string{"salary", "IBAN"}}, {Table: "dossiers"},
	{Pattern: &source.TablePattern{Table: "*_OLD"}}, {Except: allBut("unlisted")},
}

// allBut returns patterns that match every table whose name does not begin like the given one.
func allBut(name string) (list []source.TablePattern) {
	for c := 'a'; c <= 'z'; c++ {
		if !strings.HasPrefix(name, string(c)) {
			list = append(list, source.TablePattern{Table: string(c) + "*"})
		}
	}
	return list
}

// Hiding hides Hidden from everybody without the role payroll.
type Hiding struct{}

// Any implements source.Hiding.
func (Hiding) Any() bool { return true }

// For implements source.Hiding.
func (Hiding) For(ctx context.Context) source.Hidden {
	if p, ok := footnote.ActingPrincipal(ctx); ok && slices.Contains(p.Roles, "payroll") {
		return nil
	}
	return Hidden
}

// HiddenSetup returns statements, in SQL that the engines share, that create tables with hidden columns. In variants 0
// and 1, the hidden columns have different values. Variant 2 has neither the hidden columns and tables nor the views
// that need them.
func HiddenSetup(variant int) []string {
	pairs := []string{}
	for row := 1; row <= 3; row++ {
		pay := fmt.Sprintf("%d, ", 4000+1100*row-37*variant*row)
		bank := fmt.Sprintf("'canary-%d-%d', ", variant, row)
		if variant == 2 {
			pay, bank = "", ""
		}
		pairs = append(pairs, fmt.Sprintf("{pay%d}", row), pay, fmt.Sprintf("{bank%d}", row), bank)
	}
	if variant == 2 {
		pairs = append(pairs, "{pay}", "", "{bank}", "")
	} else {
		pairs = append(pairs, "{pay}", "salary INTEGER, ", "{bank}", "iban VARCHAR(40), ", "{only}", "")
	}
	fill := strings.NewReplacer(pairs...)
	var list []string
	for _, line := range setup("hidden") {
		if line = fill.Replace(line); !strings.HasPrefix(line, "{only}") {
			list = append(list, line)
		}
	}
	return list
}

// RunHidden runs the tests of hidden columns. Open opens a source with the Hiding of this package over the tables of
// HiddenSetup for a variant.
//
// Everything a statement returns, rows, columns and messages, must be the same for all variants: the source behaves as
// if what is hidden did not exist. Views of the database that need a hidden column may be refused instead.
func RunHidden(t *testing.T, open func(t testing.TB, variant int) source.Source) {
	sources := []source.Source{open(t, 0), open(t, 1), open(t, 2)}
	clerk := footnote.Principal{Org: "acme", User: "clerk"}
	hostile, allowed := Statements(t, "hidden"), Statements(t, "hidden-allowed", Executed)
	if len(hostile) < 100 {
		t.Errorf("there are %d hostile statements only", len(hostile))
	}
	statements := append(hostile, allowed...)
	first := make([]string, len(statements))
	for i, st := range statements {
		var seen []string
		for _, src := range sources {
			seen = append(seen, visibleTo(t, src, clerk, st.SQL, len(st.Want) == 0))
		}
		checkHidden(t, st, seen)
		first[i] = seen[0]
	}
	for i, st := range statements { // a used connection must behave like a fresh one
		if again := visibleTo(t, sources[0], clerk, st.SQL, len(st.Want) == 0); again != first[i] {
			t.Errorf("%s: first %.600s\nthen %.600s", st.Name, first[i], again)
		}
	}
	t.Logf("%d hostile and %d allowed statements over 3 variants, and again over one", len(hostile), len(allowed))
	testHiddenByRole(t, sources[0])
	testHiddenSchema(t, sources)
}

// views of HiddenSetup that variant 2 does not have.
var viewsOfHidden = []string{"rich", "paid", "rumours"}

// checkHidden judges what a statement returned for the three variants.
func checkHidden(t *testing.T, st Statement, seen []string) {
	t.Helper()
	sql := strings.ToLower(st.SQL)
	refusable := slices.ContainsFunc(viewsOfHidden, func(v string) bool { return strings.Contains(sql, v) })
	if seen[0] != seen[1] || seen[0] != seen[2] && !(refusable && !strings.HasPrefix(seen[0], Executed)) {
		t.Errorf("%s: it depends on what is hidden:\n%.600s\n%.600s\n%.600s", st.Name, seen[0], seen[1], seen[2])
	}
	for _, name := range []string{"canary", "salary", "iban", "dossiers", "pay_old", "unlisted"} {
		if !strings.Contains(sql, name) && !strings.Contains(sql, "bonuses") &&
			strings.Contains(strings.ToLower(seen[0]), name) {
			t.Errorf("%s: it names %s: %.600s", st.Name, name, seen[0])
		}
	}
	if len(st.Want) > 0 && !strings.HasPrefix(seen[0], st.Want[0]) ||
		st.Rows != "" && !strings.HasSuffix(seen[0], " "+st.Rows) {
		t.Errorf("%s: %.600s, want %s", st.Name, seen[0], st.Rows)
	}
}

// testHiddenByRole checks that a role for which nothing is hidden sees everything, also after others have asked.
func testHiddenByRole(t *testing.T, src source.Source) {
	clerk, payroll := footnote.Principal{Org: "acme"}, footnote.Principal{Org: "acme", Roles: []string{"payroll"}}
	for _, c := range []struct {
		p         footnote.Principal
		sql, want string
	}{
		{payroll, "SELECT salary FROM staff WHERE id = 1", " [[5100]]"},
		{clerk, "SELECT * FROM staff WHERE id = 1", ` [[1,"Ada","north",2019]]`},
		{payroll, "SELECT remark FROM dossiers", ` [["canary-dossier"]]`},
		{payroll, "SELECT wage FROM paid WHERE id = 1", " [[5100]]"},
	} {
		if got := visibleTo(t, src, c.p, c.sql, false); !strings.HasSuffix(got, c.want) {
			t.Errorf("%v: %s gave %s, want %s", c.p.Roles, c.sql, got, c.want)
		}
	}
	_, _, err := source.Collect(t.Context(), src, source.Query{SQL: "SELECT salary FROM staff"})
	if err == nil {
		t.Error("a query without a principal reads a hidden column")
	}
	ctx, ran := footnote.WithStatements(footnote.WithPrincipal(t.Context(), clerk))
	_, _, err = source.Collect(ctx, src, source.Query{SQL: "SELECT salary FROM staff", Own: true})
	if err == nil || strings.Contains(fmt.Sprint(err, ran.All()), "salary") {
		t.Errorf("an error or the record of the program's own statement names a hidden column: %v, %v", err, ran.All())
	}
}

// testHiddenSchema checks what the schema and the version say.
func testHiddenSchema(t *testing.T, sources []source.Source) {
	clerk := footnote.WithPrincipal(t.Context(), footnote.Principal{Org: "acme"})
	payroll := footnote.WithPrincipal(t.Context(), footnote.Principal{Org: "acme", Roles: []string{"payroll"}})
	var texts []string
	for i, src := range sources {
		s, err := src.Schema(clerk)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, fmt.Sprintf("%+v", s.Tables))
		full, err := src.Schema(payroll)
		if err != nil {
			t.Fatal(err)
		}
		if all := fmt.Sprintf("%+v", full.Tables); i < 2 && (!strings.Contains(all, "iban") ||
			!strings.Contains(all, "dossiers") || !strings.Contains(all, "paid_twice")) {
			t.Errorf("the schema for payroll is %s", all)
		}
		mine, err1 := src.Version(clerk)
		theirs, err2 := src.Version(payroll)
		if err1 != nil || err2 != nil || mine == theirs || mine != s.Version {
			t.Errorf("versions %q and %q, of the schema %q: %v, %v", mine, theirs, s.Version, err1, err2)
		}
		if err := src.Probe(t.Context()); err != nil {
			t.Errorf("probe: %v", err)
		}
	}
	if texts[0] != texts[1] || texts[0] != texts[2] {
		t.Errorf("the schema depends on what is hidden:\n%s\n%s\n%s", texts[0], texts[1], texts[2])
	}
}
