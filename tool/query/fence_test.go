package query

import "testing"

func TestUnfence(t *testing.T) {
	for in, want := range map[string]string{
		"SELECT 1":                       "SELECT 1",
		"```sql\nSELECT 1\n```":          "SELECT 1",
		" ```\nSELECT 1;\n\nSELECT 2```": "SELECT 1;\n\nSELECT 2",
		"```sql\nSELECT 1":               "```sql\nSELECT 1",
		"```drop table t;\n```":          "```drop table t;\n```",
		"SELECT '```'":                   "SELECT '```'",
	} {
		if got := unfence(in); got != want {
			t.Errorf("unfence(%q) = %q, want %q", in, got, want)
		}
	}
}
