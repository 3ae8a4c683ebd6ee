package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
)

// judge finds the functions that a statement can run, and refuses it unless each of them is Postgres's own or
// allowed by the operator. Functions run not only when called, but also behind a type's input, output and CHECK, a
// cast, an operator, a sort, a view, a foreign table, and while a query is planned. The judge works in the
// transaction that the statement will run in.
//
// Only the server knows the type of an expression. The judge therefore collects all types that values in the
// statement may have: those it names, those of the columns it may read, those of the functions and operators it
// calls, and the parts of all these. Each of them, and every cast between two of them, must be harmless.
type judge struct {
	ctx context.Context
	s   *session
	e   *engine
	f   facts
	cat *catalog

	types       map[string]bool   // OIDs of the types that values may have, except most of Postgres's own
	named       map[string]bool   // OIDs of the possible target types of explicit casts
	columnTypes map[string]bool   // OIDs of the types of the columns that the statement reads
	explicit    bool              // explicit casts may have any type as their target
	looked      map[string]bool   // OIDs of the relations and operators that were looked up
	runs        map[string]string // OIDs of functions that may run, with what runs them
	casts       []cast
	compares    []comparison
	typed       [][]string      // operators with a name in the statement that take only values of their own types
	rows        []string        // OIDs of the row types of the statement's relations
	columns     [][]string      // relations that have a column with the name of an attribute
	operators   map[string]bool // the names of operators in the statement and in definitions
	text        bool            // the statement uses text search
	ambiguous   []string        // names called that both Postgres and the database have a function of
	candidates  []function      // the database's functions of these names, which the server may choose by their types
	refusal     error           // the first one, or the first failure to find out

	newTypes, newRelations, newOperators []string
}

type cast struct {
	source, target, function string
	context, method          string
	plain                    bool   // a cast of Postgres's own has the same function
	what, name               string // "source to target", and the function's name
}

// comparison is a function that sorts, groups or compares values.
type comparison struct {
	left, right, function string
	always                bool     // a statement need not name an operator
	operators             []string // the names of those that bring it
}

// textSearch lists the functions that use text search configurations.
var textSearch = wordlist.Set(`to_tsvector array_to_tsvector json_to_tsvector jsonb_to_tsvector to_tsquery
	plainto_tsquery phraseto_tsquery websearch_to_tsquery unaccent ts_headline ts_lexize`)

// searches reports whether a text uses text search. Between texts, the operator @@ converts one to a tsvector.
func searches(f facts) bool {
	last := func(n name) string { return n[len(n)-1] }
	return slices.ContainsFunc(called(f), func(s string) bool { return textSearch[s] }) ||
		slices.ContainsFunc(f.Operators, func(n name) bool { return last(n) == "@@" || last(n) == "@@@" })
}

// rendering lists functions of Postgres's own that are written in SQL and cast an argument of any type to text; the
// operator || runs two more. Postgres reads their bodies with the type that the argument has in the statement, so
// casts to text run that must otherwise be written out.
var rendering = wordlist.Set(`quote_literal quote_nullable textanycat anytextcat`)

// renders reports whether a text uses such a function.
func renders(f facts) bool {
	return slices.ContainsFunc(called(f), func(s string) bool { return rendering[s] }) ||
		slices.Contains(lasts(f.Operators), "||")
}

// called returns the names of all functions that a text may call.
func called(f facts) []string {
	return slices.Concat(lasts(f.Functions), lasts(f.Attributes), f.Fields)
}

// textType is the OID of text.
const textType = "25"

// convertible lists json and jsonb, because those of Postgres's own functions that produce JSON apply explicit
// casts to them.
var convertible = []string{"114", "3802"}

