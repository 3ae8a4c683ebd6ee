package httpapi

import (
	"net/http"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
)

// browserRoutes registers the doors whose clients run tools of their own.
func (s *Server) browserRoutes() {
	s.analyzeRoutes()
	s.aiRoutes()
}

// submit submits a door's turn to the engine on behalf of the caller.
func (s *Server) submit(w http.ResponseWriter, r *http.Request, t agent.Turn) (agent.Ticket, error) {
	t.Principal, t.Key, t.RequestID = PrincipalOf(r.Context()), scopeOf(r.Context()).keyID, RequestIDOf(r.Context())
	t.Trace = footnote.OriginOf(r.Context()).Trace
	ticket, err := s.opts.Engine.Submit(r.Context(), t)
	if err == nil {
		w.Header().Set("X-Conversation-Id", ticket.Conversation)
	}
	return ticket, err
}
