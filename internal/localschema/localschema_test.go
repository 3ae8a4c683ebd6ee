package localschema

import (
	"reflect"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
)

func sales() Schema {
	return Schema{Tables: []Table{
		{
			Name:    `my "odd" file`,
			Rows:    new(int64(200_000)),
			Columns: []Column{{"order id", "BIGINT"}, {`say "hi", (now)`, "DECIMAL(18,3)"}},
		},
		{Name: "days", Columns: []Column{{"day", "TIMESTAMP WITH TIME ZONE"}}},
	}}
}

func TestTextIsReadAgain(t *testing.T) {
	s := sales()
	got, ok := Parse("Today is Monday.\n" + s.Text() + "\nSomething else.\n  \"no\" COLUMN")
	if !ok || !reflect.DeepEqual(got, s) {
		t.Errorf("Parse(Text) = %+v, %v; want %+v", got, ok, s)
	}
	if _, ok := Parse("CREATE TABLE \"a\" (\n  \"b\" TEXT\n);"); ok {
		t.Error("a text without a schema has one")
	}
}

func TestLastSchemaCounts(t *testing.T) {
	old := Schema{Tables: []Table{{Name: "old", Columns: []Column{{"a", "DATE"}}}}}
	if got, _ := Parse(old.Text() + "\n\n" + sales().Text()); len(got.Tables) != 2 || got.Tables[0].Name == "old" {
		t.Errorf("got %+v", got)
	}
}

func TestCheck(t *testing.T) {
	if err := sales().Check(); err != nil {
		t.Error(err)
	}
	many := Schema{}
	for range maxTables + 1 {
		many.Tables = append(many.Tables, Table{Name: "t", Columns: []Column{{"a", "DATE"}}})
	}
	for name, c := range map[string]struct {
		s    Schema
		code footnote.Code
	}{
		"no tables":  {Schema{}, footnote.InvalidRequest},
		"no columns": {Schema{Tables: []Table{{Name: "t"}}}, footnote.InvalidRequest},
		"no type":    {Schema{Tables: []Table{{Name: "t", Columns: []Column{{"a", " "}}}}}, footnote.InvalidRequest},
		"a line break": {
			Schema{Tables: []Table{{Name: "t", Columns: []Column{{"a\nb", "DATE"}}}}}, footnote.InvalidRequest,
		},
		"a long name": {
			Schema{
				Tables: []Table{{Name: strings.Repeat("n", maxNameBytes+1), Columns: []Column{{"a", "DATE"}}}},
			}, footnote.InvalidRequest,
		},
		"rows below 0": {
			Schema{
				Tables: []Table{{Name: "t", Rows: new(int64(-1)), Columns: []Column{{"a", "DATE"}}}},
			}, footnote.InvalidRequest,
		},
		"many tables": {many, footnote.TooLarge},
	} {
		if err := c.s.Check(); footnote.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
}

func TestKind(t *testing.T) {
	for duck, want := range map[string]string{
		"BIGINT": footnote.KindInteger, "decimal(18,3)": footnote.KindDecimal, "VARCHAR": footnote.KindText,
		"VARCHAR[]":                footnote.KindJSON,
		"TIMESTAMP WITH TIME ZONE": footnote.KindTimestamp, "DOUBLE": footnote.KindNumber, "DATE": footnote.KindDate,
		"ENUM('a', 'b')": footnote.KindText, "GEOMETRY": footnote.KindBlob, "DECIMAL(3,1)[]": footnote.KindJSON,
		"TIME WITH TIME ZONE": footnote.KindTime, "ODD": "",
	} {
		if got := Kind(duck); got != want {
			t.Errorf("Kind(%s) = %q, want %q", duck, got, want)
		}
	}
}
