package verified

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/placeholder"
)

// Limits of a set and of each query.
const (
	maxSQL        = 64 << 10
	maxWordings   = 50
	maxWording    = 500 // bytes
	maxParameters = 8
	maxValues     = 200
	maxWord       = 200 // bytes of an author, a role, a source or a value
)

var goodName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// Fault is a mistake in a file.
type Fault struct {
	File string
	Line int // from 1; 0: the file as a whole
	Text string
}

func (f *Fault) Error() string {
	if f.Line == 0 {
		return f.File + ": " + f.Text
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text)
}

// New returns the set of some queries. It refuses two queries of a source that would match the same question.
func New(queries []*Query) (*Set, error) {
	s := &Set{queries: slices.Clone(queries)}
	slices.SortFunc(s.queries, func(a, b *Query) int { return strings.Compare(a.Name, b.Name) })
	var errs []error
	taken := map[string]*Query{}
	for _, q := range s.queries {
		for _, w := range q.wordings {
			key := q.Source + "\x00" + w.shape(q.Parameters)
			if other := taken[key]; other != nil && other != q {
				errs = append(errs, &Fault{
					File: q.File,
					Text: fmt.Sprintf("its wording %q is also one of %s; each wording needs one meaning", w.text,
						other.Name),
				})
			}
			taken[key] = q
		}
	}
	s.rarity = rarity(s.queries)
	return s, errors.Join(errs...)
}

// reader collects the header of a file.
type reader struct {
	file   string
	query  Query
	lines  map[string]int // of each key
	faults []error
}

func (r *reader) fault(line int, format string, args ...any) {
	r.faults = append(r.faults, &Fault{File: r.file, Line: line, Text: fmt.Sprintf(format, args...)})
}

// Parse reads one file. The error joins every Fault in it.
func Parse(file, text string) (*Query, error) {
	r := &reader{file: file, query: Query{File: file}, lines: map[string]int{}}
	if r.query.Name = strings.TrimSuffix(path.Base(file), ".sql"); !goodName.MatchString(r.query.Name) {
		r.fault(0, "its name must be of small letters, digits and _, and begin with a letter")
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		r.fault(0, "it is not UTF-8 text")
		return nil, errors.Join(r.faults...)
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	n := 0
	for ; n < len(lines); n++ {
		comment, ok := strings.CutPrefix(strings.TrimSpace(lines[n]), "--")
		if strings.TrimSpace(lines[n]) == "" {
			continue
		}
		if !ok {
			break
		}
		r.entry(n+1, comment)
	}
	r.query.SQL = strings.TrimSpace(strings.Join(lines[n:], "\n"))
	r.query.Digest = footnote.DigestOf([]byte(r.query.SQL))
	r.check(n + 1)
	if len(r.faults) > 0 {
		return nil, errors.Join(r.faults...)
	}
	return &r.query, nil
}

// repeated lists the keys that a header may have several times.
var repeated = []string{"paraphrase", "parameter"}

// entry reads one line of the header.
func (r *reader) entry(line int, comment string) {
	key, value, ok := strings.Cut(comment, ":")
	key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
	if !ok || value == "" {
		r.fault(line, "the header has lines such as \"-- author: Ann\"; put other comments behind the first line of "+
			"SQL")
		return
	}
	if r.lines[key] > 0 && !slices.Contains(repeated, key) {
		r.fault(line, "%s is given twice", key)
		return
	}
	r.lines[key] = line
	q := &r.query
	switch key {
	case "question":
		q.Question = r.wording(line, value)
	case "paraphrase":
		q.Paraphrases = append(q.Paraphrases, r.wording(line, value))
	case "parameter":
		r.parameter(line, value)
	case "source":
		q.Source = r.word(line, value)
	case "author":
		q.Author = r.word(line, value)
	case "date":
		q.Date = r.date(line, value)
	case "expires":
		q.Expires = r.date(line, value)
	case "roles":
		for role := range strings.SplitSeq(value, ",") {
			q.Roles = append(q.Roles, r.word(line, strings.TrimSpace(role)))
		}
	default:
		r.fault(line, "%q is not a key; the keys are question, paraphrase, parameter, source, author, date, expires "+
			"and roles", key)
	}
}

func (r *reader) wording(line int, text string) string {
	if len(text) > maxWording {
		r.fault(line, "the wording has more than %d bytes", maxWording)
		return ""
	}
	r.visible(line, text)
	return text
}

func (r *reader) word(line int, text string) string {
	if text == "" || len(text) > maxWord {
		r.fault(line, "a value must have 1 to %d bytes", maxWord)
	}
	r.visible(line, text)
	return text
}

// visible refuses characters that a reader of the badge would not see.
func (r *reader) visible(line int, text string) {
	if strings.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) || unicode.Is(unicode.Cf, c) }) {
		r.fault(line, "the line has a control or invisible character; remove it")
	}
}

