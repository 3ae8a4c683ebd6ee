package offline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/source"
)

// reading is the meaning of a question to the planner: text to write at once, or a statement to run.
type reading struct {
	say    func(w *Writer)
	source string
	sql    string
	plan   *plan
	about  *table // the table that the question is about, unless an earlier one was about it too

	named    bool    // the answer names its source, because there are several
	question string  // without the name of its source
	choice   *choice // several sources fit the question; the user has to choose
	found    *choice // how the source was found
}

// lastTurns limits the earlier questions that a follow-up can refer to.
const lastTurns = 12

// turn is a question of a conversation, and the source that was queried for it, if any.
type turn struct{ text, source string }

// singleTurn returns a conversation of one question.
func singleTurn(q string) []turn { return []turn{{text: q}} }

func (h History) asked() []turn {
	all := make([]turn, len(h.Questions))
	for i, q := range h.Questions {
		all[i] = turn{q, h.from[i]}
	}
	return all
}

// understand reads the last question, with the earlier ones as its context.
func (pn *Planner) understand(ctx context.Context, sources []string, questions []turn) (*reading, error) {
	if len(questions) > lastTurns {
		questions = questions[len(questions)-lastTurns:]
	}
	if len(questions) == 0 {
		questions = singleTurn("")
	}
	var prev, r *reading
	var before []turn // questions that were answered
	told := map[*table]bool{}
	for i, q := range questions {
		last := i == len(questions)-1
		if r != nil && r.choice != nil {
			q = r.chosen(q)
		}
		from := sources
		if slices.Contains(sources, q.source) {
			from = []string{q.source}
		}
		if r != nil {
			told[r.about] = true
		}
		if prev != nil && len(sources) > 1 {
			elsewhere, err := pn.readElsewhere(ctx, from, prev, before, q, last)
			if err != nil {
				return nil, err
			}
			if elsewhere != nil {
				prev, r, before = elsewhere, elsewhere, append(before, turn{elsewhere.question, q.source})
				continue
			}
		}
		var err error
		if r, err = pn.read(ctx, from, q.text, prev, last); err != nil {
			return nil, err
		}
		if r.plan != nil {
			prev, before = r, append(before, turn{r.question, q.source})
		}
	}
	if told[r.about] {
		r.about = nil
	}
	return r, nil
}

// chosen returns the question that askWhich asked about, with the source that the next question names, or the next
// question itself if it is about something else.
func (r *reading) chosen(next turn) turn {
	if name, ok := pickedOption(next.text, r.choice.options()); ok {
		return turn{r.question, name}
	}
	return next
}

// readElsewhere reads a question that names another source than the previous one. "and in sales?" asks the same of that
// source, and "by region in sales" continues the same question there. It returns nil for any other question, including
// one that is complete.
func (pn *Planner) readElsewhere(ctx context.Context, sources []string, prev *reading, before []turn, q turn,
	answer bool) (*reading, error) {
	for _, m := range mentions(q.text, sources) {
		_, only := namedAlone(q.text, []string{m.source})
		if m.source == prev.source || !only && !m.place || prev.plan.p.hasValue(m.name) {
			continue
		}
		talk := make([]turn, 0, len(before)+1)
		for _, b := range before {
			talk = append(talk, turn{b.text, m.source})
		}
		if !only {
			own, err := pn.read(ctx, []string{m.source}, q.text, nil, false)
			if err != nil || own.plan != nil {
				return nil, err
			}
			talk = append(talk, turn{m.rest, m.source})
		}
		r, err := pn.understand(ctx, []string{m.source}, talk)
		if err != nil || r.plan == nil && !(only && answer) {
			return nil, err
		}
		return r, nil
	}
	return nil, nil
}

// understandPinned reads the last question. Tables named beside it limit its sources. If the question is about none of
// them, as in "How many?" beside customers, it is also read with the table's name.
func (pn *Planner) understandPinned(ctx context.Context, sources []string, h History) (*reading, error) {
	questions := h.asked()
	var within []string
	for _, pin := range h.pinned {
		if from, _, ok := strings.Cut(pin, "."); ok && slices.Contains(sources, from) &&
			!slices.Contains(within, from) {
			within = append(within, from)
		}
	}
	if len(within) > 0 {
		sources = within
	}
	r, err := pn.understand(ctx, sources, questions)
	if err != nil || len(h.pinned) == 0 || r.isAbout(h.pinned) {
		return r, err
	}
	for _, pin := range h.pinned {
		from, name, ok := strings.Cut(pin, ".")
		if !ok || !slices.Contains(sources, from) {
			continue
		}
		with := slices.Clone(questions)
		with[len(with)-1].text = withName(h.Last(), name)
		named, err := pn.understand(ctx, []string{from}, with)
		if err != nil {
			return nil, err
		}
		if named.isAbout(h.pinned) {
			return named, nil
		}
	}
	return r, nil
}

