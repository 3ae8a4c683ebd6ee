package cite

import (
	"strings"
	"testing"
)

func TestNumerals(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"1,234.5 and 1 234 and 1'234.50", "1234.5 1234 1234.5"},
		{"Der Umsatz war 1.234,5 und die Kosten 1.234.567,89", "1234.5 1234567.89"},
		{"$1.2M, 3k, 2 bn, 1.2 million, 5 thousand", "1200000 3000 2000000000 1200000 5000"},
		{"12.3 % and 4 percent", "12.3 4"},
		{"on 2024-03-05, 5 March 2024, Mar 5, 05.03.2024, Q1 2024", "2024-03-05 2024-03-05 0 2024-03-05 2024-Q1"},
		{"`42` is code, 1.2.3 a version, p95 a name, 3D too", ""},
		{"1. first item\n2. second item 7", "7"},
		{"the fines by quarter of loaned on, not a quarter of them", "25"},
		{"between 10 and 20, 10–20", "10 20 10 20"},
		{"twenty-five of a dozen", "25 12"},
		{"−4 °C and -7.5", "4 7.5"},
		{"10 h 10 min, 2h 05min, 3 h and 20 min, 1 h 75 min", "610 125 3 20 1 75"},
		{"$-5 and -$5 and (€5)", "5 5 5"},
	} {
		var got []string
		found, _ := scanNumerals(parse(tc.text))
		for _, n := range found {
			switch {
			case n.kind == calendar:
				got = append(got, n.date.String())
			case len(n.readings) > 0:
				got = append(got, ratText(n.readings[0].val))
			default:
				got = append(got, "")
			}
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("scanNumerals(%q) = %q, want %q", tc.text, strings.Join(got, " "), tc.want)
		}
	}
}
