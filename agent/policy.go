package agent

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/footnotehq/footnote/tool"
)

// Policy decides which tools may be called. Entries are tool names or globs (run_*). Deny overrides the other lists,
// and Ask overrides Approve. An empty Offer offers every tool; an empty Approve approves every read-only tool.
type Policy struct {
	Offer   []string // the model sees these
	Ask     []string // a person must approve these
	Approve []string // these run without asking a person
	Reads   bool     // approve every read-only tool, too, where Approve is not empty
	Deny    []string
	Trust   []string // tools whose effect may leave the conversation even after it has read text from outside
}

// The verdicts of a policy.
const (
	Allow    = "allow"
	Ask      = "ask" // a person must approve the call
	Deny     = "deny"
	Unlisted = "not offered"
)

// Check returns an error that names an invalid glob.
func (p Policy) Check() error {
	for _, list := range [][]string{p.Offer, p.Ask, p.Approve, p.Deny, p.Trust} {
		for _, glob := range list {
			if _, err := path.Match(glob, "x"); err != nil {
				return fmt.Errorf("tool list entry %q is not a name or glob: %w", glob, err)
			}
		}
	}
	return nil
}

// Verdict reports whether a tool may be called.
func (p Policy) Verdict(s tool.Spec) string {
	switch {
	case matches(p.Deny, s.Name):
		return Deny
	case len(p.Offer) > 0 && !matches(p.Offer, s.Name):
		return Unlisted
	case matches(p.Ask, s.Name):
		return Ask
	case matches(p.Approve, s.Name),
		s.ReadOnly && (p.Reads || len(p.Approve) == 0 || s.Side == tool.Client):
		return Allow
	default:
		return Ask
	}
}

// contained reports whether calls of a tool need approval once the conversation has read text from outside.
func (p Policy) contained(s tool.Spec) bool { return s.Outside && !matches(p.Trust, s.Name) }

func matches(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, err := path.Match(glob, name)
		return ok && err == nil
	})
}

// Table returns the verdict on each tool as a table for people.
func (p Policy) Table(tools []tool.Tool) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "TOOL\tRUNS ON\tREAD-ONLY\tVERDICT")
	for _, t := range tools {
		s := t.Spec()
		fmt.Fprintf(w, "%s\t%s\t%t\t%s\n", s.Name, s.Side, s.ReadOnly, p.Verdict(s))
	}
	_ = w.Flush() // a strings.Builder does not fail
	return b.String()
}
