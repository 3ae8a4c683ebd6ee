package postgres

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote/internal/wordlist"
)

// facts holds what the gate must know about a statement. The child reads them off the syntax tree.
type facts struct {
	Bad        string   `json:"bad,omitempty"`     // the parser's message: the text is not SQL
	Refused    string   `json:"refused,omitempty"` // something that no statement may contain
	Root       string   `json:"root,omitempty"`    // "SelectStmt", "ExplainStmt" or "VariableShowStmt"
	Analyze    bool     `json:"analyze,omitempty"` // an EXPLAIN that runs its query
	Show       string   `json:"show,omitempty"`    // the setting that SHOW names
	Params     int      `json:"params,omitempty"`  // the highest $n
	Kinds      []string `json:"kinds,omitempty"`   // of nodes that some versions of Postgres lack
	Relations  []name   `json:"relations,omitempty"`
	Reads      []place  `json:"reads,omitempty"` // each place that names one of the relations
	Functions  []name   `json:"functions,omitempty"`
	Operators  []name   `json:"operators,omitempty"`
	Types      []name   `json:"types,omitempty"`
	Collations []name   `json:"collations,omitempty"`
	// Attributes lists the pairs of a row's name and an attribute in row.attribute, which may call a function.
	Attributes []name `json:"attributes,omitempty"`
	// Rows maps the names of rows to what they stand for.
	Rows    map[string]rows `json:"rows,omitempty"`
	Fields  []string        `json:"fields,omitempty"`  // in (value).field, which may call a function, too
	Columns []string        `json:"columns,omitempty"` // possible names of columns
	All     bool            `json:"all,omitempty"`     // it may use whole rows and all columns
	User    bool            `json:"user,omitempty"`    // it reads the name of the user or the database
	// Calls maps the names of functions written without a schema to where they are called, in bytes of the text.
	Calls   map[string][]int `json:"calls,omitempty"`
	Letters bool             `json:"letters,omitempty"` // a name has letters beyond ASCII
	// … and is long, or has capitals: encodings other than UTF-8 change it
	Odd bool `json:"odd,omitempty"`
	// Constant lists the functions and operators whose arguments may all be constants: the planner may run them.
	Constant []name `json:"constant,omitempty"`
}

// place is where the text names a relation.
type place struct {
	Name  name `json:"name"`
	At    int  `json:"at"` // bytes before it
	Alias bool `json:"alias,omitempty"`
}

// rows describes what a row's name stands for anywhere in a statement.
type rows struct {
	Relations []name `json:"relations,omitempty"` // used with their own columns
	Joined    bool   `json:"joined,omitempty"`    // a join, or a relation with renamed columns
	Other     bool   `json:"other,omitempty"`     // a query or a function
	Function  bool   `json:"function,omitempty"`  // a function: the row may be the value that it returns
}

// tables returns the names of the relations that a statement reads, in order.
func (f facts) tables() []string {
	var names []string
	for _, r := range f.Relations {
		names = append(names, r.String())
	}
	slices.Sort(names) // the tree is walked in random order
	return names
}

// name is a name, or a schema and a name.
type name []string

func (n name) String() string { return strings.Join(n, ".") }

//go:embed nodes.txt
var nodesFile string

// nodes maps the nodes that a statement may have to the version of Postgres that introduced them, or 0. A statement
// with any other node is refused, because nobody has examined what that node does.
var nodes = func() map[string]int {
	versions := map[string]int{}
	for kind, since := range wordlist.Map(nodesFile) {
		version, err := strconv.Atoi(since)
		if err != nil {
			panic(err)
		}
		versions[kind] = version
	}
	return versions
}()

// badFields maps parts of nodes that a statement may not have to the reason.
var badFields = map[string]string{
	"intoClause":    "SELECT INTO makes a table: the database is read-only.",
	"lockingClause": "Rows may not be locked (FOR UPDATE, FOR SHARE): the database is read-only.",
	"pct_type":      "%TYPE is not allowed here.",
}

