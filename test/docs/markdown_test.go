//go:build unix

package docs_test

import (
	"fmt"
	"regexp"
	"strings"
)

// A block is a fenced block of a page.
type block struct {
	line int // first line of its content
	lang string
	file string // "file=NAME" of the info string: the name that the page gives it
	text string
}

// blocks returns the fenced blocks of a page, in order.
func blocks(page string) ([]block, error) {
	var list []block
	var open *block
	var body []string
	for i, line := range strings.Split(page, "\n") {
		mark, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && open == nil:
			info := strings.Fields(mark)
			open, body = &block{line: i + 2}, nil
			for j, word := range info {
				name, isFile := strings.CutPrefix(word, "file=")
				switch {
				case j == 0:
					open.lang = word
				case isFile:
					open.file = name
				default:
					return nil, fmt.Errorf("line %d: unknown word %q after the fence", i+1, word)
				}
			}
		case isFence:
			open.text = strings.Join(body, "\n")
			list = append(list, *open)
			open = nil
		case open != nil:
			body = append(body, line)
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the fence is not closed", open.line-1)
	}
	return list, nil
}

// A command is one prompt of a console block and its expected output.
type command struct {
	line int
	text string // may have several lines
	want string
}

// commands returns the prompts of a console block. A line that begins with "$ " is a command; lines that
// begin with "> " continue it, as do those after a backslash. Everything up to the next prompt is the output.
func commands(b block) ([]command, error) {
	var list []command
	var want []string
	end := func() {
		if n := len(list); n > 0 {
			list[n-1].want = trimLines(strings.Join(want, "\n"))
		}
		want = nil
	}
	for i, line := range strings.Split(b.text, "\n") {
		text, isPrompt := strings.CutPrefix(line, "$ ")
		more, isMore := strings.CutPrefix(line, "> ")
		switch {
		case isPrompt:
			end()
			list = append(list, command{line: b.line + i, text: text})
		case len(list) == 0:
			return nil, fmt.Errorf("line %d: a console block begins with a prompt", b.line+i)
		case len(want) == 0 && strings.HasSuffix(list[len(list)-1].text, `\`):
			list[len(list)-1].text += "\n" + line
		case len(want) == 0 && (isMore || line == ">"):
			list[len(list)-1].text += "\n" + more
		default:
			want = append(want, line)
		}
	}
	end()
	return list, nil
}

// background reports whether a command starts a background program.
func (c command) background() (string, bool) {
	text, ok := strings.CutSuffix(strings.TrimSpace(c.text), "&")
	return strings.TrimSpace(text), ok && !strings.HasSuffix(text, "&")
}

// fits compares an output with what a page shows. "…" matches anything within a line; a line with nothing
// else matches any lines.
func fits(want, got string) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for i, line := range strings.Split(trimLines(want), "\n") {
		if strings.TrimSpace(line) == "…" {
			if i == 0 {
				pattern.WriteString(`(?s:.*)`)
			} else {
				pattern.WriteString(`(?s:\n.*)?`)
			}
			continue
		}
		if i > 0 {
			pattern.WriteString(`\n?`)
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", `[^\n]*`))
	}
	pattern.WriteString(`\z`)
	return regexp.MustCompile(pattern.String()).MatchString(trimLines(got))
}

// trimLines removes invisible differences: space at the ends of lines, and empty lines at both ends.
func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
