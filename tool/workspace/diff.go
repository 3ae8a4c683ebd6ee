package workspace

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// unified returns the unified diff of a file, or nothing if its texts are the same. A file that is created or deleted
// is compared with /dev/null.
func unified(path, old, new, op string) string {
	from, to := "a/"+path, "b/"+path
	if op == opCreate {
		from = "/dev/null"
	}
	if op == opDelete {
		to = "/dev/null"
	}
	return udiff.Unified(from, to, old, new)
}

// hunk is a range of changed lines of a diff with some unchanged lines around them. Starts count from 1; for a side
// without lines, the start is 0.
type hunk struct {
	OldStart int      `json:"old_start"`
	OldLines int      `json:"old_lines"`
	NewStart int      `json:"new_start"`
	NewLines int      `json:"new_lines"`
	Lines    []string `json:"lines"` // each starts with " ", "-", "+" or "\"
}

// parseDiff returns the hunks of a diff by unified, and how many lines it adds and removes.
func parseDiff(diff string) (hunks []hunk, added, removed int) {
	var h *hunk
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "@@ "):
			hunks = append(hunks, hunk{})
			h = &hunks[len(hunks)-1]
			from, to, _ := strings.Cut(line, "+")
			fmt.Sscanf(from, "@@ -%d", &h.OldStart)
			fmt.Sscanf(to, "%d", &h.NewStart)
			continue
		case h == nil:
			continue // the names of the file
		}
		h.Lines = append(h.Lines, line)
		switch line[0] {
		case ' ':
			h.OldLines++
			h.NewLines++
		case '-':
			h.OldLines++
			removed++
		case '+':
			h.NewLines++
			added++
		}
	}
	return hunks, added, removed
}