// shownValues lists the functions without parentheses that do not reveal the user's name.
var shownValues = wordlist.Set(`SVFOP_CURRENT_DATE SVFOP_CURRENT_TIME SVFOP_CURRENT_TIME_N SVFOP_CURRENT_TIMESTAMP
	SVFOP_CURRENT_TIMESTAMP_N SVFOP_LOCALTIME SVFOP_LOCALTIME_N SVFOP_LOCALTIMESTAMP
	SVFOP_LOCALTIMESTAMP_N SVFOP_CURRENT_SCHEMA`)

type object = map[string]any

// collectFacts collects the facts from a tree.
func collectFacts(tree []byte) facts {
	var doc struct {
		Stmts []struct {
			Stmt object `json:"stmt"`
		} `json:"stmts"`
	}
	dec := json.NewDecoder(bytes.NewReader(tree))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return facts{Refused: "The statement cannot be read: " + err.Error()}
	}
	switch {
	case len(doc.Stmts) == 0:
		return facts{Refused: "There is no statement in the text."}
	case len(doc.Stmts) > 1:
		return facts{Refused: "Only one statement is allowed; there is more after the first semicolon."}
	}
	w := &walker{rows: map[string]bool{}, f: facts{Rows: map[string]rows{}, Calls: map[string][]int{}}}
	w.root(doc.Stmts[0].Stmt)
	w.constants(doc.Stmts[0].Stmt)
	for _, last := range w.whole {
		w.f.All = w.f.All || w.rows[last]
	}
	return w.f
}

// walker collects the facts. It visits every map and list of the tree and recognises what it looks for by the names
// of fields.
type walker struct {
	f     facts
	rows  map[string]bool // names that stand for whole rows: relations and aliases
	whole []string        // last parts of references that may be such names
}

func (w *walker) refuse(words string) {
	if w.f.Refused == "" {
		w.f.Refused = words
	}
}

func (w *walker) root(stmt object) {
	for kind, v := range stmt {
		body, _ := v.(object)
		w.f.Root = kind
		switch kind {
		case "SelectStmt":
			w.walk(stmt, nil)
		case "ExplainStmt":
			w.explain(body)
		case "VariableShowStmt":
			w.f.Show = text(body, "name")
		default:
			w.refuse(statementName(kind) + " is not allowed: the database is read-only. " +
				"A statement must be a SELECT, WITH, VALUES, TABLE or EXPLAIN.")
		}
	}
}

// statementName returns DROP for DropStmt.
func statementName(kind string) string {
	kind = strings.TrimSuffix(kind, "Stmt")
	var b strings.Builder
	for i, r := range kind {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String())
}

func (w *walker) explain(body object) {
	query, _ := body["query"].(object)
	if _, ok := query["SelectStmt"]; !ok || len(query) != 1 {
		w.refuse("EXPLAIN is allowed for a SELECT only.")
		return
	}
	for _, o := range items(body, "options") {
		switch text(o, "DefElem", "defname") {
		case "analyze":
			w.f.Analyze = true // even if it is off, which no query needs
		case "costs", "verbose", "buffers", "timing", "summary", "format", "settings", "wal":
		default:
			w.refuse("This option of EXPLAIN is not allowed.")
		}
	}
	w.walk(query, nil)
}

// walk visits a part of the tree. Scope holds the names of the WITH queries visible there.
func (w *walker) walk(node any, scope map[string]bool) {
	switch n := node.(type) {
	case []any:
		for _, e := range n {
			w.walk(e, scope)
		}
	case object:
		w.note(n, scope)
		if with, ok := n["withClause"].(object); ok {
			scope = w.with(with, scope)
		}
		for key, v := range n {
			if key == "withClause" {
				continue
			}
			w.kind(key)
			w.walk(v, scope)
		}
	}
}

// kind checks the key of an object: keys that name nodes begin with a capital letter.
func (w *walker) kind(key string) {
	if words, bad := badFields[key]; bad {
		w.refuse(words)
	}
	if key[0] < 'A' || key[0] > 'Z' {
		return
	}
	if since, ok := nodes[key]; ok {
		if since > 0 {
			add(&w.f.Kinds, key)
		}
		return
	}
	words := statementName(key) + " is not allowed in a query."
	switch key {
	case "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt":
		words = statementName(key) + " is not allowed: the database is read-only."
	}
	w.refuse(words)
}

