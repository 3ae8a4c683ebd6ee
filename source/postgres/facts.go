package postgres

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// facts are what the gate must know of a text, read off its tree in the child.
type facts struct {
	Bad        string   `json:"bad,omitempty"`     // the parser's message: the text is no SQL
	Refused    string   `json:"refused,omitempty"` // something that no statement may hold
	Root       string   `json:"root,omitempty"`    // "SelectStmt", "ExplainStmt" or "VariableShowStmt"
	Analyze    bool     `json:"analyze,omitempty"` // an EXPLAIN that runs its query
	Show       string   `json:"show,omitempty"`    // what SHOW asks for
	Params     int      `json:"params,omitempty"`  // the highest $n
	Kinds      []string `json:"kinds,omitempty"`   // of nodes that are not in every version of Postgres
	Relations  []name   `json:"relations,omitempty"`
	Functions  []name   `json:"functions,omitempty"`
	Operators  []name   `json:"operators,omitempty"`
	Types      []name   `json:"types,omitempty"`
	Attributes []string `json:"attributes,omitempty"` // what is asked of a row as row.attribute
}

// name is a name in its parts: schema and name, or a name alone.
type name []string

func (n name) String() string { return strings.Join(n, ".") }

// plainKinds are the nodes of a reading statement. Of a node that is not known here
// nobody has thought, and a statement with one is refused.
var plainKinds = set(`SelectStmt ResTarget ColumnRef A_Star String Integer Float Boolean BitString A_Const ParamRef A_Expr A_Indices
	A_Indirection A_ArrayExpr BoolExpr NullTest BooleanTest CaseExpr CaseWhen CoalesceExpr MinMaxExpr FuncCall NamedArgExpr TypeCast
	TypeName CollateClause SubLink RowExpr SQLValueFunction GroupingFunc GroupingSet RangeVar RangeSubselect RangeFunction
	RangeTableSample JoinExpr List SortBy WindowDef CommonTableExpr ColumnDef`)

// newKinds came with a version of Postgres; before it the same words were calls of
// functions.
var newKinds = map[string]int{
	"JsonObjectConstructor": 160000, "JsonArrayConstructor": 160000, "JsonArrayQueryConstructor": 160000, "JsonObjectAgg": 160000, "JsonArrayAgg": 160000,
	"JsonAggConstructor": 160000, "JsonKeyValue": 160000, "JsonValueExpr": 160000, "JsonIsPredicate": 160000, "JsonFuncExpr": 170000, "JsonParseExpr": 170000,
	"JsonScalarExpr": 170000, "JsonSerializeExpr": 170000, "JsonTable": 170000, "JsonTableColumn": 170000, "JsonTablePathSpec": 170000, "JsonArgument": 170000, "JsonBehavior": 170000,
}

// badFields are parts of nodes that no reading statement has.
var badFields = map[string]string{
	"intoClause":    "SELECT INTO makes a table: the database is read-only.",
	"lockingClause": "Rows may not be locked (FOR UPDATE, FOR SHARE): the database is read-only.",
	"pct_type":      "%TYPE is not allowed here.",
}

// shownValues are the functions without parentheses that tell nothing but the time.
var shownValues = set(`SVFOP_CURRENT_DATE SVFOP_CURRENT_TIME SVFOP_CURRENT_TIME_N SVFOP_CURRENT_TIMESTAMP SVFOP_CURRENT_TIMESTAMP_N
	SVFOP_LOCALTIME SVFOP_LOCALTIME_N SVFOP_LOCALTIMESTAMP SVFOP_LOCALTIMESTAMP_N`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

type object = map[string]any

// look reads a tree.
func look(tree []byte) facts {
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
	w := &walker{}
	w.root(doc.Stmts[0].Stmt)
	return w.f
}

// walker collects the facts. It goes through every map and list of the tree,
// whatever it is called: what it looks for is told by its fields.
type walker struct{ f facts }

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
			w.f.Show, _ = body["name"].(string)
		default:
			w.refuse(statementName(kind) + " is not allowed: the database is read-only. A statement must be a SELECT, WITH, VALUES, TABLE or EXPLAIN.")
		}
	}
}

