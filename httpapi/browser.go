package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/protocol/aisdk"
	"github.com/footnotehq/footnote/protocol/analyze"
)

// browserRoutes are the doors whose clients run tools of their own.
func (s *Server) browserRoutes() {
	s.Handle("/api/analyze", Native, Methods{http.MethodPost: s.analyze})
	s.Handle("/api/analyze/tool-result", Native, Methods{http.MethodPost: s.toolResult})
	s.Handle("/api/ai", Native, Methods{http.MethodPost: s.uiMessages})
}

// submit hands a door's turn to the engine, as the caller's.
func (s *Server) submit(w http.ResponseWriter, r *http.Request, t agent.Turn) (agent.Ticket, error) {
	t.Principal, t.RequestID = PrincipalOf(r.Context()), RequestIDOf(r.Context())
	ticket, err := s.opts.Engine.Submit(r.Context(), t)
	if err == nil {
		w.Header().Set("X-Conversation-Id", ticket.Conversation)
	}
	return ticket, err
}

// analyze is POST /api/analyze. The stream stays open while the browser works.
func (s *Server) analyze(w http.ResponseWriter, r *http.Request) error {
	body, err := s.Body(w, r)
	if err != nil {
		return err
	}
	turn, err := analyze.Decode(body)
	if err != nil {
		return err
	}
	ticket, err := s.submit(w, r, turn)
	if err != nil {
		return err
	}
	return s.Stream(w, r, Streaming{Door: turn.Door, Ticket: ticket, Encoder: &analyze.Encoder{}, OnDisconnect: turn.OnDisconnect})
}

// toolResult is POST /api/analyze/tool-result.
func (s *Server) toolResult(w http.ResponseWriter, r *http.Request) error {
	body, err := s.Body(w, r)
	if err != nil {
		return err
	}
	turn, err := analyze.DecodeResult(body)
	if err != nil {
		return err
	}
	ticket, err := s.submit(w, r, turn)
	if err != nil {
		return err
	}
	s.opts.Engine.Subscribe(ticket).Close()
	answer, err := json.Marshal(map[string]bool{"ok": true, "duplicate": ticket.Duplicate})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, answer)
}

// uiMessages is POST /api/ai. A response ends where the browser must act.
func (s *Server) uiMessages(w http.ResponseWriter, r *http.Request) error {
	body, err := s.Body(w, r)
	if err != nil {
		return err
	}
	turn, err := aisdk.Decode(body)
	if err != nil {
		return err
	}
	// Either the client's own chat id, or one of ours from another door.
	if validID(turn.ClientID) {
		if head, err := s.opts.Log.Get(r.Context(), turn.ClientID); err == nil && owns(PrincipalOf(r.Context()), head) {
			turn.Conversation, turn.ClientID = head.ID, ""
		}
	}
	ticket, err := s.submit(w, r, turn)
	if err != nil {
		return err
	}
	w.Header().Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
	return s.Stream(w, r, Streaming{
		Door: turn.Door, Ticket: ticket, Encoder: aisdk.NewEncoder(s.opts.ClientTools), OnDisconnect: turn.OnDisconnect,
	})
}
