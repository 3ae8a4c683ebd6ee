package sourcetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TPCTables are the tables of TPC-H and TPC-DS.
var TPCTables = strings.Fields(`customer lineitem nation orders part partsupp region supplier call_center catalog_page
	catalog_returns catalog_sales customer_address customer_demographics date_dim household_demographics income_band
	inventory item promotion reason ship_mode store store_returns store_sales time_dim warehouse web_page web_returns
	web_sales web_site`)

// TPC calls read for the 22 statements of TPC-H and the 99 of TPC-DS, and reports the errors that it returns. Spelling
// lists regular expressions and what replaces their matches in a dialect. Lacks matches what the dialect does not have;
// statements with it are left out, and their number must be lacking.
//
// The statements' licence does not allow copies here. They are read from DuckDB's library, a module that the program
// needs anyway.
func TPC(t *testing.T, spelling []string, lacks string, lacking int, read func(sql string) error) {
	t.Helper()
	list := tpcStatements(t)
	missing, without := 0, regexp.MustCompile(lacks)
	for i, sql := range list {
		if lacks != "" && without.MatchString(sql) {
			missing++
			continue
		}
		for i := 0; i < len(spelling); i += 2 {
			sql = regexp.MustCompile(spelling[i]).ReplaceAllString(sql, spelling[i+1])
		}
		if err := read(sql); err != nil {
			t.Errorf("statement %d: %v\n%s", i+1, err, sql)
		}
	}
	if missing != lacking {
		t.Errorf("%d statements use what the dialect lacks, want %d", missing, lacking)
	}
}

var tpcStatement = regexp.MustCompile(`(?is)^\s*(select|with)\s.{60,};\s*$`)

func tpcStatements(t *testing.T) (list []string) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/duckdb/duckdb-go-bindings/lib/"+
		runtime.GOOS+"-"+runtime.GOARCH).Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Skipf("the module with the statements, DuckDB's library, is not here: %v", err)
	}
	for _, suite := range []string{"tpch", "tpcds"} {
		data, err := os.ReadFile(filepath.Join(dir, "lib"+suite+"_extension.a"))
		if err != nil {
			t.Fatal(err)
		}
		for text := range bytes.SplitSeq(data, []byte{0}) {
			if tpcStatement.Match(text) {
				list = append(list, string(bytes.TrimSpace(text)))
			}
		}
	}
	if len(list) != 22+99 {
		t.Fatalf("DuckDB's library has %d statements", len(list))
	}
	return list
}
