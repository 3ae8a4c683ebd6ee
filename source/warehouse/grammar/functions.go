package grammar

import (
	_ "embed"
	"maps"

	"github.com/footnotehq/footnote/internal/wordlist"
)

//go:embed functions.txt
var functionFile string

// Functions returns the functions that are harmless in every database, with those of a list.
func Functions(list string) map[string]bool {
	all := wordlist.Set(functionFile)
	maps.Copy(all, wordlist.Set(list))
	return all
}