// with visits the queries of a WITH and returns the scope for what follows.
func (w *walker) with(clause object, outer map[string]bool) map[string]bool {
	scope := maps.Clone(outer)
	if scope == nil {
		scope = map[string]bool{}
	}
	if recursive, _ := clause["recursive"].(bool); recursive {
		for _, c := range items(clause, "ctes") {
			scope[text(c, "CommonTableExpr", "ctename")] = true
		}
	}
	for _, c := range items(clause, "ctes") {
		w.walk(at(c, "CommonTableExpr"), scope)
		scope = maps.Clone(scope)
		scope[text(c, "CommonTableExpr", "ctename")] = true
	}
	return scope
}

// note collects the facts from one object.
func (w *walker) note(n object, scope map[string]bool) {
	w.noteRelation(n, scope)
	w.noteRows(n, scope)
	w.noteNames(n)
	w.noteOperators(n)
	w.noteColumns(n)
	w.noteLetters(n)
	if v, _ := at(n, "ParamRef", "number").(json.Number); v != "" {
		k, _ := v.Int64()
		w.f.Params = max(w.f.Params, int(k))
	}
	if v, ok := n["SQLValueFunction"].(object); ok && !shownValues[text(v, "op")] {
		w.f.User = true
	}
}

func (w *walker) noteRelation(n object, scope map[string]bool) {
	if _, foreign := n["catalogname"]; foreign {
		w.refuse("A table is named as schema.table, without a database.")
	}
	if full := relationName(n); full != nil && (len(full) > 1 || !scope[full[0]]) {
		addName(&w.f.Relations, full)
		at, _ := n["location"].(json.Number)
		i, _ := at.Int64() // the place 0 is left out
		w.f.Reads = append(w.f.Reads, place{Name: full, At: int(i), Alias: n["alias"] != nil})
	}
}

// relationName returns the name of a relation that a node refers to, or nil.
func relationName(n object) name {
	rel, ok := n["relname"].(string)
	switch schema := text(n, "schemaname"); {
	case !ok:
		return nil
	case schema != "":
		return name{schema, rel}
	}
	return name{rel}
}

// noteRows records the names of rows.
func (w *walker) noteRows(n object, scope map[string]bool) {
	named := func(alias any, is func(r *rows, renamed bool)) bool {
		s, ok := at(alias, "aliasname").(string)
		if ok {
			r := w.f.Rows[s]
			is(&r, at(alias, "colnames") != nil)
			w.f.Rows[s] = r
		}
		return ok
	}
	if full := relationName(n); full != nil {
		is := func(r *rows, renamed bool) {
			switch {
			case len(full) == 1 && scope[full[0]]:
				r.Other = true
			case renamed:
				r.Joined = true
			default:
				addName(&r.Relations, full)
			}
		}
		if !named(n["alias"], is) {
			named(object{"aliasname": n["relname"]}, is)
		}
	}
	for _, key := range []string{"alias", "join_using_alias"} {
		named(at(n, "JoinExpr", key), func(r *rows, _ bool) { r.Joined = true })
	}
	for _, key := range []string{"RangeSubselect", "JsonTable"} {
		named(at(n, key, "alias"), func(r *rows, _ bool) { r.Other = true })
	}
	if from, ok := n["RangeFunction"].(object); ok {
		markFunction := func(r *rows, _ bool) { r.Other, r.Function = true, true }
		if !named(from["alias"], markFunction) {
			w.unnamed(from["functions"], func(s string) { named(object{"aliasname": s}, markFunction) })
		}
	}
}

// unnamed reports functions in FROM without an alias, whose name becomes the row's name. Expressions named by a keyword
// (coalesce) or a type need an alias.
func (w *walker) unnamed(functions any, row func(name string)) {
	for _, f := range items(functions) {
		pair := items(f, "List", "items") // a function and its column definitions
		if len(pair) == 0 {
			continue
		}
		n := parts(at(pair[0], "FuncCall", "funcname"))
		if len(n) == 0 {
			w.refuse("A value in FROM needs a name: FROM current_date AS today.")
			continue
		}
		row(n[len(n)-1])
	}
}

