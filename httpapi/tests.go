package httpapi

import (
	"context"
	"net/http"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/knowledge/suite"
	"github.com/footnotehq/footnote/protocol"
)

// Tests runs the suites of the server, and knows their history.
type Tests interface {
	Suites(ctx context.Context, p footnote.Principal) ([]SuiteInfo, error)
	Run(ctx context.Context, p footnote.Principal, suite, mode string) (suite.Past, error)
}

// SuiteInfo describes a suite.
type SuiteInfo struct {
	Name  string       `json:"name"`
	Tests []string     `json:"tests"` // their names
	Modes []string     `json:"modes"` // who can answer, besides a model
	Runs  []suite.Past `json:"runs"`  // the newest first
	Fault string       `json:"fault,omitempty"`
}

func (s *Server) testRoutes() {
	if s.opts.Tests == nil {
		return
	}
	s.Handle("/api/tests", protocol.Native, get(s.forAdmins(s.getTests)))
	s.Handle("/api/tests/runs", protocol.Native, Methods{
		http.MethodPost: s.forAdmins(s.withStreamLimit(s.postTestRun)),
	})
}

// getTests handles GET /api/tests: the suites of the server, with their newest runs.
func (s *Server) getTests(w http.ResponseWriter, r *http.Request) error {
	list, err := s.opts.Tests.Suites(r.Context(), PrincipalOf(r.Context()))
	if err != nil {
		return err
	}
	return protocol.WriteValue(w, http.StatusOK, map[string]any{"suites": list})
}

// postTestRun handles POST /api/tests/runs: it runs a suite, and answers when it has ended.
func (s *Server) postTestRun(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Suite string `json:"suite"`
		Mode  string `json:"mode"`
	}
	if err := s.Read(w, r, 1, &in); err != nil {
		return err
	}
	ctx, cancel := s.AnswerTime(r)
	defer cancel()
	past, err := s.opts.Tests.Run(ctx, PrincipalOf(ctx), in.Suite, in.Mode)
	return reply(w, map[string]any{"run": past}, err)
}
