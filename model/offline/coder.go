package offline

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote/model"
)

// Coder is the planner of the assistant that works with files. It turns a few plain requests into tool calls, and their
// results into text. The zero value is ready to use and safe for concurrent use. It implements model.Model.
type Coder struct{ free }

var _ model.Model = Coder{}

// Step answers the last request of the history: with the next tool call, or with text if no call is left to make.
func (Coder) Step(ctx context.Context, req model.Request, live model.Live) (model.Reply, error) {
	if ctx.Err() != nil {
		return model.Reply{}, context.Cause(ctx)
	}
	return Emit(coderStep(req), live), nil
}

func coderStep(req model.Request) Answer {
	h := ReadHistory(req.Messages)
	if !HasTools(req.Tools) {
		return Answer{Text: ShortTitle(h.Last())} // a side job, such as a title
	}
	w := &Writer{}
	order := understandOrder(h.Last())
	switch {
	case order == nil:
		w.Text(coderDecline)
	case !Offered(req.Tools, order.needs()):
		w.Text(fmt.Sprintf("I would need the tool %s for that, which is not available here.", order.needs()))
		if order.needs() == "Bash" {
			w.Text(" Commands are only run where they can be confined; the server's log says what is missing.")
		}
	default:
		name, input, words := order.next(h)
		if name != "" && !req.NoTools {
			return ToolCall(h, name, input)
		}
		if name != "" {
			words = "No tool can be used at this point. Please ask again."
		}
		w.Text(words)
	}
	if len(h.Questions) <= 1 {
		w.Text("\n\n" + coderBadge)
	}
	return Answer{Text: w.b.String()}
}

const coderBadge = "_Offline planner: no AI model is connected, so a few plain requests are carried out by fixed " +
	"rules. " +
	"To connect one: `export ANTHROPIC_API_KEY=…`_"

const coderDecline = "I am the offline planner and know only a few requests; I did not understand this one, so I did " +
	"nothing. I can do, for example:\n\n" +
	"- `list files`, or `list *.py`\n" +
	"- `read README.md`\n" +
	"- `find TODO`, or `find total in report.py`\n" +
	"- `replace draft by final in README.md`\n" +
	"- `write hello to notes.txt`\n" +
	"- `run wc -l *.csv`"

// order is a request that the planner understood.
type order struct {
	kind          string // list, read, find, replace, write, run
	file          string // or a pattern
	text, instead string
}

// needs returns the tool that an order requires.
func (o *order) needs() string {
	return map[string]string{
		"list": "Glob", "read": "Read", "find": "Grep", "replace": "Edit", "write": "Write", "run": "Bash",
	}[o.kind]
}

// Parts of the patterns of orders. A file name contains no spaces unless it is quoted.
const (
	fileName = "(\"[^\"]+\"|'[^']+'|`[^`]+`|\\S*[^\\s.?!,;:]\\S*?)"
	anyText  = "(\"[^\"]*\"|'[^']*'|`[^`]*`|.+?)"
	please   = `(?is)^\s*(?:please,?\s+|can you\s+|could you\s+|now\s+)*`
	tail     = `\s*[.?!]*\s*$`
	find     = `(?:find|search(?:\s+for)?|grep(?:\s+for)?|look\s+for|where\s+is)\s+`
)

var orders = []struct {
	kind                string
	file, text, instead int // number of each group, or 0 if there is none
	re                  *regexp.Regexp
}{
	{"run", 0, 1, 0, asked(`(?:run|execute|bash)\s*:?\s+(?:the\s+command\s+)?(.+?)\s*$`)},
	{"run", 0, 1, 0, regexp.MustCompile(`(?s)^\s*[$!]\s*(.+?)\s*$`)},
	{"replace", 3, 1, 2, asked(`(?:replace|change)\s+(?:all\s+|every\s+)?` + anyText + `\s+(?:by|with|to)\s+` +
		anyText + `\s+in\s+(?:the\s+file\s+)?` + fileName + tail)},
	{"write", 2, 1, 0, asked(`(?:write|put|save)\s+` + anyText +
		`\s+(?:to|into|in)\s+(?:the\s+file\s+|a\s+file\s+)?` + fileName + tail)},
	{"list", 0, 0, 0, asked(`(?:list|show|ls)(?:\s+me)?(?:\s+all)?(?:\s+the)?(?:\s+files?)?` +
		`(?:\s+here|\s+in\s+the\s+workspace)?` + tail)},
	{"list", 1, 0, 0, asked(`(?:list|ls)\s+(?:the\s+)?(?:files\s+)?(?:in\s+|of\s+|named\s+|matching\s+)?` +
		`(?:the\s+folder\s+)?` + fileName + `(?:\s+files?)?` + tail)},
	{"find", 2, 1, 0, asked(find + anyText + `\s+in\s+(?:the\s+file\s+)?` + fileName + tail)},
	{"find", 0, 1, 0, asked(find + anyText + tail)},
	{"read", 1, 0, 0, asked(`(?:read|open|cat|print|show)\s+(?:me\s+)?(?:the\s+file\s+|file\s+)?` + fileName + tail)},
}

// asked returns the pattern of a request, which may begin with "please".
func asked(pattern string) *regexp.Regexp { return regexp.MustCompile(please + pattern) }

