package cite

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Limits of the numbers that are read. A cell or numeral beyond them is treated as text, so that no unlimited exponent
// is ever expanded.
const (
	maxDigits   = 80
	maxExponent = 60
)

var (
	ratOne     = big.NewRat(1, 1)
	ratTwo     = big.NewRat(2, 1)
	ratHundred = big.NewRat(100, 1)
)

// powers has 10^-18 to 10^18.
var powers = func() (out [37]*big.Rat) {
	p := int64(1)
	for i := range 19 {
		out[18-i], out[18+i] = big.NewRat(1, p), big.NewRat(p, 1)
		p *= 10
	}
	return out
}()

// pow10 returns 10^n as a fraction, which must not be changed; n is within ±(maxDigits+maxExponent).
func pow10(n int) *big.Rat {
	if n >= -18 && n <= 18 { // the usual case
		return powers[n+18]
	}
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil)
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}

// decimal is mant × 10^-scale, the form of almost every cell. Decimals of one scale add up exactly and without
// allocation.
type decimal struct {
	mant  int64
	scale int
}

// parseDecimal reads plain decimal notation (with an optional exponent) that fits an int64 mantissa.
func parseDecimal(s string) (decimal, bool) {
	var d decimal
	neg, digits, point := false, 0, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '-' && i == 0:
			neg = true
		case c == '+' && i == 0:
		case c == '.' && !point:
			point = true
		case c >= '0' && c <= '9':
			if d.mant > (math.MaxInt64-9)/10 {
				return decimal{}, false
			}
			d.mant = d.mant*10 + int64(c-'0')
			digits++
			if point {
				d.scale++
			}
		case (c == 'e' || c == 'E') && digits > 0:
			e, err := strconv.Atoi(s[i+1:])
			if err != nil || e > maxExponent || e < -maxExponent {
				return decimal{}, false
			}
			d.scale -= e
			return d.signed(neg), true
		default:
			return decimal{}, false
		}
	}
	return d.signed(neg), digits > 0 && digits <= maxDigits
}

func (d decimal) signed(neg bool) decimal {
	if neg {
		d.mant = -d.mant
	}
	return d
}

func (d decimal) rat() *big.Rat {
	r := new(big.Rat).SetInt64(d.mant)
	if d.scale == 0 {
		return r
	}
	return r.Mul(r, pow10(-d.scale))
}

// parseRat reads a decimal string exactly, within the limits.
func parseRat(s string) (*big.Rat, bool) {
	s = strings.TrimSpace(s)
	if d, ok := parseDecimal(s); ok {
		return d.rat(), true
	}
	if len(s) == 0 || len(s) > maxDigits {
		return nil, false
	}
	mantissa, exp, found := strings.Cut(strings.ToLower(s), "e")
	if found {
		e, err := strconv.Atoi(exp)
		if err != nil || e > maxExponent || e < -maxExponent {
			return nil, false
		}
	}
	for i := 0; i < len(mantissa); i++ {
		c := mantissa[i]
		if !(c >= '0' && c <= '9' || c == '.' || i == 0 && (c == '-' || c == '+')) {
			return nil, false
		}
	}
	return new(big.Rat).SetString(s)
}

// cellRat returns the exact value of a numeric cell. A float64 is read as the shortest decimal that identifies it,
// because readers of the answer see that decimal.
func cellRat(cell any) (*big.Rat, bool) {
	switch v := cell.(type) {
	case int64:
		return new(big.Rat).SetInt64(v), true
	case float64:
		return parseRat(strconv.FormatFloat(v, 'g', -1, 64))
	case string:
		return parseRat(v)
	}
	return nil, false
}

// cellFloat returns the value of a numeric cell as a float64, which is precise enough for searching.
func cellFloat(cell any) (float64, bool) {
	switch v := cell.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case string:
		if len(v) == 0 || len(v) > maxDigits || v[0] > '9' {
			return 0, false
		}
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
	}
	return 0, false
}

// total is the exact sum of cells, with one accumulator per decimal scale.
type total struct {
	byScale map[int]*big.Int
	rest    *big.Rat
	n       int
	min     *big.Rat
	max     *big.Rat
	minF    float64
	maxF    float64
}

func newTotal() *total {
	return &total{byScale: map[int]*big.Int{}, rest: new(big.Rat), minF: math.Inf(1), maxF: math.Inf(-1)}
}

// add adds one cell. It ignores nulls and text, as SQL aggregates do.
func (t *total) add(cell any) {
	f, ok := cellFloat(cell)
	if !ok {
		return
	}
	var d decimal
	switch v := cell.(type) {
	case int64:
		d = decimal{mant: v}
	case float64:
		d, ok = parseDecimal(strconv.FormatFloat(v, 'g', -1, 64))
	case string:
		d, ok = parseDecimal(v)
	}
	if ok {
		acc := t.byScale[d.scale]
		if acc == nil {
			acc = new(big.Int)
			t.byScale[d.scale] = acc
		}
		acc.Add(acc, big.NewInt(d.mant))
	} else {
		r, good := cellRat(cell)
		if !good {
			return
		}
		t.rest.Add(t.rest, r)
	}
	t.n++
	if f < t.minF {
		t.minF = f
		t.min, _ = cellRat(cell)
	}
	if f > t.maxF {
		t.maxF = f
		t.max, _ = cellRat(cell)
	}
}

func (t *total) sum() *big.Rat {
	s := new(big.Rat).Set(t.rest)
	for scale, n := range t.byScale {
		r := new(big.Rat).SetInt(n)
		s.Add(s, r.Mul(r, pow10(-scale)))
	}
	return s
}

func (t *total) avg() *big.Rat {
	if t.n == 0 {
		return nil
	}
	return t.sum().Quo(t.sum(), new(big.Rat).SetInt64(int64(t.n)))
}

// ratText returns a value as a decimal: exactly if it is short, otherwise to twelve places.
func ratText(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	n, exact := r.FloatPrec()
	if !exact || n > 30 {
		n = 12
	}
	s := r.FloatString(n)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// rounds reports whether v, rounded to a multiple of unit, can give val: it is less than half a unit away, or exactly
// half a unit and was rounded up or to even. A binary float may be rounded either way from half a unit.
func rounds(v, val, unit *big.Rat, float bool) bool {
	d := new(big.Rat).Sub(v, val)
	away := d.Sign() * val.Sign() // negative if the text is further from zero than the value
	d.Abs(d)
	if unit.Sign() == 0 {
		return d.Sign() == 0
	}
	switch d.Mul(d, ratTwo).Cmp(unit) {
	case -1:
		return true
	case 1:
		return false
	}
	if away < 0 {
		return true
	}
	if f, exact := v.Float64(); float && !exact {
		// The float differs slightly from the decimal that is shown, and may have been rounded instead of it.
		return new(big.Rat).SetFloat64(f).Cmp(v) == -away*v.Sign()
	}
	steps := new(big.Rat).Quo(val, unit)
	return steps.IsInt() && steps.Num().Bit(0) == 0
}
