package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/protocol"
)

type schemaArgs struct {
	Source string `json:"source,omitempty" jsonschema:"Name of a source."`
	Table  string `json:"table,omitempty" jsonschema:"Table whose columns to describe."`
	Search string `json:"search,omitempty" jsonschema:"Words to look for in names and comments."`
}

// maxTables bounds the tables of an answer.
const maxTables = 200

// schema lists sources and tables, or describes a table.
func (p *Protocol) schema(in invocation, args schemaArgs) (*sdk.CallToolResult, error) {
	list, err := p.server.Sources(in.r)
	if err != nil {
		return nil, err
	}
	if args == (schemaArgs{}) && len(list) != 1 {
		return described(map[string]any{"sources": append([]protocol.SourceInfo{}, list...)})
	}
	var found tables
	for _, name := range toLookIn(list, args.Source) {
		s, err := p.server.Schema(in.r, name)
		if err != nil {
			return nil, err
		}
		if err := found.add(s, args); err != nil {
			return nil, err
		}
	}
	if args.Table != "" && found.count == 0 {
		return nil, footnote.Errorf(footnote.NotFound, "There is no table named %.100q.", args.Table)
	}
	return described(map[string]any{
		"tables": append([]json.RawMessage{}, found.list...), "left_out": found.count - len(found.list),
	})
}

// toLookIn returns the names of the sources that a call asks about: one, or all that can be read now.
func toLookIn(list []protocol.SourceInfo, asked string) (names []string) {
	if asked != "" {
		return []string{asked}
	}
	for _, s := range list {
		if s.OK {
			names = append(names, s.Name)
		}
	}
	return names
}

// tables collects descriptions of tables, within bounds.
type tables struct {
	list  []json.RawMessage
	bytes int
	count int // of all that match
}

// add adds the tables of a source that a call asks about. If it asks for no table by name, they come with the names of
// their columns only.
func (f *tables) add(s protocol.SourceSchema, args schemaArgs) error {
	for _, t := range s.Tables {
		if args.Table != "" && !strings.EqualFold(t.Name, args.Table) || !mentions(t, args.Search) {
			continue
		}
		var shown any = listed{s.Name, t.Name, t.View, t.Rows, t.Comment, columnNames(t)}
		if args.Table != "" {
			shown = struct {
				Source string `json:"source"`
				Engine string `json:"engine"`
				protocol.SourceTable
			}{s.Name, s.Engine, t}
		}
		raw, err := json.Marshal(shown)
		if err != nil {
			return fmt.Errorf("encode a table: %w", err)
		}
		f.count++
		if f.bytes += len(raw); f.bytes <= maxBytes && len(f.list) < maxTables {
			f.list = append(f.list, raw)
		}
	}
	return nil
}

// listed is a table in a list.
type listed struct {
	Source  string   `json:"source"`
	Name    string   `json:"name"`
	View    bool     `json:"view,omitempty"`
	Rows    *int64   `json:"rows,omitempty"`
	Comment string   `json:"comment,omitempty"`
	Columns []string `json:"columns"`
}

func columnNames(t protocol.SourceTable) []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return names
}

// mentions reports whether a table, its columns or their comments contain each of the words.
func mentions(t protocol.SourceTable, words string) bool {
	text := t.Name + " " + t.Comment
	for _, c := range t.Columns {
		text += " " + c.Name + " " + c.Comment
	}
	text = strings.ToLower(text)
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// described returns a description as JSON text and as structured content.
func described(v any) (*sdk.CallToolResult, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode the schema: %w", err)
	}
	return succeeded(string(text), v)
}