// judge refuses a statement that could run a function of the database that the operator does not list.
func (e *engine) judge(ctx context.Context, s *session, f facts, cat *catalog) error {
	if f.Root == "VariableShowStmt" {
		return nil
	}
	j := &judge{
		ctx: ctx, s: s, e: e, f: f, cat: cat,
		types: map[string]bool{}, columnTypes: map[string]bool{}, named: map[string]bool{}, looked: map[string]bool{},
		runs:      map[string]string{},
		operators: map[string]bool{},
	}
	for _, oid := range convertible {
		j.named[oid] = true
	}
	keyword := func(n name) bool { return slices.Equal(n, name{"pg_catalog", "json"}) }
	if cat.version < nodes["JsonIsPredicate"] && slices.ContainsFunc(f.Types, keyword) {
		addName(&j.f.Types, name{"json"}) // there, the word is a name like others
	}
	j.names()
	for j.refusal == nil && (len(j.newTypes)+len(j.newRelations)+len(j.newOperators) > 0 || j.judgeReachedOperators()) {
		j.expand()
	}
	if j.text {
		take := func(r []string) { j.run(byText, strings.Fields(r[0])...) }
		j.ask([]question{{query("textSearch"), nil, take}})
	}
	for oid, name := range badTypes {
		if j.named[oid] {
			j.refuse("The type %s is not allowed.", name)
		}
	}
	j.convert()
	if j.refusal == nil && len(j.ambiguous) > 0 {
		return j.assumePostgres()
	}
	if j.refusal == nil && len(j.runs) > 0 {
		j.functions()
	}
	return j.refusal
}

// ask sends questions, unless the statement is refused already.
func (j *judge) ask(questions []question) {
	if j.refusal == nil {
		if err := j.s.ask(j.ctx, questions); err != nil {
			j.refusal = explain(j.ctx, err)
		}
	}
}

func (j *judge) refuse(format string, args ...any) {
	if j.refusal == nil {
		j.refusal = source.Refusef(format, args...)
	}
}

// mayBeIn reports whether Postgres looks for a name in a schema.
func (j *judge) mayBeIn(n name, schema string) bool {
	if len(n) > 1 {
		return n[0] == schema
	}
	return slices.Contains(j.s.path, schema)
}

// addType records a type that values may have. Named means that an explicit cast may have it, or one of its parts,
// as its target.
func (j *judge) addType(oid string, named bool) {
	if oid == "" || oid == "0" {
		return
	}
	if named && !j.named[oid] {
		j.named[oid] = true
		delete(j.types, oid) // examine it again, because its parts become named, too
		j.nameParts(oid)
	}
	if !own(oid) || j.types[oid] {
		return
	}
	j.types[oid] = true
	j.newTypes = append(j.newTypes, oid)
}

// nameParts records that an explicit cast may have the parts of one of Postgres's own types as its target, and its
// arrays: a statement writes text[] with the name of text.
func (j *judge) nameParts(oid string) {
	n, err := strconv.ParseUint(oid, 10, 32)
	if err != nil || own(oid) {
		return
	}
	t, ok := j.cat.types[uint32(n)]
	if !ok { // a row of one of Postgres's own tables
		j.explicit = true
	}
	add := func(part uint32) { j.addType(strconv.FormatUint(uint64(part), 10), true) }
	add(t.base)
	add(t.arrays)
	if t.array {
		add(t.element)
	}
}

func (j *judge) addRelation(oid string) {
	if own(oid) && !j.looked[oid] {
		j.looked[oid] = true
		j.newRelations = append(j.newRelations, oid)
	}
}

// run records functions that may run. What names the object that runs them, for a refusal.
func (j *judge) run(what string, oids ...string) {
	for _, oid := range oids {
		if own(oid) && j.runs[oid] == "" {
			j.runs[oid] = what
		}
	}
}

// found holds the catalog's entries for the names in a statement: OIDs by name and schema.
type found struct {
	functions         []function
	types, collations map[string]map[string]string
	expressions       []planned
}

// names looks up the names of the statement and judges what they stand for.
func (j *judge) names() {
	found := found{types: map[string]map[string]string{}, collations: map[string]map[string]string{}}
	j.addImplied(j.f)
	j.ask(j.questions(&found))
	j.plan(found.expressions)
	j.called(found.functions, found.types)
	for _, n := range j.f.Types {
		if oid, ok := j.resolve(n, found.types); ok {
			j.addType(oid, true)
		} else {
			j.refuse("There is no type %s.", n)
		}
	}
	for _, n := range j.f.Collations {
		if oid, ok := j.resolve(n, found.collations); !ok || own(oid) && !j.listed(n, found.collations) {
			j.refuse("The collation %s is not allowed: it is not built into Postgres.", n)
		}
	}
}

// addImplied records what a statement or a definition uses without naming it: the functions behind its operators, and
// the type text.
func (j *judge) addImplied(f facts) {
	j.text = j.text || searches(f)
	for _, s := range lasts(f.Operators) {
		j.operators[s] = true
	}
	if renders(f) {
		j.named[textType] = true
	}
}

