package offline

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file chooses one of several sources. The question is read against every source. A source that cannot explain
// every word is ruled out. If one source remains, it answers; if several remain, the user is asked. A source's name
// counts as a word that only this source understands, unless other sources have it as a value. A question that refers
// to the previous answer stays with the source of that answer.

// maxSources limits how many sources a question is read against.
const maxSources = 16

// choice is the outcome of reading a question against the sources.
type choice struct {
	best        *attempt
	fits        []*attempt // if there is more than one, the user has to choose
	consulted   []string   // sources that read the question
	unavailable []string
	skipped     []string // sources beyond maxSources
	err         error    // of the first source that is unavailable
}

// choose returns the source that answers a question.
func (pn *Planner) choose(ctx context.Context, sources []string, q string, prev *reading) (*choice, error) {
	c := &choice{}
	if len(sources) > maxSources {
		sources, c.skipped = sources[:maxSources], sources[maxSources:]
	}
	found := mentions(q, sources)
	if prev != nil && slices.Contains(sources, prev.source) {
		sources = append([]string{prev.source}, sources...)
	}
	var fits []*attempt
	for _, name := range sources {
		if slices.Contains(c.consulted, name) || slices.Contains(c.unavailable, name) {
			continue
		}
		a, err := pn.attempt(ctx, name, q, found, prev)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			c.unavailable = append(c.unavailable, name)
			if c.err == nil {
				c.err = err
			}
			continue
		}
		c.consulted = append(c.consulted, name)
		if a.declined == nil {
			fits = append(fits, a)
		}
		if c.best == nil || a.named && !c.best.named || a.named == c.best.named && a.linked > c.best.linked {
			c.best = a
		}
		if a.follows && a.declined == nil {
			break
		}
	}
	if len(fits) > 0 {
		c.keepBest(fits, len(found) > 0)
	}
	if c.best == nil {
		return nil, c.err
	}
	return c, nil
}

// keepBest keeps the readings that fit best: a reading that refers to the previous answer, or else those that
// understand the name of a source in the question, use every word, guess no column, and have dates in the requested
// period. If one is left, it is the answer. Questions that count a whole table go to the sources with a table of that
// name, unless the question names a source.
func (c *choice) keepBest(fits []*attempt, named bool) {
	fits = preferred(fits, func(a *attempt) bool { return a.follows })
	fits = preferred(fits, func(a *attempt) bool { return a.named })
	if !named {
		fits = preferred(fits, (*attempt).countsNamed)
	}
	fits = preferred(fits, func(a *attempt) bool { return !a.plan.isUncertain() })
	fits = preferred(fits, func(a *attempt) bool { return a.plan.hasDataInPeriods() })
	c.best, c.fits = fits[0], nil
	if len(fits) > 1 {
		c.fits = fits
	}
}

// countsNamed reports whether the question counts all rows of a table by its name. "How many orders" is about the table
// orders; it is about a column named orders in another file only if no source has such a table.
func (a *attempt) countsNamed() bool {
	if len(a.plan.measures) != 1 || len(a.plan.filters)+len(a.plan.dims) > 0 || a.plan.measures[0].agg != aggCount ||
		a.plan.measures[0].col != nil {
		return false
	}
	counted := a.plan.measures[0].entity
	if counted == nil {
		counted = a.plan.base
	}
	ws, _ := tokenize(a.question)
	return counted != nil &&
		slices.ContainsFunc(ws, func(w word) bool {
			return w.low == fold(counted.name) || singular(w.low) == fold(counted.name)
		})
}

// preferred returns the attempts that are better, or all attempts if none is.
func preferred(all []*attempt, better func(*attempt) bool) []*attempt {
	if some := filtered(all, better); len(some) > 0 {
		return some
	}
	return all
}

// attempt reads a question against one source. It removes the name of the source from the question if nothing else
// explains the name, or if the name is in the place of a source and the source is a single table.
func (pn *Planner) attempt(
	ctx context.Context, name, q string, found []mention, prev *reading) (*attempt, error) {
	p, _, err := pn.profile(ctx, name)
	if err != nil {
		return nil, err
	}
	var before *plan
	if prev != nil && prev.source == name && prev.plan.kind != kindRaw {
		before = prev.plan
	}
	a, named := p.read(q, before), false
	for _, m := range found {
		named = named || m.place && (m.source == name || p.explains(m))
		if m.source != name || m.rest == "" {
			continue
		}
		place := m.place && len(p.tables) == 1 && !p.hasValue(m.name)
		if rest := p.read(m.rest, before); a.declined != nil || place && rest.declined == nil {
			a = rest
		}
	}
	if slices.ContainsFunc(found, func(m mention) bool { return p.namesOtherSource(name, m, found) }) {
		a.declined = decline(
			"The question names more than one source, and I answer from one at a time. Ask about each separately.")
	}
	if len(found) > 0 && !named && a.declined == nil && a.plan.ignores {
		a.declined = &declined{words: []string{found[0].name}} // the ignored word may be the name
	}
	a.source, a.named = name, named
	return a, nil
}

