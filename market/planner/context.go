package planner

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote/market/drawing"
)

// chartAt is the chart that a message was asked at, as its end describes it.
type chartAt struct {
	symbol, timeframe string
	drawings          []drawing.Drawing // as far as their words say what they are
	more              bool              // there are others, which are not told
	away              bool              // the drawings cannot be read now
}

var (
	chartHead = regexp.MustCompile(`(?m)^<chart symbol="([A-Z0-9._-]+)" timeframe="([0-9A-Za-z]+)">$`)
	drawnLine = regexp.MustCompile(
		`^- \[([A-Za-z0-9_-]+)\] (horizontal line|horizontal ray|vertical ` +
			`line|fibonacci|trendline|rectangle|circle|text|long position|short position|marker)` +
			`(?: ("(?:[^"\\]|\\.)*"))?(?: ("(?:[^"\\]|\\.)*"))?`)
	drawnPlace = regexp.MustCompile(
		`^ (?:at|from) ([0-9.]+)(?: at (\d{4}-\d\d-\d\d \d\d:\d\d))?(?: to ([0-9.]+) at (\d{4}-\d\d-\d\d ` +
			`\d\d:\d\d))?(?:, (?:ray|arrow|extended))?`)
	notTold      = regexp.MustCompile(`^- and \d+ others`)
	drawnVersion = regexp.MustCompile(`^ \(version (\d+)`)
)

// readChart reads the chart out of what was said beside a question.
func readChart(context string) (at chartAt, found bool) {
	m := chartHead.FindStringSubmatchIndex(context)
	if m == nil {
		return at, false
	}
	at.symbol, at.timeframe = context[m[2]:m[3]], context[m[4]:m[5]]
	told, _, _ := strings.Cut(context[m[1]:], "\n</chart>")
	for line := range strings.Lines(told) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "Drawings: not available now") {
			at.away = true
		}
		at.more = at.more || notTold.MatchString(line)
		if d, ok := readDrawn(line); ok {
			at.drawings = append(at.drawings, d)
		}
	}
	return at, true
}

// readDrawn reads a drawing from its words: those of drawing.Words.
func readDrawn(line string) (d drawing.Drawing, ok bool) {
	m := drawnLine.FindStringSubmatch(line)
	if m == nil {
		return d, false
	}
	d.ID, d.Type = m[1], strings.ReplaceAll(m[2], " ", "_")
	d.Label, _ = strconv.Unquote(m[3]) // no label: nothing
	rest := line[len(m[0]):]
	if p := drawnPlace.FindStringSubmatch(rest); p != nil {
		rest = rest[len(p[0]):]
		for i := 1; i < len(p); i += 2 {
			if price, err := strconv.ParseFloat(p[i], 64); err == nil {
				d.Anchors = append(d.Anchors, drawing.Anchor{Time: unixOf(p[i+1]), Price: price})
			}
		}
	}
	if d.Type == drawing.HorizontalLine && len(d.Anchors) == 1 {
		d.Price, d.Anchors = &d.Anchors[0].Price, nil
	}
	v := drawnVersion.FindStringSubmatch(rest)
	if v == nil {
		return d, true
	}
	d.Version, _ = strconv.ParseInt(v[1], 10, 64) // digits; one that is too long is none
	facts, _, _ := strings.Cut(strings.TrimPrefix(rest, " ("), "): ")
	for fact := range strings.SplitSeq(strings.TrimSuffix(facts, ")"), "; ") {
		if tags, ok := strings.CutPrefix(fact, "tags "); ok {
			d.Tags = strings.Split(tags, ", ")
		}
		if shown, ok := strings.CutPrefix(fact, "shown on "); ok {
			d.Visibility = strings.Split(shown, ", ")
		}
		d.Locked, d.Hidden = d.Locked || fact == "locked", d.Hidden || fact == "hidden"
	}
	return d, true
}

// unixOf reads a time of the words; what is none is 0.
func unixOf(s string) int64 {
	t, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		return 0
	}
	return t.Unix()
}

// levelOf is the price of a horizontal line or ray.
func levelOf(d drawing.Drawing) (price float64, ok bool) {
	switch {
	case d.Type == drawing.HorizontalLine && d.Price != nil:
		return *d.Price, true
	case d.Type == drawing.HorizontalRay && len(d.Anchors) == 1:
		return d.Anchors[0].Price, true
	}
	return 0, false
}

// called reports whether a drawing is labelled or tagged as something.
func called(d drawing.Drawing, what string) bool {
	return strings.Contains(strings.ToLower(d.Label+" "+strings.Join(d.Tags, " ")), what)
}
