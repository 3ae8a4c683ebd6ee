package offline

// unitNames maps names and short forms of units to one of them.
var unitNames = meanings(`
	min: minute minutes min mins; h: hour hours hr hrs h; d: day days; night: night nights; page: page pages;
	kg: kg kilo kilos; g: g gram grams; cm: cm; m: m metre metres meters; km: km kilometres kilometers;
	mi: miles mi; s: second seconds sec s`)

// unitSizes are the sizes of units that can be converted: of time in seconds, of weight in grams, of length in metres.
var unitSizes = []map[string]float64{
	{"s": 1, "min": 60, "h": 3600, "d": 86400},
	{"g": 1, "kg": 1000},
	{"cm": 0.01, "m": 1, "km": 1000, "mi": 1609.344},
}

// unitRatio returns how many of one unit are one of another: 60 seconds are a minute. It is 0 if they measure different
// things.
func unitRatio(of, to string) float64 {
	if of == to {
		return 1
	}
	for _, sizes := range unitSizes {
		if sizes[of] > 0 && sizes[to] > 0 {
			return sizes[of] / sizes[to]
		}
	}
	return 0
}

// unit returns the unit in a column's name, such as seconds for duration_s, or "".
func (c *column) unit() string {
	parts := nameParts(c.name)
	for i := len(parts) - 1; i >= 0; i-- {
		if u := unitNames[fold(parts[i])]; u != "" && (i > 0 || len(fold(parts[i])) > 3) {
			return u
		}
	}
	return ""
}

// measuredIn returns the only column of a table that can be compared with a number in a unit.
func (t *table) measuredIn(unit string) *column {
	return onlyOne(t.find(func(c *column) bool { return c.role == roleMeasure && unitRatio(unit, c.unit()) > 0 }))
}

// inUnitOf converts the number of a condition to the unit of its column, and declines if that is not possible.
func (f *filter) inUnitOf(c *column) *declined {
	if f.unit == "" {
		return nil
	}
	ratio := unitRatio(f.unit, c.unit())
	if ratio == 0 {
		return decline("I don't know how many %s %s is.", plural(f.unit, 2), c.title())
	}
	f.num, f.num2, f.unit = f.num*ratio, f.num2*ratio, ""
	return nil
}

// timeUnit returns the unit in which the question wants a duration, or "".
func (ps *parser) timeUnit() string {
	for k := range ps.ws {
		if u := unitNames[ps.at(k)]; unitRatio(u, "s") > 0 && (!ps.used[k] || u == "d") && !ps.isUnitOfNumber(k) {
			ps.used[k] = true
			return u
		}
	}
	return ""
}
