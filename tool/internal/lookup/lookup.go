// Package lookup finds what a tool's input names — a source, a table, a column —
// and says in words for the model what there is when it does not exist. Only
// names that came out of the catalogue here are ever written into SQL.
package lookup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool/internal/reply"
	"github.com/footnotehq/footnote/tool/internal/spelling"
)

// Sources finds an open source by its name. It is only asked for names of the
// conversation's own sources.
type Sources interface {
	Source(name string) (source.Source, error)
}

// longest is how many bytes of a foreign text are repeated to the model.
const longest = 2000

// Name returns the name of the source that a call means: the one it wants when
// that belongs to the conversation, and the first when it names none. Otherwise
// it returns a failed output.
func Name(call agent.Call, want string) (string, *agent.Output) {
	if len(call.Sources) == 0 {
		return "", fail("This conversation has no data source.")
	}
	if want == "" {
		return call.Sources[0], nil
	}
	for _, name := range call.Sources {
		if strings.EqualFold(name, want) {
			return name, nil
		}
	}
	return "", fail("There is no source named %q. The sources are: %s.", clip(want), strings.Join(call.Sources, ", "))
}

// Source opens the source that a call means. Failed is for the model; err ends
// the run.
func Source(sources Sources, call agent.Call, want string) (name string, src source.Source, failed *agent.Output, err error) {
	name, failed = Name(call, want)
	if failed != nil {
		return "", nil, failed, nil
	}
	src, err = sources.Source(name)
	if err != nil {
		return "", nil, nil, fmt.Errorf("open source %s: %w", name, err)
	}
	return name, src, nil, nil
}

// Table returns the table with a name. An empty name means the only table.
func Table(ctx context.Context, src source.Source, name string) (source.Table, *agent.Output, error) {
	s, err := src.Schema(ctx)
	if err != nil {
		return source.Table{}, nil, fmt.Errorf("read the schema: %w", err)
	}
	if name == "" {
		if len(s.Tables) == 1 {
			return s.Tables[0], nil, nil
		}
		return source.Table{}, fail("Say which table is meant. %s", listTables(tableNames(s))), nil
	}
	if table, ok := s.Table(unquoted(name)); ok {
		return table, nil, nil
	}
	return source.Table{}, fail("There is no table named %q. %s", clip(name), tableHint(name, s)), nil
}

// Column returns the column of a table with a name.
func Column(table source.Table, name string) (source.Column, *agent.Output) {
	if c, ok := table.Column(unquoted(name)); ok {
		return c, nil
	}
	names := make([]string, len(table.Columns))
	for i, c := range table.Columns {
		names[i] = c.Name
	}
	text := "The columns are: " + strings.Join(clipAll(names[:min(len(names), listed)]), ", ") + "."
	if near := spelling.Nearest(name, names, 2); len(near) > 0 {
		text = didYouMean(near)
	}
	return source.Column{}, fail("Table %s has no column named %q. %s", clip(table.FullName()), clip(name), text)
}

// unquoted takes away the quotes that a model puts around a name out of habit. It
// is only used to look the name up.
func unquoted(name string) string {
	for _, q := range []string{`""`, "``", "[]"} {
		if len(name) > 2 && name[0] == q[0] && name[len(name)-1] == q[1] {
			return name[1 : len(name)-1]
		}
	}
	return name
}

// Failure turns a query's error into an output for the model, with a hint where
// a name was wrong. What the model cannot repair comes back as an error.
func Failure(ctx context.Context, src source.Source, sql string, err error) (agent.Output, error) {
	bad, ok := errors.AsType[*source.Error](err)
	if !ok {
		return agent.Output{}, err
	}
	begin := "The statement failed: "
	switch bad.Kind {
	case source.Refused:
		begin = "The statement was refused: "
	case source.Limited:
		begin = "The statement ran into a limit: "
	}
	reason, _ := reply.Clip(bad.Reason, longest)
	text := begin + strings.ToValidUTF8(reason, "�")
	// The hint is a courtesy: without a schema the reason alone must do.
	if s, err := src.Schema(ctx); err == nil {
		if h := hint(bad.Reason, sql, s); h != "" {
			text = strings.TrimRight(text, ". \n") + ". " + h
		}
	}
	return agent.Fail(text), nil
}

// Output is the failed output, or an empty one beside an error.
func Output(failed *agent.Output) agent.Output {
	if failed == nil {
		return agent.Output{}
	}
	return *failed
}

func fail(format string, args ...any) *agent.Output {
	return new(agent.Fail(strings.ToValidUTF8(fmt.Sprintf(format, args...), "�")))
}

func clip(name string) string {
	s, _ := reply.Clip(name, 80)
	return s
}