// questions returns the queries about the names in the statement. Their answers go to found and j.
func (j *judge) questions(found *found) []question {
	f := j.f
	attributes, operators, collations := lasts(f.Attributes), lasts(f.Operators), lasts(f.Collations)
	values := slices.Concat(attributes, f.Fields)
	called := slices.Concat(lasts(f.Functions), values)
	types := slices.Concat(called, lasts(f.Types)) // a type can be called, too
	ask := []question{
		{query("casts"), nil, func(r []string) {
			j.casts = append(j.casts, cast{r[0], r[1], r[2], r[3], r[4], r[5] == "t", r[6], r[7]})
		}},
		{query("comparisons"), nil, func(r []string) {
			j.compares = append(j.compares, comparison{r[0], r[1], r[2], r[3] == "t", strings.Fields(r[4])})
		}},
	}
	add := func(names []string, sql string, take func([]string), args ...any) {
		if len(names) > 0 {
			ask = append(ask, question{sql, args, take})
		}
	}
	takeFunction := func(r []string) { found.functions = append(found.functions, newFunction(r)) }
	add(called, query("functionsByName"), takeFunction, called, values)
	add(types, query("typesByName"), note(found.types), types)
	add(operators, query("operatorsByName"), j.addOperatorByName, operators)
	add(collations, query("collationsByName"), note(found.collations), collations)
	if len(f.Relations) > 0 {
		ask = append(ask, j.questionsOfRelations(found, attributes)...)
	}
	return ask
}

func (j *judge) questionsOfRelations(found *found, attributes []string) []question {
	relations, schemas := lasts(j.f.Relations), slices.Clone(j.s.path)
	for _, n := range j.f.Relations {
		if len(n) > 1 {
			schemas = append(schemas, n[0])
		}
	}
	ask := []question{
		{query("relationsByName"), []any{relations, schemas, j.f.All, j.f.Columns}, j.addRelationByName},
		{query("storageByName"), []any{relations}, func(r []string) { j.run(byIndex+r[1], r[0]) }},
		{query("named") + plannedSQL(j.cat.version), []any{relations, schemas}, func(r []string) {
			found.expressions = append(found.expressions, newPlanned(r))
		}},
	}
	if len(attributes) > 0 {
		take := func(r []string) { j.columns = append(j.columns, r) }
		ask = append(ask, question{query("columnsByName"), []any{relations, schemas, attributes}, take})
	}
	return ask
}

// note returns a function that stores a row of OID, schema and name in oids.
func note(oids map[string]map[string]string) func(row []string) {
	return func(r []string) {
		if oids[r[2]] == nil {
			oids[r[2]] = map[string]string{}
		}
		oids[r[2]][r[1]] = r[0]
	}
}

// lasts returns the names without their schemas.
func lasts(names []name) (last []string) {
	for _, n := range names {
		last = append(last, n[len(n)-1])
	}
	return last
}

// resolve returns the OID that a name stands for.
func (j *judge) resolve(n name, found map[string]map[string]string) (oid string, ok bool) {
	schemas := found[n[len(n)-1]]
	if len(n) > 1 {
		oid, ok = schemas[n[0]]
		return oid, ok
	}
	for _, schema := range j.s.path {
		if oid, ok = schemas[schema]; ok {
			return oid, true
		}
	}
	return "", false
}

// listed reports whether the operator allows everything that a name may stand for.
func (j *judge) listed(n name, found map[string]map[string]string) bool {
	for schema := range found[n[len(n)-1]] {
		if j.mayBeIn(n, schema) && !j.e.allows(schema, n[len(n)-1], "") {
			return false
		}
	}
	return true
}

// allows reports whether the operator lists an object of the database, or its extension.
func (e *engine) allows(schema, name, extension string) bool {
	return slices.Contains(e.allowed, schema+"."+name) || extension != "" && slices.Contains(e.allowed, extension)
}

