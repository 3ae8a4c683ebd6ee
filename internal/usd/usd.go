// Package usd words amounts of money.
package usd

import (
	"math"
	"strconv"
	"strings"
)

// String words an amount of US dollars exactly to the millionth, with at least two decimals, such as "0.50 USD" or
// "0.003 USD".
func String(dollars float64) string {
	s := strconv.FormatFloat(math.Round(dollars*1e6)/1e6, 'f', 6, 64)
	cents := strings.IndexByte(s, '.') + 3
	return s[:cents] + strings.TrimRight(s[cents:], "0") + " USD"
}
