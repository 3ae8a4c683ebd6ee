package sqlite

import (
	"fmt"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"
)

// This file decides what a statement may do while SQLite compiles it: SQLite calls the authorizer for every action,
// table, column and function, wherever in the statement it occurs. Anything not listed here is refused.

// functions lists the callable functions. Left out on purpose: load_extension, fts3_tokenizer, sqlite_log,
// sqlite_offset, sqlite_compileoption_*, changes and last_insert_rowid (state of the connection), rtreecheck and
// fts5_* internals.
var functions = set(`
	abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat concat_ws cos cosh count cume_dist
	current_date current_time current_timestamp date datetime degrees dense_rank exp first_value floor format glob
	group_concat hex if ifnull iif instr julianday lag last_value lead length like likelihood likely ln log log10 log2
	lower ltrim max median min mod nth_value ntile nullif octet_length percent_rank percentile percentile_cont
	percentile_disc pi pow power printf quote radians random rank regexp replace round row_number rtrim sign sin sinh
	soundex sqlite_version sqrt strftime string_agg substr substring subtype sum tan tanh time timediff total trim trunc
	typeof unhex unicode unistr unistr_quote unixepoch unlikely upper zeroblob randomblob
	-> ->> json json_array json_array_insert json_array_length json_error_position json_extract json_group_array
	json_group_object json_insert json_object json_patch json_pretty json_quote json_remove json_replace json_set
	json_type json_valid jsonb jsonb_array jsonb_array_insert jsonb_extract jsonb_group_array jsonb_group_object
	jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set
	match bm25 highlight snippet
	geopoly_area geopoly_bbox geopoly_contains_point geopoly_json geopoly_overlap geopoly_regular geopoly_svg
	geopoly_within geopoly_xform geopoly_blob geopoly_ccw geopoly_group_bbox`)

// pragmas lists the pragmas that describe tables; none takes a value that changes anything. FTS5 reads
// data_version.
var pragmas = set(`table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list data_version`)

// readableModules lists the virtual table modules that may be read under their own name, in addition to tables
// created with them. The json_* modules, and the pragma_* ones for the list above, are registered only when first
// used.
var readableModules = set(`json_each json_tree jsonb_each jsonb_tree fts5 rtree rtree_i32 geopoly`)

// systemTables lists the readable sqlite_* tables.
var systemTables = set(`sqlite_schema sqlite_master sqlite_sequence sqlite_stat1 sqlite_stat4`)

// statements maps actions that are statements of their own to the name used when they are refused.
var statements = map[int32]string{
	sqlite3.SQLITE_ATTACH:        "ATTACH",
	sqlite3.SQLITE_DETACH:        "DETACH",
	sqlite3.SQLITE_ALTER_TABLE:   "ALTER TABLE",
	sqlite3.SQLITE_ANALYZE:       "ANALYZE",
	sqlite3.SQLITE_REINDEX:       "REINDEX",
	sqlite3.SQLITE_SAVEPOINT:     "SAVEPOINT",
	sqlite3.SQLITE_TRANSACTION:   "A transaction statement",
	sqlite3.SQLITE_INSERT:        "INSERT",
	sqlite3.SQLITE_UPDATE:        "UPDATE",
	sqlite3.SQLITE_DELETE:        "DELETE",
	sqlite3.SQLITE_CREATE_INDEX:  "CREATE INDEX",
	sqlite3.SQLITE_CREATE_TABLE:  "CREATE TABLE",
	sqlite3.SQLITE_CREATE_VIEW:   "CREATE VIEW",
	sqlite3.SQLITE_CREATE_VTABLE: "CREATE VIRTUAL TABLE",
	sqlite3.SQLITE_DROP_TABLE:    "DROP TABLE",
	sqlite3.SQLITE_DROP_VIEW:     "DROP VIEW",
	sqlite3.SQLITE_DROP_INDEX:    "DROP INDEX",
	sqlite3.SQLITE_DROP_VTABLE:   "DROP TABLE",
}

// judge returns why an action is refused, or "" if it is allowed.
func (c *conn) judge(action int32, a1, a2, database string) string {
	switch action {
	case sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE:
		return ""
	case sqlite3.SQLITE_FUNCTION:
		if functions[strings.ToLower(a2)] {
			return ""
		}
		return fmt.Sprintf("The function %s is not allowed.", a2)
	case sqlite3.SQLITE_PRAGMA:
		if pragmas[strings.ToLower(a1)] {
			return ""
		}
		return fmt.Sprintf("PRAGMA %s is not allowed. Allowed are table_list, table_info, table_xinfo, index_list, "+
			"index_info and foreign_key_list.", a1)
	case sqlite3.SQLITE_READ:
		return c.judgeRead(strings.ToLower(a1), a1, database)
	case sqlite3.SQLITE_CREATE_TEMP_TABLE, sqlite3.SQLITE_CREATE_TEMP_VIEW, sqlite3.SQLITE_CREATE_TEMP_INDEX,
		sqlite3.SQLITE_CREATE_TEMP_TRIGGER, sqlite3.SQLITE_DROP_TEMP_TABLE, sqlite3.SQLITE_DROP_TEMP_VIEW:
		return "Temporary tables and views are not allowed: the database is read-only. Use a common table expression " +
			"(WITH) instead."
	default:
		what, ok := statements[action]
		if !ok {
			what = "This statement"
		}
		return what + " is not allowed: the database is read-only."
	}
}

// judgeRead judges reading a table; name is table in lower case.
func (c *conn) judgeRead(name, table, database string) string {
	pragma, isPragma := strings.CutPrefix(name, "pragma_")
	switch {
	case database != "" && !strings.EqualFold(database, "main"):
		return fmt.Sprintf("Reading from the schema %s is not allowed.", database)
	case isPragma && pragmas[pragma]:
		return ""
	case isPragma, c.modules[name], strings.HasPrefix(name, "sqlite_") && !systemTables[name]:
		return fmt.Sprintf("Reading %s is not allowed.", table)
	default:
		return ""
	}
}

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}
