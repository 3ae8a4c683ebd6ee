package httpapi

import (
	"context"
	"net/http"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/export"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/aisdk"
)

// messages handles GET /api/conversations/{id}/messages: it returns the conversation as UIMessages of the AI
// SDK.
func (s *Server) messages(w http.ResponseWriter, r *http.Request, head footnote.Stream) error {
	events, err := s.allEvents(r.Context(), head.ID)
	if err != nil {
		return err
	}
	assistant, _ := protocol.AssistantOf(s.Assistants(r), head.Assistant)
	return protocol.WriteValue(w, http.StatusOK, map[string]any{"messages": aisdk.Messages(events, aisdk.Options{
		Conversation: head.ID, Tools: assistant.Tools, Unfinished: true,
	})})
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
func (s *Server) exportConversation(w http.ResponseWriter, r *http.Request, head footnote.Stream) error {
	if f := r.URL.Query().Get("format"); f != "" && f != "html" {
		return footnote.Invalidf("format must be html.")
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
	attach(w, r, head.ID, "html")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	return protocol.Write(w, http.StatusOK, "text/html; charset=utf-8", page)
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
