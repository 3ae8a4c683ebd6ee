//go:build cgo && !noduckdb

package duckdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/source"
)

// maxOrigins limits the rows of one table that are named as the origin of a row.
const maxOrigins = 100

// errEnough ends a query whose further rows do not matter.
var errEnough = errors.New("enough rows")

type originsRequest struct {
	SQL string `json:"sql"`
	Row int    `json:"row"`
}

// Call implements child.Caller: "origins" answers Tables.Origins.
func (e *engine) Call(ctx context.Context, method string, params json.RawMessage) (any, error) {
	var q originsRequest
	// With filters, the rows behind a statement would be read past them.
	if err := json.Unmarshal(params, &q); err != nil || method != "origins" || e.guard != nil {
		return nil, fmt.Errorf("call of %s: %w", method, errors.Join(errNoMethod, err))
	}
	return e.origins(ctx, q.SQL, q.Row)
}

var errNoMethod = errors.New("the engine has no such method")

// origins returns where a row of a statement comes from. The rows of the tables are known only for a statement that
// reads tables directly: joined, filtered, grouped and sorted, but without subqueries, window functions or DISTINCT.
func (e *engine) origins(ctx context.Context, sql string, row int) (source.Origins, error) {
	q, err := e.gate.admit(ctx, sql, 0)
	if err != nil {
		return source.Origins{}, err
	}
	var o source.Origins
	list, _ := q.root["select_list"].([]any)
	tables := map[string]string{} // alias → table
	flat := q.root["type"] == "SELECT_NODE" && e.namedTables(q.root["from_table"], tables) && plain(q.root)
	columns, err := e.tableColumns(ctx)
	if err != nil {
		return o, err
	}
	for _, expression := range list {
		o.Columns = append(o.Columns, e.columnOrigin(ctx, expression, tables, columns))
	}
	if !flat {
		return o, nil
	}
	return o, e.rowOrigins(ctx, q.root, tables, row, &o)
}

// namedTables collects the tables of a FROM clause, and reports whether it has nothing else.
func (e *engine) namedTables(from any, tables map[string]string) bool {
	m, _ := from.(map[string]any)
	switch m["type"] {
	case "JOIN":
		return e.namedTables(m["left"], tables) && e.namedTables(m["right"], tables)
	case "BASE_TABLE":
		name, _ := m["table_name"].(string)
		alias, _ := m["alias"].(string)
		declared := e.gate.catalog.names[source.Lower(name)]
		if alias == "" {
			alias = name
		}
		tables[source.Lower(alias)] = declared
		return declared != ""
	}
	return false
}

// plain reports whether each row of a query stands for the rows of its tables that the engine grouped.
func plain(root map[string]any) bool {
	ctes, _ := root["cte_map"].(map[string]any)
	entries, _ := ctes["map"].([]any)
	sets, _ := root["group_sets"].([]any)
	if len(entries) > 0 || len(sets) > 1 || root["qualify"] != nil || root["sample"] != nil {
		return false
	}
	modifiers, _ := root["modifiers"].([]any)
	for _, m := range modifiers {
		if m, ok := m.(map[string]any); ok && m["type"] == "DISTINCT_MODIFIER" {
			return false
		}
	}
	return !slices.ContainsFunc(expressions(root["select_list"]), func(m map[string]any) bool {
		return m["class"] == "WINDOW" || m["class"] == "SUBQUERY"
	})
}

// expressions returns all nodes below v that are expressions.
func expressions(v any) (found []map[string]any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			found = append(found, expressions(e)...)
		}
	case map[string]any:
		if _, ok := v["class"].(string); ok {
			found = append(found, v)
		}
		for _, e := range v {
			found = append(found, expressions(e)...)
		}
	}
	return found
}

// tableColumns returns the columns of each table.
func (e *engine) tableColumns(ctx context.Context) (map[string][]string, error) {
	columns := map[string][]string{}
	return columns, e.each(ctx, "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal",
		func(s []string) error {
			columns[s[0]] = append(columns[s[0]], s[1])
			return nil
		})
}

// columnOrigin returns the formula of a column, and the columns that it reads.
func (e *engine) columnOrigin(ctx context.Context, expression any, tables map[string]string,
	columns map[string][]string) source.ColumnOrigin {
	var o source.ColumnOrigin
	m, _ := expression.(map[string]any)
	if m["class"] == "STAR" {
		o.Formula = "*"
		return o
	}
	o.Formula = e.written(ctx, m)
	for _, ref := range expressions(m) {
		names, _ := ref["column_names"].([]any)
		if ref["class"] != "COLUMN_REF" || len(names) == 0 {
			continue
		}
		column := fmt.Sprint(names[len(names)-1])
		for alias, table := range tables {
			if len(names) > 1 && source.Lower(fmt.Sprint(names[0])) != alias {
				continue
			}
			for _, c := range columns[table] {
				at := source.CellColumn{Table: table, Column: c}
				if source.Lower(c) == source.Lower(column) && !slices.Contains(o.Reads, at) {
					o.Reads = append(o.Reads, at)
				}
			}
		}
	}
	slices.SortFunc(o.Reads, func(a, b source.CellColumn) int {
		return strings.Compare(a.Table+"."+a.Column, b.Table+"."+b.Column)
	})
	return o
}