// withName appends the name of a table to a question.
func withName(q, table string) string {
	return strings.TrimRight(q, " ?.!") + " " + strings.ReplaceAll(table, "_", " ")
}

// isAbout reports whether a statement uses one of these tables.
func (r *reading) isAbout(pinned []string) bool {
	return r.plan != nil && r.plan.base != nil && slices.Contains(pinned, r.source+"."+r.plan.base.name)
}

// read reads one question. Only the question to answer, where answer is true, needs suggestions when it is declined.
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
	if isSQL(q) {
		return pn.readSQL(ctx, sources, q)
	}
	if words, ok := withoutData(q); ok {
		return pn.decline(ctx, near, def, words, answer)
	}
	c, err := pn.choose(ctx, sources, q, prev)
	if err != nil {
		return nil, err
	}
	if len(c.fits) > 0 {
		return &reading{source: def, question: q, choice: c, say: c.askWhich}, nil
	}
	best := c.best
	if best.declined == nil {
		return &reading{
			source: best.source, sql: best.plan.sql(best.profile.dialect), plan: best.plan, about: best.plan.base,
			question: best.question, found: c,
		}, nil
	}
	words := best.words()
	if causes.MatchString(q) && !best.profile.namesCause(q) && !strings.Contains(words, "not why") {
		words = noCauseWords + " " + words
	}
	if best.linked > 0 {
		near = []string{best.source}
	}
	words = strings.TrimSpace(words + " " + c.consultedText())
	out := &Writer{}
	c.sayUnread(out)
	words += out.b.String()
	r, err := pn.decline(ctx, near, best.source, words, answer)
	if err == nil && len(sources) == 1 && len(best.profile.tables) == 1 {
		r.about = best.profile.tables[0] // the notes about its file may explain the decline
	}
	return r, err
}

// readSQL reads typed SQL. It belongs to the source that can run it; if several can, the user must choose.
func (pn *Planner) readSQL(ctx context.Context, sources []string, q string) (*reading, error) {
	raw, sql := &plan{kind: kindRaw, raw: q}, strings.TrimRight(q, "; \n")
	here := func(name string, c *choice) *reading {
		return &reading{source: name, sql: sql, plan: raw, question: q, found: c}
	}
	if len(sources) == 1 {
		return here(sources[0], nil), nil
	}
	c := &choice{skipped: sources[min(maxSources, len(sources)):]}
	words := "None of the sources can run this statement:"
	for _, name := range sources[:min(maxSources, len(sources))] {
		a, why, err := pn.tryBind(ctx, name, sql)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			c.unavailable = append(c.unavailable, name)
			continue
		case why != "":
			words += "\n- " + Clip(name) + ": " + strings.Join(strings.Fields(Clip(why)), " ")
		default:
			a.plan = raw
			c.fits = append(c.fits, a)
		}
		c.consulted = append(c.consulted, name)
	}
	switch {
	case len(c.consulted) == 0:
		return here(sources[0], c), nil // none can be reached, which the query will report
	case len(c.fits) == 1:
		return here(c.fits[0].source, c), nil
	case len(c.fits) > 1:
		return &reading{source: sources[0], question: q, choice: c, say: c.askWhich}, nil
	}
	return &reading{source: sources[0], say: func(w *Writer) {
		w.echo(words)
		c.sayUnread(w)
	}}, nil
}

// tryBind lets a source parse and bind a statement without reading rows. why is the reason if it cannot be run there.
func (pn *Planner) tryBind(ctx context.Context, name, sql string) (a *attempt, why string, err error) {
	p, src, err := pn.profile(ctx, name)
	if err != nil {
		return nil, "", err
	}
	_, err = src.Query(ctx, source.Query{
		SQL: "SELECT 1 FROM (" + sql + "\n) AS bound" + p.dialect.First(0),
	}, func([]any) error { return nil })
	if bad, ok := errors.AsType[*source.Error](err); ok {
		return nil, bad.Reason, nil
	}
	return &attempt{source: name, profile: p}, "", err
}

// attempt is one source's reading of a question.
type attempt struct {
	source   string
	question string // as it was read
	profile  *profile
	plan     *plan
	declined *declined
	linked   int  // words that meant something
	follows  bool // it refers to the previous answer
	named    bool // the question names the source, or has its name as a value of the data
}

