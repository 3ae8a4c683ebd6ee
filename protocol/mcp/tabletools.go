package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TableTools has the names under which common database servers offer a query, the list of tables and the description
// of a table.
type TableTools struct{ Query, List, Describe string }

// addTableTools adds tools for clients whose prompts name those of common database servers.
func (p *Protocol) addTableTools(s *sdk.Server) {
	type queryInput struct {
		Query string `json:"query" jsonschema:"One read-only SQL statement."`
	}
	addTool(p, s, tool{
		name: p.TableTools.Query, title: "Run a read-only query", idempotent: true, runs: true,
		text: "Run one SELECT statement.",
	}, func(in invocation, args queryInput) (*sdk.CallToolResult, error) {
		return p.query(in, queryArgs{SQL: args.Query})
	})
	addTool(p, s, tool{
		name: p.TableTools.List, title: "List the tables", idempotent: true, text: "List all tables of the sources.",
	}, func(in invocation, _ struct{}) (*sdk.CallToolResult, error) {
		return p.schema(in, schemaArgs{Search: everything})
	})
	type tableInput struct {
		TableName string `json:"table_name" jsonschema:"Name of a table."`
	}
	addTool(p, s, tool{
		name: p.TableTools.Describe, title: "Describe a table", idempotent: true,
		text: "Describe the columns of a table.",
	}, func(in invocation, args tableInput) (*sdk.CallToolResult, error) {
		if args.TableName == "" {
			return nil, missing("table_name", "the name of a table")
		}
		return p.schema(in, schemaArgs{Table: args.TableName})
	})
}

// everything is a search without words, which all tables of all sources match.
const everything = " "
