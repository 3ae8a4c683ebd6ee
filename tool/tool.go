// Package tool defines the Tool interface: a tool describes itself with a Spec, and a Call of it returns an Output.
package tool

import (
	"context"
	"encoding/json"
	"fmt"
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

// Families of tools. The family tells a page how to show a call and whether the page can run the call itself. For any
// other family, the page shows the tool's label, the input and the result.
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

// FinalAnswer names the tool whose input is the answer: {answer, …}. Pages show the answer as text, and the call ends
// the run.
const FinalAnswer = "final_answer"

// InvalidInput wraps the text of an input that is not valid JSON: {"INVALID_JSON": "…"}.
const InvalidInput = "INVALID_JSON"

// Spec describes a tool to models and pages.
type Spec struct {
	Name        string          // ^[a-zA-Z0-9_-]{1,64}$
	Description string          // for the model: at least three sentences
	InputSchema json.RawMessage // JSON Schema of an object
	Side        string          // Server or Client
	Label       string          // what a call does, for people: "Running a query"; empty: pages show the name
	Family      string          // one of the families above, or another word
	Final       bool            // the tool FinalAnswer: a call of it that succeeds ends the run
	ReadOnly    bool            // calls may run in parallel, and again after a crash
	Cacheable   bool            // a statement gives the same rows while its source's data stay the same
	// Outside means that the effect of a call leaves the conversation's own documents and workspace: it sends,
	// publishes or writes elsewhere. Once a conversation has read text from outside, each such call needs approval.
	Outside bool
	// Pinned means that the description and schema come from outside and may change at any time: calls are refused in
	// conversations that began with others.
	Pinned  bool
	Timeout time.Duration // 0: the run's tool timeout
	// Aliases lists other names that calls may use, although models are not offered them. Each maps its own names of
	// arguments to those in InputSchema.
	Aliases map[string]map[string]string
}

// Tool can be called by the model.
type Tool interface {
	Spec() Spec
	// Call runs the tool. The input has been validated against InputSchema. Call returns a failed Output when the model
	// should read the failure and try again (bad SQL, no such table), and an error only when the run cannot continue
	// (ctx ended, database unreachable). Call is never called for a client tool.
	Call(ctx context.Context, call Call) (Output, error)
}

// OnPage returns a client tool that the user's page runs.
func OnPage(s Spec) Tool {
	s.Side = Client
	return onPage{s}
}

type onPage struct{ spec Spec }

func (t onPage) Spec() Spec { return t.spec }

// Call is never called, because the page answers.
func (t onPage) Call(context.Context, Call) (Output, error) {
	return Fail(t.spec.Name + " runs in the user's page."), nil
}

// Checked extends a client tool by code that runs on the server: it checks calls before a client sees them, and applies
// a client's answer before the answer is stored.
type Checked interface {
	Tool
	// Check returns a refusal for the model if the call must not reach the client. before lists the calls of the same
	// message that passed. An error ends the run.
	Check(ctx context.Context, call Call, before []Call) (refusal string, err error)
	// Accept applies a client's successful answer and returns the output to store. It may be called again if the
	// server stopped before storing the output, so it must apply each call only once. An error goes to the client and
	// leaves the call open.
	Accept(ctx context.Context, call Call, a Answer) (Output, error)
	// Withdraw undoes Accept for a call whose stored result is an error, because the call timed out or another server
	// stored an answer first. Withdraw does nothing if Accept changed nothing.
	Withdraw(ctx context.Context, call Call) error
}

// Call holds one call of a tool.
type Call struct {
	ID, Name          string
	Input             json.RawMessage
	Principal         footnote.Principal
	Conversation, Run string
	Where             json.RawMessage // the setting of the newest message, such as its chart; see Setting
	Sources           []string        // names of the conversation's sources; the first is the default
	// ResultID is the id under which rows of this call will be stored (r1, r2, …).
	ResultID string
	// Results lists the stored results of the conversation so far, oldest first.
	Results []footnote.StoredResult
	// Rows reads all stored rows of one of the Results. It is nil for checks of client tools.
	Rows func(ctx context.Context, r footnote.StoredResult) ([][]any, error)
	// Read lists the events of the conversation before the message that made the call.
	Read []footnote.Event
}

// LastMentioned returns the time, by the store's clock, of the newest stored text that mentions name and that the model
// had read before it made the call: a message, its context, or a result. It returns zero if there is none.
func (c Call) LastMentioned(name string) time.Time {
	for _, ev := range slices.Backward(c.Read) {
		switch b := ev.Body.(type) {
		case footnote.UserMessage:
			if mentions(b.Context, name) || mentions(b.Text, name) {
				return ev.Time
			}
		case footnote.ToolResult:
			if mentions(b.Content, name) {
				return ev.Time
			}
		}
	}
	return time.Time{}
}

// mentions reports whether text contains name as a whole word: "level-10" does not mention "level-1".
func mentions(text, name string) bool {
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

// Output holds the result of a call.
type Output struct {
	Content string // what the model reads
	IsError bool
	Fault   string // kind of a failed statement, as in footnote.ToolResult; empty for other failures
	// Rows, unless nil, become a stored result with their Source and SQL.
	Rows        *footnote.Result
	Source, SQL string
	Parents     []string // ids of the stored results that Rows were calculated from, instead of a Source
	// Verified is set if Rows come from the very text of a verified query, run for a question that it answers.
	Verified *footnote.Verified
	// Chart is a checked chart specification of show_chart.
	Chart json.RawMessage
	// Detail is JSON that a page shows beside the content, such as a diff. The model does not read it. Detail of more
	// than 256 KiB is dropped.
	Detail   json.RawMessage
	CacheHit bool
	RanAt    time.Time // when the statement of a CacheHit ran
}

// Fail returns a failed Output with a text for the model.
func Fail(text string) Output { return Output{Content: text, IsError: true} }

// Refusal is an error that the model should read and can repair. Its text is written in full sentences.
type Refusal struct {
	Text  string
	Fault string // as in Output
}

func (r *Refusal) Error() string { return r.Text }

// Output returns the refusal as a failed Output.
func (r *Refusal) Output() Output { return Output{Content: r.Text, IsError: true, Fault: r.Fault} }

// Refusef returns a Refusal whose text is valid UTF-8.
func Refusef(format string, args ...any) error {
	return &Refusal{Text: strings.ToValidUTF8(fmt.Sprintf(format, args...), "�")}
}

// Answer holds a client's answer to a call of a client tool.
type Answer struct {
	CallID string
	// Content is the text for the model. If it is empty, the model reads the Rows instead, as many as of a query.
	Content string
	IsError bool
	// Rows holds rows of a query that the client ran, so that footnotes can point at them. They are all stored, and the
	// model may read them. The client may send fewer rows than the query returned.
	Rows *footnote.Result
	// RowCount is the number of rows that the query returned. It counts as at least len(Rows.Rows).
	RowCount int
	SQL      string // statement of the query; empty: the field sql of the call's input
	// Statements lists the statements that the client tried to run for the call, with the SQL, Outcome and RowCount of
	// each. It is nil if the client does not report statements, and empty if it tried none.
	Statements []footnote.Statement

	// Accepted is the output of a Checked tool for the answer; nil for other tools.
	Accepted *Output
}
