package offline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/currency"
	"github.com/footnotehq/footnote/source"
)

// Limits of a profile, which samples the data and does not scan it.
const (
	profileTime    = 8 * time.Second // for a whole source
	columnTime     = 1500 * time.Millisecond
	profileTables  = 60
	profileColumns = 200
	valueLimit     = 1000 // a column with more distinct texts is not indexed
	valueBytes     = 60
	sampleRows     = 20_000
)

// profile describes a source for the planner: its schema, the references between its tables, and the values of
// its text columns.
type profile struct {
	source     string
	dialect    *source.Dialect
	version    string
	tables     []*table
	values     map[string][]*value // by the stem of their first word
	words      map[string]bool     // every word of the schema, for typos
	valueWords map[string]bool     // every word of the values, for typos

	otherMetrics [][]string // the words of metrics that the planner cannot compute

	mu    sync.Mutex
	hints []string // tested suggestions, or nil if there were none yet; guarded by mu
}

type table struct {
	p       *profile
	schema  source.Table
	name    string
	words   []string // of its name, in the singular, spelled out
	nouns   []string // other names of its rows, if it is the only table
	cols    []*column
	key     *column   // single-column primary key
	label   []*column // columns that name a row
	parents []edge
	rows    int64
	also    [][]string // the words of other names that the company has for it
}

// edge is a reference from a table to a row of another table.
type edge struct {
	from *column
	to   *column
}

// The roles of a column.
const (
	roleKey = iota + 1
	roleMeasure
	roleDimension
	roleDate
	roleBool
	roleText // free text, too many values to group by
)

type column struct {
	t          *table
	name, kind string
	core       string // the name without additions such as (EUR) or Y/N
	role       int
	words      []string // core words
	optional   []string
	distinct   int64
	nonNull    int64
	nullable   bool
	declared   bool   // nullable, according to the schema
	min, max   string // of a date column: days
	unseen     bool   // max is today, because the days are unknown
	stamp      bool   // a date column with a time of day
	values     []string
	epoch      int64 // a date kept as a count since 1970: 1 of seconds, 1000 of milliseconds
	fk         bool
	intBool    bool       // a boolean kept as 0 and 1
	yes        string     // of a boolean kept as texts: the one that means yes
	year       bool       // whole numbers that are years
	signed     bool       // numbers below and above 0
	currency   string     // the ISO code of the currency that its name, its comment or the company names
	also       [][]string // the words of other names that the company has for it
	expression string     // of a metric: what it aggregates, in SQL
	metric     string     // of a metric: its aggregate
}

// value is one text found in the data.
type value struct {
	col   *column
	text  string
	words []word
}

// columns returns the columns of all tables.
func (p *profile) columns() []*column {
	var all []*column
	for _, t := range p.tables {
		all = append(all, t.cols...)
	}
	return all
}

// find returns the columns of a table for which ok holds.
func (t *table) find(ok func(*column) bool) []*column { return filtered(t.cols, ok) }

// filtered returns the elements of a list for which ok holds.
func filtered[T any](list []T, ok func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), func(x T) bool { return !ok(x) })
}

// onlyOne returns the column of a list of one, or nil.
func onlyOne(cols []*column) *column {
	if len(cols) != 1 {
		return nil
	}
	return cols[0]
}

// names returns the words of a column's name.
func (c *column) names() []string { return slices.Concat(c.words, c.optional) }

func (t *table) col(name string) *column {
	for _, c := range t.cols {
		if strings.EqualFold(c.name, name) {
			return c
		}
	}
	return nil
}

// profiles caches the newest profiles of each source.
type profiles struct {
	mu sync.Mutex
	m  map[string]*profileEntry // guarded by mu
}

type profileEntry struct {
	mu    sync.Mutex // held while a profile is made, so that it is made only once
	known []*profile // the last one used comes first
}

// maxProfiles is the maximum number of profiles kept for a source. If users see different rows, each of them needs a
// profile.
const maxProfiles = 8

