package export

import (
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// This file writes months and times as the web app does.

// words writes a month such as 2026-10 as "October 2026", and a timestamp as "31 October 2026, 21:39:57". Other texts
// are unchanged.
func words(text string) string {
	if t, err := time.Parse("2006-01", text); err == nil {
		return t.Format("January 2006")
	}
	for _, layout := range []string{"2006-01-02T15:04:05", time.DateTime, time.RFC3339} {
		t, err := time.Parse(layout, text)
		switch {
		case err != nil:
		case t.Second() == 0 && t.Nanosecond() == 0:
			return t.Format("2 January 2006, 15:04")
		default:
			return t.Format("2 January 2006, 15:04:05")
		}
	}
	return text
}

// inWords writes the months and times that have a footnote in words. It returns the footnotes inside the new text, in
// its order.
func inWords(text string, cites []footnote.Cite) (string, []footnote.Cite) {
	cites = slices.Clone(cites)
	slices.SortFunc(cites, func(x, y footnote.Cite) int { return x.Start - y.Start })
	var b strings.Builder
	var kept []footnote.Cite
	from := 0
	for _, c := range cites {
		if c.Start < from || c.End > len(text) || c.Start >= c.End {
			continue
		}
		b.WriteString(text[from:c.Start])
		from = c.End
		said := text[c.Start:c.End]
		c.Start = b.Len()
		b.WriteString(words(said))
		c.End, c.Text = b.Len(), words(c.Text)
		kept = append(kept, c)
	}
	return b.String() + text[from:], kept
}

// monthColumns reports which columns hold only months.
func monthColumns(rows [][]any, columns int) []bool {
	months := make([]bool, columns)
	for i := range months {
		for _, row := range rows {
			s, isText := at(row, i).(string)
			if at(row, i) == nil {
				continue
			}
			if _, err := time.Parse("2006-01", s); !isText || err != nil {
				months[i] = false
				break
			}
			months[i] = true
		}
	}
	return months
}
