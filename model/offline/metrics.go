package offline

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
)

// Metric is a figure that the company defines: an aggregate over the columns of one table.
type Metric struct {
	Name       string
	Synonyms   []string
	Expression string // such as SUM(orders.total)
	Unit       string
}

// A metric adds a word and no rule: the expression in its aggregate is one more column of its table, which questions
// name like any other, and whose aggregate is that of the metric.

var (
	oneAggregate = regexp.MustCompile(`(?is)^\s*(sum|avg|min|max)\s*\((.*)\)\s*$`)
	anyAggregate = regexp.MustCompile(`(?i)\b(sum|avg|min|max|count|over|select)\b`)
	plainColumn  = regexp.MustCompile(`^[\s\pL\p{Nd}_$."]*$`)
	qualified    = regexp.MustCompile(`"?([\pL_][\pL\p{Nd}_$]*)"?\s*\.\s*"?[\pL_]`)
)

// addMetrics adds the metrics over one table, which their expressions name. Questions that name others, such as ratios,
// are declined.
func (p *profile) addMetrics(metrics []Metric) {
	for _, m := range metrics {
		words := splitName(m.Name)
		name := strings.Join(words, " ")
		parts := oneAggregate.FindStringSubmatch(m.Expression)
		var t *table
		if parts != nil && !anyAggregate.MatchString(parts[2]) && balanced(parts[2]) {
			t = p.tableOf(parts[2])
		}
		if t == nil {
			if p.mentioned(m.Expression) && len(words) > 0 {
				p.otherMetrics = append(append(p.otherMetrics, words), namesOf(m.Synonyms)...)
			}
			continue
		}
		if plainColumn.MatchString(parts[2]) && synonymous(name, "revenue") {
			continue // the rules for money know it, also split by the lines of an order
		}
		if taken := t.find(func(c *column) bool { return strings.Join(c.words, " ") == name }); len(words) == 0 ||
			len(taken) > 0 {
			continue
		}
		t.cols = append(t.cols, &column{
			t: t, name: name, core: name, words: words, also: namesOf(m.Synonyms), kind: footnote.KindNumber,
			role: roleMeasure, nullable: true, currency: known(m.Unit), expression: parts[2],
			metric: strings.ToLower(parts[1]),
		})
	}
}

// mentioned reports whether an expression names a table of the source.
func (p *profile) mentioned(expression string) bool {
	return slices.ContainsFunc(qualified.FindAllStringSubmatch(expression, -1), func(q []string) bool {
		return slices.ContainsFunc(p.tables, func(t *table) bool { return strings.EqualFold(t.name, q[1]) })
	})
}

// inSchema reports whether a table or a column has a name.
func (p *profile) inSchema(name []string) bool {
	return slices.ContainsFunc(p.tables, func(t *table) bool {
		return slices.Equal(t.words, name) ||
			slices.ContainsFunc(t.cols, func(c *column) bool { return slices.Equal(c.words, name) })
	})
}

// otherMetric returns the metric that a question names and the planner cannot compute, if there is one. If a table or
// column has that name, the question is about it instead.
func (p *profile) otherMetric(ws []word) string {
	for _, name := range p.otherMetrics {
		for i := range ws {
			rest := ws[i:]
			if len(rest) >= len(name) && slices.EqualFunc(rest[:len(name)], name,
				func(w word, part string) bool { return w.sing == part }) && !p.inSchema(name) {
				return strings.Join(name, " ")
			}
		}
	}
	return ""
}

// balanced reports whether the brackets of an expression belong together.
func balanced(s string) bool {
	depth := 0
	for _, c := range s {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}

// tableOf returns the only table that an expression names, or nil.
func (p *profile) tableOf(expression string) (found *table) {
	outside := strings.Split(expression, "'") // every second part is a text
	for i := 0; i < len(outside); i += 2 {
		for _, q := range qualified.FindAllStringSubmatch(outside[i], -1) {
			var t *table
			for _, o := range p.tables {
				if strings.EqualFold(o.name, q[1]) {
					t = o
				}
			}
			if t == nil || found != nil && t != found {
				return nil
			}
			found = t
		}
	}
	return found
}

// metricsOf returns the metrics of the company for a caller.
func (pn *Planner) metricsOf(ctx context.Context) []Metric {
	if pn.opts.Metrics == nil {
		return nil
	}
	return pn.opts.Metrics(ctx)
}
