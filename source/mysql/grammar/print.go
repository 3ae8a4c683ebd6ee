package grammar

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/footnotehq/footnote/source"
)

// Quote returns a name in backticks.
func Quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// literalEscapes are the characters that String writes with a backslash. The rest stands for itself in utf8mb4 and
// without the mode NO_BACKSLASH_ESCAPES, which every connection has.
var literalEscapes = strings.NewReplacer(`\`, `\\`, "'", "''", "\x00", `\0`, "\n", `\n`, "\r", `\r`, "\x1a", `\Z`)

// String returns a string literal.
func String(s string) string { return "'" + literalEscapes.Replace(s) + "'" }

// value returns the argument of a number as a literal.
func value(number string, a any) (string, error) {
	switch v := a.(type) {
	case nil:
		return "NULL", nil
	case bool:
		return map[bool]string{true: "TRUE", false: "FALSE"}[v], nil
	case int64:
		if v < 0 {
			return "(" + strconv.FormatInt(v, 10) + ")", nil
		}
		return strconv.FormatInt(v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "", source.Failf("Argument $%s is not a number that MySQL can keep.", number)
		}
		s := strconv.FormatFloat(v, 'e', -1, 64)
		if v < 0 {
			s = "(" + s + ")"
		}
		return s, nil
	case string:
		if !utf8.ValidString(v) || strings.IndexByte(v, 0) >= 0 {
			return "", source.Failf("Argument $%s is not text that MySQL can keep.", number)
		}
		return String(v), nil
	}
	return "", source.Failf("Argument $%s has a type that no database knows.", number)
}
