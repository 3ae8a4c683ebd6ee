package source_test

import (
	"context"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

// funcSource is a source that runs a function in place of a statement.
type funcSource struct {
	source.Source // nil
	query         func()
}

func (a funcSource) Query(context.Context, source.Query, func([]any) error) (source.Summary, error) {
	a.query()
	return source.Summary{}, nil
}

// TestCollectRecordsStatementBeforeItRuns checks that the record of a statement does not depend on its end.
func TestCollectRecordsStatementBeforeItRuns(t *testing.T) {
	ctx, ran := footnote.WithStatements(t.Context())
	src := funcSource{query: func() {
		if list := ran.All(); len(list) != 1 || list[0].SQL != "SELECT 1" || list[0].Outcome != "" {
			t.Errorf("while it runs: %+v", list)
		}
	}}
	if _, _, err := source.Collect(ctx, src, source.Query{SQL: "SELECT 1"}); err != nil {
		t.Fatal(err)
	}
	if list := ran.All(); len(list) != 1 || list[0].Outcome != footnote.StatementExecuted {
		t.Errorf("after it: %+v", list)
	}
}
