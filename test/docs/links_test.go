//go:build unix

package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pictures = regexp.MustCompile(`\bsrc(?:set)?="([^"]+)"`)
	headings = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	dropped  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks follows the pages' links to files of the project, and to their headings, and checks that their pictures
// exist.
func TestLinks(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	followed := 0
	for _, page := range pages {
		text := outside(t, page)
		for _, m := range pictures.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: there is no picture %s", page, m[1])
			}
		}
		for _, m := range links.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			followed++
			name, heading, _ := strings.Cut(m[1], "#")
			path := page
			if name != "" {
				path = filepath.Join(filepath.Dir(page), name)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: %s leads nowhere", page, m[1])
			} else if heading != "" && !hasHeading(t, path, heading) {
				t.Errorf("%s: %s leads to no heading", page, m[1])
			}
		}
	}
	if followed < 50 {
		t.Errorf("followed %d links", followed)
	}
}

// outside returns the text of a page outside of its fenced blocks.
func outside(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	fenced := false
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced {
			text.WriteString(line)
		}
	}
	return text.String()
}

// hasHeading reports whether a page has a heading with this link name.
func hasHeading(t *testing.T, path, name string) bool {
	t.Helper()
	for _, m := range headings.FindAllStringSubmatch(outside(t, path), -1) {
		slug := strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		if slug == name {
			return true
		}
	}
	return false
}
