package protocol

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/footnotehq/footnote"
)

// Data has the methods of Server that read the sources and the stored results of a caller. Each returns NotFound for
// whatever the caller may not use.
type Data interface {
	// Sources lists the sources of the caller.
	Sources(r *http.Request) ([]SourceInfo, error)
	// Schema describes the tables of a source.
	Schema(r *http.Request, source string) (SourceSchema, error)
	// Query runs a caller's own statement, with the same gate, limits and audit as the analyst's.
	Query(r *http.Request, q Query) (QueryResult, error)
	// Result returns at most limit rows of a stored result, from offset on. The id is that of the conversation, a dot,
	// and the name of the result in it, such as r3.
	Result(r *http.Request, id string, offset, limit int) (ResultPage, error)
}

// Query is a statement of a caller's own.
type Query struct {
	Protocol string // its name, for the audit
	Source   string
	SQL      string
	// Conversation is where the statement and its result are stored; empty: see Keep.
	Conversation string
	// Keep opens a conversation for a statement that names none. Client, if not empty, is the client's own name for the
	// conversation: later statements with the same name are added to it. Without Keep, the result is not stored.
	Keep     bool
	Client   string
	Replaces string   // the result (r3) whose statement was edited; empty: none
	Checked  *Checked // what runs if SQL describes a verified query; nil: SQL, which the caller wrote
}

// Checked is the text of a verified query, with the values of its parameters.
type Checked struct {
	SQL      string
	Args     []any
	Verified *footnote.Verified // nil: the caller's question is none of the query's own wordings
}

// QueryResult is the result of a caller's own statement.
type QueryResult struct {
	ID        string            `json:"id,omitempty"` // of the stored result; empty: it is not stored
	Stored    string            `json:"-"`            // its conversation
	Seq       int64             `json:"seq,omitempty"`
	SQL       string            `json:"sql"`
	Columns   []footnote.Column `json:"columns"`
	Rows      []json.RawMessage `json:"rows"`
	RowCount  int               `json:"row_count"`
	Truncated bool              `json:"truncated"`
	Millis    int64             `json:"ms"`
}

// ResultPage is a page of the rows of a stored result.
type ResultPage struct {
	ID        string            `json:"id"`
	Source    string            `json:"source"`
	SQL       string            `json:"sql"`
	Columns   []footnote.Column `json:"columns"`
	RowCount  int               `json:"row_count"`
	Truncated bool              `json:"truncated"`
	// SourceChanged is when the upload that the rows come from was replaced or appended to, after they were read.
	SourceChanged *time.Time        `json:"source_changed,omitempty"`
	Matching      *int              `json:"matching,omitempty"` // rows of the view, of which this is a page
	Offset        int64             `json:"offset"`
	Rows          []json.RawMessage `json:"rows"`
	Numbers       []int             `json:"row_numbers,omitempty"` // of the Rows in the result, from 0
}

// SourceInfo describes a source.
type SourceInfo struct {
	Name     string     `json:"name"`
	Engine   string     `json:"engine"`
	Tables   int        `json:"tables"`
	Rows     *int64     `json:"rows,omitempty"` // of all tables, if known
	OK       bool       `json:"ok"`
	Error    string     `json:"error,omitempty"` // why it cannot be used now
	Uploaded bool       `json:"uploaded"`
	Changed  *time.Time `json:"changed,omitempty"` // when an upload was last replaced or appended to
	// Proof says how well the source is known to be read-only.
	Proof SourceProof `json:"proof"`
}

// SourceProof has the two words of source.Proof.
type SourceProof struct {
	Strength string `json:"strength"`
	TestedOn string `json:"tested_on"`
}

// SourceSchema lists the tables of a source that can be read.
type SourceSchema struct {
	Name          string        `json:"name"`
	Engine        string        `json:"engine"`
	EditorDialect string        `json:"editor_dialect,omitempty"` // dialect that an editor highlights; see source.Dialect
	Tables        []SourceTable `json:"tables"`
}

// SourceTable is a table or view.
type SourceTable struct {
	Name    string         `json:"name"`
	View    bool           `json:"view,omitempty"`
	Rows    *int64         `json:"rows,omitempty"`
	Comment string         `json:"comment,omitempty"`
	Columns []SourceColumn `json:"columns"`
}

// SourceColumn is a column of a table.
type SourceColumn struct {
	Name       string     `json:"name"`
	Type       string     `json:"type"`
	Kind       string     `json:"kind,omitempty"` // as in the columns of a result
	Nullable   bool       `json:"nullable"`
	Key        bool       `json:"key,omitempty"`
	Comment    string     `json:"comment,omitempty"`
	References *Reference `json:"references,omitempty"`
}

// Reference is the column that a foreign key points to.
type Reference struct {
	Table  string `json:"table"`
	Column string `json:"column,omitempty"`
}
