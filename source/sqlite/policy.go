package sqlite

import (
	_ "embed"
	"fmt"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/footnotehq/footnote/internal/wordlist"
)

// This file decides what a statement may do while SQLite compiles it: SQLite calls the authorizer for every action,
// table, column and function, wherever in the statement it occurs. Anything not listed here is refused.

//go:embed functions.txt
var functionsFile string

// functions lists the callable functions.
var functions = wordlist.Set(functionsFile)

// pragmas lists the pragmas that describe tables; none takes a value that changes anything. FTS5 reads
// data_version.
var pragmas = wordlist.Set(`table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list
	data_version`)

// readableModules lists the virtual table modules that may be read under their own name, in addition to tables
// created with them. The json_* modules, and the pragma_* ones for the list above, are registered only when first
// used.
var readableModules = wordlist.Set(`json_each json_tree jsonb_each jsonb_tree fts5 rtree rtree_i32 geopoly`)

// systemTables lists the readable sqlite_* tables.
var systemTables = wordlist.Set(`sqlite_schema sqlite_master sqlite_sequence sqlite_stat1 sqlite_stat4`)

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
