package offline

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How one of several sources is chosen. Every source reads the question; one that leaves a word unexplained does
// not fit. The only source that fits answers; where several fit, the user is asked. A question that names a source
// goes to that one, and a question that refers to the answer before it stays with the source of that answer.

// maxSources bounds how many sources read a question.
const maxSources = 16

// choice is the outcome of reading a question against the sources.
type choice struct {
	several     bool // there are other sources
	best        *attempt
	fits        []*attempt // where more than one, or one that the question does not name: the user has to choose
	named       []string   // sources that the question names
	consulted   []string   // sources that read the question
	unavailable []string
	skipped     []string // sources beyond maxSources
	err         error    // of the first source that is unavailable
}

// choose finds the source that answers a question.
func (pn *Planner) choose(ctx context.Context, sources []string, q string, prev *reading) (*choice, error) {
	c := &choice{several: len(sources) > 1}
	if len(sources) > maxSources {
		sources, c.skipped = sources[:maxSources], sources[maxSources:]
	}
	found := mentions(q, sources)
	for _, m := range found {
		if m.named() {
			c.named = append(c.named, m.source)
		}
	}
	if len(c.named) > 0 {
		first, err := pn.namedOrHolding(ctx, sources, found)
		if err != nil {
			return nil, err
		}
		fits, err := pn.try(ctx, c, first, q, found, prev)
		if err != nil {
			return nil, err
		}
		if len(fits) > 0 {
			c.settle(fits)
			return c, nil
		}
	} else if prev != nil && slices.Contains(sources, prev.source) {
		fits, err := pn.try(ctx, c, []string{prev.source}, q, found, prev)
		if err != nil {
			return nil, err
		}
		if len(fits) == 1 && fits[0].follows {
			c.settle(fits)
			return c, nil
		}
		c.fits = fits
	}
	fits, err := pn.try(ctx, c, sources, q, found, prev)
	if err != nil {
		return nil, err
	}
	if fits = append(c.fits, fits...); len(fits) > 0 {
		c.settle(fits)
		if len(c.named) > 0 {
			c.fits = fits // none of them is the one that was named
		}
	}
	if c.best == nil {
		return nil, c.err
	}
	return c, nil
}

// namedOrHolding returns the sources that a question names, and with them those whose data holds such a name as a
// value: "in Berlin" may mean the source berlin or the rows of that city.
func (pn *Planner) namedOrHolding(ctx context.Context, sources []string, found []mention) ([]string, error) {
	var names []string
	for _, m := range found {
		if m.named() {
			names = append(names, m.source)
		}
	}
	for _, source := range sources {
		p, _, err := pn.profile(ctx, source)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		holds := err == nil && slices.ContainsFunc(found, func(m mention) bool {
			return m.place && !m.certain && p.holds(m.name)
		})
		if holds && !slices.Contains(names, source) {
			names = append(names, source)
		}
	}
	return names, nil
}

// settle keeps the readings that fit best: one that refers to the answer before, or those that use every word and guess
// no column, and of these the ones whose data reaches into the period that is asked for. A single one is the answer.
func (c *choice) settle(fits []*attempt) {
	fits = preferred(fits, func(a *attempt) bool { return a.follows })
	fits = preferred(fits, func(a *attempt) bool { return !a.plan.loose() })
	fits = preferred(fits, func(a *attempt) bool { return a.plan.inRange() })
	c.best, c.fits = fits[0], nil
	if len(fits) > 1 {
		c.fits = fits
	}
}

// preferred returns the attempts that are better, or all of them where none is.
func preferred(all []*attempt, better func(*attempt) bool) []*attempt {
	if some := slices.DeleteFunc(slices.Clone(all), func(a *attempt) bool { return !better(a) }); len(some) > 0 {
		return some
	}
	return all
}

// try reads a question against the named sources that have not read it yet, and returns the readings that fit.
func (pn *Planner) try(
	ctx context.Context, c *choice, names []string, q string, found []mention, prev *reading,
) ([]*attempt, error) {
	var fits []*attempt
	for _, name := range names {
		if slices.Contains(c.consulted, name) || slices.Contains(c.unavailable, name) {
			continue
		}
		a, err := pn.attempt(ctx, c, name, q, found, prev)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			if c.err == nil {
				c.err = err
			}
			c.unavailable = append(c.unavailable, name)
			continue
		}
		c.consulted = append(c.consulted, name)
		if a.declined == nil {
			fits = append(fits, a)
		}
		if c.best == nil || a.linked > c.best.linked {
			c.best = a
		}
	}
	return fits, nil
}