// statementName makes DROP of DropStmt.
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
	options, _ := body["options"].([]any)
	for _, o := range options {
		elem, _ := o.(object)
		def, _ := elem["DefElem"].(object)
		switch option, _ := def["defname"].(string); option {
		case "analyze":
			w.f.Analyze = true // also where it says off: nothing is lost
		case "costs", "verbose", "buffers", "timing", "summary", "format", "settings", "wal":
		default:
			w.refuse("This option of EXPLAIN is not allowed.")
		}
	}
	w.walk(query, nil)
}

// walk goes through a part of the tree. Scope holds the names of the WITH queries
// that are seen there.
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

// kind looks at the key of an object: that of a node begins with a capital.
func (w *walker) kind(key string) {
	if words, bad := badFields[key]; bad {
		w.refuse(words)
	}
	if key[0] < 'A' || key[0] > 'Z' || plainKinds[key] {
		return
	}
	if _, ok := newKinds[key]; ok {
		add(&w.f.Kinds, key)
		return
	}
	words := statementName(key) + " is not allowed in a query."
	switch key {
	case "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt":
		words = statementName(key) + " is not allowed: the database is read-only."
	}
	w.refuse(words)
}

// with goes through the queries of a WITH and returns the scope of what follows.
func (w *walker) with(clause object, outer map[string]bool) map[string]bool {
	scope := maps.Clone(outer)
	if scope == nil {
		scope = map[string]bool{}
	}
	ctes, _ := clause["ctes"].([]any)
	nameOf := func(v any) (object, string) {
		o, _ := v.(object)
		cte, _ := o["CommonTableExpr"].(object)
		s, _ := cte["ctename"].(string)
		return cte, s
	}
	if recursive, _ := clause["recursive"].(bool); recursive {
		for _, c := range ctes {
			_, s := nameOf(c)
			scope[s] = true
		}
	}
	for _, c := range ctes {
		cte, s := nameOf(c)
		w.walk(cte, scope)
		scope = maps.Clone(scope)
		scope[s] = true
	}
	return scope
}

// note looks at one object.
func (w *walker) note(n object, scope map[string]bool) {
	if rel, ok := n["relname"].(string); ok {
		schema, _ := n["schemaname"].(string)
		if _, foreign := n["catalogname"]; foreign {
			w.refuse("A table is named as schema.table, without a database.")
		}
		if schema != "" {
			addName(&w.f.Relations, name{schema, rel})
		} else if !scope[rel] {
			addName(&w.f.Relations, name{rel})
		}
	}
	if v, ok := n["funcname"]; ok {
		addName(&w.f.Functions, parts(v))
	}
	if v, ok := n["method"].([]any); ok { // of TABLESAMPLE
		addName(&w.f.Functions, parts(v))
	}
	if v, ok := n["names"].([]any); ok {
		addName(&w.f.Types, parts(v))
	}
	for _, key := range []string{"operName", "useOp"} {
		if v, ok := n[key].([]any); ok {
			addName(&w.f.Operators, parts(v))
		}
	}
	if e, ok := n["A_Expr"].(object); ok {
		addName(&w.f.Operators, parts(e["name"]))
	}
	if r, ok := n["ColumnRef"].(object); ok {
		if p := parts(r["fields"]); len(p) > 1 {
			add(&w.f.Attributes, p[len(p)-1])
		}
	}
	if i, ok := n["indirection"]; ok {
		for _, p := range parts(i) {
			add(&w.f.Attributes, p)
		}
	}
	if p, ok := n["ParamRef"].(object); ok {
		if v, _ := p["number"].(json.Number); v != "" {
			k, _ := v.Int64()
			w.f.Params = max(w.f.Params, int(k))
		}
	}
	if v, ok := n["SQLValueFunction"].(object); ok {
		if op, _ := v["op"].(string); !shownValues[op] {
			w.refuse("The name of the user, or of the database, is not data: it may not be asked for.")
		}
	}
}

// parts are the texts of a list of String nodes.
func parts(v any) name {
	list, _ := v.([]any)
	var n name
	for _, e := range list {
		o, _ := e.(object)
		s, _ := o["String"].(object)
		if text, ok := s["sval"].(string); ok {
			n = append(n, text)
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
