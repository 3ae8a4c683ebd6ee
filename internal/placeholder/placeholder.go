// Package placeholder checks the numbered parameters of a statement that an operator has written.
package placeholder

import (
	"fmt"
	"regexp"
	"strconv"
)

var place = regexp.MustCompile(`\$[0-9]+`)

// Count returns how many different parameters $1, $2, … a statement has. It returns an error if they do not first
// occur in this order: SQLite numbers them by occurrence.
func Count(sql string) (int, error) {
	highest := 0
	for _, p := range place.FindAllString(sql, -1) {
		n, err := strconv.Atoi(p[1:])
		if err != nil || n < 1 || n > highest+1 {
			return 0, fmt.Errorf("parameter %s appears in sql before lower-numbered parameters; use them in order", p)
		}
		highest = max(highest, n)
	}
	return highest, nil
}
