package eval_test

import (
	"testing"
	"time"

	"github.com/footnotehq/footnote"
)

// tableOf makes a table of rows, with columns named a, b, c and so on.
func tableOf(t *testing.T, rows ...[]any) table {
	t.Helper()
	var columns []footnote.Column
	for i := range rows[0] {
		columns = append(columns, footnote.Column{Name: string(rune('a' + i))})
	}
	got, err := newTable(columns, rows)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

type rows = [][]any

func TestDifference(t *testing.T) {
	midnight := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		name         string
		gold, answer rows
		rules        rules
		right        bool
	}{
		{"equal", rows{{"x", 1}, {"y", 2}}, rows{{"x", 1}, {"y", 2}}, rules{}, true},
		{"other rows first", rows{{"x", 1}, {"y", 2}}, rows{{"y", 2}, {"x", 1}}, rules{}, true},
		{"other rows first, ordered", rows{{"x", 1}, {"y", 2}}, rows{{"y", 2}, {"x", 1}}, rules{ordered: true}, false},
		{"in order, ordered", rows{{"x", 1}, {"y", 2}}, rows{{"x", 1}, {"y", 2}}, rules{ordered: true}, true},
		{"other columns first", rows{{"x", 1}, {"y", 2}}, rows{{1, "x"}, {2, "y"}}, rules{}, true},
		{"values in other rows", rows{{"x", 1}, {"y", 2}}, rows{{"x", 2}, {"y", 1}}, rules{}, false},
		{"a row is missing", rows{{"x"}, {"y"}}, rows{{"x"}}, rules{}, false},
		{"a row too many", rows{{"x"}}, rows{{"x"}, {"y"}}, rules{}, false},
		{"a row twice for another", rows{{"x"}, {"y"}}, rows{{"x"}, {"x"}}, rules{}, false},
		{"a column is missing", rows{{"x", 1}}, rows{{"x"}}, rules{}, false},
		{"a column too many", rows{{"x", 1}}, rows{{"x", 1, 2}}, rules{}, false},
		{"two columns with the same values", rows{{1, 1, "x"}}, rows{{1, "x", 1}}, rules{}, true},
		{"one column cannot be two", rows{{1, 1}}, rows{{1, 2}}, rules{}, false},
		{"columns need backtracking", rows{{1, 1}, {1, 2}, {2, 1}}, rows{{1, 1}, {2, 1}, {1, 2}}, rules{}, true},

		{"integer and floating", rows{{2}}, rows{{2.0}}, rules{}, true},
		{"within 1e-6", rows{{1000000.0}}, rows{{1000000.9}}, rules{}, true},
		{"beyond 1e-6", rows{{1000000.0}}, rows{{1000002.0}}, rules{}, false},
		{"rounded in SQL", rows{{17.8341}}, rows{{17.83}}, rules{}, false},
		{"near zero", rows{{0.0}}, rows{{1e-10}}, rules{}, true},
		{"number and its text", rows{{12}}, rows{{"12"}}, rules{}, false},
		{"text in another case", rows{{"Porto"}}, rows{{"porto"}}, rules{}, false},
		{"null and null", rows{{nil, 1}}, rows{{nil, 1}}, rules{}, true},
		{"null and zero", rows{{nil}}, rows{{0}}, rules{}, false},
		{"null and empty", rows{{nil}}, rows{{""}}, rules{}, false},
		{"true and 1", rows{{true}, {false}}, rows{{1}, {0}}, rules{}, true},
		{"true and its word", rows{{true}}, rows{{"true"}}, rules{}, true},
		{"true and false", rows{{true}}, rows{{"false"}}, rules{}, false},
		{"a date and its text", rows{{"2024-03-01"}}, rows{{midnight}}, rules{}, true},
		{"a timestamp at midnight", rows{{"2024-03-01"}}, rows{{"2024-03-01T00:00:00"}}, rules{}, true},
		{"a timestamp at noon", rows{{"2024-03-01"}}, rows{{"2024-03-01T12:00:00"}}, rules{}, false},
		{"two ways to write noon", rows{{"2024-03-01 12:00:00"}}, rows{{"2024-03-01T12:00:00Z"}}, rules{}, true},

		{"list with more columns", rows{{"x"}, {"y"}}, rows{{1, "y"}, {2, "x"}}, rules{extra: true}, true},
		{"list without a column", rows{{"x", 5}}, rows{{"x", 1}}, rules{extra: true}, false},
		{"label alone", rows{{"x", 5}}, rows{{"x"}}, rules{labelAlone: true}, true},
		{"measure alone", rows{{"x", 5}}, rows{{5}}, rules{labelAlone: true}, false},
		{"another label alone", rows{{"x", 5}}, rows{{"y"}}, rules{labelAlone: true}, false},

		{"share from 0 to 1", rows{{"x", 25.0}, {"y", 75.0}}, rows{{"x", 0.25}, {"y", 0.75}}, rules{share: true}, true},
		{
			"share on two scales", rows{
				{"x", 25.0}, {"y", 75.0},
			}, rows{{"x", 0.25}, {"y", 75.0}}, rules{share: true}, false,
		},
		{"no share from 0 to 1", rows{{"x", 25.0}}, rows{{"x", 0.25}}, rules{}, false},
		{
			"share with its value", rows{
				{"x", 25.0}, {"y", 75.0},
			}, rows{{"x", 10, 0.25}, {"y", 30, 0.75}}, rules{share: true}, true,
		},
		{
			"share with value and total", rows{
				{"x", 25.0}, {"y", 75.0},
			}, rows{{"x", 40, 10, 25.0}, {"y", 40, 30, 75.0}}, rules{share: true}, true,
		},
		{
			"share with something else", rows{
				{"x", 25.0}, {"y", 75.0},
			}, rows{{"x", 25.0, 10}, {"y", 75.0, 11}}, rules{share: true}, false,
		},
		{
			"share with another total", rows{
				{"x", 25.0}, {"y", 75.0},
			}, rows{{"x", 41, 10, 25.0}, {"y", 41, 30, 75.0}}, rules{share: true}, false,
		},
		{"share with a text", rows{{25.0}}, rows{{"x", 25.0}}, rules{share: true}, false},
		{
			"the value instead of the share", rows{
				{"x", 25.0}, {"y", 75.0},
			}, rows{{"x", 10}, {"y", 30}}, rules{share: true}, false,
		},

		{"wide form", rows{{5, 7}}, rows{{5, 7}}, rules{inOrder: true}, true},
		{"wide form in another order", rows{{5, 7}}, rows{{7, 5}}, rules{inOrder: true}, false},
		{"wide form with the difference", rows{{5, 7}}, rows{{5, 7, 2}}, rules{inOrder: true}, false},

		{"month as its first day", rows{{"2024-01", 3}}, rows{{"2024-01-01", 3}}, rules{}, true},
		{"month as a timestamp", rows{{"2024-01", 3}}, rows{{"2024-01-01 00:00:00", 3}}, rules{}, true},
		{"month as its second day", rows{{"2024-01", 3}}, rows{{"2024-01-02", 3}}, rules{}, false},
		{"month without its year", rows{{"2024-01", 3}}, rows{{"01", 3}}, rules{}, false},
		{"month as a number", rows{{"2024-01", 3}}, rows{{1, 3}}, rules{}, false},
		{"quarter with a blank", rows{{"2024-Q2", 3}}, rows{{"2024 Q2", 3}}, rules{}, true},
		{"quarter first", rows{{"2024-Q2", 3}}, rows{{"Q2 2024", 3}}, rules{}, true},
		{"quarter as its first day", rows{{"2024-Q2", 3}}, rows{{"2024-04-01", 3}}, rules{}, true},
		{"quarter as a later month", rows{{"2024-Q2", 3}}, rows{{"2024-05-01", 3}}, rules{}, false},
		{"year as a number", rows{{"2024", 3}}, rows{{2024, 3}}, rules{}, true},
		{"year as its first day", rows{{"2024", 3}}, rows{{"2024-01-01", 3}}, rules{}, true},
		{"year as a later month", rows{{"2024", 3}}, rows{{"2024-02-01", 3}}, rules{}, false},
		{"another year", rows{{"2024", 3}}, rows{{2023, 3}}, rules{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			why := difference(tableOf(t, tt.gold...), tableOf(t, tt.answer...), tt.rules)
			if (why == "") != tt.right {
				t.Errorf("difference %q; right should be %v", why, tt.right)
			}
		})
	}
}

