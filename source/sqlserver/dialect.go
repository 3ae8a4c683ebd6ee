package sqlserver

import (
	_ "embed"
	"fmt"

	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/warehouse"
	"github.com/footnotehq/footnote/source/warehouse/grammar"
)

//go:embed functions.txt
var functionFile string

var functions = grammar.Functions(functionFile)

// monday is how many days {x} is after a Monday.
const monday = "(DATEDIFF(day, CAST('1900-01-01' AS date), {x}) % 7)"

// Dialect is the SQL of SQL Server.
var Dialect = source.NewDialect(source.Dialect{
	Name:   "sqlserver",
	Editor: "MSSQL",
	Advice: "T-SQL, such as TOP, DATEADD, DATEDIFF, EOMONTH, ISNULL, IIF, STRING_AGG and OFFSET … FETCH; no USING, " +
		"no FILTER, no QUALIFY, no GROUP BY of positions; AVG and / of integers cut the fraction, and SUM of int " +
		"overflows, so cast first; only SELECT or WITH, without variables, temporary tables or INTO",
	QuoteName:        rules.Quote,
	Text:             "CAST({x} AS nvarchar(4000))",
	Roundable:        "CAST({x} AS decimal(38, 10))",
	Day:              "CAST({x} AS date)",
	Timestamp:        "CAST({x} AS datetime2)",
	FromSeconds:      "DATEADD(second, {x}, CAST('1970-01-01' AS datetime2))",
	FromMilliseconds: "DATEADD(millisecond, {x} % 1000, DATEADD(second, {x} / 1000, CAST('1970-01-01' AS datetime2)))",
	Periods: map[string]source.Expr{
		"year":    "CONVERT(char(4), {x}, 120)",
		"quarter": "CONCAT(DATEPART(year, {x}), '-Q', DATEPART(quarter, {x}))",
		"month":   "CONVERT(char(7), {x}, 120)",
		"week":    "CONVERT(char(10), DATEADD(day, -" + monday + ", CAST({x} AS date)), 120)",
		"day":     "CONVERT(char(10), {x}, 120)",
	},
	Parts: map[string]source.Part{
		"weekday":           {Name: "DATENAME(weekday, {x})", Order: monday},
		"month of the year": {Name: "DATENAME(month, {x})", Order: "DATEPART(month, {x})"},
		"hour":              {Name: "DATEPART(hour, {x})", Order: "DATEPART(hour, {x})"},
	},
	Before: func(day string, n int, unit string) string {
		return fmt.Sprintf("DATEADD(%s, -%d, CAST('%s' AS date))", unit, n, day)
	},
	Elapsed:      "DATEDIFF_BIG(second, {x}, {y}) / 86400.0",
	CalendarDays: "DATEDIFF(day, {x}, {y})",
	Mean:         "AVG(1.0 * ({x}))", // that of integers is one
	Truth:        "{x} = 1",
	StdDev:       "STDEV({x})",
	Position:     "CHARINDEX({y}, {x})",
	Greatest:     "CASE WHEN {x} > {y} THEN {x} ELSE {y} END",
})

// rules are what the gate must know of T-SQL. Its words begin statements without a semicolon between them, and most of
// them may be names, so names are written in brackets, and keywords of other databases are not known.
var rules = &grammar.Dialect{
	NameQuote: '[', StringQuotes: "'",
	Function:       func(name string) bool { return functions[name] },
	TableFunctions: wordlist.Set("openjson string_split generate_series"),
	Transact: &grammar.Transact{
		Unknown: wordlist.Set(`explain materialized prewhere qualify minus lateral final sample using natural semi anti
			any asof array global paste rlike ilike regexp xor div mod struct interval filter ordinality fill
			totals replace exclude rename placing overflow similar match_condition
			:: : => -> ->> == <=> << ~* !~ !~* !`),
		Reserved: wordlist.Set(`backup begin break browse bulk checkpoint close commit continue current_user dbcc
			deallocate declare deny dump exec execute exit function goto if kill load off open opendatasource openquery
			openrowset openxml option print proc procedure raiserror readtext reconfigure restore return revert rollback
			rowcount save schema session_user shutdown system_user textsize throw tran transaction trigger try_parse
			parse updatetext use user waitfor while writetext`),
		Types: wordlist.Set(`bit tinyint smallint int integer bigint decimal dec numeric money smallmoney float real
			double date datetime datetime2 smalldatetime datetimeoffset time char character varchar nchar nvarchar text
			ntext binary varbinary uniqueidentifier xml sql_variant json max`),
		Constants: wordlist.Map(`
			null: NULL
			true: 1
			false: 0
			current_timestamp: CURRENT_TIMESTAMP
			current_date: CAST ( GETDATE ( ) AS date )`),
		PartFunctions: wordlist.Set(`dateadd datediff datediff_big datename datepart datetrunc date_bucket`),
		Renamed: wordlist.Map(`
			length char_length character_length: LEN
			ceil: CEILING
			ln: LOG
			pow: POWER
			now: SYSDATETIME
			ifnull: ISNULL
			substr: SUBSTRING
			stddev stddev_samp: STDEV
			stddev_pop: STDEVP
			variance var_samp: VAR
			var_pop: VARP`),
	},
	Advice: wordlist.Map(`
		using: USING is not known here. Write JOIN … ON.
		filter: FILTER is not known here. Write SUM(CASE WHEN … THEN … END).
		interval: INTERVAL is not known here. Write DATEADD(day, -90, x).
		option: OPTION is not allowed, but for MAXRECURSION and RECOMPILE.
		exec: EXEC is not allowed: a query must not run procedures.
		execute: EXECUTE is not allowed: a query must not run procedures.
		explain: Plans are not available here.
		declare: Variables are not available here. Write the value, or use WITH.`),
}

