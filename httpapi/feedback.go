package httpapi

import (
	"net/http"

	"github.com/footnotehq/footnote"
)

// feedback handles POST /api/feedback: a person's rating of an answer.
func (s *Server) feedback(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Conversation string `json:"conversation"`
		Seq          int64  `json:"seq"` // sequence number of the answered event
		Good         *bool  `json:"good"`
		Words        string `json:"words"`
	}
	if err := s.Read(w, r, 1, &in); err != nil {
		return err
	}
	if in.Good == nil {
		return footnote.Invalidf("good must be true or false.")
	}
	if _, err := s.conversation(r, in.Conversation); err != nil {
		return err
	}
	_, _, err := s.opts.Engine.Append(r.Context(), PrincipalOf(r.Context()), in.Conversation,
		footnote.Feedback{Seq: in.Seq, Good: *in.Good, Words: in.Words}, nil)
	return done(w, err)
}
