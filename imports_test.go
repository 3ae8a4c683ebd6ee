package footnote_test

import (
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/footnotehq/footnote"

// Packages of this module begin with "/". A rule is about a package and all below it, or only about those below it if
// it ends with "/".
var banned = map[string][]string{
	"":               {"/", "net/http", "database/sql", "os/exec"},
	"/model/history": {"/agent", "/store", "net/http", "database/sql"},
	"/agent": {
		"/store", "/source", "/model/", "/tool/", "/protocol", "/httpapi", "net/http", "database/sql",
	},
	"/hub":   {"/agent", "/store", "net/http"},
	"/tool":  {"/agent", "/model", "/store", "/source", "/tool/", "net/http", "database/sql"},
	"/model": {"/agent", "/tool", "/store", "/source", "/model/", "net/http", "database/sql"},
	"/store/inspect": {
		"/agent", "/store", "/source", "/model", "/tool", "/protocol", "/httpapi", "net/http", "database/sql",
	},
	"/hub/relay": {
		"/store", "/source", "/model/", "/tool/", "/protocol", "/httpapi", "net/http", "database/sql",
	},
	"/hub/relay/redis": {
		"/agent", "/store", "/source", "/model", "/tool", "/protocol", "/httpapi", "net/http", "database/sql",
	},
	"/internal/redispool": {"/"},
	"/cite":               {"/agent", "/store", "/source", "net/http", "database/sql"},
	"/agent/prompt":       {"/agent", "/store", "net/http", "database/sql"},
	"/tool/cache": {
		"/store", "/source", "/model/", "/tool/", "/protocol", "/httpapi", "net/http", "database/sql", "testing",
	},
	"/source":          {"/agent", "/store", "net/http", "database/sql"},
	"/source/sqlite":   {"/agent", "/store", "/source/duckdb", "net/http"},
	"/source/duckdb":   {"/agent", "/store", "/source/sqlite", "net/http"},
	"/source/postgres": {"/agent", "/store", "/source/sqlite", "/source/duckdb", "net/http", "testing"},
	"/source/mysql": {
		"/agent", "/store", "/source/sqlite", "/source/duckdb", "/source/postgres", "net/http", "testing",
	},
	"/source/postgres/relatives": {"/agent", "/store", "/source/sqlite", "testing"},
	"/source/s3":                 {"/agent", "/store", "/source/sqlite", "/source/postgres", "testing"},
	"/source/warehouse":          {"/agent", "/store", "/source/sqlite", "/source/duckdb", "database/sql"},
	"/source/warehouse/grammar":  {"/agent", "/store", "/source/child", "net/http", "database/sql", "testing"},
	"/source/sqlserver": {
		"/agent", "/store", "/source/sqlite", "/source/duckdb", "testing", "github.com/Azure", "github.com/jcmturner",
	},
	"/source/mysql/grammar": {"/agent", "/store", "/source/child", "net/http", "database/sql", "testing"},
	"/source/catalog":       {"/agent", "/store", "/source/sqlite", "/source/duckdb", "net/http"},
	"/internal/telemetry": {
		"/store", "/source", "/model/", "/tool/", "/protocol", "/httpapi", "testing", "google.golang.org/grpc",
	},
	"/store/transfer":  {"/httpapi", "/source", "/model/", "/tool/", "net/http"},
	"/market/drawing":  {"/agent", "/store", "/hub", "/httpapi", "net/http", "database/sql"},
	"/market/board":    {"/agent", "/store", "/source", "/model", "/tool", "/httpapi", "net/http", "database/sql"},
	"/store/retention": {"/agent", "/httpapi", "net/http"},
	"/knowledge": {
		"/agent", "/store", "/model", "/tool", "/protocol", "/httpapi", "/source/", "net/http", "database/sql",
		"testing",
	},
	"/knowledge/verified": {
		"/agent", "/store", "/model", "/tool", "/protocol", "/httpapi", "/source", "net/http", "database/sql",
		"testing",
	},
	"/knowledge/suite": {
		"/agent", "/store", "/model", "/tool", "/protocol", "/httpapi", "/source", "net/http", "database/sql",
		"testing",
	},
	"/knowledge/inbox": {
		"/agent", "/store", "/model", "/tool", "/protocol", "/httpapi", "/source", "net/http", "database/sql",
		"testing",
	},
	"/tool/verified": {"/agent", "/store", "/model", "/protocol", "/httpapi", "net/http", "database/sql"},
	"/model/recorded": {
		"/agent", "/store", "/source", "/tool", "/httpapi", "net/http", "database/sql", "/model/claude",
		"/model/offline", "/model/modeltest",
	},
	"/ledger/usage": {"/agent", "/store", "/httpapi", "net/http", "database/sql"},
	"/ledger": {
		"/store", "/source", "/model/", "/tool/", "/protocol", "/httpapi", "net/http", "database/sql",
	},
	// The library for Parquet depends on net/http through a compression, and on interfaces of database/sql.
	"/internal/export":     {"/agent", "/store", "/source", "/model", "/tool", "/httpapi"},
	"/store":               {"/agent", "/source", "net/http", "database/sql"},
	"/store/sqlite":        {"/agent", "/source", "net/http"},
	"/store/postgres":      {"/agent", "/source", "/store/sqlite", "net/http", "testing"},
	"/tool/query":          {"/agent", "/store", "/model", "/protocol", "/httpapi", "net/http", "database/sql"},
	"/tool/profile":        {"/agent", "/store", "/model", "/protocol", "/httpapi", "net/http", "database/sql"},
	"/tool/workspace":      {"/agent", "/store", "/model", "/protocol", "/httpapi", "net/http", "database/sql"},
	"/internal/sandbox":    {"/agent", "/store", "/source", "net/http"},
	"/tool/chart":          {"/agent", "/store", "/model", "/protocol", "/httpapi", "net/http", "database/sql"},
	"/market/tool/drawing": {"/agent", "/store", "/model", "/protocol", "/httpapi", "net/http", "database/sql"},
	"/market/tool/market": {
		"/agent", "/store", "/source", "/model", "/protocol", "/httpapi", "/market/sqlite", "/market/postgres",
		"net/http", "database/sql",
	},
	"/tool/own":    {"/agent", "/store", "/model", "/protocol", "/httpapi", "net/http", "database/sql"},
	"/tool/search": {"/agent", "/store", "/model", "/protocol", "/httpapi", "net/http", "database/sql"},
	"/tool/ask": {
		"/agent", "/store", "/source", "/model", "/protocol", "/httpapi", "net/http", "database/sql",
	},
	"/tool/browser": {
		"/agent", "/store", "/source", "/model", "/protocol", "/httpapi", "net/http", "database/sql",
	},
	"/market": {
		"/agent", "/store", "/source", "/model", "/tool", "/protocol", "/httpapi", "net/http", "database/sql",
	},
	"/market/feed": {
		"/agent", "/store", "/source", "/model", "/tool", "/protocol", "/httpapi", "database/sql", "testing",
	},
	"/market/importer": {
		"/agent", "/store", "/source", "/model", "/tool", "/protocol", "/httpapi", "/market/sqlite", "/market/postgres",
		"net/http", "database/sql", "testing",
	},
	"/market/postgres": {
		"/agent", "/store", "/source", "/model", "/tool", "/protocol", "/httpapi", "/market/sqlite", "net/http",
		"testing",
	},
	"/market/sqlite": {
		"/agent", "/store", "/source", "/model", "/tool", "/protocol", "/httpapi", "net/http", "testing",
	},
	"/internal/reply": {
		"/agent", "/store", "/source", "/model", "/tool", "/protocol", "/httpapi", "net/http", "database/sql",
	},
	"/market/swing": {
		"/agent", "/store", "/source", "/model", "/tool", "/protocol", "/httpapi", "/market/sqlite", "/market/postgres",
		"net/http", "database/sql",
	},
	"/model/claude": {
		"/agent", "/store", "/source", "/tool/", "/httpapi", "database/sql", "/model/offline", "/model/modeltest",
	},
	"/model/offline":    {"/market", "/agent", "/store", "/httpapi", "database/sql", "/model/claude", "net/http"},
	"/protocol":         {"/store", "/source", "/model/", "/tool/", "/httpapi", "database/sql"},
	"/protocol/openai":  {"/store", "/source", "/model/", "/tool/", "/httpapi", "database/sql"},
	"/protocol/aisdk":   {"/store", "/source", "/model/", "/tool/", "/httpapi", "database/sql"},
	"/market/endpoint":  {"/store", "/source", "/model/", "/tool/", "/httpapi", "database/sql"},
	"/market/chart":     {"/store", "/source", "/model/", "/tool/", "/httpapi", "database/sql"},
	"/protocol/chatv2":  {"/store", "/source", "/model/", "/tool/", "/httpapi", "database/sql"},
	"/protocol/analyze": {"/store", "/source", "/model/", "/tool/", "/httpapi", "database/sql"},
	"/protocol/mcp": {
		"/store", "/source", "/model/", "/tool/", "/httpapi", "database/sql", "google.golang.org/grpc",
	},
	"/httpapi":         {"/store", "/source", "/model/", "/tool/"},
	"/audit":           {"/httpapi", "/model/", "/source", "/tool/", "net/http"},
	"/web":             {"/", "database/sql", "testing"},
	"/internal/app":    {"/cmd", "testing"},
	"/internal/doctor": {"/"},
	"/cmd/footnote":    {"testing"},
}

// vocabulary is the package of the messages that models read. A rule about what is below /model is not about it.
const vocabulary = "/model/history"

func TestArrowsPointInward(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		pkg, deps, _ := strings.Cut(strings.TrimSpace(line), " ")
		name := strings.TrimPrefix(pkg, module)
		seen[name] = true
		for dep := range strings.FieldsSeq(deps) {
			if own, ok := strings.CutPrefix(dep, module); ok {
				dep = own
			}
			for _, b := range banned[name] {
				if dep != vocabulary && (dep == b || strings.HasPrefix(dep, strings.TrimSuffix(b, "/")+"/")) {
					t.Errorf("%s depends on %s", pkg, dep)
				}
			}
		}
	}
	for name := range banned {
		if !seen[name] {
			t.Errorf("the rule for %q is about no package", name)
		}
	}
}

// TestMarketCanBeRemoved checks that only the wiring imports the module of charts and markets: without its lines in
// cmd/footnote, the program builds without the module.
func TestMarketCanBeRemoved(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		pkg, imports, _ := strings.Cut(strings.TrimSpace(line), " ")
		name := strings.TrimPrefix(pkg, module)
		if within(name, "/market") || name == "/cmd/footnote" {
			continue
		}
		for dep := range strings.FieldsSeq(imports) {
			if within(strings.TrimPrefix(dep, module), "/market") {
				t.Errorf("%s imports %s", pkg, dep)
			}
		}
	}
}

// within reports whether a package is another one or below it.
func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }
