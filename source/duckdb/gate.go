package duckdb

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/internal/spelling"
	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
)

//go:embed functions.txt
var functionsFile string

//go:embed foreign.txt
var foreignFile string

// allowed lists the functions in functions.txt.
var allowed = wordlist.Set(functionsFile)

// tableFunctions lists the functions allowed in FROM. Those that read the catalog describe only the open database.
var tableFunctions = wordlist.Set(`range generate_series unnest json_each json_tree repeat repeat_row
	regexp_split_to_table generate_subscripts icu_calendar_names pg_timezone_names duckdb_tables duckdb_columns
	duckdb_constraints duckdb_views duckdb_indexes duckdb_functions duckdb_keywords duckdb_types`)

// systemRelations lists relations that are readable in addition to the database's own.
var systemRelations = wordlist.Set(`information_schema.tables information_schema.columns information_schema.schemata
	information_schema.table_constraints information_schema.key_column_usage
	information_schema.referential_constraints .sqlite_master .sqlite_schema main.sqlite_master .duckdb_tables
	.duckdb_columns .duckdb_constraints .duckdb_views .pg_tables pg_catalog.pg_tables .pg_views pg_catalog.pg_views`)

// catalog is the gate's knowledge of the database.
type catalog struct {
	database  string
	relations map[string]bool   // lower-case "schema.name"; for main also ".name"
	macros    map[string]error  // the database's own, in lower case, with the reason if one may not be called
	functions map[string]bool   // all of the engine's, to tell "unknown" from "not allowed"
	names     map[string]string // lower-case name → declared name, for relations in main
	// filtered means that only these relations are visible. The gate then refuses whatever reveals other relations,
	// or rows that a filter leaves out.
	filtered bool
}

// gate decides which statements are allowed. It is immutable, so several goroutines may use it.
type gate struct {
	catalog *catalog
	parse   func(ctx context.Context, sql string) ([]byte, error) // json_serialize_sql
	// distinct returns the values of an expression over a relation, as text, for a PIVOT that names none. The
	// statement has passed the gate.
	distinct func(ctx context.Context, sql string) ([]string, error)
	reads    *[]string // where the walk records the relations a statement reads; nil: nowhere
}

// admitted is a statement that the gate has accepted.
type admitted struct {
	text   string
	root   map[string]any
	params int      // the number of arguments
	tables []string // relations it reads
}

// admit accepts one reading statement, possibly rewritten, or returns a refusal. If rows is positive, it is
// appended as a limit where that cannot change which rows come first.
func (g *gate) admit(ctx context.Context, sql string, rows int) (admitted, error) {
	list, err := tokenize(sql)
	if err != nil {
		return admitted{}, err
	}
	text, list := body(sql, list)
	if len(list) == 0 {
		return admitted{}, source.Refusef("There is no statement in the text.")
	}
	switch list[0].word {
	case "EXPLAIN":
		if g.catalog.filtered {
			return admitted{},
				source.Refusef("EXPLAIN is not allowed here: query plans reveal rows that you cannot see.")
		}
		return g.admitExplain(ctx, text, list)
	case "PRAGMA":
		if text, err = g.rewritePragma(text, list); err != nil {
			return admitted{}, err
		}
		return g.admitOne(ctx, text)
	}
	if text, err = g.expandPivots(ctx, text, list); err != nil {
		return admitted{}, err
	}
	q, err := g.admitOne(ctx, text)
	if err != nil || rows <= 0 || !limitable(q.root) {
		return q, err
	}
	if limited, err := g.admitOne(ctx, fmt.Sprintf("%s\nLIMIT %d", text, rows)); err == nil {
		return limited, nil
	}
	return q, nil // the grammar has no place for a limit
}

// limitable reports whether a query has no limit of its own and may return many rows.
func limitable(root map[string]any) bool {
	if root["type"] != "SELECT_NODE" && root["type"] != "SET_OPERATION_NODE" {
		return false
	}
	if from, ok := root["from_table"].(map[string]any); ok && from["type"] == "SHOW_REF" {
		return false
	}
	modifiers, _ := root["modifiers"].([]any)
	for _, m := range modifiers {
		if m, ok := m.(map[string]any); ok && strings.HasPrefix(fmt.Sprint(m["type"]), "LIMIT") {
			return false
		}
	}
	return true
}

