package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// rng is splitmix64, kept here so that no library can change the data.
type rng struct{ state uint64 }

// next returns the next 64 random bits.
func (r *rng) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// unit returns a number in [0, 1).
func (r *rng) unit() float64 { return float64(r.next()>>11) / (1 << 53) }

// below returns an integer in [0, n).
func (r *rng) below(n int) int { return int(r.next() % uint64(n)) }

// between returns an integer in [lo, hi].
func (r *rng) between(lo, hi int) int { return lo + r.below(hi-lo+1) }

// chance reports true with probability p.
func (r *rng) chance(p float64) bool { return r.unit() < p }

// skewed returns an integer in [0, n), the small ones more often.
func (r *rng) skewed(n int, power float64) int {
	return int(float64(n) * math.Pow(r.unit(), power))
}

// money returns an amount in [lo, hi) with two decimals.
func (r *rng) money(lo, hi float64) float64 {
	return math.Round((lo+(hi-lo)*r.unit())*100) / 100
}

// pick returns one of the given items.
func pick[T any](r *rng, items []T) T { return items[r.below(len(items))] }

// weighted returns an index with a probability in proportion to its weight.
func (r *rng) weighted(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := r.below(sum)
	for i, w := range weights {
		if n < w {
			return i
		}
		n -= w
	}
	return len(weights) - 1
}

// day returns midnight UTC of a calendar day.
func day(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// iso formats a day as YYYY-MM-DD.
func iso(t time.Time) string { return t.Format(time.DateOnly) }

// dayIn returns a random day from the first to the last, both included.
func (r *rng) dayIn(from, to time.Time) time.Time {
	days := int(to.Sub(from).Hours()/24) + 1
	return from.AddDate(0, 0, r.below(days))
}

// table is one relation of a SQLite script.
type table struct {
	ddl  string
	name string
	rows [][]any
}

// add appends a row.
func (t *table) add(values ...any) { t.rows = append(t.rows, values) }

// script renders the tables as one SQL script.
func script(about string, tables ...*table) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "-- %s Synthetic; written by gen, do not edit.\n", about)
	for _, t := range tables {
		fmt.Fprintf(&b, "\n%s;\n", t.ddl)
	}
	for _, t := range tables {
		fmt.Fprintf(&b, "\nINSERT INTO %s VALUES\n", t.name)
		for i, row := range t.rows {
			cells := make([]string, len(row))
			for j, v := range row {
				cells[j] = sqlLiteral(v)
			}
			end := ",\n"
			if i == len(t.rows)-1 {
				end = ";\n"
			}
			b.WriteString("(" + strings.Join(cells, ", ") + ")" + end)
		}
	}
	return []byte(b.String())
}

// sqlLiteral renders one value for an INSERT.
func sqlLiteral(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case int:
		return strconv.Itoa(v)
	case float64:
		return plain(v)
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	panic(fmt.Sprintf("no SQL literal for %T", v))
}

// plain renders a number with two decimals and a point.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// grouped renders a number with two decimals, a sign between groups of three
// digits and a decimal sign.
func grouped(v float64, group, point string) string {
	whole, frac, _ := strings.Cut(plain(v), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + group + whole[i:]
	}
	return whole + point + frac
}

// latin1 encodes text whose runes all fit one byte.
func latin1(s string) []byte {
	b := make([]byte, 0, len(s))
	for _, c := range s {
		if c > 0xff {
			panic(fmt.Sprintf("%q is not Latin-1", c))
		}
		b = append(b, byte(c))
	}
	return b
}

// csvLine joins cells with the separator, quoting those that need it.
func csvLine(sep string, cells ...string) string {
	out := make([]string, len(cells))
	for i, c := range cells {
		if strings.Contains(c, sep) || strings.ContainsAny(c, "\"\n") {
			c = `"` + strings.ReplaceAll(c, `"`, `""`) + `"`
		}
		out[i] = c
	}
	return strings.Join(out, sep) + "\n"
}

// earlier returns the earlier of two days.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
