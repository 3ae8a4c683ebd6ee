package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/knowledge"
	"github.com/footnotehq/footnote/knowledge/proposal"
	"github.com/footnotehq/footnote/knowledge/suite"
	"github.com/footnotehq/footnote/knowledge/verified"
	"github.com/footnotehq/footnote/source"
)

// proposals implements httpapi.Proposals.
type proposals struct {
	*App
	kept proposal.Proposals
}

func (a *App) newProposals() *proposals {
	return &proposals{App: a, kept: proposal.Proposals{Log: a.store}}
}

// Draft implements httpapi.Proposals.
func (s *proposals) Draft(question string, r footnote.StoredResult) *proposal.Draft {
	if _, ok := s.cfg.Sources[r.Source]; !ok || s.knowledge == nil {
		return nil
	}
	return new(proposal.Suggest(question, r.Source, r.SQL))
}

// Describe implements httpapi.Proposals.
func (s *proposals) Describe(ctx context.Context, p footnote.Principal, d proposal.Draft) (footnote.Proposed, error) {
	if s.knowledge == nil {
		return footnote.Proposed{}, footnote.Invalidf("Verified queries are files of the context folder, and the " +
			"setting context names none.")
	}
	question, _, err := s.answered(ctx, p, d)
	if err != nil {
		return footnote.Proposed{}, err
	}
	b := footnote.Proposed{
		Name: d.Name, Source: d.Source, By: p.User, Conversation: d.Conversation, Seq: d.Seq,
	}
	if b.Query, err = d.Write(p.User, time.Now().UTC()); err != nil {
		return b, footnote.Invalidf("%s", err)
	}
	match, err := s.match(b, question)
	if err != nil {
		return b, err
	}
	if b.Test, err = proposal.Test(match, question); err != nil {
		return b, err
	}
	if dates := match.Query.FixedDates(); len(dates) > 0 {
		b.Warnings = append(b.Warnings, fmt.Sprintf("The statement has the fixed dates %s besides its parameters.",
			strings.Join(dates, ", ")))
	}
	return b, s.fits(proposal.Proposal{Proposed: b})
}

// match returns the verified query of a proposal with the values in a question, which must be one of its wordings.
func (s *proposals) match(b footnote.Proposed, question string) (verified.Match, error) {
	q, err := verified.Parse(proposal.QueryFile(b.Name), b.Query)
	if err != nil {
		return verified.Match{}, footnote.Invalidf("%s", err)
	}
	if _, ok := s.cfg.Sources[q.Source]; !ok {
		return verified.Match{}, footnote.Invalidf("A verified query needs a source that the server is " +
			"configured with.")
	}
	set, err := verified.New([]*verified.Query{q})
	if err != nil {
		return verified.Match{}, footnote.Invalidf("%s", err)
	}
	m, ok := set.Match(verified.Caller{Roles: q.Roles, Sources: []string{q.Source}, Now: time.Now()}, question)
	if !ok {
		return m, footnote.Invalidf("The question that was asked, %.300q, is not one of the wordings. Add it as a "+
			"paraphrase.", question)
	}
	return m, nil
}

// fits checks the files of a proposal together with those of the context folder.
func (s *proposals) fits(p proposal.Proposal) error {
	if _, err := s.words().With(p.Files()); err != nil {
		if _, ok := knowledge.IsFault(err); ok {
			return footnote.Invalidf("The context would be faulty: %s", err)
		}
		return err
	}
	return nil
}

// answered returns the question and the answer that a draft corrects.
func (s *proposals) answered(ctx context.Context, p footnote.Principal, d proposal.Draft) (question string, got *tested,
	err error) {
	none := footnote.Errorf(footnote.NotFound, "There is no such answer.")
	head, err := s.store.Get(ctx, d.Conversation)
	if footnote.CodeOf(err) == footnote.NotFound || err == nil && head.Org != p.Org {
		return "", nil, none
	}
	if err != nil {
		return "", nil, err
	}
	got = &tested{conversation: d.Conversation}
	for ev, err := range s.store.Events(ctx, d.Conversation, 0) {
		if err != nil {
			return "", nil, err
		}
		if ev.Seq > d.Seq {
			break
		}
		switch b := ev.Body.(type) {
		case footnote.UserMessage:
			if b.Text != "" {
				question, got.results = b.Text, nil
			}
		case footnote.ToolResult:
			if b.Result != nil {
				got.results = append(got.results, *b.Result)
			}
		case footnote.Answered:
			if ev.Seq == d.Seq {
				got.answer = &b
			}
		}
	}
	if got.answer == nil || question == "" {
		return "", nil, none
	}
	return question, got, nil
}

