package cite

import (
	"regexp"
	"strings"
)

// This file has other names of labels: a text may refer to a cell F as women, to DE as Germany or the German shop, to
// Mon as Monday. The names apply to a column if all its cells are in one list.

// aliasLists have one line per thing, with its names separated by spaces. A column uses the first list that contains
// all its labels.
var aliasLists = readAliases([]string{`
f female females woman women girls
m male males man men boys
x d diverse nonbinary
`, `
mon monday montag
tue tues tuesday dienstag
wed wednesday mittwoch
thu thur thurs thursday donnerstag
fri friday freitag
sat saturday samstag
sun sunday sonntag
`, `
at austria austrian aut
au australia australian aus
be belgium belgian bel
br brazil brazilian bra
ca canada canadian can
ch switzerland swiss che
cn china chinese chn
cz czechia czech cze
de germany german deu
dk denmark danish dnk
ee estonia estonian est
es spain spanish esp
fi finland finnish fin
fr france french fra
gb uk britain british gbr
gr greece greek grc
hu hungary hungarian hun
ie ireland irish irl
in india indian ind
it italy italian ita
jp japan japanese jpn
kr korea korean kor
lt lithuania lithuanian ltu
lu luxembourg lux
lv latvia latvian lva
mx mexico mexican mex
nl netherlands dutch nld
no norway norwegian nor
nz zealand nzl
pl poland polish pol
pt portugal portuguese prt
ro romania romanian rou
se sweden swedish swe
sg singapore sgp
tr turkey turkish tur
us usa america american
za africa african zaf
`})

func readAliases(lists []string) []map[string][]string {
	var out []map[string][]string
	for _, list := range lists {
		names := map[string][]string{}
		for line := range strings.SplitSeq(strings.TrimSpace(list), "\n") {
			all := strings.Fields(line)
			for _, w := range all {
				names[w] = all
			}
		}
		out = append(out, names)
	}
	return out
}

// aliasesOf returns the alias list that contains all labels of a column, or nil.
func (t *table) aliasesOf(ci int) map[string][]string {
	for _, names := range aliasLists {
		known := 0
		for _, row := range t.rows {
			s, ok := row[ci].(string)
			if !ok || s == "" {
				continue
			}
			if names[strings.ToLower(s)] == nil {
				known = 0
				break
			}
			known++
		}
		if known > 0 {
			return names
		}
	}
	return nil
}

var (
	fromToLabel = regexp.MustCompile(`^(\d+) ?[-–] ?(\d+)$`)
	weekLabel   = regexp.MustCompile(`^\d{4}-?[Ww](\d{2})$`)
)

// rangeForms returns the ways to write a label like 18-39, 65+ or 2025-W36.
func rangeForms(label string) []string {
	if label == "" || len(label) > 12 || label[0] < '0' || label[0] > '9' {
		return nil
	}
	if m := weekLabel.FindStringSubmatch(label); m != nil {
		week := strings.TrimPrefix(m[1], "0")
		return []string{"week " + week, "w" + week, "kw " + week, "semana " + week}
	}
	if m := fromToLabel.FindStringSubmatch(label); m != nil {
		return []string{m[1] + " to " + m[2], m[1] + " and " + m[2]}
	}
	return nil
}
