// Command faults runs the table of docs/faults.md, row by row, and reports the result of each.
//
//	go run ./test/faults            all rows, at full length
//	go run ./test/faults -rows 1,5  some rows
//	go run ./test/faults -short     as make test does
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lengths are the defaults here of the settings for how much the tests do.
var lengths = map[string]string{
	"FOOTNOTE_SWARM": "50", "FOOTNOTE_SWARM_KILLS": "40", "FOOTNOTE_DRAIN_ROUNDS": "25", "FOOTNOTE_CRASH_ROUNDS": "200",
	"FOOTNOTE_AWAY":         "60",
	"FOOTNOTE_REDIS_ROUNDS": "20", "FOOTNOTE_BUDGET_RUNS": "50", "FOOTNOTE_BACKUPS": "5", "FOOTNOTE_ROLLS": "20",
	"FOOTNOTE_TOOL_KILLS": "20",
	"FOOTNOTE_POWER":      "300", "FOOTNOTE_IDLE": "8000", "FOOTNOTE_LEAVING": "250",
	"FOOTNOTE_OUTAGE": "5", "FOOTNOTE_OUTAGE_RUNS": "20", "FOOTNOTE_OUTAGE_RESTARTS": "10",
}

func main() {
	rows := flag.String("rows", "", "only these, as in 1,5")
	short := flag.Bool("short", false, "as short as in make test")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, *rows, *short)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, short bool) (ok bool, err error) {
	page, err := os.ReadFile(filepath.Join("docs", "faults.md"))
	if err != nil {
		return false, fmt.Errorf("run it in the repository: %w", err)
	}
	table, err := Parse(string(page))
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "footnote-faults-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	r := &runner{dir: dir, short: short, ok: map[string]bool{}}
	if err := r.command(ctx, "", "go", "build", "-o", r.program(), "./cmd/footnote"); err != nil {
		return false, err
	}
	ok = true
	for _, row := range table {
		if only != "" && !slices.Contains(strings.Split(only, ","), strconv.Itoa(row.N)) {
			continue
		}
		good, err := r.row(ctx, row)
		if err != nil {
			return false, err
		}
		ok = ok && good
	}
	return ok, ctx.Err()
}

// Row is a row of the table.
type Row struct {
	N     int
	Fault string
	Tests []Test
}

// Test is a test of a package, such as store/sqlite.
type Test struct{ Package, Name string }

var line = regexp.MustCompile(`(?m)^\| \**(\d+)\** \| (.*?) \|.*\| (.*?) ?\|$`)

// Parse parses the table of a page.
func Parse(page string) (table []Row, err error) {
	for _, m := range line.FindAllStringSubmatch(page, -1) {
		n, _ := strconv.Atoi(m[1]) // the expression allows only digits
		row := Row{N: n, Fault: strings.ReplaceAll(m[2], "`", "")}
		for _, group := range strings.Split(m[3], ";") {
			pkg, names, ok := strings.Cut(strings.TrimSpace(group), ": ")
			if !ok && strings.TrimSpace(group) != "" {
				return nil, fmt.Errorf("row %d has %q, which is no package and its tests", n, group)
			}
			for _, name := range strings.Split(names, ", ") {
				if name != "" {
					row.Tests = append(row.Tests, Test{pkg, name})
				}
			}
		}
		table = append(table, row)
	}
	if len(table) == 0 {
		return nil, fmt.Errorf("there is no table")
	}
	return table, nil
}

// runner runs each test once.
type runner struct {
	dir   string
	short bool
	ok    map[string]bool // results of the packages and tests that were run
}

func (r *runner) program() string { return filepath.Join(r.dir, "footnote") }

// fuzzTime is how long a fuzz target runs.
const fuzzTime = "20s"

// row runs the tests of a row and prints the result.
func (r *runner) row(ctx context.Context, row Row) (ok bool, err error) {
	if len(row.Tests) == 0 {
		fmt.Printf("row %2d  –      %s\n", row.N, row.Fault)
		return true, nil
	}
	begun := time.Now()
	byPackage := map[string][]string{}
	var packages []string
	ok = true
	for _, t := range row.Tests {
		if was, done := r.ok[t.Package+" "+t.Name]; done {
			ok = ok && was
			continue
		}
		if byPackage[t.Package] == nil {
			packages = append(packages, t.Package)
		}
		byPackage[t.Package] = append(byPackage[t.Package], t.Name)
	}
	for _, pkg := range packages {
		good, err := r.tests(ctx, pkg, byPackage[pkg])
		if err != nil {
			return false, err
		}
		for _, name := range byPackage[pkg] {
			r.ok[pkg+" "+name] = good
		}
		ok = ok && good
	}
	fmt.Printf("row %2d  %-6s %6.0fs  %s\n", row.N, map[bool]string{true: "ok", false: "FAILED"}[ok],
		time.Since(begun).Seconds(), row.Fault)
	return ok, ctx.Err()
}

// tests runs tests of a package, and prints their output if one fails.
func (r *runner) tests(ctx context.Context, pkg string, names []string) (ok bool, err error) {
	binary := filepath.Join(r.dir, strings.ReplaceAll(pkg, "/", "-")+".test")
	if _, err := os.Stat(binary); err != nil {
		if err := r.command(ctx, "", "go", "test", "-c", "-o", binary, "./"+pkg); err != nil {
			return false, err
		}
	}
	ok = true
	args := []string{"-test.timeout=60m", "-test.v", "-test.run=^(" + strings.Join(names, "|") + ")$"}
	if err := r.command(ctx, pkg, binary, args...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		ok = false
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "Fuzz") || r.short {
			continue
		}
		if err := r.command(ctx, "", "go", "test", "-run", "^$", "-fuzz", "^"+name+"$", "-fuzztime", fuzzTime,
			"./"+pkg); err != nil {
			fmt.Fprintln(os.Stderr, err)
			ok = false
		}
	}
	return ok, ctx.Err()
}

// shown limits the output printed for a failed test, in bytes.
const shown = 20_000

func (r *runner) command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TEST_PROGRAM="+r.program(), "FOOTNOTE_AUDIT=1")
	for name, value := range lengths {
		if _, set := os.LookupEnv(name); !set && !r.short {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		text := out.Bytes()
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, text[max(0, len(text)-shown):])
	}
	return nil
}