// Run implements httpapi.Proposals.
func (s *proposals) Run(ctx context.Context, p footnote.Principal, d proposal.Draft,
	b *footnote.Proposed) (res footnote.Result, took time.Duration, err error) {
	question, got, err := s.answered(ctx, p, d)
	if err != nil {
		return res, 0, err
	}
	m, err := s.match(*b, question)
	if err != nil {
		return res, 0, err
	}
	src, err := s.catalog.Find(p, m.Query.Source)
	if err != nil {
		return res, 0, err
	}
	ctx = footnote.WithSource(footnote.WithPrincipal(ctx, p), m.Query.Source)
	limited, cancel := context.WithTimeoutCause(ctx, s.cfg.ToolTimeout, errQueryTime)
	defer cancel()
	res, sum, err := source.Collect(limited, src, source.Query{SQL: m.Query.SQL, Args: m.Args})
	if err != nil && errors.Is(context.Cause(limited), errQueryTime) {
		err = &source.Error{Kind: source.Limited, Reason: fmt.Sprintf("It took longer than %s.", s.cfg.ToolTimeout)}
	}
	if err != nil {
		return res, 0, personal(err)
	}
	res.Columns = footnote.DistinctColumns(res.Columns)
	if res.Truncated {
		b.Warnings = append(b.Warnings, "The statement returns more rows than are read, so its test cannot pass.")
	}
	tables, err := s.tablesOf(ctx, got)
	if err != nil {
		return res, 0, err
	}
	b.Fails = strings.Join(rowReasons(suite.Expect{}, res, got, tables), "; ")
	if b.Fails == "" {
		b.Fails = "the answer is not marked as verified"
		b.Warnings = append(b.Warnings, "The answer had these rows already: the test fails only because they were "+
			"not verified.")
	}
	return res, sum.Elapsed, nil
}

// Add implements httpapi.Proposals.
func (s *proposals) Add(ctx context.Context, p footnote.Principal, b footnote.Proposed) (httpapi.ProposalState, error) {
	added, err := s.kept.Add(ctx, p.Org, b)
	if err != nil {
		return httpapi.ProposalState{}, err
	}
	return s.state(ctx, p, added)
}