// noteNames records the functions, types, collations and fields that a node names.
func (w *walker) noteNames(n object) {
	if call, ok := n["FuncCall"].(object); ok {
		name := parts(call["funcname"])
		at, _ := call["location"].(json.Number)
		if i, err := at.Int64(); err == nil && len(name) == 1 && callable(name[0]) {
			w.f.Calls[name[0]] = append(w.f.Calls[name[0]], int(i))
		}
	}
	if v, ok := n["funcname"]; ok {
		addName(&w.f.Functions, parts(v))
	}
	for key, list := range map[string]*[]name{
		"method": &w.f.Functions, "names": &w.f.Types, "collname": &w.f.Collations, // method is in TABLESAMPLE
	} {
		if v, ok := n[key].([]any); ok {
			addName(list, parts(v))
		}
	}
	for _, p := range parts(n["indirection"]) {
		add(&w.f.Fields, p)
	}
}

// noteOperators records the operators that a statement writes and those that its keywords imply.
func (w *walker) noteOperators(n object) {
	for _, key := range []string{"operName", "useOp"} {
		if v, ok := n[key].([]any); ok {
			addName(&w.f.Operators, parts(v))
		}
	}
	equal := func() { addName(&w.f.Operators, name{"="}) }
	if e, ok := n["A_Expr"].(object); ok {
		if strings.Contains(text(e, "kind"), "BETWEEN") {
			for _, op := range []string{"<", "<=", ">", ">="} {
				addName(&w.f.Operators, name{op})
			}
		} else {
			addName(&w.f.Operators, parts(e["name"]))
		}
	}
	if c, ok := n["CaseExpr"].(object); ok && c["arg"] != nil {
		equal()
	}
	if l, ok := n["SubLink"].(object); ok && l["testexpr"] != nil && l["operName"] == nil { // IN
		equal()
	}
	if j, ok := n["JoinExpr"].(object); ok && (j["usingClause"] != nil || j["isNatural"] != nil) {
		equal()
	}
}

// noteColumns records the columns that a statement may read.
func (w *walker) noteColumns(n object) {
	for _, key := range []string{"relname", "aliasname"} {
		if s, ok := n[key].(string); ok {
			w.rows[s] = true
		}
	}
	p := parts(at(n, "ColumnRef", "fields"))
	if len(p) > 0 {
		add(&w.f.Columns, p[len(p)-1])
		w.whole = append(w.whole, p[len(p)-1])
	}
	if len(p) > 1 {
		addName(&w.f.Attributes, p[len(p)-2:])
	}
	if _, star := n["A_Star"]; star {
		w.f.All = true
	}
	for _, key := range []string{"RangeVar", "JoinExpr"} {
		if at(n, key, "isNatural") != nil || at(n, key, "alias", "colnames") != nil { // these columns may be renamed
			w.f.All = true
		}
		for _, s := range parts(at(n, key, "usingClause")) {
			add(&w.f.Columns, s)
		}
	}
}

// noteLetters notes names that a database may read otherwise than the parser does. Where its encoding is not UTF-8,
// Postgres cuts names after another letter, and may make other capitals small.
func (w *walker) noteLetters(n object) {
	for _, v := range []any{at(n, "String", "sval"), n["relname"], n["schemaname"], n["aliasname"], n["ctename"]} {
		s, _ := v.(string)
		if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
			w.f.Letters = true
			capital := func(r rune) bool { return r >= utf8.RuneSelf && unicode.ToLower(r) != r }
			w.f.Odd = w.f.Odd || len(s) > maxLetters || strings.ContainsFunc(s, capital)
		}
	}
}

// maxLetters is the length in UTF-8, in bytes, up to which names keep within Postgres's 63 bytes in any encoding.
const maxLetters = 40