// attempt reads a question against one source. The name of the source is left out where it can mean nothing else, and
// where nothing else explains it.
func (pn *Planner) attempt(
	ctx context.Context, c *choice, name, q string, found []mention, prev *reading,
) (*attempt, error) {
	p, _, err := pn.profile(ctx, name)
	if err != nil {
		return nil, err
	}
	var before *plan
	if prev != nil && prev.source == name && prev.plan.kind != kindRaw {
		before = prev.plan
	}
	a := p.read(q, before)
	for _, m := range found {
		if m.source != name || m.rest == "" {
			continue
		}
		named := m.certain || m.place && !p.holds(m.name)
		rest := p.read(m.rest, before)
		rest.linked++
		switch {
		case a.declined != nil && (named || rest.declined == nil):
			a = rest
		case a.declined == nil && named && rest.declined == nil && (c.several || rest.sameSQL(a)):
			a = rest
		}
	}
	a.source = name
	if before != nil && a.declined == nil {
		a.linked++
	}
	return a, nil
}

// sameSQL reports whether two readings of a source run the same statement.
func (a *attempt) sameSQL(b *attempt) bool {
	return a.plan.sql(a.profile.dialect) == b.plan.sql(b.profile.dialect)
}

// holds reports whether the data has a text as a value.
func (p *profile) holds(text string) bool {
	ws, _ := tokenize(text)
	return len(ws) > 0 && slices.ContainsFunc(p.values[ws[0].stem], func(v *value) bool { return fold(v.text) == fold(text) })
}

// loose reports whether a plan passes over a word, or computes something that is only the likeliest.
func (pl *plan) loose() bool {
	return pl.ignores || slices.ContainsFunc(pl.measures, func(m measure) bool { return m.guessed })
}

// inRange reports whether the data has dates in every period that a plan filters by, as far as that is known.
func (pl *plan) inRange() bool {
	return !slices.ContainsFunc(pl.filters, func(f filter) bool {
		if f.op != opPeriod || f.not || f.col == nil || f.col.min == "" {
			return false
		}
		return f.period.to != "" && f.period.to <= f.col.min || f.period.from > f.col.max
	})
}

// mention is a place in a question that names a source.
type mention struct {
	source  string
	name    string // as the question has it
	rest    string // the question without it; empty where it says nothing else
	certain bool   // it can mean nothing else: "sales.csv", "the file sales"
	place   bool   // it stands as a place does: "in sales", which may also be a value
}

// named reports whether a mention may decide which source is asked.
func (m mention) named() bool { return m.certain || m.place }

var (
	fileEnd     = regexp.MustCompile(`^\.[a-z][a-z0-9]{1,7}\b`)
	nounBefore  = regexp.MustCompile(`(?:^|\s)(?:source|file|database|upload|dataset)\s+["'“‘]?$`)
	placeBefore = regexp.MustCompile(`(?:^|[\s,;:])(?:in|inside|within|from|using)\s+(?:the\s+|our\s+|my\s+)?(?:(?:source|file|database|upload|dataset)\s+)?["'“‘]?$`)
	nounAfter   = regexp.MustCompile(`^["'”’]?\s+(?:source|file|database|upload|dataset)\b`)
	ownerMark   = regexp.MustCompile(`_[0-9a-f]{6}(_[0-9]+)?$`)
)