// List implements httpapi.Proposals.
func (s *proposals) List(ctx context.Context, p footnote.Principal) ([]httpapi.ProposalState, error) {
	list, err := s.kept.List(ctx, p.Org)
	if err != nil {
		return nil, err
	}
	out := make([]httpapi.ProposalState, len(list))
	for i, one := range list {
		if out[i], err = s.state(ctx, p, one); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Find implements httpapi.Proposals.
func (s *proposals) Find(ctx context.Context, p footnote.Principal, id int64) (httpapi.ProposalState, error) {
	found, err := s.kept.Find(ctx, p.Org, id)
	if err != nil {
		return httpapi.ProposalState{}, err
	}
	return s.state(ctx, p, found)
}

// Review implements httpapi.Proposals. The decision is an event; only then are the files written, and writing them
// again does no harm.
func (s *proposals) Review(ctx context.Context, p footnote.Principal,
	b footnote.Reviewed) (httpapi.ProposalState, error) {
	found, err := s.kept.Find(ctx, p.Org, b.Proposal)
	if err != nil {
		return httpapi.ProposalState{}, err
	}
	if !b.Approved || found.State != proposal.Approved {
		if b.Approved {
			if err := s.fits(found); err != nil {
				return httpapi.ProposalState{}, err
			}
		}
		if found, err = s.kept.Review(ctx, p.Org, b); err != nil {
			return httpapi.ProposalState{}, err
		}
	}
	unsaved := ""
	if found.State == proposal.Approved && !s.uses(found) {
		if unsaved, err = s.write(ctx, p, found); err != nil {
			return httpapi.ProposalState{}, err
		}
	}
	state, err := s.state(ctx, p, found)
	if !state.Written && unsaved != "" {
		state.Unsaved = unsaved
	}
	return state, err
}

// write writes the files of an approved proposal and loads them. It returns why they cannot be written here.
func (s *proposals) write(ctx context.Context, p footnote.Principal, approved proposal.Proposal) (string, error) {
	if s.knowledge == nil {
		return "The setting context names no folder.", nil
	}
	if shared, err := s.sharesContext(ctx, p.Org); err != nil {
		return "", err
	} else if shared {
		return "Several organisations use this context folder, so its operator must add the files.", nil
	}
	if s.knowledge.Fault() != nil {
		return "The context folder is faulty. Correct it first.", nil
	}
	switch err := knowledge.AddFiles(s.cfg.Context, approved.Files()); {
	case errors.Is(err, knowledge.ErrTaken):
		return "The context folder has another file of this name.", nil
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		return "The context folder is read-only for this server.", nil
	case err != nil:
		s.log.ErrorContext(ctx, "cannot write an approved query to the context folder", "query", approved.Name,
			"err", err)
		return "The context folder could not be written; the server's log says why.", nil
	}
	s.knowledge.Look(context.WithoutCancel(ctx))
	return "", nil
}

// uses reports whether the context in use has the verified query of a proposal.
func (s *proposals) uses(p proposal.Proposal) bool {
	return s.words().FileDigests()[proposal.QueryFile(p.Name)] == footnote.DigestOf([]byte(p.Query))
}

// state returns a proposal as a caller sees it.
func (s *proposals) state(ctx context.Context, p footnote.Principal,
	one proposal.Proposal) (httpapi.ProposalState, error) {
	out := httpapi.ProposalState{Proposal: one, Written: one.State == proposal.Approved && s.uses(one)}
	if one.State == proposal.Approved && !out.Written {
		out.Unsaved = "The context folder of this server does not have it."
	}
	if one.State != proposal.Open || one.By != p.User {
		return out, nil
	}
	out.Blocked = "You made this proposal, so another administrator must decide about it."
	if other, err := s.hasOtherAdmin(ctx, p); err != nil {
		return out, err
	} else if !other {
		out.Blocked = "You made this proposal, and there is no other administrator who could decide about it. Give a " +
			"second person a key with the role admin."
	}
	return out, nil
}

// hasOtherAdmin reports whether somebody else in the organisation may be an administrator. Whom tokens name is not
// known.
func (s *proposals) hasOtherAdmin(ctx context.Context, p footnote.Principal) (bool, error) {
	if s.cfg.Auth.JWT.Issuer != "" {
		return true, nil
	}
	other := func(k footnote.Principal) bool { return k.Org == p.Org && k.User != p.User && k.Has(footnote.Admin) }
	for _, k := range s.cfg.Principals() {
		if other(k) {
			return true, nil
		}
	}
	for k, err := range AllKeys(ctx, s.store, p.Org) {
		if err != nil {
			return false, err
		}
		if other(k.Principal) && k.Revoked.IsZero() && (k.Expires.IsZero() || k.Expires.After(time.Now())) {
			return true, nil
		}
	}
	return false, nil
}

// sharesContext reports whether an organisation may not be the only one that uses this server and its context. One
// organisation must not change the answers of another.
func (a *App) sharesContext(ctx context.Context, org string) (bool, error) {
	if j := a.cfg.Auth.JWT; j.Issuer != "" && j.Org != org {
		return true, nil
	}
	for _, k := range a.cfg.Principals() {
		if k.Org != org {
			return true, nil
		}
	}
	for k, err := range AllKeys(ctx, a.store, "") {
		if err != nil {
			return false, err
		}
		if k.Org != org {
			return true, nil
		}
	}
	return false, nil
}
