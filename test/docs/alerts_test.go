package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestAlerts checks that the alerting rules for Prometheus are complete, and use only metrics that the operator's page
// lists.
func TestAlerts(t *testing.T) {
	data, err := os.ReadFile("../../docs/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations struct{ Summary string }
			}
		}
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	metric := regexp.MustCompile(`footnote_\w+`)
	seen := map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			names := metric.FindAllString(r.Expr, -1)
			if r.Alert == "" || seen[r.Alert] || len(names) == 0 || r.Annotations.Summary == "" {
				t.Errorf("the rule %+v has no name of its own, no metric or no summary", r)
			}
			seen[r.Alert] = true
			for _, name := range names {
				if !strings.Contains(string(page), "`"+name+"`") {
					t.Errorf("%s: docs/operations.md has no metric %s", r.Alert, name)
				}
			}
		}
	}
	if len(seen) == 0 {
		t.Error("there are no rules")
	}
}