// admitOne checks that a text is a single allowed statement.
func (g *gate) admitOne(ctx context.Context, sql string) (admitted, error) {
	nodes, err := g.tree(ctx, sql)
	if err != nil {
		return admitted{}, err
	}
	switch len(nodes) {
	case 0:
		return admitted{}, source.Refusef("There is no statement in the text.")
	case 1:
	default:
		return admitted{}, source.Refusef("Only one statement is allowed; there are %d.", len(nodes))
	}
	statement, ok := nodes[0].(map[string]any)
	if !ok {
		return admitted{}, errShape
	}
	q := admitted{text: sql}
	q.root, _ = statement["node"].(map[string]any)
	params, _ := statement["named_param_map"].([]any)
	q.params = len(params)
	walker := *g
	walker.reads = &q.tables
	err = walker.walk(statement, nil)
	return q, err
}

var errShape = source.Refusef("The statement has a form this gate does not know.")

// tree parses a text into serialised statements.
func (g *gate) tree(ctx context.Context, sql string) ([]any, error) {
	data, err := g.parse(ctx, sql)
	if err != nil {
		return nil, err
	}
	var reply struct {
		Error      bool   `json:"error"`
		Type       string `json:"error_type"`
		Message    string `json:"error_message"`
		Position   string `json:"position"`
		Statements []any  `json:"statements"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&reply); err != nil {
		return nil, source.Refusef("The statement is too complex to be checked.")
	}
	switch {
	case !reply.Error:
		return reply.Statements, nil
	case strings.HasPrefix(reply.Message, "Only SELECT"):
		return nil, notSelect(sql)
	case reply.Type == "parser" || reply.Type == "syntax":
		return nil, source.Refusef("The statement cannot be parsed: %s", withoutSet(reply.Message))
	default:
		return nil, source.Refusef("The statement cannot be checked: %s", withoutSet(reply.Message))
	}
}

// notSelect returns the reason for refusing a statement that is not a SELECT.
func notSelect(sql string) error {
	list, err := tokenize(sql)
	if err != nil || len(list) == 0 {
		return source.Refusef("Only SELECT statements are allowed.")
	}
	for _, t := range list {
		if text := sql[t.from:t.to]; text == ";" {
			return source.Refusef("Only one statement is allowed, and it must be a SELECT: the database is read-only.")
		}
	}
	word := list[0].word
	switch {
	case word == "PIVOT" || word == "PIVOT_WIDER" || strings.Contains(strings.ToUpper(sql), "PIVOT"):
		return source.Refusef(
			"This PIVOT must name its values: PIVOT t ON column IN ('a', 'b') USING sum(x). Or use count(*) FILTER " +
				"(WHERE …) with GROUP BY.")
	case word == "SET" || word == "RESET" || word == "PRAGMA" || word == "USE":
		return source.Refusef("%s is not allowed: settings are fixed.", word)
	case word != "" && len(word) <= 20:
		return source.Refusef(
			"%s is not allowed: the database is read-only. Use SELECT, WITH, FROM, VALUES, DESCRIBE, SUMMARIZE, SHOW "+
				"TABLES or EXPLAIN.", word)
	default:
		return source.Refusef("Only SELECT statements are allowed: the database is read-only.")
	}
}

// scope lists the common table expressions visible at a node; nil means none.
type scope struct {
	outer *scope
	name  string // as returned by source.Lower
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return true
		}
	}
	return false
}

// classes lists the kinds of expressions.
var classes = wordlist.Set(`CONSTANT COLUMN_REF FUNCTION WINDOW OPERATOR COMPARISON CONJUNCTION CASE CAST BETWEEN
	SUBQUERY STAR LAMBDA LAMBDA_REF PARAMETER COLLATE DEFAULT POSITIONAL_REFERENCE`)

// kinds lists the kinds of nodes that are not expressions and need no check beyond that of their contents.
var kinds = wordlist.Set(`SELECT_NODE SET_OPERATION_NODE RECURSIVE_CTE_NODE CTE_NODE JOIN SUBQUERY EMPTY EMPTY_FROM
	EXPRESSION_LIST PIVOT ORDER_MODIFIER LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER DISTINCT_MODIFIER ORDER_DEFAULT
	ASCENDING DESCENDING`)

// walk visits every node, that is every map and list, under whatever key.
func (g *gate) walk(v any, s *scope) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := g.walk(e, s); err != nil {
				return err
			}
		}
	case map[string]any:
		return g.node(v, s)
	}
	return nil
}

func (g *gate) node(m map[string]any, s *scope) error {
	if class, ok := m["class"].(string); ok {
		if !classes[class] {
			return source.Refusef("Expressions of the kind %s are not allowed.", class)
		}
		if class == "FUNCTION" || class == "WINDOW" {
			if err := g.function(m); err != nil {
				return err
			}
		}
		return g.children(m, s)
	}
	kind, ok := m["type"].(string)
	if !ok || strings.HasSuffix(kind, "_TYPE_INFO") {
		return g.children(m, s)
	}
	switch kind {
	case "BASE_TABLE":
		if err := g.read(m, s); err != nil {
			return err
		}
	case "TABLE_FUNCTION":
		return g.tableFunction(m, s)
	case "SHOW_REF":
		if err := g.show(m, s); err != nil {
			return err
		}
	default:
		if !kinds[kind] {
			return source.Refusef("%s is not allowed in a query.", strings.ReplaceAll(kind, "_", " "))
		}
		if strings.HasSuffix(kind, "_NODE") {
			return g.query(m, s)
		}
	}
	return g.children(m, s)
}

func (g *gate) children(m map[string]any, s *scope, except ...string) error {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if slices.Contains(except, key) {
			continue
		}
		if err := g.walk(m[key], s); err != nil {
			return err
		}
	}
	return nil
}

// query visits a query node. A common table expression is visible to those after it and to the query. A recursive
// one is also visible to its recursive part, but not to its initial part, where DuckDB takes the name for a table.
// Names are compared ignoring the case of ASCII letters only.
func (g *gate) query(m map[string]any, s *scope) error {
	var hiddenFrom string // the part that cannot see the name
	switch m["type"] {
	case "RECURSIVE_CTE_NODE":
		hiddenFrom = "left"
	case "CTE_NODE":
		hiddenFrom = "query"
	}
	if hiddenFrom != "" {
		name, ok := m["cte_name"].(string)
		if !ok {
			return errShape
		}
		if err := g.walk(m[hiddenFrom], s); err != nil {
			return err
		}
		s = &scope{outer: s, name: source.Lower(name)}
	}
	if ctes, ok := m["cte_map"].(map[string]any); ok {
		entries, ok := ctes["map"].([]any)
		if !ok {
			return errShape
		}
		for _, e := range entries {
			entry, ok := e.(map[string]any)
			name, named := entry["key"].(string)
			if !ok || !named {
				return errShape
			}
			if err := g.walk(entry["value"], s); err != nil {
				return err
			}
			s = &scope{outer: s, name: source.Lower(name)}
		}
	}
	return g.children(m, s, "cte_map", hiddenFrom)
}

// read checks a name in FROM and records it, unless it names a common table expression.
func (g *gate) read(m map[string]any, s *scope) error {
	if err := g.relation(m, s); err != nil {
		return err
	}
	name, _ := m["table_name"].(string)
	schema, _ := m["schema_name"].(string)
	if g.reads == nil || (schema == "" || strings.EqualFold(schema, "recurring")) && s.has(source.Lower(name)) {
		return nil
	}
	declared := g.catalog.names[source.Lower(name)]
	switch {
	case declared != "" &&
		(schema == "" || strings.EqualFold(schema, "main") || strings.EqualFold(schema, g.catalog.database)):
		name = declared
	case schema != "":
		name = schema + "." + name
	}
	if !slices.Contains(*g.reads, name) {
		*g.reads = append(*g.reads, name)
	}
	return nil
}

// relation checks a name in FROM. DuckDB might open a name that is not in the catalog as a file.
func (g *gate) relation(m map[string]any, s *scope) error {
	name, _ := m["table_name"].(string)
	schema, _ := m["schema_name"].(string)
	database, _ := m["catalog_name"].(string)
	low := source.Lower(name)
	// recurring holds the earlier rows of a recursion with keys
	if (schema == "" || strings.EqualFold(schema, "recurring")) && database == "" && s.has(low) {
		return nil
	}
	switch {
	case g.catalog.filtered:
		if schema == "" && database == "" && g.catalog.relations["."+source.Lower(name)] {
			return nil
		}
		return source.Refusef("There is no table %q. Tables are named without schema or database. %s", name,
			g.catalog.hint())
	case (database == "" || strings.EqualFold(database, g.catalog.database)) && g.catalog.has(schema, name),
		database == "" && strings.EqualFold(schema, g.catalog.database) && g.catalog.has("main", name),
		(database == "" || strings.EqualFold(database, "system")) && systemRelations[strings.ToLower(schema)+"."+low]:
		return nil
	}
	full := name
	if schema != "" {
		full = schema + "." + name
	}
	return source.Refusef("There is no table %q. %s", full, g.catalog.hint())
}

func (c *catalog) has(schema, name string) bool {
	return c.relations[source.Lower(schema)+"."+source.Lower(name)]
}

// hint lists the available tables.
func (c *catalog) hint() string {
	if len(c.names) == 0 {
		return "The database has no tables."
	}
	return "Tables: " + source.Listed(maps.Values(c.names)) + "."
}

// show checks DESCRIBE, SUMMARIZE and SHOW. If it has a query, the walk continues into it.
func (g *gate) show(m map[string]any, s *scope) error {
	if m["query"] != nil {
		return nil
	}
	name, _ := m["table_name"].(string)
	switch strings.ToLower(strings.Trim(name, `"`)) {
	case "tables", "databases", "schemas", "__show_tables_expanded", "alltables":
		if g.catalog.filtered {
			return source.Refusef("SHOW is not allowed here. %s", g.catalog.hint())
		}
		return nil
	}
	schema, _ := m["schema_name"].(string)
	return g.read(map[string]any{
		"table_name":   strings.Trim(name, `"`),
		"schema_name":  schema,
		"catalog_name": m["catalog_name"],
	}, s)
}