// called judges the functions that the statement calls by name, and those that row.attribute and
// (value).field may call.
func (j *judge) called(functions []function, types map[string]map[string]string) {
	for _, n := range j.f.Functions {
		j.call(n, functions)
		if oid, ok := j.resolve(n, types); ok { // ed('5') may be a cast
			j.addType(oid, true)
		}
	}
	value := func(s string, may func(function) bool) (known bool) {
		if oid, ok := j.resolve(name{s}, types); ok {
			j.addType(oid, true)
			known = true
		}
		return j.byAttribute(s, functions, may) || known
	}
	// A function takes a row if it has a parameter for one, or if a cast makes the parameter of a row.
	takesRow := func(f function) bool {
		return f.single && (f.row || slices.ContainsFunc(j.casts,
			func(k cast) bool { return k.context == "i" && len(f.types) > 0 && k.target == f.types[0] }))
	}
	single := func(f function) bool { return f.single }
	whole := false
	for _, n := range j.f.Attributes {
		r, named := j.f.Rows[n[0]]
		may := takesRow
		if r.Function || !named { // a function without an alias gives its name to its row
			may = single
		}
		if !j.column(n) && value(n[1], may) {
			whole = whole || !r.Other || r.Joined || len(r.Relations) > 0 // all they use is known
		}
	}
	if whole {
		for _, oid := range j.rows {
			j.addType(oid, false)
		}
	}
	for _, s := range j.f.Fields {
		value(s, single)
	}
}

// byAttribute judges the functions that the attribute notation calls by the name s: (row).s. It reports whether
// there is one that may be called.
func (j *judge) byAttribute(s string, functions []function, may func(function) bool) (known bool) {
	for _, f := range functions {
		switch {
		case f.name != s || !may(f) || !j.mayBeIn(name{s}, f.schema):
		case !own(f.oid) && (callable(s) || f.conversion):
			known = true
		case !own(f.oid) || !j.callable(f):
			j.refuse("%s is a function of the database and may not be called.", s)
		default:
			known = true
			j.addTypesOf(f)
		}
	}
	return known
}

// column reports whether an attribute is certainly a column, and so cannot call a function of that name: the row's
// name must stand only for relations, all of which have such a column.
func (j *judge) column(attribute name) bool {
	r := j.f.Rows[attribute[0]]
	for _, n := range r.Relations {
		found := false
		for _, c := range j.columns {
			if c[1] == n[len(n)-1] && c[2] == attribute[1] && j.mayBeIn(n, c[0]) {
				if c[3] != "t" {
					return false
				}
				found = true
			}
		}
		if !found {
			return false
		}
	}
	return len(r.Relations) > 0 && !r.Joined && !r.Other
}

// callable reports whether Postgres's own functions of a name may be called.
func callable(name string) bool { return builtin[name] || sizes[name] }

func (j *judge) call(n name, functions []function) {
	var known []function
	ambiguous := false
	for _, f := range functions {
		switch {
		case !own(f.oid) || f.name != n[len(n)-1] || !j.mayBeIn(n, f.schema):
		case j.callable(f):
			known = append(known, f)
		case len(n) == 1 && callable(n[0]):
			ambiguous, j.candidates = true, append(j.candidates, f)
		default:
			j.refuse("The function %s is the database's own, and not allowed. %s", n,
				j.e.allowance(f.schema+"."+f.name))
		}
	}
	if ambiguous {
		j.ambiguous, j.candidates = append(j.ambiguous, n[0]), append(j.candidates, known...)
		return
	}
	for _, f := range known {
		j.addTypesOf(f)
	}
	switch {
	case len(known) > 0, len(n) == 1 && callable(n[0]), len(n) == 2 && n[0] == "pg_catalog" && callable(n[1]):
	default:
		j.refuse("The function %s is not allowed.", n)
	}
}

// addTypesOf records the types of a function's arguments and result.
func (j *judge) addTypesOf(f function) {
	for _, oid := range f.types {
		j.addType(oid, false)
	}
}

// addOperatorByName records an operator if the statement uses its name.
func (j *judge) addOperatorByName(r []string) {
	own := func(n name) bool { return n[len(n)-1] == r[2] && j.mayBeIn(n, r[1]) }
	switch {
	case !slices.ContainsFunc(j.f.Operators, own):
	case r[7] == "t":
		j.typed = append(j.typed, r)
	default:
		j.operator(r)
	}
}

// judgeReachedOperators judges the operators that take values of the types found so far. It reports whether it found
// more types.
func (j *judge) judgeReachedOperators() bool {
	left := j.typed[:0]
	for _, r := range j.typed {
		if slices.ContainsFunc(strings.Fields(r[6])[:2], j.mayHave) {
			j.operator(r)
		} else {
			left = append(left, r)
		}
	}
	j.typed = left
	return len(j.newTypes) > 0
}

