package cite

import (
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file finds rows that the text names by a date, a time of day or a number: "on the 7th", "8 a.m.", "line 4", "5
// stars".

// dateLabels finds the mentions of a column whose cells are dates or months.
func (r *resolver) dateLabels(ti, ci int, found map[wordKey]*mention) {
	if len(r.dates) == 0 {
		return
	}
	sets := make([]rowSet, len(r.dates))
	text := r.tables[ti].cols[ci].role == roleText
	for ri, row := range r.tables[ti].rows {
		s, ok := row[ci].(string)
		if !ok || s == "" {
			continue
		}
		if !r.spend(1 + len(r.dates)/4) {
			return
		}
		if text && (s[0] < '0' || s[0] > '9') && len(s) > 9 {
			continue
		}
		d, ok := cellDate(s)
		if !ok {
			continue
		}
		for i := range r.dates {
			if r.dates[i].date.covers(d) {
				sets[i].add(ri)
			}
		}
	}
	for i := range sets {
		d := r.dates[i].date
		loose := d.weekday > 0 || d.day > 0 && d.month == 0 // "Friday" and "the 7th" mean one day
		if len(sets[i].rows) > 0 && !(loose && len(sets[i].rows) > 1) {
			r.addMentions(r.dates[i].places, &sets[i], dim{ti, ci}, found, func(wordKey) bool { return true })
			for _, at := range r.dates[i].places {
				if m := found[at]; m != nil {
					m.date = true
				}
			}
		}
	}
}

// textDate is a date in the text, with its places.
type textDate struct {
	date   date
	places []wordKey
}

// collectDates collects the dates of the text: calendar numerals, years, and months or weekdays without a day.
func (r *resolver) collectDates() {
	at := map[date]int{}
	put := func(d date, k wordKey) {
		i, ok := at[d]
		if !ok {
			if len(r.dates) == maxDates {
				return
			}
			i = len(r.dates)
			at[d] = i
			r.dates = append(r.dates, textDate{date: d})
		}
		r.dates[i].places = append(r.dates[i].places, k)
	}
	covered := map[int]bool{}
	for _, n := range r.numerals {
		if n.kind == calendar && (n.date.month > 0 || n.date.year > 0) || n.year && !n.currency {
			put(n.date, wordKey{n.from, n.to})
			for i := n.from; i < n.to; i++ {
				covered[i] = true
			}
		}
	}
	for k := range r.numerals {
		if d := r.prose.ordinalDay(&r.numerals[k]); d.day > 0 {
			put(d, wordKey{r.numerals[k].from, r.numerals[k].to})
		}
	}
	for i, t := range r.prose.tokens {
		d := date{month: months[t.low], weekday: weekdays[strings.TrimSuffix(t.low, "s")], hour: -1, minute: -1}
		if d.month == 0 && d.weekday == 0 || covered[i] {
			continue
		}
		if c, _ := utf8.DecodeRuneInString(r.prose.text[t.start:]); unicode.IsUpper(c) || smallMonths[t.low] {
			put(d, wordKey{i, i + 1})
		}
	}
}

// ordinalDay reads "the 7th" as a day of any month.
func (p *prose) ordinalDay(n *numeral) date {
	if n.kind != ordinal || n.word || len(n.readings) == 0 || p.low(n.from-1) != "the" {
		return noTime
	}
	v := n.readings[0].val
	if !v.IsInt() || v.Sign() <= 0 || v.Cmp(big.NewRat(31, 1)) > 0 || superlatives[p.low(n.to)] ||
		strings.HasSuffix(p.low(n.to), "est") {
		return noTime
	}
	d := noTime
	d.day = int(v.Num().Int64())
	return d
}

// keyLabels finds the mentions of a column of identifiers or years, of four digits and more.
func (r *resolver) keyLabels(ti, ci int, found map[wordKey]*mention) {
	places := map[int64][]wordKey{}
	for _, n := range r.numerals {
		if n.kind != number || len(n.readings) == 0 || n.scaled || n.percent || n.currency ||
			n.word || n.to-n.from > 2 {
			continue
		}
		if v := n.readings[0].val; v.IsInt() && v.Num().IsInt64() && n.readings[0].unit.Cmp(ratOne) == 0 &&
			r.tables[ti].cols[ci].key && v.Num().Int64() >= 1000 {
			places[v.Num().Int64()] = append(places[v.Num().Int64()], wordKey{n.from, n.to})
		}
	}
	if len(places) == 0 {
		return
	}
	sets := map[int64]*rowSet{}
	for ri, row := range r.tables[ti].rows {
		if !r.spend(1) {
			return
		}
		if v, ok := row[ci].(int64); ok && len(places[v]) > 0 {
			if sets[v] == nil {
				sets[v] = &rowSet{}
			}
			sets[v].add(ri)
		}
	}
	for v, set := range sets {
		r.addMentions(places[v], set, dim{ti, ci}, found, func(wordKey) bool { return true })
	}
}

// wholeHour returns the hour of a time of day without minutes, or -1.
func (n *numeral) wholeHour() int64 {
	if n.kind != calendar || n.date.hour < 0 || n.date.minute != 0 || n.date.month > 0 || n.date.year > 0 {
		return -1
	}
	return int64(n.date.hour % 24)
}
