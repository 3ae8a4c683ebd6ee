package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/knowledge/inbox"
	"github.com/footnotehq/footnote/knowledge/proposal"
	"github.com/footnotehq/footnote/protocol"
)

// Proposals keeps the verified queries that administrators suggest for their organisation.
type Proposals interface {
	// Draft returns the beginning of a verified query for a question and a result behind its answer, or nil if that
	// result cannot have one.
	Draft(question string, r footnote.StoredResult) *proposal.Draft
	// Describe checks a draft without running it: the files that it would become.
	Describe(ctx context.Context, p footnote.Principal, d proposal.Draft) (footnote.Proposed, error)
	// Run runs the statement of a draft with the values in the question, and returns the rows. It completes the
	// description by whether the test would fail now, and by warnings.
	Run(ctx context.Context, p footnote.Principal, d proposal.Draft,
		b *footnote.Proposed) (footnote.Result, time.Duration, error)
	Add(ctx context.Context, p footnote.Principal, b footnote.Proposed) (ProposalState, error)
	List(ctx context.Context, p footnote.Principal) ([]ProposalState, error)
	Review(ctx context.Context, p footnote.Principal, b footnote.Reviewed) (ProposalState, error)
	Find(ctx context.Context, p footnote.Principal, id int64) (ProposalState, error)
}

// ProposalState is a proposal as a caller sees it.
type ProposalState struct {
	proposal.Proposal
	Blocked string // why the caller cannot decide about it; empty: the caller can
	Written bool   // this server uses the approved query
	Unsaved string // why an approved query is not used here
}

type shownProposal struct {
	ID           int64      `json:"id"`
	State        string     `json:"state"`
	Name         string     `json:"name"`
	Source       string     `json:"source"`
	By           string     `json:"by"`
	Time         time.Time  `json:"time"`
	Conversation string     `json:"conversation"`
	Seq          int64      `json:"seq"`
	Query        string     `json:"query"`
	Test         string     `json:"test"`
	Fails        string     `json:"fails"`
	Warnings     []string   `json:"warnings"`
	Blocked      string     `json:"blocked,omitempty"`
	ReviewedBy   string     `json:"reviewed_by,omitempty"`
	Decided      *time.Time `json:"decided,omitempty"`
	Words        string     `json:"words,omitempty"`
	Written      bool       `json:"written"`
	Unsaved      string     `json:"unsaved,omitempty"`
}

func shown(p ProposalState) shownProposal {
	out := shownProposal{
		ID: p.ID, State: p.State, Name: p.Name, Source: p.Source, By: p.By, Time: p.Time.UTC().Truncate(time.Second),
		Conversation: p.Conversation, Seq: p.Seq, Query: p.Query, Test: p.Test, Fails: p.Fails,
		Warnings: append([]string{}, p.Warnings...), Blocked: p.Blocked, ReviewedBy: p.Reviewed.By,
		Words: p.Reviewed.Words, Written: p.Written, Unsaved: p.Unsaved,
	}
	if !p.Decided.IsZero() {
		out.Decided = new(p.Decided.UTC().Truncate(time.Second))
	}
	return out
}

func (s *Server) proposalRoutes() {
	s.Handle("/api/proposals", protocol.Native, Methods{
		http.MethodGet: s.forAdmins(s.getProposals), http.MethodHead: s.forAdmins(s.getProposals),
		http.MethodPost: s.forAdmins(s.withSlot(s.postProposal)),
	})
	s.Handle("/api/proposals/{id}/review", protocol.Native, Methods{
		http.MethodPost: s.forAdmins(s.postReview),
	})
	s.Handle("/api/proposals/{id}/patch", protocol.Native, get(s.forAdmins(s.getPatch)))
}

// draft returns the beginning of a verified query for a statement behind an answer, or nil where there can be none.
func (s *Server) draft(item inbox.Item, question string, r footnote.StoredResult) *proposal.Draft {
	if s.opts.Proposals == nil || question == "" || len(question) > inboxChars || len(r.SQL) > inboxChars {
		return nil
	}
	d := s.opts.Proposals.Draft(question, r)
	if d != nil {
		d.Conversation, d.Seq = item.Conversation, item.Seq
	}
	return d
}