var kinds = wordlist.Map(`
	tinyint smallint int bigint: integer
	real float: number
	decimal numeric money smallmoney: decimal
	bit: boolean
	date: date
	datetime datetime2 smalldatetime datetimeoffset: timestamp
	time: time
	binary varbinary image timestamp rowversion geometry geography hierarchyid: blob
	json: json`)

func kindOf(typ string) string { return warehouse.KindOf(kinds, typ) }

const (
	// The views leave out those that reach other servers: what happens there is not known.
	tables = `SELECT s.name, o.name, CASE o.type WHEN 'V' THEN 'VIEW' ELSE 'TABLE' END,
		CAST(e.value AS nvarchar(4000)), CASE o.type WHEN 'U' THEN (SELECT CAST(SUM(p.rows) AS varchar(20))
			FROM sys.partitions AS p WHERE p.object_id = o.object_id AND p.index_id IN (0, 1)) END
		FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id
		LEFT JOIN sys.extended_properties AS e ON e.class = 1 AND e.major_id = o.object_id AND e.minor_id = 0
			AND e.name = 'MS_Description'
		WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0
			AND HAS_PERMS_BY_NAME(QUOTENAME(s.name) + '.' + QUOTENAME(o.name), 'OBJECT', 'SELECT') = 1
			AND NOT EXISTS (SELECT 1 FROM sys.sql_modules AS m WHERE m.object_id = o.object_id
				AND (UPPER(m.definition) LIKE '%OPENQUERY%' OR UPPER(m.definition) LIKE '%OPENROWSET%'
					OR UPPER(m.definition) LIKE '%OPENDATASOURCE%'))
			AND NOT EXISTS (SELECT 1 FROM sys.sql_expression_dependencies AS d
				WHERE d.referencing_id = o.object_id AND d.referenced_server_name IS NOT NULL)
		ORDER BY 1, 2`
	columnsOf = `SELECT s.name, o.name, c.name, CASE
		WHEN t.name IN ('decimal', 'numeric') THEN CONCAT(t.name, '(', c.precision, ', ', c.scale, ')')
		WHEN t.name IN ('varchar', 'char', 'varbinary', 'binary') AND c.max_length > 0
			THEN CONCAT(t.name, '(', c.max_length, ')')
		WHEN t.name IN ('nvarchar', 'nchar') AND c.max_length > 0 THEN CONCAT(t.name, '(', c.max_length / 2, ')')
		WHEN t.name IN ('varchar', 'nvarchar', 'varbinary') THEN CONCAT(t.name, '(max)') ELSE t.name END,
		CASE c.is_nullable WHEN 0 THEN 'NO' ELSE 'YES' END, CAST(e.value AS nvarchar(4000))
		FROM sys.columns AS c JOIN sys.objects AS o ON o.object_id = c.object_id
		JOIN sys.schemas AS s ON s.schema_id = o.schema_id
		JOIN sys.types AS t ON t.user_type_id = CASE WHEN c.system_type_id = 240 THEN c.user_type_id
			ELSE c.system_type_id END
		LEFT JOIN sys.extended_properties AS e ON e.class = 1 AND e.major_id = c.object_id AND e.minor_id = c.column_id
			AND e.name = 'MS_Description'
		WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0 ORDER BY s.name, o.name, c.column_id`
	keys = `SELECT k.s, k.o, k.name, k.kind, k.c, k.rs, k.ro, k.rc FROM (
		SELECT s.name, o.name, i.name, 'PRIMARY', c.name, N'', N'', N'', x.key_ordinal FROM sys.indexes AS i
		JOIN sys.index_columns AS x ON x.object_id = i.object_id AND x.index_id = i.index_id AND x.key_ordinal > 0
		JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
		JOIN sys.objects AS o ON o.object_id = i.object_id JOIN sys.schemas AS s ON s.schema_id = o.schema_id
		WHERE i.is_primary_key = 1
		UNION ALL SELECT s.name, o.name, f.name, 'FOREIGN', c.name, rs.name, ro.name, rc.name, x.constraint_column_id
		FROM sys.foreign_keys AS f JOIN sys.foreign_key_columns AS x ON x.constraint_object_id = f.object_id
		JOIN sys.columns AS c ON c.object_id = x.parent_object_id AND c.column_id = x.parent_column_id
		JOIN sys.columns AS rc ON rc.object_id = x.referenced_object_id AND rc.column_id = x.referenced_column_id
		JOIN sys.objects AS o ON o.object_id = f.parent_object_id JOIN sys.schemas AS s ON s.schema_id = o.schema_id
		JOIN sys.objects AS ro ON ro.object_id = f.referenced_object_id
		JOIN sys.schemas AS rs ON rs.schema_id = ro.schema_id
		) AS k (s, o, name, kind, c, rs, ro, rc, n) ORDER BY k.s, k.o, k.name, k.n`
	// A table function may be called without its schema, a scalar one may not.
	routines = `SELECT DISTINCT name FROM sys.objects WHERE type IN ('IF', 'TF', 'FT', 'SN')`
	// rights lists what a login may do beyond reading: by roles, by its rights to the server, the database and its
	// parts, by owning something, and by what it may do to any table. The server's collation may be another one than
	// the database's.
	rights = `SELECT CONCAT('the server role ', r.name) COLLATE DATABASE_DEFAULT FROM (VALUES ('sysadmin'),
			('serveradmin'), ('securityadmin'), ('processadmin'), ('setupadmin'), ('bulkadmin'), ('diskadmin'),
			('dbcreator')) AS r (name)
		WHERE IS_SRVROLEMEMBER(r.name) = 1
		UNION ALL SELECT CONCAT('the role ', r.name) COLLATE DATABASE_DEFAULT FROM (VALUES ('db_owner'),
			('db_accessadmin'), ('db_securityadmin'), ('db_ddladmin'), ('db_backupoperator'),
			('db_datawriter')) AS r (name)
		WHERE IS_ROLEMEMBER(r.name) = 1
		UNION ALL SELECT CONCAT('the right ', permission_name, ' on the ', LOWER(entity_name))
			COLLATE DATABASE_DEFAULT
		FROM (SELECT permission_name, entity_name FROM fn_my_permissions(NULL, 'SERVER')
			UNION SELECT permission_name, entity_name FROM fn_my_permissions(NULL, 'DATABASE')) AS p
		WHERE permission_name NOT IN ('CONNECT', 'CONNECT SQL', 'SELECT', 'SHOWPLAN', 'REFERENCES', 'UNMASK',
			'CONNECT ANY DATABASE', 'SELECT ALL USER SECURABLES') AND permission_name NOT LIKE 'VIEW %'
		UNION ALL SELECT CONCAT('the right ', p.permission_name, ' on a part of the database')
			COLLATE DATABASE_DEFAULT
		FROM sys.database_permissions AS p JOIN sys.database_principals AS g
			ON g.principal_id = p.grantee_principal_id
		WHERE p.state IN ('G', 'W') AND p.class > 0 AND p.major_id > 0
			AND (g.principal_id = DATABASE_PRINCIPAL_ID() OR g.name = 'public' OR IS_ROLEMEMBER(g.name) = 1)
			AND p.permission_name NOT IN ('SELECT', 'REFERENCES') AND p.permission_name NOT LIKE 'VIEW %'
		UNION ALL SELECT CONCAT('the schema ', name) COLLATE DATABASE_DEFAULT FROM sys.schemas
		WHERE principal_id = DATABASE_PRINCIPAL_ID()
		UNION ALL SELECT TOP 20 CONCAT('the right to change ', s.name, '.', o.name) COLLATE DATABASE_DEFAULT
		FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id
		WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0 AND EXISTS (SELECT 1 FROM (VALUES ('INSERT'), ('UPDATE'),
			('DELETE'), ('ALTER'), ('CONTROL'), ('TAKE OWNERSHIP')) AS r (name) WHERE HAS_PERMS_BY_NAME(
			QUOTENAME(s.name) + '.' + QUOTENAME(o.name), 'OBJECT', r.name) = 1)`
)

// describe describes a database whose tables of one schema are named without it.
func describe(database, schema string) warehouse.Database {
	return warehouse.Database{
		Dialect: Dialect, Grammar: rules, Fold: true, Catalog: database, Home: schema, Kind: kindOf,
		Path:     func(schema, table string) string { return rules.Quote(schema) + "." + rules.Quote(table) },
		Tables:   func() string { return tables },
		Columns:  func() string { return columnsOf },
		Keys:     func() string { return keys },
		Routines: func() string { return routines },
		Writes:   []string{"DELETE FROM {table} WHERE 1 = 0"},
	}
}
