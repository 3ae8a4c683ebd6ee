package planner

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote/market/drawing"
)

// chartContext is the chart at which a message was written, parsed from the description at the end of the message.
type chartContext struct {
	symbol, timeframe string
	drawings          []drawing.Drawing // only with the fields that the description has
	truncated         bool              // the description leaves out some drawings
	unavailable       bool              // the drawings cannot be read now
}

var (
	chartHead   = regexp.MustCompile(`(?m)^<chart symbol="([A-Z0-9._-]+)" timeframe="([0-9A-Za-z]+)">$`)
	drawingLine = regexp.MustCompile(
		`^- \[([A-Za-z0-9_-]+)\] (horizontal line|horizontal ray|vertical ` +
			`line|fibonacci|trendline|rectangle|circle|text|long position|short position|marker)` +
			`(?: ("(?:[^"\\]|\\.)*"))?(?: ("(?:[^"\\]|\\.)*"))?`)
	drawingPlace = regexp.MustCompile(
		`^ (?:at|from) ([0-9.]+)(?: at (\d{4}-\d\d-\d\d \d\d:\d\d))?(?: to ([0-9.]+) at (\d{4}-\d\d-\d\d ` +
			`\d\d:\d\d))?(?:, (?:ray|arrow|extended))?`)
	moreDrawings   = regexp.MustCompile(`^- and \d+ others`)
	drawingVersion = regexp.MustCompile(`^ \(version (\d+)`)
)

// parseChart parses the description of a chart that accompanies a question.
func parseChart(context string) (at chartContext, found bool) {
	m := chartHead.FindStringSubmatchIndex(context)
	if m == nil {
		return at, false
	}
	at.symbol, at.timeframe = context[m[2]:m[3]], context[m[4]:m[5]]
	described, _, _ := strings.Cut(context[m[1]:], "\n</chart>")
	for line := range strings.Lines(described) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "Drawings: not available now") {
			at.unavailable = true
		}
		at.truncated = at.truncated || moreDrawings.MatchString(line)
		if d, ok := parseDrawing(line); ok {
			at.drawings = append(at.drawings, d)
		}
	}
	return at, true
}

// parseDrawing parses a line in the format of drawing.Describe.
func parseDrawing(line string) (d drawing.Drawing, ok bool) {
	m := drawingLine.FindStringSubmatch(line)
	if m == nil {
		return d, false
	}
	d.ID, d.Type = m[1], strings.ReplaceAll(m[2], " ", "_")
	d.Label, _ = strconv.Unquote(m[3]) // without a label m[3] is empty
	rest := line[len(m[0]):]
	if p := drawingPlace.FindStringSubmatch(rest); p != nil {
		rest = rest[len(p[0]):]
		for i := 1; i < len(p); i += 2 {
			if price, err := strconv.ParseFloat(p[i], 64); err == nil {
				d.Anchors = append(d.Anchors, drawing.Anchor{Time: parseUnix(p[i+1]), Price: price})
			}
		}
	}
	if d.Type == drawing.HorizontalLine && len(d.Anchors) == 1 {
		d.Price, d.Anchors = &d.Anchors[0].Price, nil
	}
	v := drawingVersion.FindStringSubmatch(rest)
	if v == nil {
		return d, true
	}
	d.Version, _ = strconv.ParseInt(v[1], 10, 64)
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

// parseUnix parses a time of the description. It returns 0 for anything else.
func parseUnix(s string) int64 {
	t, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		return 0
	}
	return t.Unix()
}

// levelOf returns the price of a horizontal line or ray.
func levelOf(d drawing.Drawing) (price float64, ok bool) {
	return d.Level(), d.IsLevel() && d.Level() != 0
}

// hasName reports whether the label or a tag of a drawing contains a name, such as support.
func hasName(d drawing.Drawing, name string) bool {
	return strings.Contains(strings.ToLower(d.Label+" "+strings.Join(d.Tags, " ")), name)
}
