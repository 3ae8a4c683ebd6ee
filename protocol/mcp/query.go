package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/protocol"
)

type queryArgs struct {
	SQL          string `json:"sql" jsonschema:"One read-only statement in the dialect of the source."`
	Source       string `json:"source,omitempty" jsonschema:"Needed if there are several."`
	Conversation string `json:"conversation,omitempty" jsonschema:"Conversation to add the result to."`
	Limit        int    `json:"limit,omitempty" jsonschema:"Rows to return: 1 to 1000; default 100."`
}

// Bounds of the rows that a call returns, which a model reads.
const (
	defaultRows = 100
	maxRows     = 1000
	maxBytes    = 100_000
)

// query runs a statement of the client's.
func (p *Protocol) query(in invocation, args queryArgs) (*sdk.CallToolResult, error) {
	name, err := p.source(in, args.Source)
	if err != nil {
		return nil, err
	}
	return p.rows(in, protocol.Query{Source: name, SQL: args.SQL}, args.Conversation, args.Limit)
}

// rows runs a statement and stores it with its result: in the conversation that the client names, or else in that of
// its session, or, in a revision without sessions, in a new one.
func (p *Protocol) rows(in invocation, q protocol.Query, conversation string, rows int) (*sdk.CallToolResult, error) {
	limit, err := rowLimit(rows)
	if err != nil {
		return nil, err
	}
	if q.Conversation, err = p.conversation(in, conversation); err != nil {
		return nil, err
	}
	q.Protocol, q.Keep = Name, true
	if name := Name + "/" + in.call.id.session; in.call.id.session != "" && protocol.PlainID(name, maxSession) {
		q.Client = name
	}
	out, err := p.server.Query(in.r, q)
	if err != nil {
		return nil, err
	}
	t := Table{
		ID: out.ID, Conversation: out.Stored, Source: q.Source, SQL: out.SQL, Columns: out.Columns,
		RowCount: out.RowCount, Truncated: out.Truncated, Millis: out.Millis,
	}
	if q.Checked != nil {
		t.Verified = q.Checked.Verified
	}
	t.Rows = fitting(out.Rows, limit)
	return succeeded(t.text(), t)
}

// maxSession bounds the name of a session's conversation, in bytes.
const maxSession = 128

// conversation returns the caller's conversation with an id, ours or the client's own. The empty one remains empty.
func (p *Protocol) conversation(in invocation, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	head, found, err := p.server.Find(in.r, id)
	if err == nil && !found {
		err = protocol.NoConversation()
	}
	return head.ID, err
}

func rowLimit(asked int) (int, error) {
	switch {
	case asked == 0:
		return defaultRows, nil
	case asked < 0 || asked > maxRows:
		return 0, footnote.Invalidf("limit must be 1 to %d.", maxRows)
	}
	return asked, nil
}

// source returns the name of the source to read: the only one if none is named.
func (p *Protocol) source(in invocation, asked string) (string, error) {
	if asked != "" {
		return asked, nil
	}
	list, err := p.server.Sources(in.r)
	switch {
	case err != nil:
		return "", err
	case len(list) == 1:
		return list[0].Name, nil
	case len(list) == 0:
		return "", footnote.Errorf(footnote.NotFound, "There are no sources.")
	}
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.Name
	}
	return "", missing("source", "one of "+strings.Join(names, ", "))
}

// Table is the structured content of rows.
type Table struct {
	ID           string             `json:"id,omitempty"` // of the stored result
	Conversation string             `json:"conversation,omitempty"`
	Source       string             `json:"source,omitempty"`
	SQL          string             `json:"sql"`
	Verified     *footnote.Verified `json:"verified,omitempty"` // which verified query returned the rows
	Columns      []footnote.Column  `json:"columns"`
	Rows         []json.RawMessage  `json:"rows"`
	Offset       int                `json:"offset,omitempty"`
	RowCount     int                `json:"row_count"` // of the result, of which Rows may be a part
	Truncated    bool               `json:"truncated"` // the statement has more rows than the server's limit
	Millis       int64              `json:"ms,omitempty"`
	Export       string             `json:"export,omitempty"` // path at this server of all rows as a file
}

// fitting returns the first rows, within the bounds.
func fitting(rows []json.RawMessage, limit int) []json.RawMessage {
	rows = rows[:min(len(rows), limit)]
	size := 0
	for i, row := range rows {
		if size += len(row); size > maxBytes {
			return rows[:i]
		}
	}
	return rows
}

// text returns the rows for clients that read only text: JSON, as in the structured content.
func (t Table) text() string {
	var b strings.Builder
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	head, _ := json.Marshal(names) // texts can always be encoded
	b.Write(head)
	for _, row := range t.Rows {
		b.WriteByte('\n')
		b.Write(row)
	}
	fmt.Fprintf(&b, "\n\n%d of %d rows", len(t.Rows), t.RowCount)
	if t.Truncated {
		b.WriteString("; the statement has more, so totals over these rows would be wrong")
	}
	if t.Verified != nil {
		fmt.Fprintf(&b, "; %s", t.Verified)
	}
	if t.ID != "" {
		fmt.Fprintf(&b, "; stored as %s", t.ID)
	}
	return b.String()
}