// function checks a call by name. Its schema does not matter: the engine's own functions are in the schema main.
func (g *gate) function(m map[string]any) error {
	name, ok := m["function_name"].(string)
	if !ok {
		return errShape
	}
	low := strings.ToLower(name)
	if err := g.qualified(m, low); err != nil {
		return err
	}
	if err, ok := g.catalog.macros[low]; ok {
		return err
	}
	if allowed[low] && !(g.catalog.filtered && strings.HasPrefix(low, "enum_")) { // lists values of hidden rows
		return nil
	}
	return g.unknown(low)
}

func (g *gate) qualified(m map[string]any, name string) error {
	schema, _ := m["schema"].(string)
	database, _ := m["catalog"].(string)
	switch strings.ToLower(schema) {
	case "", "main", "pg_catalog":
	default:
		return source.Refusef("Functions of the schema %q are not allowed.", schema)
	}
	if database != "" && !strings.EqualFold(database, "system") && !strings.EqualFold(database, g.catalog.database) {
		return source.Refusef("Functions of the database %q are not allowed.", database)
	}
	return nil
}

// unknown returns the error for a function that does not exist or may not be called.
func (g *gate) unknown(name string) error {
	if !g.catalog.functions[name] {
		if instead := foreignFunctions[name]; instead != "" {
			return source.Failf("There is no function %s. In DuckDB it is %s.", name, instead)
		}
		if near := spelling.Nearest(name, slices.Sorted(maps.Keys(allowed)), 1); near != nil {
			return source.Failf("There is no function %s. Did you mean %s?", name, near[0])
		}
		return source.Failf("There is no function %s.", name)
	}
	return source.Refusef("The function %s is not allowed: only functions that compute from their arguments are.", name)
}

