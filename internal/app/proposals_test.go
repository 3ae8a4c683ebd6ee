package app

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/knowledge"
	"github.com/footnotehq/footnote/knowledge/proposal"
	"github.com/footnotehq/footnote/knowledge/suite"
)

const carlasKey = "key-of-carla-0123456789"

// admins makes ada and carla administrators of one organisation, and bob one of its users.
func admins(dir string) func(c *config.Config) {
	return func(c *config.Config) {
		c.Context = dir
		c.APIKeys = []config.Key{
			{Key: adasKey, Org: "acme", User: "ada", Roles: []string{footnote.Admin}},
			{Key: carlasKey, Org: "acme", User: "carla", Roles: []string{footnote.Admin}},
			{Key: bobsKey, Org: "acme", User: "bob"},
		}
	}
}

// shownProposal is a proposal as a client reads it.
type shownProposal struct {
	ID                                 int64
	State, Query, Test, Fails, Blocked string
	By, Words, Unsaved                 string
	ReviewedBy                         string `json:"reviewed_by"`
	Written                            bool
	Warnings                           []string
}

// complain lets ada ask a question and rate its answer as bad, and returns the draft that the inbox offers.
func (g *rig) complain(question string) proposal.Draft {
	g.t.Helper()
	id := g.ask(question)
	for _, ev := range g.events(id) {
		if ev.Kind == "answered" {
			g.call("POST", "/api/feedback", map[string]any{"conversation": id, "seq": ev.Seq, "good": false}, 204, nil)
		}
	}
	var got struct {
		Items []struct {
			Results []struct{ Draft *proposal.Draft }
		}
	}
	g.call("GET", "/api/inbox", nil, 200, &got)
	if len(got.Items) == 0 || len(got.Items[0].Results) == 0 || got.Items[0].Results[0].Draft == nil {
		g.t.Fatalf("no draft: %+v", got)
	}
	return *got.Items[0].Results[0].Draft
}

// sent sends a request of a caller and decodes the answer.
func (g *rig) sent(key, method, target string, body any, status int, into any) {
	g.t.Helper()
	text := g.as(key, method, target, body, status)
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		g.t.Fatalf("%s: %v", text, err)
	}
}

// TestProposal checks the way of a bad answer to a verified query: corrected, run, proposed, approved by a second
// person, written to the context folder, and used for the next question with its badge, which its test then finds.
func TestProposal(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, t.TempDir(), admins(dir))
	const question = "How many orders are there?"
	d := g.complain(question)
	if d.Name != "how_many_orders_are_there" || d.Question != question || d.Source != "shop" {
		t.Errorf("draft %+v", d)
	}
	d.SQL = "SELECT count(*) AS orders FROM orders WHERE status <> 'cancelled'"
	d.Paraphrases = []string{"Number of valid orders"}
	var checked struct {
		Result      struct{ Rows [][]any }
		Query, Test string
		Fails       string
		Proposal    *shownProposal
	}
	body := map[string]any{"check": true, "draft": d}
	g.sent(adasKey, "POST", "/api/proposals", body, 200, &checked)
	if len(checked.Result.Rows) != 1 || checked.Proposal != nil || !strings.Contains(checked.Fails, "instead of") ||
		!strings.Contains(checked.Query, "-- author: ada\n") {
		t.Errorf("checked %+v", checked)
	}
	g.sent(bobsKey, "POST", "/api/proposals", body, http.StatusForbidden, nil)
	body["check"] = false
	g.sent(adasKey, "POST", "/api/proposals", body, 201, &checked)
	p := *checked.Proposal
	if p.State != "open" || p.Test == "" || p.Blocked == "" || strings.Contains(p.Blocked, "no other") {
		t.Errorf("proposed %+v", p)
	}
	if text := g.as(adasKey, "POST", "/api/proposals", body, http.StatusConflict); !strings.Contains(text, "already") {
		t.Error(text)
	}
	review := "/api/proposals/1/review"
	g.sent(adasKey, "POST", review, map[string]any{"approve": true}, http.StatusForbidden, nil)
	g.sent(bobsKey, "POST", review, map[string]any{"approve": true}, http.StatusForbidden, nil)
	g.sent(carlasKey, "GET", "/api/proposals/1/patch", nil, http.StatusConflict, nil)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("before the approval: %v %v", entries, err)
	}
	var done struct{ Proposal shownProposal }
	g.sent(carlasKey, "POST", review, map[string]any{"approve": true, "words": "Yes."}, 200, &done)
	if p := done.Proposal; p.State != "approved" || p.ReviewedBy != "carla" || p.Words != "Yes." || !p.Written ||
		p.Unsaved != "" {
		t.Errorf("approved %+v", p)
	}
	g.sent(carlasKey, "POST", review, map[string]any{"approve": false}, http.StatusConflict, nil)
	written, err := os.ReadFile(filepath.Join(dir, "verified", d.Name+".sql"))
	if err != nil || string(written) != p.Query {
		t.Errorf("written %q %v", written, err)
	}
	if got := g.answer("number of VALID orders"); len(got.Verified) != 1 || got.Verified[0].By != "ada" {
		t.Errorf("the answer is not verified: %s", got.raw)
	}
	tests := g.app.words().Tests()
	if tests == nil || len(tests.Tests) != 1 {
		t.Fatalf("tests %+v", tests)
	}
	who := SuiteOptions{Principal: footnote.Principal{Org: "acme", User: "tests"}}
	if out := g.app.RunSuite(t.Context(), tests, who); out[0].Status != suite.Passed {
		t.Errorf("the test of the approved query: %+v", out)
	}
	without := newRig(t, t.TempDir(), admins(t.TempDir()))
	if out := without.app.RunSuite(t.Context(), tests, who); out[0].Status != suite.Failed {
		t.Errorf("the test without the query: %+v", out)
	}
	g.app.WriteAudit(t.Context())
	audit, err := os.ReadFile(g.app.cfg.AuditFile())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"type":"proposal","session_id":"prop_`, `"type":"proposal_review"`, `"user":"carla"`,
		"status <> 'cancelled'", "1 approved Yes.",
	} {
		if !strings.Contains(string(audit), want) && !strings.Contains(unescaped(string(audit)), want) {
			t.Errorf("the audit lacks %s", want)
		}
	}
}