// understandOrder reads a request. It returns nil for an unknown one.
func understandOrder(said string) *order {
	for _, shape := range orders {
		m := shape.re.FindStringSubmatch(said)
		if m == nil {
			continue
		}
		pick := func(group int) string {
			if group == 0 {
				return ""
			}
			if shape.kind == "run" {
				return m[group]
			}
			return unquoted(m[group])
		}
		o := &order{kind: shape.kind, file: pick(shape.file), text: pick(shape.text), instead: pick(shape.instead)}
		if o.kind == "run" && strings.HasPrefix(o.text, "`") {
			o.text = unquoted(o.text)
		}
		if o.kind == "read" && !looksLikeFile(o.file) {
			continue
		}
		return o
	}
	return nil
}

// looksLikeFile reports whether a word looks like a file name.
func looksLikeFile(s string) bool {
	return strings.ContainsAny(s, "./_-") || s == strings.ToUpper(s) && len(s) > 2
}

func unquoted(s string) string {
	if len(s) >= 2 && strings.ContainsRune("\"'`", rune(s[0])) && s[0] == s[len(s)-1] {
		return s[1 : len(s)-1]
	}
	return s
}

// next returns the next call, or the final text.
func (o *order) next(h History) (tool string, input map[string]any, words string) {
	if o.kind == "replace" || o.kind == "write" { // a file is read before it is changed
		switch read := h.Result("Read"); {
		case read == nil:
			return "Read", map[string]any{"file_path": o.file}, ""
		case read.Failed && (o.kind == "replace" || !strings.Contains(read.Content, "There is no file")):
			return "", nil, "I changed nothing: " + read.Content
		}
	}
	if c := h.Result(o.needs()); c != nil {
		return "", nil, o.report(c)
	}
	return o.needs(), o.input(), ""
}

// input returns the input of the tool that an order requires.
func (o *order) input() map[string]any {
	switch o.kind {
	case "list":
		switch {
		case o.file == "":
			return map[string]any{"pattern": "**/*"}
		case strings.ContainsAny(o.file, "*?[{"):
			return map[string]any{"pattern": o.file}
		}
		return map[string]any{"pattern": strings.TrimSuffix(o.file, "/") + "/**"}
	case "read":
		return map[string]any{"file_path": o.file}
	case "find":
		in := map[string]any{"pattern": regexp.QuoteMeta(o.text), "output_mode": "content", "head_limit": 50}
		if o.file != "" {
			in["path"] = o.file
		}
		return in
	case "run":
		return map[string]any{"command": o.text, "description": "Run what was asked for"}
	case "write":
		return map[string]any{"file_path": o.file, "content": strings.TrimRight(o.text, "\n") + "\n"}
	}
	return map[string]any{"file_path": o.file, "old_string": o.text, "new_string": o.instead, "replace_all": true}
}

// maxLinesShown limits how many lines of a file or an output an answer repeats; the tool's card shows all.
const maxLinesShown = 40

// numberedLine matches a line of Read's output.
var numberedLine = regexp.MustCompile(`(?m)^ *\d+\t`)

// report describes the result of the tool that an order requires.
func (o *order) report(c *Call) string {
	if c.Failed {
		return o.failure(c.Content)
	}
	switch o.kind {
	case "list":
		if strings.HasPrefix(c.Content, "No file matches") {
			return "There are no such files in the workspace."
		}
		return "These files are in the workspace, the newest first:\n\n- " +
			strings.ReplaceAll(strings.TrimSpace(c.Content), "\n", "\n- ")
	case "read":
		if !numberedLine.MatchString(c.Content) {
			return c.Content // empty, or binary
		}
		return "`" + o.file + "`:\n\n" + fenced(numberedLine.ReplaceAllString(c.Content, ""))
	case "find":
		if strings.HasPrefix(c.Content, "Nothing matches") {
			return fmt.Sprintf("Nothing in the workspace's text files says %s.", strconv.Quote(Clip(o.text)))
		}
		return "I found it here (file, line, text):\n\n" + fenced(c.Content)
	case "run":
		return "The command gave:\n\n" + fenced(c.Content)
	}
	first, diff, _ := strings.Cut(c.Content, "\n\n")
	if diff == "" {
		return first
	}
	return first + "\n\n" + strings.Replace(fenced(diff), "```", "```diff", 1)
}

// failure describes why a tool failed, or that a person refused its call.
func (o *order) failure(why string) string {
	refused := strings.HasPrefix(why, "The user declined")
	switch {
	case refused && o.kind == "run":
		return "You did not approve the command, so it was not run."
	case refused && (o.kind == "replace" || o.kind == "write"):
		return "You did not approve the change, so nothing was changed."
	case o.kind == "run":
		return "The command failed:\n\n" + fenced(why)
	}
	return cmp.Or(map[string]string{
		"list": "I could not list the files: ", "read": "I could not read it: ", "find": "I could not search: ",
	}[o.kind], "I changed nothing: ") + why
}

// fenced returns a code block, cut to maxLinesShown.
func fenced(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if n := len(lines); n > maxLinesShown {
		lines = append(lines[:maxLinesShown:maxLinesShown], fmt.Sprintf("… (%d more lines)", n-maxLinesShown))
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.Join(lines, "\n") + "\n" + fence
}
