package offline

import (
	"context"
	"fmt"
	"strings"

	"github.com/footnotehq/footnote/source"
)

// reading is what the planner makes of a question: something to say at once, or a
// statement to run.
type reading struct {
	say    func(w *writer)
	source string
	sql    string
	plan   *plan
}

// lastTurns is how many earlier questions a follow-up may lean on.
const lastTurns = 12

// understand reads the last question, with the ones before it as its context.
func (pn *Planner) understand(ctx context.Context, sources, questions []string) (*reading, error) {
	if len(questions) > lastTurns {
		questions = questions[len(questions)-lastTurns:]
	}
	var prev *reading
	for _, q := range questions[:max(len(questions)-1, 0)] {
		r, err := pn.read(ctx, sources, q, prev, false)
		if err != nil {
			return nil, err
		}
		if r.plan != nil {
			prev = r
		}
	}
	last := ""
	if len(questions) > 0 {
		last = questions[len(questions)-1]
	}
	return pn.read(ctx, sources, last, prev, true)
}

// read reads one question. Answer says whether it is the one to be answered, for
// which a decline needs suggestions.
func (pn *Planner) read(ctx context.Context, sources []string, q string, prev *reading, answer bool) (*reading, error) {
	q = strings.TrimSpace(q)
	def := sources[0]
	if prev != nil {
		def = prev.source
	}
	near := sources
	if prev != nil {
		near = []string{def}
	}
	no := func(words string) (*reading, error) { return pn.decline(ctx, near, def, words, q, answer) }
	if asksForTables(q) {
		return pn.tables(ctx, sources, def)
	}
	if isSQL(q) {
		def = pn.sqlSource(ctx, sources, def, q)
		return &reading{source: def, sql: strings.TrimRight(q, "; \n"), plan: &plan{kind: kindRaw, raw: q}}, nil
	}
	if len(q) > 2000 {
		return no("That is too long for fixed rules: please ask one short question.")
	}
	if words, ok := smallTalk(q); ok {
		return no(words)
	}
	if words, ok := refusal(q); ok {
		return no(words)
	}
	if words, ok := foreignWords(q); ok {
		return no(words)
	}
	if words, ok := futureOrOpinion(q); ok {
		return no(words)
	}
	best, err := pn.bestReading(ctx, sources, q, prev)
	if err != nil {
		return nil, err
	}
	if best.declined == nil {
		return &reading{source: best.source, sql: best.plan.sql(best.profile.dialect), plan: best.plan}, nil
	}
	words := best.words()
	if causes.MatchString(q) && !strings.Contains(words, "not why") {
		words = noCauseWords + " " + words
	}
	if best.linked > 0 {
		near = []string{best.source}
	}
	return pn.decline(ctx, near, best.source, words, q, answer)
}

// sqlSource is the source that has the most of the tables which typed SQL names.
func (pn *Planner) sqlSource(ctx context.Context, sources []string, def, q string) string {
	if len(sources) < 2 {
		return def
	}
	ids := map[string]bool{}
	for _, id := range strings.FieldsFunc(strings.ToLower(q), func(r rune) bool { return r != '_' && !wordRune(r) }) {
		ids[id] = true
	}
	best, most := def, 0
	for _, name := range append([]string{def}, sources[:min(8, len(sources))]...) {
		p, _, err := pn.profile(ctx, name)
		if err != nil {
			continue // a source that is away has no say
		}
		n := 0
		for _, t := range p.tables {
			if ids[strings.ToLower(t.name)] || strings.ContainsAny(t.name, " -.") && strings.Contains(strings.ToLower(q), strings.ToLower(t.name)) {
				n++
			}
		}
		if n > most {
			best, most = name, n
		}
	}
	return best
}

// attempt is one source's reading of a question.
type attempt struct {
	source   string
	profile  *profile
	plan     *plan
	declined *declined
	linked   int // words that meant something
}