// mentions finds where a question names sources. Of two names that begin at one place the
// longer is meant.
func mentions(q string, sources []string) []mention {
	low := strings.ToLower(q)
	if len(low) != len(q) {
		return nil // lower case moved the letters
	}
	longest := map[int]int{}
	type place struct {
		source     string
		begin, end int
	}
	var all []place
	for _, source := range sources {
		for _, name := range spellings(source) {
			for at := 0; ; {
				i := strings.Index(low[at:], name)
				if i < 0 {
					break
				}
				begin, end := at+i, at+i+len(name)
				at = begin + 1
				if inWord(low, begin, end) {
					continue
				}
				all = append(all, place{source, begin, end})
				longest[begin] = max(longest[begin], end)
			}
		}
	}
	var out []mention
	for _, p := range all {
		if p.end < longest[p.begin] || slices.ContainsFunc(out, func(m mention) bool {
			return m.source == p.source && m.named()
		}) {
			continue
		}
		out = append(out, mentionAt(q, low, p.source, p.begin, p.end))
	}
	return out
}

// mentionAt is the mention of a source between two places of a question.
func mentionAt(q, low, source string, begin, end int) mention {
	m := mention{source: source, name: q[begin:end]}
	if ext := fileEnd.FindString(low[end:]); ext != "" {
		end += len(ext)
		m.certain = true
	}
	if at := nounBefore.FindStringIndex(low[:begin]); at != nil {
		begin, m.certain = at[0], true
	}
	if at := placeBefore.FindStringIndex(low[:begin]); at != nil {
		begin, m.place = at[0], true
	}
	if at := nounAfter.FindStringIndex(low[end:]); at != nil {
		end += at[1]
		m.certain = true
	}
	after := strings.TrimLeft(q[end:], `"'”’ `)
	if begin == 0 && strings.HasPrefix(after, ":") {
		m.certain = true
	}
	m.rest = strings.TrimSpace(strings.TrimSpace(q[:begin]) + " " + strings.TrimLeft(after, ",:; "))
	ws, _ := tokenize(m.rest)
	if !slices.ContainsFunc(ws, func(w word) bool { return !onlyNaming[w.low] }) {
		m.rest = ""
	}
	return m
}

// spellings are how people write the name of a source: in lower case, with blanks, and
// without the mark that a shared server puts on the names of uploads.
func spellings(source string) []string {
	name := strings.ToLower(source)
	out := []string{name}
	if short := ownerMark.ReplaceAllString(name, "$1"); short != name && short != "" {
		out = append(out, short)
	}
	for _, s := range slices.Clone(out) {
		if spaced := strings.NewReplacer("_", " ", "-", " ").Replace(s); spaced != s {
			out = append(out, spaced)
		}
	}
	return out
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

var onlyNaming = set("and what about how in for from the same with now then but please instead of use ask take source file database")

// onlyNames reports whether a question does nothing but name one of the sources, as "and in
// sales?" does, and which.
func onlyNames(q string, sources []string) (string, bool) {
	for _, m := range mentions(q, sources) {
		if m.rest == "" {
			return m.source, true
		}
	}
	return "", false
}

// options are the sources to choose from.
func (c *choice) options() []string {
	var names []string
	for _, a := range c.fits {
		names = append(names, a.source)
	}
	return names
}

const whichSource = "More than one source can answer this. Which one do you mean?"

// askWhich asks the user for the source, with what each would compute.
func (c *choice) askWhich(w *writer) {
	if len(c.named) > 0 && !slices.Contains(c.options(), c.named[0]) {
		w.echo("I could not answer this from " + clip(strings.Join(c.named, ", ")) + ". ")
		w.text("Another source can: reply with its name to ask it.\n")
	} else {
		w.text(whichSource + "\n")
	}
	for _, a := range c.fits {
		w.text("\n- ")
		w.label(clip(a.source))
		w.text(": ")
		w.echo((&reading{plan: a.plan}).words())
	}
	w.text("\n\nReply with its name, or name it in the question.")
	c.sayUnread(w)
}

// sayUnread names the sources that did not read the question.
func (c *choice) sayUnread(w *writer) {
	if len(c.unavailable) > 0 {
		w.echo(" " + unavailableText(c.unavailable))
	}
	if len(c.skipped) > 0 {
		w.echo(" I did not look into " + clip(strings.Join(c.skipped, ", ")) + ": name a source to have it looked at.")
	}
}

// consultedText names the sources that read a question, where there are several.
func (c *choice) consultedText() string {
	if len(c.consulted) < 2 {
		return ""
	}
	return "I looked at " + clip(strings.Join(c.consulted, ", ")) + "."
}
