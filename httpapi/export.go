package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/export"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/aisdk"
)

// messages handles GET /api/conversations/{id}/messages: it returns the conversation as UIMessages of the AI
// SDK.
func (s *Server) messages(w http.ResponseWriter, r *http.Request) error {
	head, err := s.conversation(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	events, err := s.allEvents(r.Context(), head.ID)
	if err != nil {
		return err
	}
	assistant, _ := protocol.AssistantOf(s.Assistants(r), head.Assistant)
	messages := aisdk.Messages(events, aisdk.Options{
		Conversation: head.ID,
		Tools:        assistant.Tools,
		Unfinished:   true,
	})
	if messages == nil {
		messages = []aisdk.Message{}
	}
	data, err := json.Marshal(map[string]any{"messages": messages})
	if err != nil {
		return err
	}
	return protocol.WriteJSON(w, http.StatusOK, data)
}

func (s *Server) allEvents(ctx context.Context, id string) ([]footnote.Event, error) {
	var events []footnote.Event
	for ev, err := range s.opts.Log.Events(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// exportConversation handles GET /api/conversations/{id}/export?format=html: it returns the conversation as
// one self-contained file.
func (s *Server) exportConversation(w http.ResponseWriter, r *http.Request) error {
	head, err := s.conversation(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	if f := r.URL.Query().Get("format"); f != "" && f != "html" {
		return footnote.Errorf(footnote.InvalidRequest, "format must be html.")
	}
	events, err := s.allEvents(r.Context(), head.ID)
	if err != nil {
		return err
	}
	page, err := export.HTML(head, events, func(res footnote.StoredResult, limit int) ([][]any, error) {
		return s.firstRows(r.Context(), head.ID, res, limit)
	})
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Disposition", `attachment; filename="`+head.ID+`.html"`)
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	return writeBody(w, "text/html; charset=utf-8", page)
}

// firstRows reads the first rows of a result.
func (s *Server) firstRows(ctx context.Context, stream string, res footnote.StoredResult, limit int) ([][]any, error) {
	var rows [][]any
	for chunk, err := range s.chunks(ctx, stream, res) {
		if err != nil {
			return nil, err
		}
		if rows = append(rows, chunk...); len(rows) >= limit {
			return rows[:limit], nil
		}
	}
	return rows, nil
}
