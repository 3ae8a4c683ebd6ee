package footnote

// Cite is the footnote of one numeral of an answer: where it stands in the text
// and what it rests on. Start and End are byte offsets into the UTF-8 text.
//
// Either Column names the cell (Row is 0-based within the result), or Formula
// says how the numeral follows from cells, for example
// "sum(r1.revenue)" or "r1[0].revenue / r1[1].revenue - 1".
type Cite struct {
	Start      int     `json:"start"`
	End        int     `json:"end"`
	Text       string  `json:"text"`
	Result     string  `json:"result,omitempty"` // id of the result, r1
	Row        *int    `json:"row,omitempty"`
	Column     string  `json:"column,omitempty"`
	Formula    string  `json:"formula,omitempty"`
	Value      string  `json:"value,omitempty"` // the exact value of the cell or formula
	Confidence float64 `json:"confidence"`      // 0 to 1
}

// Unresolved is a numeral of an answer that no cell and no formula explains.
type Unresolved struct {
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Text   string `json:"text"`
	Reason string `json:"reason,omitempty"` // why, in words
}
