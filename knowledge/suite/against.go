package suite

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteComparison writes two reports of one suite side by side: the tests whose outcomes differ, and the totals.
func WriteComparison(w io.Writer, a, b *Report) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "test\tfirst\tsecond\n")
	before, after := a.Past(), b.Past()
	seen := map[string]bool{}
	var reasons strings.Builder
	for _, o := range b.Outcomes {
		was, is := before.Tests[o.Name], after.Tests[o.Name]
		if was == is || seen[o.Name] {
			continue
		}
		seen[o.Name] = true
		fmt.Fprintf(t, "%s\t%s\t%s\n", o.Name, was, is)
		for _, reason := range append(o.Reasons, reasonsOf(a, o.Name)...) {
			fmt.Fprintf(&reasons, "  %s: %s\n", o.Name, reason)
		}
	}
	fmt.Fprintf(t, "passed\t%d of %d\t%d of %d\n", a.Count(Passed), len(a.Outcomes), b.Count(Passed), len(b.Outcomes))
	fmt.Fprintf(t, "model\t%s\t%s\n", a.Model, b.Model)
	fmt.Fprintf(t, "context\t%s\t%s\n", short(a.Context), short(b.Context))
	fmt.Fprintf(t, "cost\t%.4f USD\t%.4f USD\n", a.CostUSD, b.CostUSD)
	fmt.Fprintf(t, "time\t%.1f s\t%.1f s\n", float64(a.Millis)/1000, float64(b.Millis)/1000)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, reasons.String())
	return err
}

// reasonsOf returns why a test did not pass.
func reasonsOf(r *Report, name string) (reasons []string) {
	for _, o := range r.Outcomes {
		if o.Name == name {
			reasons = append(reasons, o.Reasons...)
		}
	}
	return reasons
}

// short returns the beginning of a digest.
func short(digest string) string {
	digest = strings.TrimPrefix(digest, "sha256:")
	return digest[:min(len(digest), 12)]
}
