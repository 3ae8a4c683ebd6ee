package workspace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/schema"
)

// Limits on a search's results and time.
const (
	maxGlobbed  = 200
	maxGrepped  = 250
	maxFound    = 30_000  // bytes
	maxSearched = 8 << 20 // bytes per file
	searchTime  = 15 * time.Second
)

type globInput struct {
	Pattern string `json:"pattern" jsonschema:"Names with * (within a folder), ** (across folders), ? and {a,b}, such as **/*.py."`
	Path    string `json:"path,omitempty" jsonschema:"Folder to look in. Left out: the whole workspace."`
}

var globSpec = tool.Spec{
	Name: "Glob", Label: "Looking for files", Family: tool.FileList,
	Description: "List the files of the workspace whose names match a pattern, the newest first, with their sizes. " +
		"The pattern **/* lists all of them. A pattern without a slash is looked for in every folder. At most 200 " +
		"are returned.",
	InputSchema: schema.For[globInput](),
	Side:        tool.Server, ReadOnly: true,
}

func glob(ctx context.Context, s *space, _ tool.Call, in globInput) (tool.Output, error) {
	match, err := pattern(in.Pattern)
	if err != nil {
		return tool.Output{}, err
	}
	files, err := s.list(ctx, in.Path)
	if err != nil {
		return tool.Output{}, err
	}
	files = slices.DeleteFunc(files, func(f found) bool { return !match(f.below) })
	slices.SortStableFunc(files, func(a, b found) int { return b.info.ModTime().Compare(a.info.ModTime()) })
	if len(files) == 0 {
		return tool.Output{Content: fmt.Sprintf("No file matches %s.", in.Pattern), Detail: listDetail(nil)}, nil
	}
	var b strings.Builder
	for i, f := range files {
		if i == maxGlobbed {
			fmt.Fprintf(&b, "… and %d more. Use a narrower pattern.\n", len(files)-i)
			break
		}
		fmt.Fprintf(&b, "%s (%s)\n", shown(f.name), bytesText(f.info.Size()))
	}
	return tool.Output{Content: b.String(), Detail: listDetail(files[:min(len(files), maxGlobbed)])}, nil
}

// listDetail encodes the list of files for a page.
func listDetail(files []found) json.RawMessage {
	type entry struct {
		Path string    `json:"path"`
		Size int64     `json:"size"`
		Time time.Time `json:"time"`
	}
	list := struct {
		Kind  string  `json:"kind"`
		Files []entry `json:"files"`
	}{"files", []entry{}}
	for _, f := range files {
		list.Files = append(list.Files, entry{f.name, f.info.Size(), f.info.ModTime().UTC()})
	}
	return reply.JSON(list)
}

// found is a file of the workspace: its name, and its name relative to the searched folder.
type found struct {
	name, below string
	info        fs.FileInfo
}

// list lists the files below a folder, or the single file at the path.
func (s *space) list(ctx context.Context, given string) ([]found, error) {
	dir, err := locate(given)
	if err != nil {
		return nil, err
	}
	if dir != "." {
		info, err := s.root.Stat(dir)
		if err != nil {
			return nil, tool.Refusef("There is no folder or file %s.%s", dir, s.similar(dir))
		}
		if !info.IsDir() {
			return []found{{dir, path.Base(dir), info}}, nil
		}
	}
	var files []found
	end := time.Now().Add(searchTime)
	err = walk(s.root, func(name string, info fs.FileInfo) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if time.Now().After(end) {
			return fs.SkipAll
		}
		below, ok := name, true
		if dir != "." {
			below, ok = strings.CutPrefix(name, dir+"/")
		}
		if ok && !strings.HasPrefix(name, ".git/") && !strings.Contains(name, "/.git/") {
			files = append(files, found{name, below, info})
		}
		return nil
	})
	return files, err
}

// maxPattern limits a pattern or an expression, in bytes.
const maxPattern = 1000