// written returns an expression as SQL, or "" if the engine cannot write it.
func (e *engine) written(ctx context.Context, expression map[string]any) string {
	alone := make(map[string]any, len(expression))
	for k, v := range expression {
		alone[k] = v
	}
	alone["alias"] = ""
	root := map[string]any{
		"type": "SELECT_NODE", "modifiers": []any{}, "cte_map": map[string]any{"map": []any{}},
		"select_list": []any{alone}, "from_table": map[string]any{"type": "EMPTY", "alias": "", "sample": nil},
		"group_expressions": []any{}, "group_sets": []any{}, "aggregate_handling": "STANDARD_HANDLING",
	}
	text, err := e.sqlOf(ctx, root)
	if err != nil {
		return ""
	}
	return withoutBrackets(strings.TrimPrefix(text, "SELECT "))
}

// withoutBrackets removes a pair of brackets around a whole expression.
func withoutBrackets(text string) string {
	list, err := tokenize(text)
	if err != nil || len(list) < 3 || text[0] != '(' {
		return text
	}
	for _, t := range list[1 : len(list)-1] {
		if t.depth == 0 {
			return text
		}
	}
	return text[1 : len(text)-1]
}

// sqlOf returns a query as SQL.
func (e *engine) sqlOf(ctx context.Context, root map[string]any) (text string, err error) {
	tree, err := json.Marshal(map[string]any{
		"error": false, "statements": []any{map[string]any{"node": root, "named_param_map": []any{}}},
	})
	if err != nil {
		return "", err
	}
	err = e.grammar.QueryRowContext(ctx, "SELECT json_deserialize_sql(CAST(? AS JSON))", string(tree)).Scan(&text)
	return text, err
}

// rowOrigins runs the query with the numbers of the rows that it reads as further columns.
func (e *engine) rowOrigins(ctx context.Context, root map[string]any, tables map[string]string, row int,
	o *source.Origins) error {
	aliases := make([]string, 0, len(tables))
	for alias := range tables {
		aliases = append(aliases, alias)
	}
	slices.Sort(aliases)
	for _, grouped := range []bool{false, true} {
		if !grouped && root["aggregate_handling"] == "FORCE_AGGREGATES" { // GROUP BY ALL would group by the numbers
			continue
		}
		values, err := e.numbered(ctx, root, aliases, grouped, row)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || values == nil {
			continue // the other form may fit the query
		}
		n := len(values) - len(aliases)
		o.Values = values[:n]
		read := map[string][]int{} // by table, which may have several aliases
		for i, alias := range aliases {
			read[tables[alias]] = append(read[tables[alias]], rowNumbers(fmt.Sprint(values[n+i]))...)
		}
		for _, table := range slices.Sorted(maps.Keys(read)) {
			rows := slices.Compact(slices.Sorted(slices.Values(read[table])))
			o.Rows = append(o.Rows, source.RowsOf{
				Table: table, Rows: rows[:min(len(rows), maxOrigins)], Count: len(rows),
			})
		}
		return nil
	}
	return nil
}

// numbered returns a row of the query, with the numbers of the rows that it reads from each table as lists.
func (e *engine) numbered(ctx context.Context, root map[string]any, aliases []string, grouped bool,
	row int) (values []any, err error) {
	with := make(map[string]any, len(root))
	for k, v := range root {
		with[k] = v
	}
	list, _ := root["select_list"].([]any)
	list = slices.Clone(list)
	for _, alias := range aliases {
		function := "list_value"
		if grouped {
			function = "list"
		}
		list = append(list, call("to_json", call(function, map[string]any{
			"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "column_names": []any{alias, "rowid"},
		})))
	}
	with["select_list"] = list
	text, err := e.sqlOf(ctx, with)
	if err != nil {
		return nil, err
	}
	at := 0
	_, err = e.run(ctx, e.data, text, nil, func(r []any) error {
		if at++; at > row {
			values = r
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return values, err
}

// call returns the node of a call of a function.
func call(function string, argument map[string]any) map[string]any {
	return map[string]any{
		"class": "FUNCTION", "type": "FUNCTION", "alias": "", "function_name": function, "schema": "", "catalog": "",
		"children": []any{argument}, "filter": nil, "distinct": false, "is_operator": false, "export_state": false,
		"order_bys": map[string]any{"type": "ORDER_MODIFIER", "orders": []any{}},
	}
}

// rowNumbers reads a JSON list of row numbers. An outer join leaves nulls in it.
func rowNumbers(list string) (rows []int) {
	var all []*int
	_ = json.Unmarshal([]byte(list), &all) // written by the engine
	for _, n := range all {
		if n != nil {
			rows = append(rows, *n)
		}
	}
	return rows
}
