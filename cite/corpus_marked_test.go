package cite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/cite"
	marks "github.com/footnotehq/footnote/internal/mark"
)

// TestCorpusMarked measures answers whose author marks figures: each annotated numeral whose source marks can name gets
// its mark. It fails below the limits.
func TestCorpusMarked(t *testing.T) {
	var right, flagged, all, noticed, planted int
	for _, tr := range loadCorpus(t, "blind-*.txtar") {
		for i, m := range tr.marks {
			if tr.markOf(m) == "" {
				continue
			}
			text, at := tr.withMarks(i, tr.text[m.start:m.end])
			clean, cut := marks.Cut(text)
			cites, open, _ := cite.ResolveMarked(clean, tr.results, tr.question, cut)
			all++
			for _, c := range cites {
				if c.Marked && c.Start < at+m.end-m.start && at < c.End {
					right++
				}
			}
			for _, u := range open {
				if u.Start < at+m.end-m.start && at < u.End {
					flagged++
					t.Logf("%s: %s: %s", tr.name, tr.markOf(m), u.Reason)
				}
			}
			for _, w := range m.wrong {
				text, at := tr.withMarks(i, w.text)
				clean, cut := marks.Cut(text)
				_, open, _ := cite.ResolveMarked(clean, tr.results, tr.question, cut)
				planted++
				found := false
				for _, u := range open {
					found = found || u.Start < at+len(w.text) && at < u.End
				}
				if found {
					noticed++
				} else {
					t.Logf("%s: %s instead of %s is not noticed (%s)", tr.name, w.text, tr.text[m.start:m.end],
						tr.markOf(m))
				}
			}
		}
	}
	t.Logf("marked: right %d of %d (%.1f %%), flagged %d (%.1f %%), wrong ones noticed %d of %d (%.1f %%)", right, all,
		percent(right, all), flagged, percent(flagged, all), noticed, planted, percent(noticed, planted))
	if percent(right, all) < 98.5 || percent(flagged, all) > 0.8 || noticed < planted {
		t.Error("marks work less well than before")
	}
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(of) }

// withMarks returns the text with all marks, and with another text for numeral i. at is the offset of that text without
// marks.
func (tr *transcript) withMarks(i int, text string) (marked string, at int) {
	var b strings.Builder
	from, cut := 0, 0
	for j, m := range tr.marks {
		b.WriteString(tr.text[from:m.start])
		if j == i {
			at = b.Len() - cut
			b.WriteString(text)
		} else {
			b.WriteString(tr.text[m.start:m.end])
		}
		one := tr.markOf(m)
		b.WriteString(one)
		cut += len(one)
		from = m.end
	}
	b.WriteString(tr.text[from:])
	return b.String(), at
}

// markOf returns the mark of a numeral, or "" if marks cannot name its source.
func (tr *transcript) markOf(m mark) string {
	spec, _, _ := strings.Cut(m.spec, " / ")
	f := strings.Fields(spec)
	cells := make([]string, len(f))
	for i := 1; i < len(f); i++ {
		cells[i] = tr.ref(f[i])
		if cells[i] == "" && f[0] != "sum" && f[0] != "avg" && f[0] != "min" && f[0] != "max" {
			return ""
		}
	}
	formula := ""
	switch {
	case len(f) == 1:
		formula = tr.ref(f[0])
	case len(f) == 2 && (f[0] == "sum" || f[0] == "avg" || f[0] == "min" || f[0] == "max"):
		formula = fmt.Sprintf("r1.%s(%s)", f[0], marks.Column(f[1]))
	case len(f) == 3 && (f[0] == "diff" || f[0] == "pp"):
		formula = cells[1] + "-" + cells[2]
	case len(f) == 3 && (f[0] == "ratio" || f[0] == "share2"):
		formula = cells[1] + "/" + cells[2]
	case len(f) == 3 && f[0] == "growth":
		formula = cells[1] + "/" + cells[2] + "-1"
	case len(f) == 2 && (f[0] == "share" || f[0] == "share2"):
		t, _, c, err := tr.cellAt(f[1])
		if err != nil {
			return ""
		}
		of := tr.results[t]
		formula = fmt.Sprintf("%s/%s.sum(%s)", cells[1], of.ID, marks.Column(of.Result.Columns[c].Name))
	}
	if formula == "" || len(formula) > 60 {
		return ""
	}
	return "[^" + formula + "]"
}

// ref returns a cell of a spec as in marks, or "".
func (tr *transcript) ref(spec string) string {
	if strings.HasPrefix(spec, "sum:") || strings.HasPrefix(spec, "avg:") {
		return ""
	}
	t, r, c, err := tr.cellAt(spec)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s.%d.%s", tr.results[t].ID, r, marks.Column(tr.results[t].Result.Columns[c].Name))
}
