// Package lookup decodes a tool's input and finds what it names: a source, a table, a column. If something does not
// exist, the error is a Fault, which tells the model what does. Only names that this package returns from a catalog
// are ever written into SQL.
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
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/internal/spelling"
)

// Sources finds an open source by name. It is called only with names of the conversation's own sources.
type Sources interface {
	Source(name string) (source.Source, error)
}

// maxText limits the bytes of foreign text that are repeated to the model.
const maxText = 2000

// Fault is an error that the model should read and can repair.
type Fault struct {
	Kind  string // of a failed statement: source.Refused, …; otherwise empty
	Words string
}

func (f *Fault) Error() string { return f.Words }

// output returns the fault as output for the model.
func (f *Fault) output() tool.Output {
	out := tool.Fail(f.Words)
	out.Fault = f.Kind
	return out
}

// faultf returns a Fault in valid UTF-8.
func faultf(kind, format string, args ...any) *Fault {
	return &Fault{kind, strings.ToValidUTF8(fmt.Sprintf(format, args...), "�")}
}

// Run implements Call for a tool whose input is an In: it decodes the input and calls f. A Fault from f becomes a
// failed output. So does an unavailable source if the conversation has others. Any other error ends the run.
func Run[In any](ctx context.Context, call tool.Call,
	f func(context.Context, tool.Call, In) (tool.Output, error)) (tool.Output, error) {
	var in In
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return tool.Fail("The input does not fit " + call.Name + ": " + err.Error()), nil
	}
	out, err := f(ctx, call, in)
	if err == nil {
		return out, nil
	}
	if fault, ok := errors.AsType[*Fault](err); ok {
		return fault.output(), nil
	}
	if footnote.CodeOf(err) == footnote.DatabaseUnavailable && len(call.Sources) > 1 {
		return unreachable(call, err).output(), nil
	}
	return tool.Output{}, err
}

// unreachable returns the fault for an unreachable source and names the other sources.
func unreachable(call tool.Call, err error) *Fault {
	var in struct {
		Source string `json:"source"`
	}
	_ = json.Unmarshal(call.Input, &in) // the input was already decoded once
	name, _ := Name(call, in.Source)
	others := slices.DeleteFunc(slices.Clone(call.Sources), func(s string) bool { return s == name })
	return faultf(source.Failed, "The source %s cannot be reached now: %s The other sources are: %s.", name,
		footnote.MessageOf(err), strings.Join(others, ", "))
}

// Name returns the name of the source that a call refers to: want, if the conversation has it, or the only source
// if want is empty. The error is a Fault: for a call that could mean several sources, none is chosen.
func Name(call tool.Call, want string) (string, error) {
	if len(call.Sources) == 0 {
		return "", faultf("", "This conversation has no data source.")
	}
	switch {
	case want == "" && len(call.Sources) == 1:
		return call.Sources[0], nil
	case want == "":
		return "", faultf("",
			"This conversation has several sources: say in source which one is meant. The sources are: %s.",
			strings.Join(call.Sources, ", "))
	}
	for _, name := range call.Sources {
		if strings.EqualFold(name, want) {
			return name, nil
		}
	}
	return "", faultf("", "There is no source named %q. The sources are: %s.", clip(want),
		strings.Join(call.Sources, ", "))
}

// Source opens the source that a call refers to.
func Source(sources Sources, call tool.Call, want string) (name string, src source.Source, err error) {
	name, err = Name(call, want)
	if err != nil {
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
		return source.Table{}, faultf("", "Say which table is meant. %s", listTables(tableNames(s)))
	}
	if table, ok := s.Table(unquoted(name)); ok {
		return table, nil
	}
	return source.Table{}, faultf("", "%s", MissingTable(s, name))
}

// MissingTable returns a message that no table has the name, with a list of the existing tables.
func MissingTable(s source.Schema, name string) string {
	return fmt.Sprintf("There is no table named %q. %s", clip(name), tableHint(name, s))
}

// Column returns a table's column with the given name. The error is a Fault.
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
	return source.Column{}, faultf("", "Table %s has no column named %q. %s", clip(table.FullName()), clip(name), text)
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

// Failure turns a query's error into a Fault, with a hint if a name was wrong. Errors that the model cannot repair
// are returned unchanged.
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
	return faultf(bad.Kind, "%s", text)
}

func clip(name string) string {
	s, _ := reply.Clip(name, 80)
	return s
}
