package postgres

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
)

// TestConfiguredVersion checks that the operator's statement, together with the existing tables, determines the
// version of the data, and that a wrong one is refused at startup.
func TestConfiguredVersion(t *testing.T) {
	owner := pgtest.Database(t)
	do(t, owner, `CREATE TABLE loads (at int)`, `INSERT INTO loads VALUES (1)`, `CREATE TABLE noise (x int)`,
		`CREATE ROLE footnote_versions LOGIN`, `GRANT USAGE ON SCHEMA public TO footnote_versions`,
		`GRANT SELECT ON loads TO footnote_versions`)
	t.Cleanup(func() { do(t, owner, `DROP OWNED BY footnote_versions`, `DROP ROLE footnote_versions`) })
	reader := strings.Replace(owner, "footnote@", "footnote_versions@", 1)
	src := open(t, reader, Options{VersionSQL: "SELECT max(at) FROM loads -- newest\n;\n"})
	version := func() string {
		t.Helper()
		v, err := src.Version(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := version()
	do(t, owner, `INSERT INTO noise SELECT generate_series(1, 1000)`)
	if v := version(); v != first {
		t.Errorf("the version went from %q to %q with rows that it does not tell of", first, v)
	}
	do(t, owner, `INSERT INTO loads VALUES (2)`)
	second := version()
	if second == first {
		t.Errorf("the version stayed %q when the value changed", first)
	}
	do(t, owner, `ALTER TABLE noise ADD COLUMN y int`)
	if v := version(); v == second {
		t.Errorf("the version stayed %q when a column came", second)
	}
	for _, wrong := range []string{
		"SELECT 1, 2", "SELECT nothing", "DELETE FROM loads RETURNING 1", "SELECT generate_series(1, 2)",
	} {
		s, err := Open(t.Context(), "shop", reader, Options{VersionSQL: wrong})
		if footnote.CodeOf(err) != footnote.InvalidRequest ||
			!strings.Contains(footnote.MessageOf(err), "must give one value") {
			t.Errorf("%s: %v", wrong, err)
		}
		if err == nil {
			s.Close()
		}
	}
}
