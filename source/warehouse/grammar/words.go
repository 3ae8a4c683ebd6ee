package grammar

import "github.com/footnotehq/footnote/internal/wordlist"

// reserved are the words that are names only in quotes, because they have a meaning of their own where a name may be.
var reserved = wordlist.Set(`
	all and as asc between by case collate cross desc distinct else end except exists fetch for from group having ilike
	in intersect into is join like limit natural not on or order over qualify regexp rlike select similar then union
	using when where window with within
	alter analyze call copy create delete drop execute grant insert kill merge revoke set show truncate update`)

// notAlias are further words that do not name a table or column when AS is left out.
var notAlias = wordlist.Set(`
	any anti array asof cluster connect distribute div escape exclude final format full global ignore inner lateral left
	limit match_condition match_recognize minus mod offset outer paste pivot placing prewhere replace respect right rows
	sample semi settings sort start tablesample top unpivot values xor`)

// joinWords are the words that may come before JOIN.
var joinWords = wordlist.Set("all anti any array asof cross full global inner left natural outer paste right semi")

var setOperators = wordlist.Set("union except intersect minus")

// typedLiterals are the types that may come before a string.
var typedLiterals = wordlist.Set(`date time timestamp timestamp_ntz timestamp_ltz timestamptz datetime decimal numeric
	bignumeric json double bigint`)

// units are the units of INTERVAL.
var units = wordlist.Set(`microsecond microseconds millisecond milliseconds second seconds minute minutes hour hours day
	days week weeks month months quarter quarters year years`)

// advices are refusals for words with which statements go wrong.
var advices = map[string]string{
	"into":     "INTO is not allowed: a query must not write.",
	"for":      "FOR is not allowed here: a query must not lock anything or read the past.",
	"settings": "SETTINGS is not allowed: the settings of a query are fixed.",
	"format":   "FORMAT is not allowed: the format of rows is fixed.",
	"describe": "DESCRIBE is not needed: the tables and columns are described already.",
	"show":     "SHOW is not needed: the tables and columns are described already.",
	"desc":     "DESCRIBE is not needed: the tables and columns are described already.",
	"call":     "CALL is not allowed: a query must not run procedures.",
}
