// Package proposal suggests verified queries, each with a test, that a second person approves or declines. The
// proposals of an organisation are a document in the log; the list of proposals is a projection of it.
package proposal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/knowledge/suite"
	"github.com/footnotehq/footnote/knowledge/verified"
)

// Log is the part of a store that keeps the proposals.
type Log interface {
	CreateAppend(ctx context.Context, s footnote.Stream, a footnote.Append) ([]footnote.Event, error)
	Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error)
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
}

// Draft holds an administrator's input.
type Draft struct {
	Conversation string   `json:"conversation"` // with the answer that was wrong
	Seq          int64    `json:"seq"`          // of the answer
	Name         string   `json:"name"`
	Question     string   `json:"question"`
	Paraphrases  []string `json:"paraphrases"`
	Parameters   []string `json:"parameters"` // such as "month month", in the order of $1, $2, …
	Source       string   `json:"source"`
	SQL          string   `json:"sql"`
	Roles        []string `json:"roles,omitempty"`   // who may use it; none: everybody
	Expires      string   `json:"expires,omitempty"` // the last day on which it may be used, such as 2026-11-02
}

// Suggest returns a draft for a question and one of the statements behind its answer.
func Suggest(question, source, sql string) Draft {
	q := verified.Suggest(question, sql)
	d := Draft{
		Name: q.Name, Question: q.Question, Source: source, SQL: q.SQL, Paraphrases: []string{}, Parameters: []string{},
	}
	for _, p := range q.Parameters {
		d.Parameters = append(d.Parameters, p.Name+" "+p.Type)
	}
	return d
}

// QueryFile returns the file of a verified query within the context folder, and TestFile that of its test.
func QueryFile(name string) string { return verified.Folder + "/" + name + ".sql" }

// TestFile returns the file of the test of a verified query within the context folder.
func TestFile(name string) string { return suite.Folder + "/" + name + ".yaml" }

// Write returns the file of the verified query that a draft describes.
func (d Draft) Write(author string, day time.Time) (string, error) {
	q := &verified.Query{
		Question: d.Question, Paraphrases: d.Paraphrases, Source: d.Source, Author: author, Date: day, SQL: d.SQL,
	}
	for _, line := range d.Parameters {
		name, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		q.Parameters = append(q.Parameters, verified.Parameter{Name: name, Type: strings.TrimSpace(kind)})
	}
	for _, role := range d.Roles {
		if role == "" || strings.Contains(role, ",") {
			return "", errors.New("A role is one word without commas.")
		}
	}
	q.Roles = d.Roles
	if d.Expires != "" {
		var err error
		if q.Expires, err = time.Parse(time.DateOnly, d.Expires); err != nil {
			return "", errors.New("The expiry must be a day such as 2026-11-02.")
		}
	}
	return q.Format()
}

// test is a test in the form in which a suite reads it.
type test struct {
	Name     string              `yaml:"name"`
	Question string              `yaml:"question"`
	As       map[string][]string `yaml:"as,omitempty"`
	Expect   struct {
		Source string `yaml:"source"`
		SQL    string `yaml:"sql"`
		Args   []any  `yaml:"args,flow,omitempty"`
		Badge  bool   `yaml:"badge"`
	} `yaml:"expect"`
}

// Test returns the file of the test that a question gets the rows of a verified query. The test has the statement
// itself, so that it also finds changes of the verified query.
func Test(m verified.Match, question string) (string, error) {
	t := test{Name: m.Query.Name, Question: question}
	t.Expect.Source, t.Expect.SQL, t.Expect.Args, t.Expect.Badge = m.Query.Source, m.Query.SQL, m.Args, true
	if len(m.Query.Roles) > 0 {
		t.As = map[string][]string{"roles": m.Query.Roles[:1]}
	}
	data, err := yaml.Marshal(map[string][]test{"tests": {t}})
	return string(data), err
}

// The states of a proposal.
const (
	Open     = "open"
	Approved = "approved"
	Declined = "declined"
)

// Proposal is a proposal with what was decided about it.
type Proposal struct {
	ID int64
	footnote.Proposed
	Time     time.Time
	State    string
	Reviewed footnote.Reviewed
	Decided  time.Time // zero while it is open
}

// Files returns the files of a proposal by their paths within the context folder.
func (p Proposal) Files() map[string][]byte {
	return map[string][]byte{QueryFile(p.Name): []byte(p.Query), TestFile(p.Name): []byte(p.Test)}
}

// Patch returns the files of a proposal as a unified diff that adds them to the context folder.
func (p Proposal) Patch() string {
	var b strings.Builder
	files := p.Files()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		lines := strings.Split(strings.TrimSuffix(string(files[name]), "\n"), "\n")
		fmt.Fprintf(&b, "diff --git a/%[1]s b/%[1]s\nnew file mode 100644\n--- /dev/null\n+++ b/%[1]s\n"+
			"@@ -0,0 +1,%[2]d @@\n", name, len(lines))
		for _, line := range lines {
			b.WriteString("+" + line + "\n")
		}
	}
	return b.String()
}

// Limits of the proposals of an organisation.
const (
	maxOpen   = 50
	maxEvents = 5000
	maxWords  = 2000 // characters of a review
	maxShown  = 100
)