// namesOtherSource reports whether a mention asks for another source than this one: it is in the place of a source's
// name, or is joined with the name of this source. A text that is a value or a table in the data does neither.
func (p *profile) namesOtherSource(name string, m mention, found []mention) bool {
	if m.source == name || p.explains(m) {
		return false
	}
	own := filtered(found, func(o mention) bool { return o.source == name })
	if slices.ContainsFunc(own, func(o mention) bool { return o.begin < m.end && m.begin < o.end }) {
		return false // the same words: one name within another, or two names with the same spelling
	}
	return m.place || slices.ContainsFunc(own, func(o mention) bool { return o.joins(m) || m.joins(o) })
}

// joins reports whether the text between two mentions is only a word such as "and" or "versus".
func (m mention) joins(next mention) bool {
	return m.end < next.begin && joining.MatchString(strings.ToLower(m.after[:next.begin-m.end]))
}

// explains reports whether a mention of another source may mean a value or a table of this one. A mention that is
// marked as a file is not a table.
func (p *profile) explains(m mention) bool {
	return p.hasValue(m.name) ||
		!m.file && slices.ContainsFunc(p.tables, func(t *table) bool { return fold(t.name) == fold(m.name) })
}

// hasValue reports whether the data has a text as a value.
func (p *profile) hasValue(text string) bool {
	ws, _ := tokenize(text)
	return len(ws) > 0 && slices.ContainsFunc(p.values[ws[0].stem], func(v *value) bool {
		return fold(v.text) == fold(text)
	})
}

// isUncertain reports whether a plan ignores a word, or guesses a column.
func (pl *plan) isUncertain() bool {
	return pl.ignores || slices.ContainsFunc(pl.measures, func(m measure) bool { return m.guessed })
}

// hasDataInPeriods reports whether the data has dates in every period that a plan filters by, as far as that is known.
func (pl *plan) hasDataInPeriods() bool {
	return !slices.ContainsFunc(pl.filters, func(f filter) bool {
		if f.op != opPeriod || f.not || f.col == nil || f.col.min == "" {
			return false
		}
		return f.period.to != "" && f.period.to <= f.col.min || f.period.from > f.col.max
	})
}

// mention is a part of a question that names a source.
type mention struct {
	source     string
	name       string // as written in the question
	begin, end int    // position in the question
	after      string // the question after it
	rest       string // the question without it, or "" if nothing else is asked
	place      bool   // is in the place of a source: "in sales", "sales: …", "sales.csv", "the file sales"
	file       bool   // can only be a source: "sales: …", "sales.csv", "the file sales"
}

var (
	beforeName = regexp.MustCompile(`(?:^|[\s,;:])(?:(?:in|inside|within|from|using)\s+)?(?:(?:the|our|my)\s+)?` +
		`(?:(?:source|file|database|upload|dataset)\s+)?["'“‘]?$`)
	afterName = regexp.MustCompile(
		`^(?:\)?\.[a-z][a-z0-9]{1,7}\b)?["'”’]?(?:\s+(?:source|file|database|upload|dataset)\b)?`)
	placed  = regexp.MustCompile(`\b(?:in|inside|within|from|using|source|file|database|upload|dataset)\b`)
	filed   = regexp.MustCompile(`\b(?:source|file|database|upload|dataset)\b`)
	joining = regexp.MustCompile(`^\W*(?:and|or|vs|versus|plus|minus|against|compared (?:with|to))\b` +
		`(?: (?:in|the|source|file|database|upload|dataset))*\W*$`)
	ownerMark = regexp.MustCompile(`_[0-9a-f]{6}(_[0-9]+)?$`)
)

// mentions returns the parts of a question that name sources.
func mentions(q string, sources []string) []mention {
	low := strings.ToLower(q)
	if len(low) != len(q) {
		return nil // the positions differ in lower case
	}
	var out []mention
	for _, source := range sources {
		for _, at := range originalSpelling(source).FindAllStringIndex(low, -1) {
			if !inWord(low, at[0], at[1]) {
				out = append(out, mentionAt(q, low, source, at[0], at[1]))
			}
		}
	}
	return out
}

