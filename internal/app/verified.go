package app

import (
	"context"
	"fmt"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/knowledge"
	"github.com/footnotehq/footnote/knowledge/verified"
	"github.com/footnotehq/footnote/model/offline"
)

// verifiedQueries returns the verified queries of the version in use.
func (a *App) verifiedQueries() *verified.Set { return a.words().Verified }

// metricsFor returns the metrics of the version in use that the caller may see, for the planner.
func (a *App) metricsFor(ctx context.Context) []offline.Metric {
	p, _ := footnote.ActingPrincipal(ctx)
	var list []offline.Metric
	for _, m := range a.words().Metrics(p) {
		list = append(list, offline.Metric{Name: m.Name, Synonyms: m.Synonyms, Expression: m.Expression, Unit: m.Unit})
	}
	return list
}

// unused says why verified queries cannot be used, one line for each: they have expired, or their source is not
// configured.
func unused(set *verified.Set, sources map[string]string, now time.Time) (lines []string) {
	for _, q := range set.Expired(now) {
		lines = append(lines, fmt.Sprintf("%s expired on %s; check it again and give it a new date, or remove it",
			q.File, q.Expires.Format(time.DateOnly)))
	}
	for _, q := range set.All() {
		if _, ok := sources[q.Source]; !ok {
			lines = append(lines, fmt.Sprintf("%s is for the source %s, which is not configured", q.File, q.Source))
		}
	}
	return lines
}

// checkVerified reports how many verified queries there are, and which cannot be used.
func checkVerified(_ context.Context, c config.Config, r *doctor.Report) {
	if c.Context == "" {
		return
	}
	words, err := knowledge.Load(c.Context)
	if err != nil {
		return // checkContext reports it
	}
	const what = "verified queries"
	for _, line := range unused(words.Verified, c.Sources, time.Now()) {
		r.Warn(what, line)
	}
	if n := len(words.Verified.All()); n > 0 {
		r.OK(what, fmt.Sprint(n))
	}
}
