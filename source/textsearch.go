package source

// TextSearch describes how an engine finds words in texts. The zero value is for engines that have only LIKE.
//
// Its expressions have these operands: {language} is the configured language, {text} a text, {document} a row in the
// form in which it is searched, and {query} the words to find, in the form in which they are searched for.
type TextSearch struct {
	// Index is the kind of index that an operator may name for a table, and IndexType its type in the engine's words.
	Index     SearchIndex
	IndexType string
	// Join is the condition that {entry}, of an IndexTable, belongs to {row}, of the table it indexes. JoinFault
	// completes the error about a table's rows if the engine rejects the condition: "have no …".
	Join      Expr
	JoinFault string

	// Language is the language of words if none is configured. Empty means that none can be configured.
	Language string
	// Document makes {document} of {text} where there is no index. Without it, tables without an index are searched
	// by LIKE.
	Document Expr
	// Query converts {text}, a person's words or the result of Syntax, to {query}.
	Query Expr
	// Syntax returns a query in the engine's own syntax. A row matches if it matches one of the alternatives. Nil
	// means that Query understands what people type.
	Syntax  func(alternatives []Terms) string
	Match   Expr // the condition that {document} matches {query}
	Score   Expr // how well it matches; higher is better
	Order   Expr // puts the best rows first; default: the highest score
	Snippet Expr // the part of {text} or {document} around the words of {query}
	// SharedScore says that a row's score depends on all rows in the index, even rows that the caller may not read.
	SharedScore bool

	// Indexed and Scanned describe a search with and without an index; the default of Scanned describes LIKE.
	Indexed, Scanned SearchMethod
	// AccentHint tells the operator why accents might matter in a language. It may try statements.
	AccentHint func(works func(sql string) bool) string
}

// SearchMethod describes how a table is searched: a remark for the operator, and advice for the model on the forms of a
// word that are found. {index} is the name of the index, and {accents} a remark on whether accents matter in the
// language.
type SearchMethod struct{ Remark, Advice Expr }

// SearchIndex is a kind of index for TextSearch.
type SearchIndex int

// The kinds of indexes.
const (
	NoIndex     SearchIndex = iota
	IndexColumn             // a column of the table, which is its {document}
	IndexTable              // a table of its own, in which the column of its own name is {document}
)

// Terms lists the words that a row must contain, and those that it must not.
type Terms struct{ All, Not []Term }

// Term is a word or a phrase.
type Term struct {
	Plain string // its letters and digits, with one space for each run of others
	Whole string // with the signs inside it, as in AB-12
}