func (a *attempt) words() string {
	d := a.declined
	for _, w := range d.words {
		if what := notComputed[singular(fold(w))]; what != "" {
			return "I can't calculate " + what + ". I can count, add up, average, rank and compare."
		}
	}
	if d.reason != "" && len(d.words) == 0 {
		return d.reason
	}
	var said []string
	for _, w := range d.words {
		if len(said) < 5 {
			said = append(said, "“"+Clip(w)+"”")
		}
	}
	where := "this data"
	if a.profile != nil {
		where = cmp.Or(a.profile.source, where)
	}
	what := "I couldn't find " + strings.Join(said, ", ") + " in " + where + "."
	offer := ""
	switch {
	case a.profile == nil:
	case a.profile.hasWords(d.words):
		// do not suggest the words that were used
		what = "I don't see how " + strings.Join(said, ", ") + " fits into this question."
	default:
		offer = a.profile.contents()
	}
	if d.reason != "" {
		return d.reason + " " + what + offer
	}
	return what + offer
}

// notComputed maps words to computations that need more than fixed rules.
var notComputed = map[string]string{"correlation": "correlations", "correlate": "correlations",
	"correlated": "correlations", "regression": "regressions",
	"deviation": "standard deviations", "stddev": "standard deviations", "percentile": "percentiles",
	"quartile": "quartiles",
	"outlier":  "outliers", "anomaly": "outliers", "cluster": "clusters", "significance": "significance",
	"significant": "significance"}

// hasWords reports whether all words are in the schema.
func (p *profile) hasWords(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !p.words[singular(fold(w))] && !p.words[fold(w)] })
}

// contents names the tables.
func (p *profile) contents() string {
	var tables []string
	for _, t := range p.tables[:min(5, len(p.tables))] {
		if many := Clip(t.many()); many != "rows" { // their name says nothing about them
			tables = append(tables, many)
		}
	}
	if len(tables) == 0 {
		return ""
	}
	return " It has " + strings.Join(tables, ", ") + "."
}

// unavailableText names the sources that cannot be reached.
func unavailableText(names []string) string {
	return "I couldn't look into " + Clip(strings.Join(names, ", ")) + ", which can't be reached right now."
}

func (pn *Planner) profile(ctx context.Context, name string) (*profile, source.Source, error) {
	src, err := pn.opts.Catalog.Source(name)
	if err != nil {
		return nil, nil, fmt.Errorf("open source %s: %w", name, err)
	}
	p, err := pn.profiles.get(ctx, name, src, pn.metricsOf(ctx))
	return p, src, err
}

// read reads a question on its own, or as a follow-up if it refers to the previous plan.
func (p *profile) read(q string, before *plan) *attempt {
	a := &attempt{question: q, profile: p}
	ps := newParser(p, q)
	a.linked = len(ps.items)
	other := p.otherMetric(ps.ws)
	switch {
	case other != "":
		a.declined = decline("“%s” is a figure that your company has defined, and I can't compute it without a model.",
			other)
	case causes.MatchString(q) && !p.namesCause(q):
		a.declined = decline(noCauseWords)
	case before != nil && isFollowUp(ps.ws):
		p.readLeaning(a, ps, before)
	default:
		a.plan, a.declined = ps.readAlone()
		a.linked = len(ps.items)
		if a.declined != nil && before != nil {
			if pl, d, n := p.follow(q, before); d == nil {
				a.plan, a.declined, a.linked = pl, nil, n
			}
		}
	}
	return a
}

// readLeaning reads a question that refers to the previous plan, unless it is complete by itself.
func (p *profile) readLeaning(a *attempt, ps *parser, before *plan) {
	if alone := p.readComplete(a.question, ps.ws); alone != nil {
		a.plan, a.linked = alone, len(ps.ws)
		return
	}
	a.plan, a.declined, a.linked = p.follow(a.question, before)
	points := anySaid(ps.ws, referringWords)
	if a.declined != nil && points {
		return // read alone, it would no longer be about "those"
	}
	alone, d := ps.readAlone()
	switch {
	case a.declined == nil:
		a.follows = refersToPrevious(ps.ws) || d != nil || ps.agg == "" && !ps.list
	case d == nil:
		a.plan, a.declined, a.linked = alone, nil, len(ps.items)
	}
}

func (ps *parser) readAlone() (*plan, *declined) {
	if len(ps.ws) == 0 {
		return nil, decline("There is no question in that.")
	}
	if len(ps.ws) >= maxWords {
		return nil, decline(tooLong)
	}
	return ps.parse()
}

func isSQL(q string) bool {
	low := strings.ToLower(q)
	for _, start := range []string{"select ", "select\n", "with "} {
		if strings.HasPrefix(low, start) &&
			(strings.Contains(low, " from ") || strings.Contains(low, "\nfrom ") ||
				start != "with " && strings.IndexAny(low, "0123456789*(") > 0) {
			return start != "with " || strings.Contains(low, " as (") || strings.Contains(low, " as(")
		}
	}
	return false
}