// unescaped undoes the escapes of HTML in JSON.
func unescaped(s string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(s)
}

// TestProposalWithParameters checks that the month of a question becomes a parameter, that a date that was left in the
// statement is pointed out, and that a declined proposal writes nothing.
func TestProposalWithParameters(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, t.TempDir(), admins(dir))
	d := g.complain("total of orders in March 2026")
	d.Question, d.Parameters = "Booked in {month}", []string{"month month"}
	d.Paraphrases = []string{"total of orders in {month}"}
	d.SQL = "SELECT round(sum(total), 2) AS booked FROM orders WHERE ordered_at >= $1 AND ordered_at < '2026-04-01'"
	var added struct{ Proposal shownProposal }
	g.sent(adasKey, "POST", "/api/proposals", in("draft", d), 201, &added)
	if p := added.Proposal; !strings.Contains(p.Test, `args: ["2026-03-01"]`) ||
		!strings.Contains(strings.Join(p.Warnings, " "), "'2026-04-01'") {
		t.Errorf("%+v", p)
	}
	g.sent(carlasKey, "POST", "/api/proposals/1/review", map[string]any{"approve": false, "words": "April?"}, 200,
		&added)
	if entries, err := os.ReadDir(dir); added.Proposal.State != "declined" || err != nil || len(entries) != 0 {
		t.Errorf("declined: %+v, %v %v", added, entries, err)
	}
	d.SQL = strings.Replace(d.SQL, "'2026-04-01'", "date($1, '+1 month')", 1)
	g.sent(adasKey, "POST", "/api/proposals", in("draft", d), 201, &added)
	g.sent(carlasKey, "POST", "/api/proposals/3/review", map[string]any{"approve": true}, 200, &added)
	if got := g.answer("booked in 2026-02"); !added.Proposal.Written || len(got.Verified) != 1 {
		t.Errorf("%+v %s", added.Proposal, got.raw)
	}
}

// TestProposalForRoles checks that a proposal can be limited to roles and expire, and that its test asks as one of
// them.
func TestProposalForRoles(t *testing.T) {
	g := newRig(t, t.TempDir(), admins(t.TempDir()))
	d := g.complain("How many orders are there?")
	d.SQL = "SELECT count(*) AS orders FROM orders WHERE status <> 'cancelled'"
	d.Roles, d.Expires = []string{"board", "finance"}, "2999-12-31"
	var got struct{ Proposal shownProposal }
	g.sent(adasKey, "POST", "/api/proposals", in("draft", d), 201, &got)
	if !strings.Contains(got.Proposal.Query, "-- expires: 2999-12-31\n-- roles: board, finance\n") {
		t.Errorf("the query is %s", got.Proposal.Query)
	}
	g.sent(carlasKey, "POST", "/api/proposals/1/review", map[string]any{"approve": true}, 200, &got)
	who := SuiteOptions{Principal: footnote.Principal{Org: "acme", User: "tests"}}
	if out := g.app.RunSuite(t.Context(), g.app.words().Tests(), who); out[0].Status != suite.Passed {
		t.Errorf("its test: %+v", out)
	}
	if got := g.answer("How many orders are there?"); len(got.Verified) != 0 {
		t.Errorf("without the role: %s", got.raw)
	}
}

