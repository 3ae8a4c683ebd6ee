// Package fence puts what tools return between tags that tell a model that it is data. The text cannot close them.
package fence

import (
	"regexp"
	"strings"
)

const (
	begin = "<data>\n"
	end   = "\n</data>"
)

// tag matches what a model could take for one of the tags, in any spelling: with spaces, characters that nobody sees,
// or wide forms of the characters.
var tag = regexp.MustCompile(strings.ReplaceAll(`(?i)[<＜﹤]((?:~[/／⁄∕\\])*~[dｄ]~[aａ]~[tｔ]~(?:a\b|ａ))`,
	"~", `[\s\p{Z}\p{C}\p{M}]*`))

// Wrap returns text between the tags. Tags in the text get another bracket.
func Wrap(text string) string { return begin + tag.ReplaceAllString(text, "‹$1") + end }

// Unwrap returns what Wrap was given, except for tags in it, and other text unchanged.
func Unwrap(text string) string {
	inner, ok := strings.CutPrefix(text, begin)
	if !ok {
		return text
	}
	return strings.TrimSuffix(inner, end)
}