func TestKeys(t *testing.T) {
	var keys entityKeys
	keys.add(tableOf(t, []any{1, "Ana", "Porto"}, []any{2, "Rui", "Faro"}), 0)
	gold := tableOf(t, []any{"Ana", 9}, []any{"Rui", 4})
	for _, tt := range []struct {
		name   string
		answer rows
		right  bool
	}{
		{"key beside its label", rows{{1, "Ana", 9}, {2, "Rui", 4}}, true},
		{"keys of others", rows{{2, "Ana", 9}, {1, "Rui", 4}}, false},
		{"key for the label", rows{{1, 9}, {2, 4}}, false},
		{"a measure more", rows{{9, "Ana", 9}, {8, "Rui", 4}}, false},
		{"key and a measure more", rows{{1, "Ana", 9, 3}, {2, "Rui", 4, 3}}, false},
	} {
		if why := difference(gold, tableOf(t, tt.answer...), rules{keys: keys}); (why == "") != tt.right {
			t.Errorf("%s: difference %q; right should be %v", tt.name, why, tt.right)
		}
	}
}

func TestNamesInOneColumn(t *testing.T) {
	columns := []footnote.Column{{Name: "n"}, {Name: "last_name"}, {Name: "first_name"}}
	gold, err := newTable(columns, rows{{1, "Silva", "Ana"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		answer []any
		right  bool
	}{
		{[]any{"Ana", "Silva", 1}, true}, {[]any{"Ana Silva", 1}, true},
		{[]any{"Silva Ana", 1}, false}, {[]any{"AnaSilva", 1}, false}, {[]any{"Ana", 1}, false},
	} {
		if why := difference(gold, tableOf(t, tt.answer), rules{}); (why == "") != tt.right {
			t.Errorf("%v: difference %q; right should be %v", tt.answer, why, tt.right)
		}
	}
}

func TestNewReadsDecimals(t *testing.T) {
	got, err := newTable([]footnote.Column{
		{Name: "a", Kind: footnote.KindDecimal}, {Name: "b", Kind: footnote.KindText},
	}, rows{{"12.50", "12.50"}})
	if err != nil {
		t.Fatal(err)
	}
	if why := difference(tableOf(t, []any{12.5, "12.50"}), got, rules{}); why != "" {
		t.Errorf("a decimal is not its number: %s", why)
	}
	if _, err := newTable([]footnote.Column{{Name: "a"}}, rows{{struct{}{}}}); err == nil {
		t.Error("accepted a value of an unknown type")
	}
}

func TestShown(t *testing.T) {
	for _, tt := range []struct {
		text  string
		value float64
		share bool
		want  bool
	}{
		{"There are 1,234 patients.", 1234, false, true},
		{"There are 1.234 patients.", 1234, false, true},
		{"There are 1 234 patients.", 1234, false, true},
		{"There are 1\u202f234 patients.", 1234, false, true},
		{"In 2024 **1234** came.", 1234, false, true},
		{"There are 1,235 patients.", 1234, false, false},
		{"There are many patients.", 1234, false, false},
		{"As r1234 says, none.", 1234, false, false},
		{"The total is €1,234,567.89.", 1234567.891, false, true},
		{"The total is 1.234.567,9.", 1234567.891, false, true},
		{"The total is 1.23 million.", 1234567.891, false, true},
		{"The total is 1.2M.", 1234567.891, false, true},
		{"The total is 1.24 million.", 1234567.891, false, false},
		{"The average is 17.83.", 17.8341, false, true},
		{"The average is 17.84.", 17.8341, false, false},
		{"The average is 18.", 17.8341, false, true},
		{"The average is 20.", 17.8341, false, false},
		{"It is 0.", 0.3, false, false},
		{"There are 0.", 0, false, true},
		{"It fell by -4.5.", -4.5, false, true},
		{"It is 4.5.", -4.5, false, false},
		{"From 3-10 days.", 10, false, true},
		{"On 2024-01-05 it began.", 5, false, false},
		{"17.8% of them.", 17.83, true, true},
		{"A share of 0.178.", 17.83, true, true},
		{"A share of 0.178.", 17.83, false, false},
		{"A share of 0.188.", 17.83, true, false},
	} {
		if got := shown(tt.text, tt.value, tt.share); got != tt.want {
			t.Errorf("shown(%q, %v, %v) = %v, want %v", tt.text, tt.value, tt.share, got, tt.want)
		}
	}
}