// mayHave reports whether values may have a type, directly or after an implicit cast.
func (j *judge) mayHave(oid string) bool {
	return j.has(oid) || slices.ContainsFunc(j.casts,
		func(k cast) bool { return k.target == oid && k.context == "i" && j.has(k.source) })
}

// has reports whether values in the statement may have a type. They may have any of Postgres's own.
func (j *judge) has(oid string) bool { return !own(oid) || j.types[oid] }

func (j *judge) operator(r []string) {
	what := "The operator " + r[1] + "." + r[2]
	if !own(r[3]) && own(r[0]) && r[4] != "t" {
		j.refuse("%s is not allowed: the database defines it with a Postgres function that is not intended for "+
			"operators.", what)
	}
	j.run(what, r[3])
	j.run(what, strings.Fields(r[5])...)
	for _, oid := range strings.Fields(r[6]) {
		j.addType(oid, false)
	}
}

// addRelationByName records a table or view if the statement uses its name.
func (j *judge) addRelationByName(r []string) {
	is := func(n name) bool { return n[len(n)-1] == r[2] && j.mayBeIn(n, r[1]) }
	if !slices.ContainsFunc(j.f.Relations, is) {
		return
	}
	if r[3] == "v" || r[3] == "f" || r[4] == "t" {
		j.addRelation(r[0])
	}
	j.rows = append(j.rows, r[5])
	if j.f.All {
		j.addType(r[5], false)
	}
	for _, oid := range strings.Fields(r[6]) {
		j.columnTypes[oid] = true
		j.addType(oid, false)
	}
}

// expand looks up the parts of the types, relations and operators found in the last round.
func (j *judge) expand() {
	types, relations, operators := j.newTypes, j.newRelations, j.newOperators
	j.newTypes, j.newRelations, j.newOperators = nil, nil, nil
	var ask []question
	add := func(sql string, oids []string, take func([]string)) {
		ask = append(ask, question{sql, []any{oids}, take})
	}
	var expressions []planned
	var definitions [][2]string   // what, text
	rows := map[string][]string{} // row types that a view reads, by the view's text
	open := map[string]bool{}     // texts of views that are not security barriers
	if len(types) > 0 {
		add(query("typesByOID"), types, func(r []string) {
			j.run("The type "+r[1], strings.Fields(r[3])...)
			j.parts(r[0], r[2])
		})
		add(query("fieldsByOID"), types, func(r []string) { j.parts(r[0], r[1]) })
		add(query("rangesByOID"), types, func(r []string) {
			j.run("A type of ranges", strings.Fields(r[2])...)
			j.parts(r[0], r[1])
		})
		if j.cat.version >= 140000 {
			add(query("subscriptsByOID"), types, func(r []string) { j.run("The subscript of a type", r[1]) })
			add(query("multirangesByOID"), types, func(r []string) { j.parts(r[0], r[1]) })
		}
		add(query("checksByOID"), types, func(r []string) {
			definitions = append(definitions, [2]string{"The type " + r[1], "SELECT " + r[2]})
		})
		add(query("checksNeed"), types, func(r []string) { j.addNeeded("The CHECK of a type", r) })
	}
	if len(relations) > 0 {
		texts := map[string]string{}
		add(query("viewsByOID"), relations, func(r []string) {
			texts[r[0]] = r[2]
			open[r[2]] = open[r[2]] || r[3] != "t"
			definitions = append(definitions, [2]string{"The view " + r[1], r[2]})
		})
		add(query("viewsNeed"), relations, func(r []string) {
			j.addNeeded("A view", r)
			rows[texts[r[0]]] = append(rows[texts[r[0]]], r[4])
		})
		add(query("storageByOID"), relations, func(r []string) { j.run(byIndex+r[1], r[0]) })
		add(query("keysByOID"), relations, func(r []string) { j.addType(r[0], false) })
		add(query("tree")+plannedSQL(j.cat.version), relations,
			func(r []string) { expressions = append(expressions, newPlanned(r)) })
		add(query("foreignByOID"), relations, func(r []string) { j.run("The foreign table "+r[1], r[2]) })
	}
	if len(operators) > 0 {
		add(query("operatorsByOID"), operators, j.operator)
	}
	j.ask(ask)
	j.plan(expressions)
	for _, d := range definitions {
		f := j.define(d[0], d[1])
		if open[d[1]] && slices.Contains(lasts(f.Functions), "current_setting") {
			j.refuse("%s is not allowed: it reads a setting but is not a security barrier, so the conditions of "+
				"a statement could see the rows that it hides. An operator can make it one: ALTER VIEW … SET "+
				"(security_barrier).", d[0])
		}
		for _, oid := range rows[d[1]] {
			if f.All { // dependencies do not mention whole rows
				j.addType(oid, false)
			}
		}
	}
	for _, k := range j.casts { // binary-compatible values are compared as the target type
		if k.method == "b" && j.types[k.source] {
			j.addType(k.target, false)
		}
	}
}

