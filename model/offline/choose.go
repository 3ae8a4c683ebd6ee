package offline

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Which of several sources a question is about. Each source reads the question, and one
// that leaves a word unexplained declines it. A single source that explains all of it
// answers; where there are several, the user is asked. A source that the question names,
// and the one that gave the answer before, go first.

// maxLooked is how many sources a question is read against.
const maxLooked = 16

// choice is what the sources make of a question.
type choice struct {
	among   int // sources there are
	best    *attempt
	several []*attempt // each explains the question; the user has to choose
	named   []string   // sources that the question names
	looked  []string
	away    []string // sources that cannot be read now
	unseen  []string // sources above maxLooked
	err     error    // why the first of those away is
}

// choose reads a question against the sources.
func (pn *Planner) choose(ctx context.Context, sources []string, q string, prev *reading) (*choice, error) {
	c := &choice{among: len(sources)}
	if len(sources) > maxLooked {
		sources, c.unseen = sources[:maxLooked], sources[maxLooked:]
	}
	said := mentions(q, sources)
	for _, m := range said {
		if m.plain {
			c.named = append(c.named, m.source)
		}
	}
	first := c.named
	if len(first) == 0 && prev != nil && slices.Contains(sources, prev.source) {
		first = []string{prev.source}
	}
	for _, names := range [][]string{first, sources} {
		explain, err := pn.try(ctx, c, names, q, said, prev)
		if err != nil {
			return nil, err
		}
		switch {
		case len(explain) == 1 && (len(c.named) == 0 || slices.Contains(c.named, explain[0].source)):
			c.best = explain[0]
			return c, nil
		case len(explain) > 0:
			c.best, c.several = explain[0], explain
			return c, nil
		}
	}
	if c.best == nil {
		return nil, c.err
	}
	return c, nil
}

// try reads a question against those of the sources that have not read it yet, and returns
// the readings that explain all of it.
func (pn *Planner) try(ctx context.Context, c *choice, names []string, q string, said []mention, prev *reading) ([]*attempt, error) {
	var explain []*attempt
	for _, name := range names {
		if slices.Contains(c.looked, name) || slices.Contains(c.away, name) {
			continue
		}
		a, err := pn.attempt(ctx, c, name, q, said, prev)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			if c.err == nil {
				c.err = err
			}
			c.away = append(c.away, name)
			continue
		}
		c.looked = append(c.looked, name)
		if a.declined == nil {
			explain = append(explain, a)
		}
		if c.best == nil || a.linked > c.best.linked {
			c.best = a
		}
	}
	return explain, nil
}

// attempt reads a question against one source. Words that name the source are left out: of
// several sources where they can mean nothing else, otherwise where nothing else explains them.
func (pn *Planner) attempt(ctx context.Context, c *choice, name, q string, said []mention, prev *reading) (*attempt, error) {
	p, _, err := pn.profile(ctx, name)
	if err != nil {
		return nil, err
	}
	a := &attempt{source: name, profile: p}
	var before *plan
	if prev != nil && prev.source == name && prev.plan.kind != kindRaw {
		before = prev.plan
	}
	a.plan, a.declined, a.linked = p.read(q, before)
	for _, m := range said {
		if m.source != name || m.rest == "" || a.declined == nil && !(m.plain && c.among > 1) {
			continue
		}
		if pl, d, linked := p.read(m.rest, before); d == nil || m.plain && a.declined != nil {
			a.plan, a.declined, a.linked = pl, d, linked+1
		}
	}
	if before != nil && a.declined == nil {
		a.linked++
	}
	return a, nil
}

// mention is a place in a question that names a source.
type mention struct {
	source string
	rest   string // the question without it
	plain  bool   // it cannot be meant otherwise: "in sales", "sales.csv", "the file sales"
}

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
		if p.end < longest[p.begin] || slices.ContainsFunc(out, func(m mention) bool { return m.source == p.source && m.plain }) {
			continue
		}
		out = append(out, mentionAt(q, low, p.source, p.begin, p.end))
	}
	return out
}

// mentionAt is the mention of a source between two places of a question.
func mentionAt(q, low, source string, begin, end int) mention {
	m := mention{source: source}
	if ext := fileEnd.FindString(low[end:]); ext != "" {
		end += len(ext)
		m.plain = true
	}
	if at := placeBefore.FindStringIndex(low[:begin]); at != nil {
		begin, m.plain = at[0], true
	} else if at := nounBefore.FindStringIndex(low[:begin]); at != nil {
		begin, m.plain = at[0], true
	}
	if at := nounAfter.FindStringIndex(low[end:]); at != nil {
		end += at[1]
		m.plain = true
	}
	after := strings.TrimLeft(q[end:], `"'”’ `)
	if begin == 0 && strings.HasPrefix(after, ":") {
		m.plain = true
	}
	m.rest = strings.TrimSpace(strings.TrimSpace(q[:begin]) + " " + strings.TrimLeft(after, ",:; "))
	if strings.Trim(m.rest, " ?.!,;:") == "" {
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
		ws, _ := tokenize(m.rest)
		if !slices.ContainsFunc(ws, func(w word) bool { return !onlyNaming[w.low] }) {
			return m.source, true
		}
	}
	return "", false
}

// options are the sources to choose from.
func (c *choice) options() []string {
	var names []string
	for _, a := range c.several {
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
	for _, a := range c.several {
		w.text("\n- ")
		w.label(clip(a.source))
		w.text(": ")
		w.echo((&reading{plan: a.plan}).words())
	}
	w.text("\n\nReply with its name, or name it in the question.")
	c.outOfSight(w)
}

// outOfSight names the sources that could not be looked at.
func (c *choice) outOfSight(w *writer) {
	if len(c.away) > 0 {
		w.echo(" " + awayWords(c.away))
	}
	if len(c.unseen) > 0 {
		w.echo(" I did not look into " + clip(strings.Join(c.unseen, ", ")) + ": name a source to have it looked at.")
	}
}

// lookedWords says which sources a question was read against.
func (c *choice) lookedWords() string {
	if len(c.looked) < 2 {
		return ""
	}
	return "I looked at " + clip(strings.Join(c.looked, ", ")) + "."
}