// foreignFunctions maps functions of other databases to DuckDB's equivalent.
var foreignFunctions = wordlist.Map(foreignFile)

// tableFunction checks a call in FROM.
func (g *gate) tableFunction(m map[string]any, s *scope) error {
	call, ok := m["function"].(map[string]any)
	if !ok || call["class"] != "FUNCTION" {
		return errShape
	}
	name, _ := call["function_name"].(string)
	low := strings.ToLower(name)
	if err := g.qualified(call, low); err != nil {
		return err
	}
	err, own := g.catalog.macros[low]
	switch {
	case own:
		if err != nil {
			return err
		}
	case low == "pragma_table_info":
		if err := g.tableInfo(call); err != nil {
			return err
		}
	case !tableFunctions[low], g.catalog.filtered && strings.HasPrefix(low, "duckdb_"):
		if !g.catalog.functions[low] {
			return source.Failf("There is no table function %s.", low)
		}
		return source.Refusef("The table function %s is not allowed: files and settings cannot be read. %s", low,
			g.catalog.hint())
	}
	if err := g.children(call, s); err != nil {
		return err
	}
	return g.children(m, s, "function")
}

// tableInfo checks that the only argument of pragma_table_info is the name of a relation.
func (g *gate) tableInfo(call map[string]any) error {
	args, _ := call["children"].([]any)
	if len(args) == 1 {
		if arg, ok := args[0].(map[string]any); ok && arg["class"] == "CONSTANT" {
			value, _ := arg["value"].(map[string]any)
			if text, ok := value["value"].(string); ok && g.catalog.named(text) {
				return nil
			}
		}
	}
	return source.Refusef("table_info takes the name of a table. %s", g.catalog.hint())
}

// named reports whether a text, quoted or not, is the name of a relation.
func (c *catalog) named(text string) bool {
	list, err := tokenize(text)
	if err != nil {
		return false
	}
	switch {
	case len(list) == 1:
		return c.has("", list[0].name(text))
	case len(list) == 3 && text[list[1].from:list[1].to] == ".":
		return c.has(list[0].name(text), list[2].name(text))
	}
	return false
}

// withoutSet removes DuckDB's advice to change a setting from a message: SET is refused here.
func withoutSet(message string) string {
	before, _, _ := strings.Cut(message, ` Use "SET `)
	return before
}
