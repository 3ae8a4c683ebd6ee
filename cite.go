package footnote

// Cite is the footnote of one number in an answer: its position in the text and the data that supports it. Start and
// End are byte offsets into the UTF-8 text.
//
// Either Column names the cell (Row is 0-based within the result), or Formula derives the number
// from cells, for example "sum(r1.revenue)" or "r1[0].revenue / r1[1].revenue - 1".
type Cite struct {
	Start      int     `json:"start"`
	End        int     `json:"end"`
	Text       string  `json:"text"`
	Result     string  `json:"result,omitempty"` // id of the result, such as r1
	Row        *int    `json:"row,omitempty"`
	Column     string  `json:"column,omitempty"`
	Formula    string  `json:"formula,omitempty"`
	Value      string  `json:"value,omitempty"`  // the exact value of the cell or formula
	Confidence float64 `json:"confidence"`       // 0 to 1
	Marked     bool    `json:"marked,omitempty"` // the model named the cell or formula, and it was verified
}

// Table is a result of the conversation with its rows, in which the evidence for an answer is looked for.
type Table struct {
	ID       string // r1, r2, …
	SQL      string
	Result   Result
	RowCount int // all rows of the query; Result may hold fewer
}

// Unresolved is a number in an answer that no cell or formula explains.
type Unresolved struct {
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Text   string `json:"text"`
	Reason string `json:"reason,omitempty"` // why, as text for a person
}
