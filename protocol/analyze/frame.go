package analyze

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/sse"
)

type sessionFrame struct {
	Type      string `json:"type"`
	SessionID string `json:"sessionId"`
}

type thinkingFrame struct {
	Type    string `json:"type"`
	Content string `json:"content"`
}

func thinking(text string) thinkingFrame {
	return thinkingFrame{"thinking", strings.ToValidUTF8(text, "\uFFFD")}
}

type toolFrame struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	Side  string          `json:"side"`           // "client": the page runs it and posts its result
	Step  *int            `json:"step,omitempty"` // index, from 0, among the question's calls that return data
}

type errorFrame struct {
	Type    string        `json:"type"`
	Code    footnote.Code `json:"code"`
	Message string        `json:"message"`
}

func failureOf(err error) errorFrame {
	return errorFrame{"error", footnote.CodeOf(err), footnote.MessageOf(err)}
}

type doneFrame struct {
	Type    string `json:"type"`
	Stopped string `json:"stopped,omitempty"` // by whom, if there is no answer
}

type answerFrame struct {
	Type   string  `json:"type"`
	Result *Answer `json:"result"`
}

// Answer is the analysis at the end of a stream. Columns and Rows are those of the charted result, limited to
// the rows that the page sent to the server. ToolCallID is the call that returned it, so that the page can
// show all of its rows instead.
type Answer struct {
	Answer     string                `json:"answer"`
	ChartType  string                `json:"chartType"`
	XAxis      string                `json:"xAxis,omitempty"`
	YAxis      string                `json:"yAxis,omitempty"`
	Columns    []footnote.Column     `json:"columns"`
	Rows       json.RawMessage       `json:"rows"`
	RowCount   int                   `json:"rowCount"`
	ToolCallID string                `json:"toolCallId,omitempty"`
	SQL        []string              `json:"sql"`
	Footnotes  []footnote.Cite       `json:"footnotes"` // Start and End count UTF-16 units
	Unresolved []footnote.Unresolved `json:"unresolved,omitempty"`
	// Verified lists the results behind the answer that verified queries returned.
	Verified []footnote.VerifiedResult `json:"verified,omitempty"`
}

// answer returns the analysis of a finished run.
func (e *Encoder) answer(b footnote.Answered) *Answer {
	a := &Answer{
		Answer: b.Text, ChartType: "table", Columns: []footnote.Column{}, Rows: json.RawMessage("[]"), SQL: []string{},
	}
	a.Footnotes, a.Unresolved = protocol.UTF16(b)
	a.Verified = b.Verified
	for _, r := range e.results {
		if r.SQL != "" {
			a.SQL = append(a.SQL, r.SQL)
		}
	}
	if len(e.results) == 0 {
		return a
	}
	r := e.chartedResult(a)
	a.Columns, a.RowCount, a.ToolCallID = r.Columns, r.RowCount, r.call
	if e.opt.Rows == nil {
		return a
	}
	if rows, err := e.opt.Rows(r.StoredResult); err == nil && len(rows) > 0 {
		a.Rows = rows
	}
	return a
}

// chartedResult returns the result that the answer shows. A validated chart names its result; the axes of a final
// answer count only if the result has such columns.
func (e *Encoder) chartedResult(a *Answer) shown {
	newest := e.results[len(e.results)-1]
	if e.spec == nil {
		return newest
	}
	for _, r := range slices.Backward(e.results) {
		if r.ID != e.spec.Result {
			continue
		}
		if a.ChartType = e.spec.Type; a.ChartType != "table" {
			a.XAxis = e.spec.X
			if len(e.spec.Y) > 0 {
				a.YAxis = e.spec.Y[0]
			}
		}
		return r
	}
	return newest
}

// frame appends one frame. An empty id is left out.
func frame(dst []byte, id string, v any) []byte {
	data, err := strictjson.Encode(v)
	if err != nil {
		return dst // a tool input that is not JSON; it never becomes an event
	}
	return sse.AppendEvent(dst, "", id, data)
}
