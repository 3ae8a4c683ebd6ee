package footnote_test

import (
	"bytes"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const columns = 120 // a tab counts four

var structTag = regexp.MustCompile("^`[a-z]+:\"[^\n]*$")

// TestLinesFit checks that no line of code or prose is longer than what fits on a screen beside another. In Go the tags
// of struct fields, which cannot be broken, and the fixtures of tests may be longer; in Markdown tables, addresses and
// examples may be.
func TestLinesFit(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "-z", "-co", "--exclude-standard", "*.go", "*.md").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if strings.Contains(name, "testdata/") ||
			strings.Contains(name, "/evalset/") && strings.HasSuffix(name, ".md") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			continue // deleted, and not yet committed
		}
		free := examples
		if strings.HasSuffix(name, ".go") {
			free = literals
		}
		may := free(name, src)
		for i, line := range bytes.Split(src, []byte("\n")) {
			if n := utf8.RuneCount(line) + 3*bytes.Count(line, []byte("\t")); n > columns && !may[i+1] {
				t.Errorf("%s:%d has %d columns", name, i+1, n)
			}
		}
	}
}

// literals finds the lines of a Go file that may be longer.
func literals(name string, src []byte) map[int]bool {
	fset := token.NewFileSet()
	file := fset.AddFile(name, -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	may := map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return may
		}
		if tok != token.STRING {
			continue
		}
		first := file.Line(pos)
		fixture := strings.HasSuffix(name, "_test.go") && (lit[0] == '`' || len(lit) > columns/2)
		if fixture || structTag.MatchString(lit) {
			for n := range strings.Count(lit, "\n") + 1 {
				may[first+n] = true
			}
		}
	}
}

// examples finds the lines of a Markdown file that may be longer.
func examples(_ string, src []byte) map[int]bool {
	may, fenced := map[int]bool{}, false
	for i, line := range strings.Split(string(src), "\n") {
		text := strings.TrimSpace(line)
		fence := strings.HasPrefix(text, "```")
		if fence {
			fenced = !fenced
		}
		may[i+1] = fenced || fence || strings.HasPrefix(text, "|") || strings.Contains(text, "://") ||
			strings.HasPrefix(text, "alt=")
	}
	return may
}