// parts records the parts of a type.
func (j *judge) parts(oid, parts string) {
	for _, part := range strings.Fields(parts) {
		j.addType(part, j.named[oid])
	}
}

// addNeeded records an object that a definition refers to. r[1] is the system catalog that contains it, r[2] its OID
// and, if it is a column, r[3] its type.
func (j *judge) addNeeded(what string, r []string) {
	switch class, oid := r[1], r[2]; class {
	case "pg_proc":
		j.run(what, oid)
	case "pg_operator":
		if !j.looked[oid] {
			j.looked[oid] = true
			j.newOperators = append(j.newOperators, oid)
		}
	case "pg_type":
		j.addType(oid, false)
	case "pg_class":
		j.addRelation(oid)
		j.addType(r[3], false)
	case "pg_namespace", "pg_constraint", "pg_ts_config", "pg_ts_dict":
	default: // only collations are known to get here
		j.refuse("%s uses an object of %s that is not built into Postgres.", what, class)
	}
}

// definitionFunctions lists functions that the definition of a view or type may call, but a statement may not:
// views that show each user their own rows are written with them.
var definitionFunctions = wordlist.Set(`current_setting current_database pg_has_role has_table_privilege
	has_schema_privilege has_column_privilege has_any_column_privilege has_database_privilege row_security_active
	pg_backend_pid inet_client_addr`)

// define judges the text of a view or a CHECK. Postgres wrote it with pg_catalog as the only schema, so an
// unqualified name is Postgres's own. Qualified names are judged by pg_depend; see need. define returns the
// facts of the text.
func (j *judge) define(what, text string) facts {
	f := j.read(what, text)
	if j.refusal != nil {
		return f
	}
	switch {
	case f.Bad != "":
		j.refuse("%s cannot be checked: %s.", what, strings.TrimSpace(f.Bad))
	case f.Refused != "":
		j.refuse("%s is not allowed. %s", what, f.Refused)
	}
	for _, n := range f.Functions {
		base := n[len(n)-1]
		if (len(n) == 1 || n[0] == "pg_catalog") && !callable(base) && !definitionFunctions[base] &&
			!j.e.allows("pg_catalog", base, "") {
			j.refuse("%s is not allowed: it calls %s.", what, base)
		}
	}
	j.addImplied(f)
	for _, n := range f.Relations {
		schema := "pg_catalog"
		if len(n) > 1 {
			schema = n[0]
		}
		if allowed, system := described[schema]; system && !allowed[n[len(n)-1]] {
			j.refuse("%s is not allowed: it reads %s.", what, n)
		}
	}
	return f
}

// read returns the facts of a definition's text. It refuses a text that cannot be read.
func (j *judge) read(what, text string) facts {
	if err := plain(text); err != nil {
		j.refuse("%s cannot be checked: its definition is too large.", what)
		return facts{}
	}
	f, err := j.e.definition(j.ctx, text)
	if bad, ok := errors.AsType[*source.Error](err); ok {
		j.refuse("%s cannot be checked. %s", what, bad.Reason)
	} else if err != nil && j.refusal == nil {
		j.refusal = err
	}
	return f
}

// maxDefinitions limits the cache of parsed definitions.
const maxDefinitions = 1000

// definition returns the facts of a definition's text, and caches them.
func (e *engine) definition(ctx context.Context, text string) (facts, error) {
	e.mu.Lock()
	f, ok := e.definitions[text]
	e.mu.Unlock()
	if ok {
		return f, nil
	}
	f, err := e.grammar.read(ctx, text)
	if err != nil {
		return f, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.definitions) >= maxDefinitions || e.definitions == nil {
		e.definitions = map[string]facts{}
	}
	e.definitions[text] = f
	return f, nil
}