func (c *profiles) get(ctx context.Context, name string, src source.Source, metrics []Metric) (*profile, error) {
	c.mu.Lock()
	e := c.m[name]
	if e == nil {
		e = &profileEntry{}
		c.m[name] = e
	}
	c.mu.Unlock()
	version, err := src.Version(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the version of %s: %w", name, err)
	}
	if len(metrics) > 0 {
		version += fmt.Sprint(metrics)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.IndexFunc(e.known, func(p *profile) bool { return p.version == version }); i >= 0 {
		p := e.known[i]
		copy(e.known[1:i+1], e.known[:i])
		e.known[0] = p
		return p, nil
	}
	p, err := newProfile(ctx, name, src, metrics)
	if err != nil {
		return nil, err
	}
	p.version = version
	e.known = slices.Insert(e.known, 0, p)
	e.known = e.known[:min(len(e.known), maxProfiles)]
	return p, nil
}

func emptyProfile(name string, d *source.Dialect) *profile {
	return &profile{
		source: name, dialect: d,
		values: map[string][]*value{}, words: map[string]bool{}, valueWords: map[string]bool{},
	}
}

func newProfile(ctx context.Context, name string, src source.Source, metrics []Metric) (*profile, error) {
	schema, err := src.Schema(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", name, err)
	}
	p := emptyProfile(name, src.Dialect())
	columns := 0
	tables := filtered(schema.Tables, func(t source.Table) bool { return !t.View })
	if len(tables) == 0 {
		tables = schema.Tables // views over tables would make questions ambiguous
	}
	for _, st := range tables {
		if len(p.tables) == profileTables || columns+len(st.Columns) > profileColumns && len(p.tables) > 0 {
			break
		}
		columns += len(st.Columns)
		p.tables = append(p.tables, newTable(p, st))
	}
	scan, cancel := context.WithTimeout(ctx, profileTime)
	defer cancel()
	for _, t := range p.tables {
		err := t.scan(scan, src)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if couldNotRead(scan, err) {
			return nil, fmt.Errorf("read the values of %s: %w", name, err)
		}
	}
	p.link()
	for _, t := range p.tables {
		t.assignRoles()
	}
	if len(p.tables) == 1 {
		p.tables[0].findNouns()
	}
	p.addMetrics(metrics)
	p.index()
	return p, nil
}

func newTable(p *profile, st source.Table) *table {
	t := &table{p: p, schema: st, name: st.Name, words: splitName(st.Name), rows: max(st.Rows, 0),
		also: namesOf(st.Synonyms)}
	for i, sc := range st.Columns {
		if i == profileColumns {
			break
		}
		c := &column{t: t, name: sc.Name, kind: sc.Kind, core: coreName(sc.Name), nullable: true, declared: sc.Nullable,
			currency: cmp.Or(known(sc.Unit), currency.InName(sc.Name), currency.InText(sc.Comment)),
			also:     namesOf(sc.Synonyms)}
		core := splitName(c.core)
		for k, w := range splitName(sc.Name) {
			if optionalWords[w] || k >= len(core) || len(w) == 1 && len(core) > 1 {
				c.optional = append(c.optional, w)
			} else {
				c.words = append(c.words, w)
			}
		}
		t.cols = append(t.cols, c)
	}
	return t
}

// namesOf returns the words of names.
func namesOf(names []string) (list [][]string) {
	for _, n := range names {
		if words := splitName(n); len(words) > 0 {
			list = append(list, words)
		}
	}
	return list
}

// scan counts the values in a table's columns. Whatever cannot be counted in time stays unknown; the planner then knows
// less and declines more.
func (t *table) scan(ctx context.Context, src source.Source) error {
	sample := "(SELECT * FROM " + t.from() + t.p.dialect.First(sampleRows) + ") AS " + t.p.dialect.Quote("sample")
	if t.rows <= 1_000_000 {
		err := t.scanColumns(ctx, src, t.from(), true)
		if err == nil {
			return t.scanValues(ctx, src, t.from())
		}
		if ctx.Err() != nil || couldNotRead(ctx, err) {
			return err
		}
	}
	// The table is too large to count in time, so that only a sample is read.
	if err := t.scanColumns(ctx, src, sample, false); err != nil {
		return err
	}
	for _, c := range t.cols {
		if c.role == roleDate {
			c.min, c.max = "", ""
			c.extent(ctx, src)
		}
	}
	return t.scanValues(ctx, src, sample)
}

// couldNotRead reports whether an error means that the source could not be read, rather than that the statement is
// wrong. A profile of a source that became unavailable meanwhile must not be kept.
func couldNotRead(ctx context.Context, err error) bool {
	var statement *source.Error
	return err != nil && ctx.Err() == nil && !errors.As(err, &statement)
}

// extent reads the exact range of a date column, if that is fast.
func (c *column) extent(ctx context.Context, src source.Source) {
	q := c.t.p.dialect.Quote(c.name)
	res, _, err := source.Collect(ctx, src, source.Query{
		SQL:    "SELECT MIN(" + q + "), MAX(" + q + ") FROM " + c.t.from(),
		Limits: source.Limits{Time: columnTime, Rows: 1},
	})
	if err == nil && len(res.Rows) == 1 && len(res.Rows[0]) == 2 {
		c.setDate(res.Rows[0][0], res.Rows[0][1])
	}
}

// scanColumns counts all rows, or a sample of them.
func (t *table) scanColumns(ctx context.Context, src source.Source, from string, all bool) error {
	const width = 40 // columns of one statement
	for lo := 0; lo < len(t.cols); lo += width {
		part := t.cols[lo:min(lo+width, len(t.cols))]
		sel := []string{"COUNT(*)"}
		for _, c := range part {
			q := t.p.dialect.Quote(c.name)
			sel = append(sel, "COUNT("+q+")", "COUNT(DISTINCT "+q+")")
			if c.hasUsefulRange() {
				sel = append(sel, "MIN("+q+")", "MAX("+q+")")
			} else {
				sel = append(sel, "NULL", "NULL")
			}
		}
		res, _, err := source.Collect(ctx, src, source.Query{
			SQL:    "SELECT " + strings.Join(sel, ", ") + " FROM " + from,
			Limits: source.Limits{Time: columnTime, Rows: 1},
		})
		if err != nil || len(res.Rows) != 1 || len(res.Rows[0]) != len(sel) {
			return err
		}
		row := res.Rows[0]
		if all {
			t.rows = asInt(row[0])
		}
		for i, c := range part {
			c.nonNull, c.distinct = asInt(row[1+4*i]), asInt(row[2+4*i])
			c.nullable = c.nonNull < asInt(row[0]) || !all && c.declared
			c.setDate(row[3+4*i], row[4+4*i])
			c.signed = asFloat(row[3+4*i]) < 0 && asFloat(row[4+4*i]) > 0
		}
	}
	return nil
}

// hasUsefulRange reports whether the smallest and the largest value of a column are worth reading.
func (c *column) hasUsefulRange() bool {
	switch c.kind {
	case footnote.KindText, footnote.KindDate, footnote.KindTimestamp, footnote.KindUnknown, footnote.KindInteger,
		footnote.KindNumber, footnote.KindDecimal:
		return true
	}
	return false
}

// setDate determines whether a column holds dates.
func (c *column) setDate(lo, hi any) {
	a, ok1 := lo.(string)
	b, ok2 := hi.(string)
	if ok1 && ok2 && isoDay(a) && isoDay(b) {
		c.role, c.min, c.max = roleDate, a[:10], b[:10]
		c.stamp = len(a) > 10 || len(b) > 10
	}
	c.setEpoch(lo, hi)
	c.setInteger(lo, hi)
}

// setInteger determines whether whole numbers are years, or only 0 and 1.
func (c *column) setInteger(lo, hi any) {
	n, ok1 := lo.(int64)
	m, ok2 := hi.(int64)
	if !ok1 || !ok2 || c.role == roleDate {
		return
	}
	c.intBool = n == 0 && m == 1 && c.distinct == 2
	named := slices.ContainsFunc(splitName(c.name), func(w string) bool { return yearNames[w] })
	if named && n >= 1000 && m <= 2200 {
		c.year = true
		c.min, c.max = fmt.Sprintf("%04d-01-01", n), fmt.Sprintf("%04d-12-31", m)
	}
}

// yearNames are names of columns that hold years.
var yearNames = set(
	"year yr born birth founded built opened published established released jahr baujahr annee ano season since")

// setEpoch treats whole numbers as dates if the name says so and every one is a second or millisecond between 1990 and
// 2100.
func (c *column) setEpoch(lo, hi any) {
	a, ok1 := lo.(int64)
	b, ok2 := hi.(int64)
	named := slices.ContainsFunc(splitName(c.name), func(w string) bool { return epochNames[w] })
	if !ok1 || !ok2 || !named || c.t.p.dialect.FromSeconds == "" {
		return
	}
	const first, last = 631_152_000, 4_102_444_800
	for _, per := range []int64{1, 1000} {
		if a >= first*per && b < last*per {
			c.role, c.epoch, c.stamp = roleDate, per, true
			c.min, c.max = time.Unix(a/per, 0).UTC().Format(time.DateOnly),
				time.Unix(b/per, 0).UTC().Format(time.DateOnly)
		}
	}
}

var epochNames = set("time date timestamp datetime at on created updated modified epoch day")

func isoDay(s string) bool {
	if len(s) < 10 {
		return false
	}
	if len(s) > 10 && s[10] != ' ' && s[10] != 'T' {
		return false
	}
	_, err := time.Parse(time.DateOnly, s[:10])
	return err == nil
}

func (t *table) scanValues(ctx context.Context, src source.Source, from string) error {
	for _, c := range t.cols {
		text := c.kind == footnote.KindText || c.kind == footnote.KindUnknown
		if !text || c.role == roleDate || c.distinct == 0 || c.distinct > valueLimit {
			continue
		}
		q := t.p.dialect.Quote(c.name)
		res, _, err := source.Collect(ctx, src, source.Query{
			SQL:    "SELECT DISTINCT " + q + " FROM " + from + " WHERE " + q + " IS NOT NULL ORDER BY 1",
			Limits: source.Limits{Time: columnTime, Rows: valueLimit},
		})
		if err != nil {
			if ctx.Err() != nil || couldNotRead(ctx, err) {
				return err
			}
			continue
		}
		for _, row := range res.Rows {
			if s, ok := row[0].(string); ok {
				c.values = append(c.values, s)
			}
		}
	}
	return nil
}

func asInt(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

// asFloat returns a number of a result, whose decimals are texts. It is 0 for anything else.
func asFloat(v any) float64 {
	f, _ := Number(v)
	switch n := v.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	}
	return f
}

// link finds the references between tables: declared foreign keys, and columns named like another table's key.
func (p *profile) link() {
	for _, t := range p.tables {
		if len(t.schema.PrimaryKey) == 1 {
			t.key = t.col(t.schema.PrimaryKey[0])
		}
	}
	for _, t := range p.tables {
		if t.key == nil {
			t.key = t.guessKey()
		}
	}
	for _, t := range p.tables {
		for _, fk := range t.schema.ForeignKeys {
			p.addForeignKey(t, fk)
		}
	}
	for _, c := range p.columns() {
		if !c.fk && c != c.t.key {
			p.inferReference(c.t, c)
		}
	}
}

func (t *table) guessKey() *column {
	for _, c := range t.cols {
		ws := splitName(c.name)
		isID := ws[max(len(ws)-1, 0):] != nil && len(ws) > 0 && ws[len(ws)-1] == "id"
		if isID && t.rows > 0 && c.distinct == t.rows && (len(ws) == 1 || slices.Contains(t.words, ws[0])) {
			return c
		}
	}
	return nil
}

func (p *profile) addForeignKey(t *table, fk source.ForeignKey) {
	if len(fk.Columns) != 1 {
		return
	}
	from := t.col(fk.Columns[0])
	for _, o := range p.tables {
		if from == nil || !strings.EqualFold(o.schema.FullName(), fk.RefTable) &&
			!strings.EqualFold(o.name, fk.RefTable) {
			continue
		}
		to := o.key
		if len(fk.RefColumns) == 1 && fk.RefColumns[0] != "" {
			to = o.col(fk.RefColumns[0])
		}
		if to != nil && o != t {
			from.fk = true
			t.parents = append(t.parents, edge{from, to})
		}
		return
	}
}

// inferReference treats a column such as customer_id as a reference to the table of customers.
func (p *profile) inferReference(t *table, c *column) {
	ws := splitName(c.name)
	if len(ws) < 2 || ws[len(ws)-1] != "id" {
		return
	}
	base := ws[:len(ws)-1]
	for _, o := range p.tables {
		if o == t || o.key == nil {
			continue
		}
		ow := o.words
		if slices.Equal(base, ow) || slices.Equal(base, ow[len(ow)-1:]) ||
			strings.EqualFold(c.name, o.key.name) && o.key.name != "id" {
			c.fk = true
			t.parents = append(t.parents, edge{c, o.key})
			return
		}
	}
}

// assignRoles sets the role of each column, which decides how questions can use it.
func (t *table) assignRoles() {
	for _, c := range t.cols {
		ws := splitName(c.core)
		last := ""
		if len(ws) > 0 {
			last = ws[len(ws)-1]
		}
		number := c.kind == footnote.KindInteger || c.kind == footnote.KindNumber || c.kind == footnote.KindDecimal
		switch {
		case c == t.key || c.fk || number && last == "id" ||
			number && len(ws) > 1 && numberNames[last] && t.rows > 1 && c.distinct == t.rows:
			c.role = roleKey
		case c.role == roleDate:
		case c.kind == footnote.KindDate || c.kind == footnote.KindTimestamp:
			c.role = roleDate
			c.stamp = c.kind == footnote.KindTimestamp
		case c.kind == footnote.KindBoolean || c.intBool && c.flag(ws):
			c.role = roleBool
		case c.yesNo():
			c.role = roleBool
		case c.year:
			c.role = roleDimension
		case number && (last == "year" || last == "zip" || last == "postcode" || last == "phone"):
			c.role = roleDimension
		case number:
			c.role = roleMeasure
		case c.values != nil:
			c.role = roleDimension
		default:
			c.role = roleText
		}
	}
	t.findLabel()
}

// flag reports whether a column's name suggests that 0 and 1 mean no and yes.
func (c *column) flag(ws []string) bool {
	if ws[0] == "is" || ws[0] == "has" || ws[0] == "was" {
		return true
	}
	said := spellName(c.name, false) // keeps inflections: paid, not pay
	return c.kind == footnote.KindInteger &&
		(len(ws) == 1 && strings.HasSuffix(said[0], "ed") || flagNames[said[len(said)-1]])
}

var flagNames = set(
	"active paid sold sent churn fraud spam holiday weekend remote valid open closed member premium online available " +
		"vip returning smoker vegetarian vegan urgent late flag bezahlt aktiv mitglied lost won indoor outdoor")

// yesNo reports whether the texts of a column are a yes and a no.
func (c *column) yesNo() bool {
	if len(c.values) != 2 {
		return false
	}
	for k, v := range c.values {
		no, ok := yesNo[fold(v)]
		if ok && fold(c.values[1-k]) == no {
			c.yes = v
			return true
		}
	}
	return false
}

// findNouns finds names for the rows of the only table from its columns: those with a contract number are contracts,
// those with a delivery date deliveries.
func (t *table) findNouns() {
	for _, c := range t.cols {
		ws := splitName(c.name)
		n := len(ws)
		key := n > 1 && numberNames[ws[n-1]] && c.distinct > 0 && c.distinct == t.rows
		if n < 2 || notRows[ws[n-2]] && !(key && personTables[ws[n-2]]) {
			continue
		}
		dated := c.role == roleDate && (ws[n-1] == "date" || ws[n-1] == "time" || ws[n-1] == "day")
		if noun := ws[n-2]; (key || dated) && t.col(noun) == nil && !slices.Contains(t.nouns, noun) {
			t.nouns = append(t.nouns, noun)
		}
	}
	if noun := t.personNoun(); noun != "" && !slices.Contains(t.nouns, noun) {
		t.nouns = append(t.nouns, noun)
	}
}

var numberNames = set("id number code nr ref reference key nummer numero")

// notRows are words before "date" or "number" that do not name rows.
var notRows = set(
	`start end due created updated modified birth paid closed expiry return returned hire issue first last joined
	from to phone house serial account customer client employee row line opened received check begin effective
	posting`)

// findLabel chooses the columns that name a row: a name, first and last name, a title.
func (t *table) findLabel() {
	found := map[string]*column{}
	for _, c := range t.cols {
		if c.role != roleDimension && c.role != roleText {
			continue
		}
		ws := splitName(c.core)
		switch joined, last := strings.Join(ws, " "), ws[len(ws)-1]; {
		case personNames[joined] != "":
			found[personNames[joined]] = c
		case last == "name" && (found["name"] == nil || c.distinct > found["name"].distinct):
			found["name"] = c
		case (last == "title" || last == "label") && found["title"] == nil:
			found["title"] = c
		case slices.Equal(ws, t.words) && c.distinct > 0 && c.distinct == t.rows && t.key != nil:
			found["own"] = c // vendors.vendor
		}
	}
	if found["name"] == nil && found["first"] != nil && found["last"] != nil {
		t.label = []*column{found["first"], found["last"]}
		return
	}
	if c := cmp.Or(found["name"], found["title"], found["last"], found["own"]); c != nil {
		t.label = []*column{c}
	}
}

// personNames are the names of columns that hold a part of a person's name.
var personNames = map[string]string{
	"first name": "first", "firstname": "first", "given name": "first", "vorname": "first", "prenom": "first",
	"last name": "last", "lastname": "last", "surname": "last", "family name": "last", "nachname": "last",
	"familienname": "last",
}

// index builds the index of values and the list of known words.
func (p *profile) index() {
	for _, t := range p.tables {
		p.addWords(t.words...)
		p.addWords(t.nouns...)
		p.addWords(slices.Concat(t.also...)...)
		for _, c := range t.cols {
			p.addWords(c.words...)
			p.addWords(slices.Concat(c.also...)...)
			if c.role == roleBool {
				continue // its values are not words
			}
			for _, s := range c.values {
				p.indexValue(c, s)
			}
		}
	}
}

func (p *profile) indexValue(c *column, s string) {
	if len(s) > valueBytes || strings.Contains(s, "@") {
		return
	}
	ws, long := tokenize(s)
	if long || len(ws) == 0 || len(ws) > 6 {
		return
	}
	p.values[ws[0].stem] = append(p.values[ws[0].stem], &value{col: c, text: s, words: ws})
	if c.distinct <= 200 {
		for _, w := range ws {
			if len(w.low) > 2 && !startsDigit(w.low) {
				p.valueWords[w.low] = true
			}
		}
	}
}

func (p *profile) addWords(words ...string) {
	for _, w := range words {
		if len(w) > 2 && !startsDigit(w) {
			p.words[w] = true
		}
	}
}