// mentionAt returns the mention of a source between two positions of a question.
func mentionAt(q, low, source string, begin, end int) mention {
	m := mention{source: source, name: q[begin:end], begin: begin, end: end, after: q[end:]}
	if at := beforeName.FindStringIndex(low[:begin]); at != nil {
		m.file = filed.MatchString(low[at[0]:begin])
		begin, m.place = at[0], placed.MatchString(low[at[0]:begin])
	}
	after := len(afterName.FindString(low[end:]))
	m.file = m.file || after > 1
	end += after
	m.file = m.file || begin == 0 && strings.HasPrefix(q[end:], ":")
	m.place = m.place || m.file
	m.rest = strings.TrimSpace(strings.TrimSpace(q[:begin]) + " " + strings.TrimLeft(q[end:], ",:; "))
	ws, _ := tokenize(m.rest)
	if !slices.ContainsFunc(ws, func(w word) bool { return !onlyNaming[w.low] }) {
		m.rest = ""
	}
	return m
}

// originalSpelling returns how people write the name of a source, in lower case: the name, with or without the mark
// that a shared server puts on the names of uploads, or the name of the file that it was made from. A source's name
// has "_" in place of blanks, brackets and letters such as "ä".
func originalSpelling(source string) *regexp.Regexp {
	name := strings.ToLower(source)
	names := []string{written(name)}
	if short := ownerMark.ReplaceAllString(name, "$1"); short != name && short != "" {
		names = append(names, written(short))
	}
	return regexp.MustCompile("(?:" + strings.Join(names, "|") + ")")
}

// written returns an expression for a name as people write it.
func written(name string) string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' })
	if len(parts) == 0 {
		return regexp.QuoteMeta(name)
	}
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return strings.Join(parts, `(?:[-_ ()&+'#%]|[^\x00-\x7f])+`) + `_*`
}

// inWord reports whether a place of a text begins or ends within a word.
func inWord(s string, begin, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:begin])
	after, _ := utf8.DecodeRuneInString(s[end:])
	part := func(r rune) bool {
		return r != utf8.RuneError && (r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r))
	}
	return part(before) || part(after)
}

var onlyNaming = set(
	"and what about how in for from the same with now then but please instead of use ask take source file database")

// namedAlone returns the source that a question names if it asks nothing else: "and in sales?".
func namedAlone(q string, sources []string) (string, bool) {
	for _, m := range mentions(q, sources) {
		if m.rest == "" {
			return m.source, true
		}
	}
	return "", false
}

// pickedOption returns the option that a reply to askWhich picks, by name or by position.
func pickedOption(reply string, options []string) (string, bool) {
	if name, ok := namedAlone(reply, options); ok {
		return name, true
	}
	ws, _ := tokenize(reply)
	if len(ws) > 1 {
		ws = slices.DeleteFunc(ws, func(w word) bool { return notPicking[w.low] })
	}
	if len(ws) != 1 {
		return "", false
	}
	n := int(ws[0].num)
	if i := slices.Index(places, ws[0].low); i >= 0 {
		n = i + 1
	} else if ws[0].low == "last" {
		n = len(options)
	}
	if n < 1 || n > len(options) {
		return "", false
	}
	return options[n-1], true
}

var (
	places     = []string{"first", "second", "third", "fourth", "fifth", "sixth"}
	notPicking = set(
		"the this that one source file option number no nr use take please i mean want it is of them these")
)

// options returns the sources to choose from.
func (c *choice) options() []string {
	var names []string
	for _, a := range c.fits {
		names = append(names, a.source)
	}
	return names
}

const whichSource = "More than one source can answer this. Which one do you mean?"

// askWhich asks the user to choose a source, with what each would compute.
func (c *choice) askWhich(w *Writer) {
	w.Text(whichSource + "\n")
	for _, a := range c.fits {
		w.say("\n- ", label(Clip(a.source)), ": ", echo((&reading{plan: a.plan}).words()))
	}
	w.Text("\n\nReply with its name, or name it in the question.")
	c.sayUnread(w)
}

// sayUnread names the sources that the question was not read against.
func (c *choice) sayUnread(w *Writer) {
	if len(c.unavailable) > 0 {
		w.echo(" " + unavailableText(c.unavailable))
	}
	if len(c.skipped) > 0 {
		w.echo(" I did not look into " + Clip(strings.Join(c.skipped, ", ")) + ": name a source to have it looked at.")
	}
}

// consultedText names the sources that the question was read against, if there are several.
func (c *choice) consultedText() string {
	if len(c.consulted) < 2 {
		return ""
	}
	return "I looked at " + Clip(strings.Join(c.consulted, ", ")) + "."
}
