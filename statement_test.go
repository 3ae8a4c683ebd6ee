package footnote_test

import (
	"context"
	"testing"

	"github.com/footnotehq/footnote"
)

// TestStatementsThatHaveNotEnded checks that a statement is listed from its beginning, in its place, and that a list
// that was taken does not change any more.
func TestStatementsThatHaveNotEnded(t *testing.T) {
	ctx, ran := footnote.WithStatements(t.Context())
	if same, joined := footnote.JoinStatements(ctx); same != ctx || joined != ran {
		t.Error("joined another collector")
	}
	ended := footnote.BeginStatement(ctx, footnote.Statement{SQL: "a"})
	footnote.NoteStatement(ctx, footnote.Statement{SQL: "b", Outcome: footnote.StatementCached})
	early := ran.All()
	ended(footnote.Statement{SQL: "a", Outcome: footnote.StatementExecuted})
	late := ran.All()
	if len(early) != 2 || early[0].Outcome != "" || late[0].Outcome != footnote.StatementExecuted ||
		late[1].SQL != "b" {
		t.Errorf("early %+v, late %+v", early, late)
	}
	footnote.BeginStatement(context.Background(), footnote.Statement{SQL: "c"})(footnote.Statement{})
	if _, own := footnote.JoinStatements(context.Background()); own == ran || len(own.All()) != 0 {
		t.Error("a context without a collector got that of another")
	}
}