// Proposals keeps the proposals of all organisations. Its methods are safe for concurrent use.
type Proposals struct{ Log Log }

// stream returns the id of an organisation's document.
func stream(org string) string {
	sum := sha256.Sum256([]byte(org))
	return "prop_" + hex.EncodeToString(sum[:16])
}

// List returns the proposals of an organisation, the newest first: all open ones, and the newest of the others.
func (s Proposals) List(ctx context.Context, org string) ([]Proposal, error) {
	all, _, err := s.read(ctx, org)
	slices.Reverse(all)
	closed := 0
	return slices.DeleteFunc(all, func(p Proposal) bool {
		if p.State != Open {
			closed++
		}
		return p.State != Open && closed > maxShown
	}), err
}

// read returns the proposals of an organisation, oldest first, and the sequence of the newest event.
func (s Proposals) read(ctx context.Context, org string) (all []Proposal, last int64, err error) {
	for ev, err := range s.Log.Events(ctx, stream(org), 0) {
		if footnote.CodeOf(err) == footnote.NotFound {
			return nil, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
		last = ev.Seq
		switch b := ev.Body.(type) {
		case footnote.Proposed:
			all = append(all, Proposal{ID: ev.Seq, Proposed: b, Time: ev.Time, State: Open})
		case footnote.Reviewed:
			if i := slices.IndexFunc(all, func(p Proposal) bool { return p.ID == b.Proposal }); i >= 0 {
				p := &all[i]
				p.Reviewed, p.Decided, p.State = b, ev.Time, Declined
				if b.Approved {
					p.State = Approved
				}
			}
		}
	}
	return all, last, nil
}

// Find returns a proposal of an organisation.
func (s Proposals) Find(ctx context.Context, org string, id int64) (Proposal, error) {
	p, _, err := s.find(ctx, org, id)
	return p, err
}

func (s Proposals) find(ctx context.Context, org string, id int64) (Proposal, int64, error) {
	all, last, err := s.read(ctx, org)
	if err != nil {
		return Proposal{}, 0, err
	}
	i := slices.IndexFunc(all, func(p Proposal) bool { return p.ID == id })
	if i < 0 {
		return Proposal{}, 0, footnote.Errorf(footnote.NotFound, "There is no such proposal.")
	}
	return all[i], last, nil
}

// Add stores a proposal. It refuses a second open one of the same name.
func (s Proposals) Add(ctx context.Context, org string, b footnote.Proposed) (Proposal, error) {
	all, last, err := s.read(ctx, org)
	if err != nil {
		return Proposal{}, err
	}
	open := 0
	for _, p := range all {
		if p.State != Open {
			continue
		}
		if open++; p.Name == b.Name {
			return p, footnote.Errorf(footnote.Conflict, "There is already an open proposal named %s.", b.Name)
		}
	}
	if open >= maxOpen {
		return Proposal{}, footnote.Errorf(footnote.Conflict, "There are %d open proposals. Decide about some first.",
			open)
	}
	ev, err := s.append(ctx, org, last, b)
	return Proposal{ID: ev.Seq, Proposed: b, Time: ev.Time, State: Open}, err
}

// Review decides about an open proposal. Nobody can decide about their own.
func (s Proposals) Review(ctx context.Context, org string, b footnote.Reviewed) (Proposal, error) {
	if utf8.RuneCountInString(b.Words) > maxWords {
		return Proposal{}, footnote.Errorf(footnote.InputTooLong, "The words have at most %d characters.", maxWords)
	}
	p, last, err := s.find(ctx, org, b.Proposal)
	if err != nil {
		return p, err
	}
	if p.State != Open {
		return p, footnote.Errorf(footnote.Conflict, "The proposal has been %s already.", p.State)
	}
	if p.By == b.By {
		return p, footnote.Errorf(footnote.Forbidden, "Another administrator must decide about your proposal.")
	}
	ev, err := s.append(ctx, org, last, b)
	p.Reviewed, p.Decided, p.State = b, ev.Time, Declined
	if b.Approved {
		p.State = Approved
	}
	return p, err
}

// append adds an event to the document of an organisation, and creates it for the first one.
func (s Proposals) append(ctx context.Context, org string, last int64, b footnote.Body) (footnote.Event, error) {
	if last >= maxEvents {
		return footnote.Event{}, footnote.Errorf(footnote.TooLarge, "There have been too many proposals.")
	}
	a := footnote.Append{Stream: stream(org), After: last, Bodies: []footnote.Body{b}}
	var events []footnote.Event
	var err error
	if last == 0 {
		events, err = s.Log.CreateAppend(ctx, footnote.Stream{
			ID: a.Stream, Kind: "document", Org: org, Assistant: "proposals", Title: "Proposals",
		}, a)
	} else {
		events, err = s.Log.Append(ctx, a)
	}
	if footnote.CodeOf(err) == footnote.Conflict {
		err = &footnote.Error{
			Code: footnote.Conflict, Message: "The proposals have changed at the same moment. Try again.", Err: err,
		}
	}
	if err == nil && len(events) == 0 {
		err = errors.New("the store returned no event")
	}
	if err != nil {
		return footnote.Event{}, err
	}
	return events[0], nil
}