// getProposals handles GET /api/proposals: the organisation's proposals, the newest first.
func (s *Server) getProposals(w http.ResponseWriter, r *http.Request) error {
	list, err := s.opts.Proposals.List(r.Context(), PrincipalOf(r.Context()))
	if err != nil {
		return err
	}
	out := make([]shownProposal, len(list))
	for i, p := range list {
		out[i] = shown(p)
	}
	return protocol.WriteValue(w, http.StatusOK, map[string]any{"proposals": out})
}

// postProposal handles POST /api/proposals: it checks a draft, runs its statement, and unless only a check is asked
// for, stores the proposal.
func (s *Server) postProposal(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Draft proposal.Draft `json:"draft"`
		Check bool           `json:"check"`
	}
	if err := s.Read(w, r, 1, &in); err != nil {
		return err
	}
	p := PrincipalOf(r.Context())
	b, err := s.opts.Proposals.Describe(r.Context(), p, in.Draft)
	if err != nil {
		return err
	}
	var out struct {
		Result   protocol.QueryResult `json:"result"`
		Query    string               `json:"query"`
		Test     string               `json:"test"`
		Fails    string               `json:"fails"`
		Warnings []string             `json:"warnings"`
		Proposal *shownProposal       `json:"proposal,omitempty"`
	}
	q := OwnQuery{Protocol: "app", Statement: footnote.Statement{SQL: in.Draft.SQL, Source: in.Draft.Source}}
	err = s.reported(r.Context(), &q, func() error {
		var ctx context.Context
		ctx, q.ran = footnote.WithStatements(r.Context())
		res, took, err := s.opts.Proposals.Run(ctx, p, in.Draft, &b)
		if err == nil {
			out.Result = newQueryResult(in.Draft.SQL, res, took)
		}
		return err
	})
	if err != nil {
		return err
	}
	out.Query, out.Test, out.Fails, out.Warnings = b.Query, b.Test, b.Fails, append([]string{}, b.Warnings...)
	status := http.StatusOK
	if !in.Check {
		added, err := s.opts.Proposals.Add(r.Context(), p, b)
		if err != nil {
			return err
		}
		status, out.Proposal = http.StatusCreated, new(shown(added))
	}
	return protocol.WriteValue(w, status, out)
}

// proposalID returns the id in the path of a request.
func proposalID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, footnote.Errorf(footnote.NotFound, "There is no such proposal.")
	}
	return id, nil
}

// postReview handles POST /api/proposals/{id}/review: an administrator approves or declines another one's proposal. To
// approve a proposal again that could not be written repeats the writing.
func (s *Server) postReview(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Approve *bool  `json:"approve"`
		Words   string `json:"words"`
	}
	if err := s.Read(w, r, 1, &in); err != nil {
		return err
	}
	id, err := proposalID(r)
	if err != nil {
		return err
	}
	if in.Approve == nil {
		return footnote.Invalidf("approve must be true or false.")
	}
	p := PrincipalOf(r.Context())
	done, err := s.opts.Proposals.Review(r.Context(), p, footnote.Reviewed{
		Proposal: id, Approved: *in.Approve, By: p.User, Words: in.Words,
	})
	if err != nil {
		return err
	}
	return protocol.WriteValue(w, http.StatusOK, map[string]any{"proposal": shown(done)})
}

// getPatch handles GET /api/proposals/{id}/patch: the files of an approved proposal as a unified diff.
func (s *Server) getPatch(w http.ResponseWriter, r *http.Request) error {
	id, err := proposalID(r)
	if err != nil {
		return err
	}
	p, err := s.opts.Proposals.Find(r.Context(), PrincipalOf(r.Context()), id)
	if err != nil {
		return err
	}
	if p.State != proposal.Approved {
		return footnote.Errorf(footnote.Conflict, "The proposal has not been approved.")
	}
	w.Header().Set("Content-Disposition", `attachment; filename="`+p.Name+`.patch"`)
	return protocol.Write(w, http.StatusOK, "text/x-diff; charset=utf-8", []byte(p.Patch()))
}
