// Package lookup decodes a tool's input and finds what it names: a source, a table, a column. If something does not
// exist, the error is a tool.Refusal, which tells the model what does. Only names that this package returns from a
// catalog are ever written into SQL.
package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/internal/spelling"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool"
)

// Sources finds an open source by name. It is called only with names of the conversation's own sources.
type Sources interface {
	Source(name string) (source.Source, error)
}

// maxText limits the bytes of foreign text that are repeated to the model.
const maxText = 2000

// Tool returns a tool whose calls decode their input to an In and call run. A tool.Refusal from run becomes a failed
// output. So does an unavailable source if the conversation has others. Any other error ends the run.
func Tool[In any](spec tool.Spec, run func(context.Context, tool.Call, In) (tool.Output, error)) tool.Tool {
	return typedTool[In]{spec, run}
}

type typedTool[In any] struct {
	spec tool.Spec
	run  func(context.Context, tool.Call, In) (tool.Output, error)
}

// Spec implements tool.Tool.
func (t typedTool[In]) Spec() tool.Spec { return t.spec }

// Call implements tool.Tool.
func (t typedTool[In]) Call(ctx context.Context, call tool.Call) (tool.Output, error) {
	var in In
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return tool.Fail("The input does not fit " + call.Name + ": " + err.Error()), nil
	}
	out, err := t.run(ctx, call, in)
	if err == nil {
		return out, nil
	}
	if r, ok := errors.AsType[*tool.Refusal](err); ok {
		return r.Output(), nil
	}
	if footnote.CodeOf(err) == footnote.DatabaseUnavailable && len(call.Sources) > 1 {
		return unreachable(call, err), nil
	}
	return tool.Output{}, err
}

// unreachable tells the model that a source cannot be reached, and names the other sources.
func unreachable(call tool.Call, err error) tool.Output {
	var in struct {
		Source string `json:"source"`
	}
	_ = json.Unmarshal(call.Input, &in) // the input was already decoded once
	name, _ := Name(call, in.Source)
	others := slices.DeleteFunc(slices.Clone(call.Sources), func(s string) bool { return s == name })
	text := fmt.Sprintf("The source %s cannot be reached now: %s The other sources are: %s.", name,
		footnote.MessageOf(err), strings.Join(others, ", "))
	r := tool.Refusal{Text: strings.ToValidUTF8(text, "�"), Fault: source.Failed}
	return r.Output()
}

// Name returns the name of the source that a call refers to: want, if the conversation has it, or the only source
// if want is empty. The error is a tool.Refusal: for a call that could mean several sources, none is chosen.
func Name(call tool.Call, want string) (string, error) {
	switch {
	case len(call.Sources) == 0:
		return "", tool.Refusef("This conversation has no data source.")
	case want == "" && len(call.Sources) == 1:
		return call.Sources[0], nil
	case want == "":
		return "", tool.Refusef(
			"This conversation has several sources: say in source which one is meant. The sources are: %s.",
			strings.Join(call.Sources, ", "))
	}
	if i := slices.IndexFunc(call.Sources, func(s string) bool { return strings.EqualFold(s, want) }); i >= 0 {
		return call.Sources[i], nil
	}
	return "", tool.Refusef("There is no source named %q. The sources are: %s.", clip(want),
		strings.Join(call.Sources, ", "))
}

// Source opens the source that a call refers to.
func Source(sources Sources, call tool.Call, want string) (name string, src source.Source, err error) {
	if name, err = Name(call, want); err != nil {
		return "", nil, err
	}
	src, err = sources.Source(name)
	if err != nil {
		return "", nil, fmt.Errorf("open source %s: %w", name, err)
	}
	return name, src, nil
}

// Table returns the table with the given name. An empty name means the only table.
func Table(ctx context.Context, src source.Source, name string) (source.Table, error) {
	s, err := src.Schema(ctx)
	if err != nil {
		return source.Table{}, fmt.Errorf("read the schema: %w", err)
	}
	if name == "" {
		if len(s.Tables) == 1 {
			return s.Tables[0], nil
		}
		return source.Table{}, tool.Refusef("Say which table is meant. %s", listTables(tableNames(s)))
	}
	if table, ok := s.Table(unquoted(name)); ok {
		return table, nil
	}
	return source.Table{}, tool.Refusef("%s", MissingTable(s, name))
}

// MissingTable returns a message that no table has the name, with a list of the existing tables.
func MissingTable(s source.Schema, name string) string {
	return fmt.Sprintf("There is no table named %q. %s", clip(name), tableHint(name, s))
}

// Column returns a table's column with the given name. The error is a tool.Refusal.
func Column(table source.Table, name string) (source.Column, error) {
	if c, ok := table.Column(unquoted(name)); ok {
		return c, nil
	}
	names := make([]string, len(table.Columns))
	for i, c := range table.Columns {
		names[i] = c.Name
	}
	text := "The columns are: " + strings.Join(clipAll(names[:min(len(names), maxListed)]), ", ") + "."
	if near := spelling.Nearest(name, names, 2); len(near) > 0 {
		text = didYouMean(near)
	}
	return source.Column{}, tool.Refusef(
		"Table %s has no column named %q. %s", clip(table.FullName()), clip(name), text)
}

// unquoted removes the quotes that models put around a name out of habit. The result is only used for lookup.
func unquoted(name string) string {
	for _, q := range []string{`""`, "``", "[]"} {
		if len(name) > 2 && name[0] == q[0] && name[len(name)-1] == q[1] {
			return name[1 : len(name)-1]
		}
	}
	return name
}

// Failure turns a query's error into a tool.Refusal, with a hint if a name was wrong. Errors that the model cannot
// repair are returned unchanged.
func Failure(ctx context.Context, src source.Source, sql string, err error) error {
	bad, ok := errors.AsType[*source.Error](err)
	if !ok {
		return err
	}
	begin := "The statement failed: "
	switch bad.Kind {
	case source.Refused:
		begin = "The statement was refused: "
	case source.Limited:
		begin = "The statement ran into a limit: "
	}
	reason, _ := reply.Clip(bad.Reason, maxText)
	text := begin + strings.ToValidUTF8(reason, "�")
	// The hint is optional: without a schema, the reason must do.
	if s, err := src.Schema(ctx); err == nil {
		if h := hint(bad.Reason, sql, s); h != "" {
			text = strings.TrimRight(text, ". \n") + ". " + h
		}
	}
	return &tool.Refusal{Text: strings.ToValidUTF8(text, "�"), Fault: bad.Kind}
}

func clip(name string) string {
	s, _ := reply.Clip(name, 80)
	return s
}