// TestProposalRefused checks what cannot be proposed.
func TestProposalRefused(t *testing.T) {
	dir := verifiedFolder(t, volume)
	again := strings.NewReplacer("Booked volume in {month}", "Orders in total", "-- parameter: month month\n", "",
		"-- paraphrase: How much was booked in {month}?\n", "",
		" WHERE ordered_at >= $1 AND ordered_at < date($1, '+1 month')", "").Replace(volume)
	if err := knowledge.AddFiles(dir, map[string][]byte{"verified/orders_twice.sql": []byte(again)}); err != nil {
		t.Fatal(err)
	}
	g := newRig(t, t.TempDir(), admins(dir))
	d := g.complain("How many orders are there?")
	for what, change := range map[string]func(d *proposal.Draft){
		"there is no such answer":    func(d *proposal.Draft) { d.Seq = 1 },
		"is not one of the wordings": func(d *proposal.Draft) { d.Question = "Orders" },
		"a context has no such file": func(d *proposal.Draft) { d.Name = "../x" },
		"must be of small letters":   func(d *proposal.Draft) { d.Name = "X" },
		"must be one line":           func(d *proposal.Draft) { d.Question = "A\n-- roles: x" },
		"the statement was refused":  func(d *proposal.Draft) { d.SQL = "DELETE FROM orders" },
		"the statement failed":       func(d *proposal.Draft) { d.SQL = "SELECT x FROM orders" },
		"has a file of this name":    func(d *proposal.Draft) { d.Name = "volume" },
		"one word without commas":    func(d *proposal.Draft) { d.Roles = []string{"a,b"} },
		"must be a day":              func(d *proposal.Draft) { d.Expires = "tomorrow" },
		"it expires before":          func(d *proposal.Draft) { d.Expires = "2020-01-01" },
		"configured with":            func(d *proposal.Draft) { d.Source = "other" },
		"needs one meaning":          func(d *proposal.Draft) { d.Paraphrases = []string{"orders, in total?"} },
	} {
		changed := d
		change(&changed)
		r := g.request("POST", "/api/proposals", in("draft", changed))
		w := g.do(r)
		if w.Code < 400 || w.Code >= 500 || !strings.Contains(strings.ToLower(w.Body.String()), what) {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
	}
}

// TestProposalAsPatch checks that a folder that cannot be written gives a patch, which git applies, and that an
// approval can be repeated when the folder can be written.
func TestProposalAsPatch(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root writes everywhere, so a file takes the place of the folder of the queries")
	}
	dir := t.TempDir()
	g := newRig(t, t.TempDir(), admins(dir))
	d := g.complain("How many orders are there?")
	d.SQL = "SELECT count(*) AS orders FROM orders WHERE status <> 'cancelled'"
	var got struct{ Proposal shownProposal }
	g.sent(adasKey, "POST", "/api/proposals", in("draft", d), 201, &got)
	blocked := filepath.Join(dir, "tests")
	if err := os.Symlink("/proc/self", blocked); err != nil { // a folder that nobody can write to
		t.Fatal(err)
	}
	g.sent(carlasKey, "POST", "/api/proposals/1/review", map[string]any{"approve": true}, 200, &got)
	if got.Proposal.State != "approved" || got.Proposal.Written || got.Proposal.Unsaved == "" {
		t.Errorf("%+v", got.Proposal)
	}
	patch := g.as(carlasKey, "GET", "/api/proposals/1/patch", nil, 200)
	copied := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "git", "apply", "--verbose", "-")
	cmd.Dir, cmd.Stdin = copied, strings.NewReader(patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s\n%s", err, out, patch)
	}
	data, err := os.ReadFile(filepath.Join(copied, proposal.QueryFile(d.Name)))
	if err != nil || string(data) != got.Proposal.Query {
		t.Errorf("%q %v", data, err)
	}
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	g.sent(carlasKey, "POST", "/api/proposals/1/review", map[string]any{"approve": true}, 200, &got)
	if !got.Proposal.Written {
		t.Errorf("%+v", got.Proposal)
	}
}

// TestLoneAdministrator checks that an author who is the only administrator reads why nobody can approve, and that
// several organisations get no files of one of them.
func TestLoneAdministrator(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, t.TempDir(), admins(dir), func(c *config.Config) {
		c.APIKeys = append(c.APIKeys[:1], config.Key{
			Key: "key-of-dan-0123456789", Org: "other", User: "dan", Roles: []string{footnote.Admin},
		})
	})
	d := g.complain("How many orders are there?")
	var got struct{ Proposal shownProposal }
	g.sent(adasKey, "POST", "/api/proposals", in("draft", d), 201, &got)
	if !strings.Contains(got.Proposal.Blocked, "no other administrator") {
		t.Errorf("%+v", got.Proposal)
	}
	g.sent("key-of-dan-0123456789", "POST", "/api/proposals/1/review", map[string]any{"approve": true}, 404, nil)
	g.sent("key-of-dan-0123456789", "POST", "/api/proposals", in("draft", d), 404, nil)
	if text := g.as("key-of-dan-0123456789", "GET", "/api/proposals", nil, 200); strings.Contains(text, "ada") {
		t.Error(text)
	}
	if shared, err := g.app.sharesContext(t.Context(), "acme"); err != nil || !shared {
		t.Errorf("shared %v %v", shared, err)
	}
}