// constants adds to w.f.Constant the functions and operators that may have only constants as arguments. It reports
// whether an expression certainly still depends on a column after Postgres has simplified it. Most forms may not:
// COALESCE(1, id) becomes 1, and id + NULL becomes NULL.
func (w *walker) constants(node any) (varies bool) {
	switch n := node.(type) {
	case []any:
		for _, e := range n {
			w.constants(e)
		}
	case object:
		for kind, v := range n {
			if body, ok := v.(object); ok {
				varies = w.expression(kind, body) && len(n) == 1
			} else {
				w.constants(v)
			}
		}
	}
	return varies
}

// expression does what constants does, for the body of a node of the given kind.
func (w *walker) expression(kind string, body object) bool {
	var args []any
	var vary []bool // for each of args
	single := map[string]bool{}
	for key, v := range body {
		list, _ := v.([]any)
		if key != "args" && key != "elements" {
			single[key] = w.constants(v)
			list = nil
		}
		for _, e := range list {
			args, vary = append(args, e), append(vary, w.constants(e))
		}
	}
	switch kind {
	case "ColumnRef":
		return true
	case "FuncCall":
		if !slices.Contains(vary, true) {
			addName(&w.f.Constant, parts(body["funcname"]))
		}
		return kept(args, vary)
	case "A_Expr":
		args, vary = []any{body["lexpr"], body["rexpr"]}, []bool{single["lexpr"], single["rexpr"]}
		if !slices.Contains(vary, true) {
			addName(&w.f.Constant, parts(body["name"]))
		}
		return plainForms[text(body, "kind")] && kept(args, vary)
	case "TypeCast", "CollateClause":
		return single["arg"]
	case "A_ArrayExpr":
		return slices.Contains(vary, true)
	case "BoolExpr":
		return !slices.Contains(vary, false)
	case "CoalesceExpr":
		return len(vary) > 0 && vary[0]
	case "CaseWhen":
		return single["expr"]
	case "CaseExpr": // varies if its first condition does, because Postgres then keeps the CASE
		return body["arg"] == nil && len(vary) > 0 && vary[0]
	}
	return false
}

// plainForms lists the forms of expressions that apply an operator to its operands and do nothing else.
var plainForms = wordlist.Set("AEXPR_OP AEXPR_OP_ANY AEXPR_OP_ALL")

// kept reports whether a function or operator still depends on a column after Postgres has simplified it: one of its
// arguments varies, and the others are literals and not NULL, which would make the result NULL.
func kept(args []any, vary []bool) bool {
	for i, a := range args {
		if a != nil && !vary[i] && !literal(a) {
			return false
		}
	}
	return slices.Contains(vary, true)
}

// literal reports whether an expression is a literal, and not NULL.
func literal(node any) bool {
	switch arg := at(node, "TypeCast", "arg"); {
	case at(node, "A_Const") != nil:
		return at(node, "A_Const", "isnull") == nil
	case at(arg, "A_Const") != nil:
		return literal(arg)
	}
	elements := items(node, "A_ArrayExpr", "elements")
	return len(elements) > 0 && !slices.ContainsFunc(elements, func(e any) bool { return !literal(e) })
}

// at returns the part of a node at a path of keys, or nil.
func at(node any, path ...string) any {
	for _, key := range path {
		o, _ := node.(object)
		node = o[key]
	}
	return node
}

// text returns the text at a path of keys, or "".
func text(node any, path ...string) string {
	s, _ := at(node, path...).(string)
	return s
}

// items returns the list at a path of keys, or nil.
func items(node any, path ...string) []any {
	list, _ := at(node, path...).([]any)
	return list
}

// parts returns the texts in a list of String nodes.
func parts(v any) name {
	var n name
	for _, e := range items(v) {
		if s, ok := at(e, "String", "sval").(string); ok {
			n = append(n, s)
		}
	}
	return n
}

func add(list *[]string, s string) {
	if !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

func addName(list *[]name, n name) {
	if !slices.ContainsFunc(*list, func(o name) bool { return slices.Equal(o, n) }) {
		*list = append(*list, n)
	}
}
