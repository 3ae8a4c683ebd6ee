package verified

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

// wording is a question with slots.
type wording struct {
	text  string
	parts []part
}

// part is a word of a wording, or a slot.
type part struct {
	word string
	slot int // index of the parameter; -1: a word
}

// parseWording reads a wording. It must have each parameter once, with a word between two slots, so that a question
// fits it in one way only.
func parseWording(text string, parameters []Parameter) (wording, error) {
	w := wording{text: text}
	text = norm.NFC.String(text)
	seen := map[int]bool{}
	for rest := text; rest != ""; {
		before, after, slot := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return w, fmt.Errorf("the wording %q has a } without a {", text)
		}
		for _, t := range tokenize(before) {
			w.parts = append(w.parts, part{t.text, -1})
		}
		if !slot {
			break
		}
		name, behind, closed := strings.Cut(after, "}")
		i := slices.IndexFunc(parameters, func(p Parameter) bool { return p.Name == name })
		switch {
		case !closed:
			return w, fmt.Errorf("the wording %q has a { without a }", text)
		case i < 0:
			return w, fmt.Errorf("the slot {%s} of the wording %q has no parameter", name, text)
		case seen[i]:
			return w, fmt.Errorf("the wording %q has the slot {%s} twice", text, name)
		case len(w.parts) > 0 && w.parts[len(w.parts)-1].slot >= 0:
			return w, fmt.Errorf("the wording %q has two slots side by side; put a word between them", text)
		}
		seen[i] = true
		w.parts = append(w.parts, part{"", i})
		rest = behind
	}
	for i, p := range parameters {
		if !seen[i] {
			return w, fmt.Errorf("the wording %q lacks the slot {%s}", text, p.Name)
		}
	}
	if len(w.parts) == len(seen) || len(w.parts) > maxTokens {
		return w, fmt.Errorf("the wording %q needs at least one word and at most %d", text, maxTokens)
	}
	return w, nil
}

// shape returns the wording with the types of its slots, to find two wordings that fit the same questions.
func (w wording) shape(parameters []Parameter) string {
	var b strings.Builder
	for _, p := range w.parts {
		b.WriteByte(' ')
		if p.slot >= 0 {
			b.WriteString("{" + parameters[p.slot].Type + "}")
		}
		b.WriteString(p.word)
	}
	return b.String()
}

// Match is a question that is a wording of a query.
type Match struct {
	Query *Query
	// Args are the values of the parameters, in their order: text, int64 or float64.
	Args []any
	// Question is the wording, with the values of its slots.
	Question string
}

// maxQuestion limits the bytes of a question that is compared.
const maxQuestion = 4000

// Match returns the query that a question is a wording of, among those that exist for the caller. It returns false
// for a question that fits two queries, because then nobody has said which one it means.
func (s *Set) Match(c Caller, question string) (Match, bool) {
	if s == nil || len(question) > maxQuestion {
		return Match{}, false
	}
	question = norm.NFC.String(question)
	tokens := tokenize(question)
	if len(tokens) == 0 {
		return Match{}, false
	}
	var found []Match
	for _, q := range s.queries {
		if !c.open(q) {
			continue
		}
		if m, ok := q.match(question, tokens); ok {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		return Match{}, false
	}
	return found[0], true
}

func (q *Query) match(question string, tokens []token) (Match, bool) {
	for _, w := range q.wordings {
		args := make([]any, len(q.Parameters))
		if q.fits(question, w.parts, tokens, args) {
			return Match{Query: q, Args: args, Question: q.Filled(args)}, true
		}
	}
	return Match{}, false
}

// fits matches the parts of a wording with the words of a question, and fills in the arguments. Two slots always have
// a word between them and a slot takes few words, so it takes few steps.
func (q *Query) fits(question string, parts []part, tokens []token, args []any) bool {
	for len(parts) > 0 && parts[0].slot < 0 {
		if len(tokens) == 0 || tokens[0].text != parts[0].word {
			return false
		}
		parts, tokens = parts[1:], tokens[1:]
	}
	if len(parts) == 0 {
		return len(tokens) == 0
	}
	p := q.Parameters[parts[0].slot]
	for n := 1; n <= min(len(tokens), max(1, maxSlot[p.Type])); n++ {
		v, err := p.inQuestion(question, tokens[:n])
		if err != nil {
			continue
		}
		args[parts[0].slot] = v
		if q.fits(question, parts[1:], tokens[n:], args) {
			return true
		}
	}
	return false
}

// Filled returns the question with arguments in its slots.
func (q *Query) Filled(args []any) string {
	var pairs []string // replaced at once: a text may look like a slot
	for i, p := range q.Parameters {
		if i < len(args) {
			pairs = append(pairs, "{"+p.Name+"}", shown(p, args[i]))
		}
	}
	return strings.NewReplacer(pairs...).Replace(q.Question)
}

// shown returns an argument as a person would write it.
func shown(p Parameter, arg any) string {
	s := fmt.Sprint(arg)
	day, err := time.Parse(time.DateOnly, s)
	switch {
	case p.Type == Text:
		return `"` + s + `"`
	case p.Type == Month && err == nil:
		return day.Format("January 2006")
	case p.Type == Date && err == nil:
		return day.Format("2 January 2006")
	}
	return s
}

// Same reports whether two matches run the same query with the same arguments.
func (m Match) Same(other Match) bool {
	return m.Query == other.Query && slices.Equal(m.Args, other.Args)
}
