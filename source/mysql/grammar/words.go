package grammar

import "github.com/footnotehq/footnote/internal/wordlist"

// reserved are the words that are names only in backticks, because they have a meaning of their own where a name may
// be. Servers reserve more; in backticks, in which every name is written, those are names, too.
var reserved = wordlist.Set(`
	all and as asc between binary by case collate cross desc distinct div else except exists explain false fetch for
	force from group having ignore in inner insert intersect interval into is join lateral left like limit lock mod
	natural not null on or order outer over partition procedure range regexp right rlike rows select separator
	straight_join table then true union use using values when where window with within xor
	alter analyze call create delete drop grant kill load rename replace revoke set show update
	current_date current_time current_timestamp current_user current_role localtime localtimestamp utc_date utc_time
	utc_timestamp`)

// notAlias are further words that do not name a table or column when AS is left out.
var notAlias = wordlist.Set("offset full end window returning qualify limit go begin commit rollback")

// advices are refusals for words with which statements go wrong.
var advices = map[string]string{
	"into":      "INTO is not allowed: a query must not write to files or variables.",
	"for":       "FOR UPDATE, FOR SHARE and NEXT VALUE FOR are not allowed: a query must not lock or change anything.",
	"lock":      "LOCK IN SHARE MODE is not allowed: a query must not lock rows.",
	"procedure": "PROCEDURE is not allowed.",
	"full":      "MySQL and MariaDB have no FULL JOIN. Use LEFT JOIN, UNION ALL and RIGHT JOIN … WHERE … IS NULL.",
	"qualify":   "There is no QUALIFY. Filter on the window function in an outer query.",
	"filter":    "Aggregates have no FILTER here. Use CASE inside the aggregate.",
	"set":       "SET is not allowed: settings of the connection are fixed.",
	"ilike":     "There is no ILIKE. LIKE ignores case in most collations.",
	"analyze":   "ANALYZE is not allowed. Use EXPLAIN.",
}

// units are the units of INTERVAL, EXTRACT and TIMESTAMPDIFF.
var units = wordlist.Set(`microsecond second minute hour day week month quarter year second_microsecond
	minute_microsecond minute_second hour_microsecond hour_second hour_minute day_microsecond day_second day_minute
	day_hour year_month sql_tsi_second sql_tsi_minute sql_tsi_hour sql_tsi_day sql_tsi_week sql_tsi_month
	sql_tsi_quarter sql_tsi_year`)
