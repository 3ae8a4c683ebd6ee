// Package tool has what tools are made of: what one says of itself, a call, and what a call gives.
package tool

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// Where a tool runs.
const (
	Server = "server"
	Client = "client" // the browser runs it and posts the result
)

// Families of tools. A page chooses by the family how to show a call, and which calls it can run itself. It shows tools
// of other families, or of none, by their label, input and result.
const (
	Question     = "question"      // asks the user: {question, options?}
	Query        = "query"         // runs a statement: {sql}
	ColumnStats  = "column_stats"  // computes figures of one column: {table, column}
	ColumnValues = "column_values" // counts the values of one column: {table, column}
	Transform    = "transform"     // computes rows from rows: {code, sourceStep}
	Schema       = "schema"        // describes tables
	Search       = "search"        // searches texts
	Chart        = "chart"         // adds a chart to the answer
	FinalText    = "answer"        // gives the answer: FinalAnswer
	FileRead     = "file_read"     // reads a file: {file_path}
	FileWrite    = "file_write"    // writes a file: {file_path, content}
	FileEdit     = "file_edit"     // changes a file: {file_path, old_string, new_string}
	FileList     = "file_list"     // finds files by name: {pattern}
	FileSearch   = "file_search"   // finds text in files: {pattern}
	Command      = "command"       // runs a command: {command}
	Market       = "market"        // reads prices, news, trades or drawings
	Drawing      = "drawing"       // changes a drawing on the user's chart
	ChartView    = "chart_view"    // moves the user's chart: {timestamp}
)

// FinalAnswer is the name of the tool whose input is the answer: {answer, …}. Its
// text is shown as text, and its call ends the run.
const FinalAnswer = "final_answer"

// InvalidInput is the key under which an input that is not valid JSON is kept: {"INVALID_JSON": "…"}.
const InvalidInput = "INVALID_JSON"

// Spec is what is known of a tool without calling it.
type Spec struct {
	Name        string          // ^[a-zA-Z0-9_-]{1,64}$
	Description string          // for the model: three sentences and more
	InputSchema json.RawMessage // JSON Schema of an object
	Side        string          // Server or Client
	Label       string          // what a call does, for people: "Running a query"; empty: pages show the name
	Family      string          // one of the families above, or another word
	Final       bool            // the tool FinalAnswer: a call of it that succeeds ends the run
	ReadOnly    bool            // may run beside others, and again after a crash
	Cacheable   bool            // the same call gives the same result while its source stays the same
	Timeout     time.Duration   // 0: the run's tool timeout
	// Aliases are other names under which calls are accepted but which are not
	// offered; for each, other names of its arguments (alias argument → argument).
	Aliases map[string]map[string]string
}

// Tool is something the model can call.
type Tool interface {
	Spec() Spec
	// Call runs the tool. It returns a failed Output when the model should read
	// the failure and try again (bad SQL, no such table). It returns an error
	// only when the run cannot go on (ctx ended, database unreachable). A client
	// tool's Call is never called. Input has been validated against InputSchema.
	Call(ctx context.Context, call Call) (Output, error)
}

// Checked is a tool of the client's side that has a say here: its calls are looked at
// before any client sees them, and what a client answers takes effect before it is
// stored.
type Checked interface {
	Tool
	// Check returns words for the model when a call must not reach the client. Before are
	// the calls of the same message that were let through. An error ends the run.
	Check(ctx context.Context, call Call, before []Call) (refusal string, err error)
	// Accept takes a client's answer that is no error, and gives the result in its place.
	// It is called before the result is stored, and again when that was lost: it must do
	// for each call once what it does. An error leaves the call open, and is the client's
	// to read.
	Accept(ctx context.Context, call Call, a Answer) (Output, error)
	// Withdraw takes back what Accept did for a call of which the log says an error: an
	// answer that another server took first, or the end of its time, decides. It does
	// nothing for a call for which nothing was done.
	Withdraw(ctx context.Context, call Call) error
}

// Call is one call of a tool.
type Call struct {
	ID           string
	Name         string
	Input        json.RawMessage
	Principal    footnote.Principal
	Conversation string
	Run          string
	Where        json.RawMessage // what the newest message said of where it was asked; see Setting
	Sources      []string        // names of the conversation's sources; the first is the default
	// ResultID is the id under which rows of this call will be stored (r1, r2, …).
	ResultID string
	// Results are the stored results of the conversation so far, oldest first.
	Results []footnote.StoredResult

	// Read are the events of the conversation before the message that made the call.
	Read []footnote.Event
}

// Told is when the newest text was stored, by the store's clock, that the model had read
// before it made the call and that names something: a message, what was said with one, or
// a result. It is zero when nothing names it, and while that has not been stored.
func (c Call) Told(name string) time.Time {
	for _, ev := range slices.Backward(c.Read) {
		switch b := ev.Body.(type) {
		case footnote.UserMessage:
			if names(b.Context, name) || names(b.Text, name) {
				return ev.Time
			}
		case footnote.ToolResult:
			if names(b.Content, name) {
				return ev.Time
			}
		}
	}
	return time.Time{}
}

// names reports whether a text has a name by itself: level-10 is another one than level-1.
func names(text, name string) bool {
	part := func(c byte) bool {
		return c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 || name == "" {
			return false
		}
		begin := at + i
		end := begin + len(name)
		if (begin == 0 || !part(text[begin-1])) && (end == len(text) || !part(text[end])) {
			return true
		}
		at = begin + 1
	}
}

// Output is what a tool gives.
type Output struct {
	Content string // what the model reads
	IsError bool
	Fault   string // of a statement, as in footnote.ToolResult; empty for other failures
	// Rows, with Source and SQL, are kept as a stored result where there are any.
	Rows   *footnote.Result
	Source string
	SQL    string
	// Chart is a checked chart specification, from show_chart.
	Chart json.RawMessage
	// Detail is JSON for a page to show beside the content, such as a diff; the
	// model does not read it. More than 256 KiB of it is dropped.
	Detail   json.RawMessage
	CacheHit bool
	RanAt    time.Time // of a CacheHit: when the statement ran
}

// Fail is a failed Output with words for the model.
func Fail(words string) Output { return Output{Content: words, IsError: true} }

// Answer is the result of a client tool.
type Answer struct {
	CallID string
	// Content is what the model reads. With Rows it may be empty: the model then
	// reads them as it reads those of run_query, cut to the same size.
	Content string
	IsError bool
	// Rows of a query that the client ran, so that footnotes can point at them.
	// They may be fewer than the query gave: all of them, and no others, are stored
	// and may be read by the model.
	Rows *footnote.Result
	// RowCount is how many rows the query gave; less than len(Rows.Rows) counts as
	// that many.
	RowCount int
	SQL      string // of the query; empty: the sql of the call's input
	// Statements lists what the client tried to run for the call and what became of each statement. Only SQL, Outcome
	// and RowCount count. It is nil for a client that does not report them, and empty for one that tried none.
	Statements []footnote.Statement

	// Accepted is what a Checked tool made of it; nil for other tools.
	Accepted *Output
}