func (r *reader) date(line int, text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		r.fault(line, "the date %q must be written like 2026-11-02", text)
	}
	return t
}

// parameter reads "month month" or "status one of open, closed".
func (r *reader) parameter(line int, text string) {
	name, kind, _ := strings.Cut(text, " ")
	p := Parameter{Name: name, Type: strings.TrimSpace(kind)}
	if list, ok := strings.CutPrefix(p.Type, OneOf+" "); ok {
		p.Type = OneOf
		for v := range strings.SplitSeq(list, ",") {
			p.Values = append(p.Values, r.word(line, strings.TrimSpace(v)))
		}
	}
	switch {
	case !goodName.MatchString(p.Name):
		r.fault(line, "the name of the parameter %q must be of small letters, digits and _, and begin with a letter",
			name)
	case !slices.Contains(Types, p.Type) || p.Type == OneOf && len(p.Values) == 0:
		r.fault(line, "the type of the parameter %s is %q; it must be text, int, number, date, month, year, or a list "+
			"such as \"one of open, closed\"", name, kind)
	case len(p.Values) > maxValues || len(r.query.Parameters) == maxParameters:
		r.fault(line, "a query has at most %d parameters, and a list at most %d values", maxParameters, maxValues)
	case slices.ContainsFunc(r.query.Parameters, func(o Parameter) bool { return o.Name == name }):
		r.fault(line, "the parameter %s is given twice", name)
	}
	if again := repeatedValue(p.Values); again != "" {
		r.fault(line, "the value %q of the parameter %s is given twice", again, name)
	}
	r.query.Parameters = append(r.query.Parameters, p)
}

// repeatedValue returns a value that reads like an earlier one.
func repeatedValue(values []string) string {
	seen := map[string]bool{}
	for _, v := range values {
		key := spell(v)
		if seen[key] {
			return v
		}
		seen[key] = true
	}
	return ""
}

// check completes the query once its header has been read; sql is the first line behind it.
func (r *reader) check(sql int) {
	q := &r.query
	for _, key := range []string{"question", "source", "author", "date"} {
		if r.lines[key] == 0 {
			r.fault(0, "its header lacks %s", key)
		}
	}
	if r.lines["expires"] > 0 && q.Expires.Before(q.Date) {
		r.fault(r.lines["expires"], "it expires before its date")
	}
	if len(q.Paraphrases) >= maxWordings {
		r.fault(r.lines["paraphrase"], "it has more than %d wordings", maxWordings)
		return
	}
	if q.SQL == "" || len(q.SQL) > maxSQL {
		r.fault(0, "behind its header must be SQL of at most %d bytes", maxSQL)
	} else if n, err := placeholder.Count(q.SQL); err != nil {
		r.fault(sql, "%v", err)
	} else if n != len(q.Parameters) {
		r.fault(sql, "its SQL has %d of $1, $2, …, but its header has %d parameters", n, len(q.Parameters))
	}
	for _, text := range q.Wordings() {
		if text == "" {
			continue // its absence has been reported
		}
		w, err := parseWording(text, q.Parameters)
		if err != nil {
			r.fault(r.lineOf(text), "%v", err)
			continue
		}
		q.wordings = append(q.wordings, w)
	}
}

// lineOf returns a line of the header for a mistake in a wording.
func (r *reader) lineOf(text string) int {
	if text == r.query.Question {
		return r.lines["question"]
	}
	return r.lines["paraphrase"]
}
