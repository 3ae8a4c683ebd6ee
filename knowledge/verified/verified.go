// Package verified reads the verified queries of a company: statements that a person has checked, each with the
// question that it answers. A question gets a verified query's rows only if it is one of the query's own wordings, up
// to case, spaces and punctuation, with a valid value in each slot. A question that is merely similar matches nothing.
//
// A query is a file: a header of SQL comments, then one statement.
//
//	-- question: Revenue in {month}
//	-- paraphrase: How much did we sell in {month}?
//	-- parameter: month month
//	-- source: shop
//	-- author: Ann
//	-- date: 2026-11-02
//	SELECT sum(total) AS revenue FROM orders WHERE …  -- with $1 for the month
//
// header.go reads files, slot.go the values of slots, words.go splits questions into words, match.go compares them
// with wordings, and nearest.go finds similar wordings for a model to choose from.
package verified

import (
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// Folder is the folder of the verified queries within a context.
const Folder = "verified"

// Query is a verified query.
type Query struct {
	File        string
	Name        string // of the file, without .sql
	Question    string
	Paraphrases []string // further wordings
	Parameters  []Parameter
	Source      string          // name of the source that it reads
	Author      string          // who verified it
	Date        time.Time       // when
	Expires     time.Time       // the last day on which it may be used; zero: it does not expire
	Roles       []string        // who may use it; none: everybody
	SQL         string          // with $1, $2, … for the parameters, in order
	Digest      footnote.Digest // of SQL
	// Needs are roles without which the database refuses the statement, because columns are hidden: one of each list.
	// An empty list means that nobody may run it.
	Needs [][]string

	wordings []wording
}

// Parameter is a parameter of a query, and the slot of its name in the wordings.
type Parameter struct {
	Name   string
	Type   string   // one of Types
	Values []string // of OneOf: the values that the statement receives
}

// Describe returns the type of the parameter in words, with the values that it can have.
func (p Parameter) Describe() string {
	if p.Type == OneOf {
		return OneOf + " " + strings.Join(p.Values, ", ")
	}
	return p.Type
}

// Set holds the verified queries of a company. The zero value is empty. It never changes.
type Set struct {
	queries []*Query // by name
	rarity  map[string]float64
}

// All returns the queries, ordered by name.
func (s *Set) All() []*Query {
	if s == nil {
		return nil
	}
	return slices.Clone(s.queries)
}

// Expired returns the queries that have expired at a time.
func (s *Set) Expired(now time.Time) []*Query {
	return slices.DeleteFunc(s.All(), func(q *Query) bool { return !q.expired(now) })
}

// Caller describes the person, the sources and the time of a question. It decides which queries exist for them.
type Caller struct {
	Roles   []string
	Sources []string // of the conversation
	Now     time.Time
}

// open reports whether a query exists for the caller.
func (c Caller) open(q *Query) bool {
	one := func(of []string) bool {
		return slices.ContainsFunc(of, func(r string) bool { return slices.Contains(c.Roles, r) })
	}
	if len(q.Roles) > 0 && !one(q.Roles) || slices.ContainsFunc(q.Needs, func(of []string) bool { return !one(of) }) {
		return false
	}
	return slices.Contains(c.Sources, q.Source) && !q.expired(c.Now)
}

// expired reports whether the last day of a query has passed, in UTC.
func (q *Query) expired(now time.Time) bool {
	return !q.Expires.IsZero() && !now.Before(q.Expires.AddDate(0, 0, 1))
}

// Find returns the query of a name if it exists for the caller.
func (s *Set) Find(c Caller, name string) (*Query, bool) {
	for _, q := range s.All() {
		if strings.EqualFold(q.Name, name) && c.open(q) {
			return q, true
		}
	}
	return nil, false
}

// Questions returns up to n questions without slots, which can be offered as they are, of the queries that exist for
// the caller.
func (s *Set) Questions(c Caller, n int) (list []string) {
	for _, q := range s.All() {
		if len(list) < n && len(q.Parameters) == 0 && c.open(q) {
			list = append(list, q.Question)
		}
	}
	return list
}

// Wordings returns the question and the paraphrases.
func (q *Query) Wordings() []string { return append([]string{q.Question}, q.Paraphrases...) }

// Verified returns the fact to record with rows that the query returned for a question.
func (q *Query) Verified(question string) *footnote.Verified {
	return &footnote.Verified{
		Query: q.Name, Question: question, By: q.Author, On: q.Date.Format(time.DateOnly), Digest: q.Digest,
	}
}