// pattern returns a function that matches names against a pattern with *, **, ? and {a,b}.
func pattern(p string) (func(string) bool, error) {
	if p == "" || len(p) > maxPattern {
		return nil, tool.Refusef("A pattern must have 1 to %d bytes; **/* matches every file.", maxPattern)
	}
	p = strings.TrimPrefix(strings.TrimPrefix(p, Root+"/"), "./")
	if !strings.Contains(p, "/") {
		p = "**/" + p
	}
	var b strings.Builder
	b.WriteString("^")
	depth := 0
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case strings.HasPrefix(p[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(p[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '{':
			b.WriteString("(?:")
			depth++
		case c == '}' && depth > 0:
			b.WriteString(")")
			depth--
		case c == ',' && depth > 0:
			b.WriteString("|")
		case c == '[':
			end := strings.IndexByte(p[i:], ']')
			if end < 2 {
				b.WriteString(`\[`)
				continue
			}
			set := p[i+1 : i+end]
			if rest, ok := strings.CutPrefix(set, "!"); ok {
				set = "^" + rest
			}
			b.WriteString("[" + strings.ReplaceAll(set, `\`, `\\`) + "]")
			i += end
		default:
			b.WriteString(regexp.QuoteMeta(p[i : i+1])) // one byte; the rest of a longer character follows
		}
	}
	b.WriteString("$")
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, tool.Refusef("The pattern %s cannot be read.", p)
	}
	return re.MatchString, nil
}

type grepInput struct {
	Pattern   string  `json:"pattern" jsonschema:"Regular expression, in the syntax of RE2: no look-around and no back references."`
	Path      string  `json:"path,omitempty" jsonschema:"File or folder to search. Left out: the whole workspace."`
	Glob      string  `json:"glob,omitempty" jsonschema:"Only files whose names match, such as *.py."`
	Mode      string  `json:"output_mode,omitempty" jsonschema:"content shows the lines that match, files_with_matches only the files, count how many lines of each file match. Left out: files_with_matches."`
	After     float64 `json:"-A,omitempty" jsonschema:"Lines to show after each match, with content."`
	Before    float64 `json:"-B,omitempty" jsonschema:"Lines to show before each match, with content."`
	Context   float64 `json:"-C,omitempty" jsonschema:"Lines to show before and after each match, with content."`
	Numbers   *bool   `json:"-n,omitempty" jsonschema:"Show line numbers, with content. Left out: true."`
	Fold      bool    `json:"-i,omitempty" jsonschema:"Ignore case."`
	Multiline bool    `json:"multiline,omitempty" jsonschema:"Let . match line breaks and a match span lines."`
	Head      float64 `json:"head_limit,omitempty" jsonschema:"How many lines of the result to return. Left out: 250."`
	Offset    float64 `json:"offset,omitempty" jsonschema:"How many lines of the result to skip first."`
}

var grepSpec = tool.Spec{
	Name: "Grep", Label: "Searching in files", Family: tool.FileSearch,
	Description: "Search the text files of the workspace with a regular expression. It returns the files that match, " +
		"the matching lines with output_mode content, or counts. Binary files and files over 8 MB are left out; at " +
		"most 250 lines are returned unless head_limit says otherwise.",
	InputSchema: schema.For[grepInput](schema.Enum("output_mode", "content", "files_with_matches", "count"),
		schema.Integer("-A", 0, 100), schema.Integer("-B", 0, 100), schema.Integer("-C", 0, 100),
		schema.Integer("head_limit", 1, 2000), schema.Integer("offset", 0, 1_000_000)),
	Side: tool.Server, ReadOnly: true,
}

func grep(ctx context.Context, s *space, _ tool.Call, in grepInput) (tool.Output, error) {
	re, err := in.expression()
	if err != nil {
		return tool.Output{}, err
	}
	match := func(string) bool { return true }
	if in.Glob != "" {
		if match, err = pattern(in.Glob); err != nil {
			return tool.Output{}, err
		}
	}
	files, err := s.list(ctx, in.Path)
	if err != nil {
		return tool.Output{}, err
	}
	out := hits{skip: int(in.Offset), maxLines: cmp.Or(int(in.Head), maxGrepped)}
	t := &timer{ctx: ctx, end: time.Now().Add(searchTime)}
	for _, f := range files {
		if !t.over() && match(f.below) {
			in.search(&out, re, f.name, s.searchable(f.name), t)
		}
	}
	if ctx.Err() != nil {
		return tool.Output{}, context.Cause(ctx)
	}
	if t.late {
		out.note = "The search took too long and was ended; search in fewer files, or with a simpler expression."
	}
	return tool.Output{Content: out.text(in.Pattern)}, nil
}

func (in grepInput) expression() (*regexp.Regexp, error) {
	if in.Pattern == "" || len(in.Pattern) > maxPattern {
		return nil, tool.Refusef("An expression must have 1 to %d bytes.", maxPattern)
	}
	flags := "m"
	if in.Fold {
		flags += "i"
	}
	if in.Multiline {
		flags += "s"
	}
	re, err := regexp.Compile("(?" + flags + ")" + in.Pattern)
	if err != nil {
		return nil, tool.Refusef(
			"The expression cannot be read: %v. The syntax is that of RE2; write \\( for a bracket in the text.", err)
	}
	return re, nil
}

// searchable returns a file's content, or nil when the file is not searched.
func (s *space) searchable(name string) []byte {
	data, _, err := readFile(s.root, name, maxSearched)
	if err != nil || binary(data) {
		return nil
	}
	return data
}

// hits collects the lines of a result.
type hits struct {
	b              strings.Builder
	skip, maxLines int
	lines          int // in the whole result
	shown          int
	full           bool
	note           string
}

func (h *hits) add(line string) {
	h.lines++
	if h.lines <= h.skip || h.shown >= h.maxLines || h.full {
		return
	}
	if c := clip(line, 500); c != line {
		line = c + "…"
	}
	if h.full = h.b.Len()+len(line) > maxFound; h.full {
		return
	}
	h.shown++
	h.b.WriteString(shown(line) + "\n")
}

func (h *hits) text(pattern string) string {
	if h.lines == 0 {
		return strings.TrimSpace(fmt.Sprintf("Nothing matches %s. %s", pattern, h.note))
	}
	if left := h.lines - h.skip - h.shown; left > 0 {
		h.note = strings.TrimSpace(fmt.Sprintf("%d more lines; use offset %d for them, or search for less. %s", left,
			h.skip+h.shown, h.note))
	}
	if h.note != "" {
		return h.b.String() + "(" + h.note + ")\n"
	}
	return h.b.String()
}

// timer ends a search at its deadline.
type timer struct {
	ctx  context.Context
	end  time.Time
	n    int
	late bool // the deadline has passed
}

// checkEvery is the number of calls of over per check of the clock.
const checkEvery = 1024

func (t *timer) over() bool {
	if t.n++; !t.late && t.n%checkEvery == 1 {
		t.late = t.ctx.Err() != nil || time.Now().After(t.end)
	}
	return t.late
}

// text feeds data to an expression until the deadline. One match takes time in proportion to the data it reads, but
// every match may read the same data again, and nothing else would end the search.
type text struct {
	data []byte
	t    *timer
}

func (x *text) ReadRune() (rune, int, error) {
	if len(x.data) == 0 || x.t.over() {
		return 0, 0, io.EOF
	}
	r, n := utf8.DecodeRune(x.data)
	x.data = x.data[n:]
	return r, n, nil
}

// search adds the matches in one file.
func (in grepInput) search(out *hits, re *regexp.Regexp, name string, data []byte, t *timer) {
	if len(data) == 0 {
		return
	}
	starts := lineStarts(data)
	matched := make([]bool, len(starts))
	count := 0
	for l := 0; l < len(starts) && !t.over(); {
		var first, last int
		if in.Multiline {
			first, last = span(re, data, starts, l, t)
		} else {
			first, last = l, l
			if !in.line(re, lineAt(data, starts, l), t) {
				last = l - 1
			}
		}
		for k := first; k <= last; k++ {
			matched[k] = true
			count++
		}
		l = max(first, last) + 1
	}
	if count == 0 || t.late {
		return
	}
	switch in.Mode {
	case "count":
		out.add(fmt.Sprintf("%s:%d", name, count))
	case "content":
		in.show(out, name, data, starts, matched, t)
	default:
		out.add(name)
	}
}

// longLine limits the bytes of a line that an expression reads without checking the deadline.
const longLine = 64 << 10

func (in grepInput) line(re *regexp.Regexp, line []byte, t *timer) bool {
	if len(line) <= longLine {
		return re.Match(line)
	}
	return re.MatchReader(&text{line, t})
}

// span returns the lines of the first match that begins on line l or later. The search for the next match starts on
// the line after it. Without a match, last is less than first.
func span(re *regexp.Regexp, data []byte, starts []int, l int, t *timer) (first, last int) {
	from := starts[l]
	loc := re.FindReaderIndex(&text{data[from:], t})
	if loc == nil {
		return len(starts), len(starts) - 1
	}
	lineOf := func(at int) int {
		n, _ := slices.BinarySearch(starts, at+1)
		return n - 1
	}
	return lineOf(from + loc[0]), lineOf(from + max(loc[1]-1, loc[0]))
}

// show adds the matching lines of a file with their context.
func (in grepInput) show(out *hits, name string, data []byte, starts []int, matched []bool, t *timer) {
	before, after := int(max(in.Before, in.Context)), int(max(in.After, in.Context))
	next := 0 // the first line not yet shown
	for hit, is := range matched {
		if t.over() {
			return
		}
		if !is {
			continue
		}
		from := max(hit-before, next)
		if next > 0 && from > next && before+after > 0 {
			out.add("--")
		}
		for ; from <= min(hit+after, len(starts)-1); from++ {
			sep := "-"
			if matched[from] {
				sep = ":"
			}
			prefix := name + sep
			if in.Numbers == nil || *in.Numbers {
				prefix += fmt.Sprint(from+1) + sep
			}
			out.add(prefix + string(lineAt(data, starts, from)))
			next = from + 1
		}
	}
}

func lineStarts(data []byte) []int {
	starts := []int{0}
	for i, c := range data {
		if c == '\n' && i+1 < len(data) {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// lineAt returns a line without its line break.
func lineAt(data []byte, starts []int, l int) []byte {
	end := len(data)
	if l+1 < len(starts) {
		end = starts[l+1]
	}
	return bytes.TrimRight(data[starts[l]:end], "\r\n")
}