// convert judges the casts and comparisons between the types found.
func (j *judge) convert() {
	for _, k := range j.casts {
		written := j.explicit || j.named[k.target]
		if !j.has(k.source) || !j.has(k.target) || k.method != "f" || k.context == "e" && !written {
			continue
		}
		what := "The cast from " + k.what
		if k.context != "e" && !own(k.source) && !own(k.target) { // only the server knows which values have such types
			what += ", which the server may add to any statement,"
		}
		if !own(k.function) && !k.plain && !j.e.allows("pg_catalog", k.name, "") {
			full := "pg_catalog." + k.name
			j.refuse("%s runs %s, a Postgres function that is not intended for casts. %s", what, full,
				j.e.allowance(full))
		}
		j.run(what, k.function)
	}
	for _, c := range j.compares {
		if j.has(c.left) && j.has(c.right) &&
			(c.always || slices.ContainsFunc(c.operators, func(s string) bool { return j.operators[s] })) {
			j.run("A comparison of values", c.function)
		}
	}
}

// functions judges the functions found.
func (j *judge) functions() {
	left := maps.Clone(j.runs) // functions that are not found stay in left
	j.ask([]question{{query("functionsByOID"), []any{slices.Sorted(maps.Keys(j.runs))}, func(r []string) {
		f := newFunction(r)
		if j.trusts(f) || j.supports(f) {
			delete(left, f.oid)
			return
		}
		full := f.schema + "." + f.name
		left[f.oid] = j.runs[f.oid] + " runs " + full + ", a function of the database that has not been approved. " +
			j.e.allowance(full)
	}}})
	for _, oid := range slices.Sorted(maps.Keys(left)) {
		j.refuse("%s", left[oid])
	}
}

// allowance returns a hint on how to allow a function.
func (e *engine) allowance(function string) string {
	return fmt.Sprintf("An operator who trusts it can add %q to the setting functions.", e.name+"="+function)
}

// These describe what runs functions that only support a data structure of the database.
const (
	byIndex = "An index or the partitions of "
	byText  = "Text search"
)

// supports reports whether a function is written in C and belongs to an extension's index or text search.
// Such functions are often marked volatile without need.
func (j *judge) supports(f function) bool {
	_, safe := safeExtensions[f.extension]
	what := j.runs[f.oid]
	return f.compiled && (safe && what == byText || f.extension != "" && strings.HasPrefix(what, byIndex))
}

//go:embed extensions.txt
var extensionsFile string

// safeExtensions maps extensions whose functions only compute, unless they are volatile, to the functions that may be
// called; * stands for all.
var safeExtensions = wordlist.Map(extensionsFile)

// names reports whether a list of safeExtensions or scripted has a function.
func names(list, function string) bool { return slices.Contains(strings.Fields(list), function) }

// scripted lists the functions of safe extensions that are written in SQL, unless safeExtensions lists them. Anyone who
// owns an extension can add a function to it; one written in C only a superuser can make.
var scripted = map[string]string{
	"citext": "regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table replace " +
		"split_part strpos translate",
	"earthdistance": "earth earth_box earth_distance gc_to_sec latitude ll_to_earth longitude sec_to_gc",
}

// callable reports whether a statement may call a function of the database by name.
func (j *judge) callable(f function) bool {
	list, restricted := safeExtensions[f.extension]
	return j.trusts(f) && (!restricted || list == "*" || names(list, f.name) || f.constructor ||
		j.e.allows(f.schema, f.name, f.extension))
}

// trusts reports whether a function of the database may run behind a type, a cast, an operator or a view.
func (j *judge) trusts(f function) bool {
	list, safe := safeExtensions[f.extension]
	safe = safe && (f.compiled || names(list, f.name) || names(scripted[f.extension], f.name) && j.callsOnlyKnown(f))
	return f.constructor || j.e.allows(f.schema, f.name, f.extension) ||
		safe && !f.volatile && !f.definer && (f.extension != "isn" || f.name != "isn_weak") // changes the session
}

// callsOnlyKnown reports whether a function that an extension wrote in SQL calls only the functions that the extension
// meant. If its body is stored as text, Postgres looks up the names whenever it runs: the functions of citext use only
// Postgres's own operators, and those of earthdistance call other functions by their bare names.
func (j *judge) callsOnlyKnown(f function) bool {
	return f.parsed || f.name == "earth" || f.extension == "citext" && j.s.path[0] == "pg_catalog"
}