func (a *attempt) words() string {
	d := a.declined
	if d.reason != "" && len(d.words) == 0 {
		return d.reason
	}
	var said []string
	for _, w := range d.words {
		if len(said) < 5 {
			said = append(said, "“"+clip(w)+"”")
		}
	}
	if d.reason != "" {
		return d.reason + " I do not know what " + strings.Join(said, ", ") + " means in this data." + d.offer
	}
	return "I cannot answer that reliably: I do not know what " + strings.Join(said, ", ") + " means in this data."
}

// bestReading reads the question against every source and keeps the best.
func (pn *Planner) bestReading(ctx context.Context, sources []string, q string, prev *reading) (*attempt, error) {
	var best *attempt
	var firstErr error
	for i, name := range sources {
		if i == 8 {
			break
		}
		p, _, err := pn.profile(ctx, name)
		if err != nil {
			if firstErr == nil {
				firstErr = err
			}
			continue
		}
		a := &attempt{source: name, profile: p}
		var before *plan
		if prev != nil && prev.source == name && prev.plan.kind != kindRaw {
			before = prev.plan
		}
		a.plan, a.declined, a.linked = p.read(q, before)
		if before != nil && a.declined == nil {
			a.linked++
		}
		if best == nil || best.declined != nil && a.declined == nil || (best.declined == nil) == (a.declined == nil) && a.linked > best.linked {
			best = a
		}
	}
	if best == nil {
		return nil, firstErr
	}
	return best, nil
}

func (pn *Planner) profile(ctx context.Context, name string) (*profile, source.Source, error) {
	src, err := pn.opts.Catalog.Source(name)
	if err != nil {
		return nil, nil, fmt.Errorf("open source %s: %w", name, err)
	}
	p, err := pn.profiles.get(ctx, name, src)
	return p, src, err
}

// read reads a question on its own, or as a follow-up where it leans on the plan
// before.
func (p *profile) read(q string, before *plan) (*plan, *declined, int) {
	p = p.without(q, before)
	ps := newParser(p, q)
	if causes.MatchString(q) {
		ps.prev = before
		pl, d := ps.whyQuestion(before)
		return pl, d, len(ps.items)
	}
	if before != nil && leans(ps.ws) {
		pl, d, n := p.follow(q, before)
		if d == nil {
			return pl, nil, n
		}
		if alone, e := ps.readAlone(); e == nil {
			return alone, nil, len(ps.items)
		}
		return nil, d, n
	}
	pl, d := ps.readAlone()
	if d != nil && before != nil {
		if pl, d, n := p.follow(q, before); d == nil {
			return pl, nil, n
		}
	}
	return pl, d, len(ps.items)
}

// without leaves the views out where there are tables and no view is named: a view
// over a table makes nothing ambiguous.
func (p *profile) without(q string, before *plan) *profile {
	if p.tablesOnly == nil || before != nil && before.base != nil && before.base.schema.View {
		return p
	}
	full := newParser(p, q)
	for _, t := range p.tables {
		for i := range full.ws {
			if it := full.matchTable(t, i); t.schema.View && it.score >= 52 && !it.partial {
				return p
			}
		}
	}
	return p.tablesOnly
}

func (ps *parser) readAlone() (*plan, *declined) {
	if len(ps.ws) == 0 {
		return nil, decline("There is no question in that.")
	}
	if len(ps.ws) >= maxWords {
		return nil, decline("That is too long for fixed rules: please ask one short question.")
	}
	if pl, d, ok := ps.changeQuestion(); ok {
		return pl, d
	}
	return ps.parse()
}

func isSQL(q string) bool {
	low := strings.ToLower(q)
	for _, start := range []string{"select ", "select\n", "with "} {
		if strings.HasPrefix(low, start) && (strings.Contains(low, " from ") || strings.Contains(low, "\nfrom ") || start != "with " && strings.IndexAny(low, "0123456789*(") > 0) {
			return start != "with " || strings.Contains(low, " as (") || strings.Contains(low, " as(")
		}
	}
	return false
}
