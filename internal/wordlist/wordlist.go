// Package wordlist reads lists of words and statements, such as those that a program embeds.
package wordlist

import "strings"

// Lines returns the lines of a text, without blank lines and those that begin with #.
func Lines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

// Set returns the words in the lines of a text.
func Set(text string) map[string]bool {
	words := map[string]bool{}
	for _, line := range Lines(text) {
		for word := range strings.FieldsSeq(line) {
			words[word] = true
		}
	}
	return words
}

// Map returns what the words in the lines of a text mean. A line such as "left top: a side" gives both words the
// meaning "a side".
func Map(text string) map[string]string {
	meanings := map[string]string{}
	for _, line := range Lines(text) {
		words, meaning, _ := strings.Cut(line, ": ")
		for word := range strings.FieldsSeq(words) {
			meanings[word] = meaning
		}
	}
	return meanings
}
