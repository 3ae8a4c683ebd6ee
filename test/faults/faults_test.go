// Package faults_test runs the table of docs/faults.md, row by row:
//
//	go test ./test/faults -v -timeout 0 -run Rows -long             all rows, at full length
//	go test ./test/faults -v -timeout 0 -run Rows -long -rows 1,5   some rows
package faults_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	long = flag.Bool("long", false, "run the rows at full length")
	only = flag.String("rows", "", "only these rows, as in 1,5")
)

// root is the folder of the repository.
var root = filepath.Join("..", "..")

// lengths are the defaults here of the settings for how much the tests do.
var lengths = map[string]string{
	"FOOTNOTE_SWARM": "50", "FOOTNOTE_SWARM_KILLS": "40", "FOOTNOTE_DRAIN_ROUNDS": "25", "FOOTNOTE_CRASH_ROUNDS": "200",
	"FOOTNOTE_AWAY":         "60",
	"FOOTNOTE_REDIS_ROUNDS": "20", "FOOTNOTE_BUDGET_RUNS": "50", "FOOTNOTE_BACKUPS": "5", "FOOTNOTE_ROLLS": "20",
	"FOOTNOTE_TOOL_KILLS": "20",
	"FOOTNOTE_POWER":      "300", "FOOTNOTE_IDLE": "8000", "FOOTNOTE_LEAVING": "250",
	"FOOTNOTE_OUTAGE": "5", "FOOTNOTE_OUTAGE_RUNS": "20", "FOOTNOTE_OUTAGE_RESTARTS": "10",
}

// row is a row of the table.
type row struct {
	n     int
	fault string
	tests []test
}

// test is a test of a package, such as store/sqlite.
type test struct{ pkg, name string }

var line = regexp.MustCompile(`(?m)^\| \**(\d+)\** \| (.*?) \|.*\| (.*?) ?\|$`)

// parse parses the table of a page.
func parse(page string) (table []row, err error) {
	for _, m := range line.FindAllStringSubmatch(page, -1) {
		n, _ := strconv.Atoi(m[1]) // the expression allows only digits
		next := row{n: n, fault: strings.ReplaceAll(m[2], "`", "")}
		for _, group := range strings.Split(m[3], ";") {
			pkg, names, ok := strings.Cut(strings.TrimSpace(group), ": ")
			if !ok && strings.TrimSpace(group) != "" {
				return nil, fmt.Errorf("row %d: %q is not a package followed by its tests", n, group)
			}
			for _, name := range strings.Split(names, ", ") {
				if name != "" {
					next.tests = append(next.tests, test{pkg, name})
				}
			}
		}
		table = append(table, next)
	}
	if len(table) == 0 {
		return nil, fmt.Errorf("there is no table")
	}
	return table, nil
}

// TestTable checks that the page has thirty rows, and that each test it names exists.
func TestTable(t *testing.T) {
	table := readTable(t)
	for i, row := range table {
		if row.n != i+1 {
			t.Errorf("after row %d comes %d", i, row.n)
		}
		if len(row.tests) == 0 && row.n != 27 {
			t.Errorf("row %d has no tests", row.n)
		}
		for _, test := range row.tests {
			if !hasTest(t, filepath.Join(root, filepath.FromSlash(test.pkg)), test.name) {
				t.Errorf("row %d: %s has no %s", row.n, test.pkg, test.name)
			}
		}
	}
	if len(table) != 30 {
		t.Errorf("%d rows", len(table))
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+name+"(") {
			return true
		}
	}
	return false
}

// readTable reads the table of docs/faults.md.
func readTable(t *testing.T) []row {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "faults.md"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := parse(string(page))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestRows runs the tests of each row at full length, each of them once.
func TestRows(t *testing.T) {
	if !*long {
		t.Skip("the rows take an hour: run them with make faults; make test runs each of their tests at short length")
	}
	r := runner{dir: t.TempDir(), passed: map[test]bool{}}
	if err := r.command(t, root, "go", "build", "-o", r.program(), "./cmd/footnote"); err != nil {
		t.Fatal(err)
	}
	for _, row := range readTable(t) {
		if *only == "" || slices.Contains(strings.Split(*only, ","), strconv.Itoa(row.n)) {
			t.Run(fmt.Sprintf("%d %s", row.n, row.fault), func(t *testing.T) { r.row(t, row) })
		}
	}
}

// runner runs each test once.
type runner struct {
	dir    string
	passed map[test]bool // results of the tests that were run
}

func (r *runner) program() string { return filepath.Join(r.dir, "footnote") }

// fuzzTime is how long a fuzz target runs.
const fuzzTime = "20s"

func (r *runner) row(t *testing.T, row row) {
	for _, test := range row.tests {
		passed, done := r.passed[test]
		if !done {
			passed = r.run(t, test)
			r.passed[test] = passed
		}
		if !passed {
			t.Errorf("%s: %s failed", test.pkg, test.name)
		}
	}
}

// run runs one test in the folder of its package, and reports whether it passed.
func (r *runner) run(t *testing.T, test test) bool {
	binary := filepath.Join(r.dir, strings.ReplaceAll(test.pkg, "/", "-")+".test")
	if _, err := os.Stat(binary); err != nil {
		if err := r.command(t, root, "go", "test", "-c", "-o", binary, "./"+test.pkg); err != nil {
			t.Fatal(err)
		}
	}
	err := r.command(t, filepath.Join(root, test.pkg), binary, "-test.timeout=60m", "-test.v",
		"-test.run=^"+test.name+"$")
	if err == nil && strings.HasPrefix(test.name, "Fuzz") {
		err = r.command(t, root, "go", "test", "-run", "^$", "-fuzz", "^"+test.name+"$", "-fuzztime", fuzzTime,
			"./"+test.pkg)
	}
	if err != nil {
		t.Log(err)
	}
	return err == nil
}

// maxOutput limits the output printed for a failed test, in bytes.
const maxOutput = 20_000

func (r *runner) command(t *testing.T, dir, name string, args ...string) error {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TEST_PROGRAM="+r.program(), "FOOTNOTE_AUDIT=1")
	for name, value := range lengths {
		if _, set := os.LookupEnv(name); !set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out[max(0, len(out)-maxOutput):])
	}
	return nil
}
