package verified

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Format returns the file of a query, which Parse reads. It refuses values that would end their line.
func (q *Query) Format() (string, error) {
	var b strings.Builder
	var bad error
	line := func(key, value string) {
		if strings.ContainsAny(value, "\r\n") {
			bad = errors.New("Each question, parameter and name must be one line.")
		}
		b.WriteString("-- " + key + ": " + value + "\n")
	}
	line("question", q.Question)
	for _, p := range q.Paraphrases {
		line("paraphrase", p)
	}
	for _, p := range q.Parameters {
		kind := p.Type
		if p.Type == OneOf {
			kind += " " + strings.Join(p.Values, ", ")
		}
		line("parameter", p.Name+" "+kind)
	}
	line("source", q.Source)
	line("author", q.Author)
	line("date", q.Date.Format(time.DateOnly))
	if !q.Expires.IsZero() {
		line("expires", q.Expires.Format(time.DateOnly))
	}
	if len(q.Roles) > 0 {
		line("roles", strings.Join(q.Roles, ", "))
	}
	return b.String() + strings.TrimSpace(q.SQL) + "\n", bad
}

// Suggest returns the beginning of a verified query for a question and its statement: the dates, months and years that
// both have become parameters.
func Suggest(question, sql string) *Query {
	q := &Query{Name: nameOf(question), Question: strings.Join(strings.Fields(question), " "), SQL: sql}
	if strings.ContainsAny(q.Question, "{}") {
		return q
	}
	for len(q.Parameters) < maxParameters && q.slot() {
	}
	return q
}

// slot turns one value of the question into a parameter, and reports whether there was one.
func (q *Query) slot() bool {
	tokens := tokenize(q.Question)
	for _, kind := range []string{Date, Month, Year} {
		p := Parameter{Name: kind, Type: kind}
		if n := len(q.Parameters); n > 0 {
			p.Name += strconv.Itoa(n + 1)
		}
		for n := min(max(1, maxSlot[kind]), len(tokens)); n > 0; n-- {
			for i := range len(tokens) - n + 1 {
				start, end := tokens[i].start, tokens[i+n-1].end
				v, err := p.Value(q.Question[start:end])
				if err != nil || strings.ContainsAny(q.Question[start:end], "{}") {
					continue
				}
				sql, ok := bind(q.SQL, v, len(q.Parameters)+1)
				if !ok {
					continue
				}
				q.SQL, q.Parameters = sql, append(q.Parameters, p)
				q.Question = q.Question[:start] + "{" + p.Name + "}" + q.Question[end:]
				return true
			}
		}
	}
	return false
}

// bind replaces a value in a statement by a placeholder: texts in quotes, and numbers outside of quotes. It reports
// whether the statement has the value.
func bind(sql string, value any, n int) (string, bool) {
	place := "$" + strconv.Itoa(n)
	if text, ok := value.(string); ok {
		return strings.ReplaceAll(sql, "'"+text+"'", place), strings.Contains(sql, "'"+text+"'")
	}
	number := regexp.MustCompile(`\b` + strconv.FormatInt(value.(int64), 10) + `\b`) // a year
	parts, found := strings.Split(sql, "'"), false
	for i := 0; i < len(parts); i += 2 {
		found = found || number.MatchString(parts[i])
		parts[i] = number.ReplaceAllLiteralString(parts[i], place)
	}
	return strings.Join(parts, "'"), found
}

// maxSuggested limits the bytes of a suggested name.
const maxSuggested = 48

// nameOf returns a name for the query of a question.
func nameOf(question string) string {
	var words []string
	size := 0
	for _, t := range tokenize(question) {
		word := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, t.text)
		if size += len(word) + 1; word != "" && size <= maxSuggested {
			words = append(words, word)
		}
	}
	name := strings.Join(words, "_")
	if !goodName.MatchString(name) {
		name = strings.TrimSuffix("query_"+name, "_")
	}
	return name
}

var fixedDate = regexp.MustCompile(`'\d{4}-\d{2}(-\d{2})?[^']*'`)

// FixedDates returns the dates that a statement with a parameter for a date still has as texts: they may belong to the
// value for which the statement was written.
func (q *Query) FixedDates() []string {
	for _, p := range q.Parameters {
		if p.Type == Date || p.Type == Month || p.Type == Year {
			return fixedDate.FindAllString(q.SQL, -1)
		}
	}
	return nil
}
