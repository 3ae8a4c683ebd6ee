package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/protocol"
)

// mount adds the routes of a protocol.
func (s *Server) mount(p protocol.Protocol) {
	m := p.Routes(s)
	if m.Errors == nil {
		m.Errors = protocol.Native
	}
	s.mounted = append(s.mounted, m)
	var patterns []string
	methods := map[string]Methods{}
	for _, route := range m.List {
		if route.Open {
			s.open(route.Pattern, m.Errors, Methods{route.Method: route.Handler})
			continue
		}
		if methods[route.Pattern] == nil {
			patterns = append(patterns, route.Pattern)
			methods[route.Pattern] = Methods{}
		}
		h := route.Handler
		if route.Held {
			h = s.withStreamLimit(h)
		}
		if route.Queries {
			h = s.withSlot(h)
		}
		methods[route.Pattern][route.Method] = h
		if route.Method == http.MethodGet && !route.Held {
			methods[route.Pattern][http.MethodHead] = h
		}
	}
	for _, pattern := range patterns {
		s.challenges[pattern] = m.Challenge
		s.Handle(pattern, m.Errors, methods[pattern])
	}
}

// The rest of this file implements protocol.Server.

func (s *Server) Caller(r *http.Request) footnote.Principal { return PrincipalOf(r.Context()) }

func (s *Server) MayStart(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return scopeOf(r.Context()).withKey || r.Header.Get("Sec-Fetch-Site") == "same-origin" ||
		origin != "" && s.origins[origin]
}

func (s *Server) Assistants(r *http.Request) []agent.AssistantInfo {
	return s.opts.Engine.Assistants(s.Caller(r))
}

func (s *Server) Submit(w http.ResponseWriter, r *http.Request, t agent.Turn) (agent.Ticket, error) {
	t.Principal, t.Key, t.RequestID = s.Caller(r), scopeOf(r.Context()).keyID, RequestIDOf(r.Context())
	t.Trace = footnote.OriginOf(r.Context()).Trace
	t.OnDisconnect = cmp.Or(t.OnDisconnect, s.opts.StoredOnDisconnect)
	ticket, err := s.opts.Engine.Submit(r.Context(), t)
	if err == nil {
		w.Header().Set("X-Conversation-Id", ticket.Conversation)
	}
	return ticket, err
}

func (s *Server) Discard(t agent.Ticket) { s.opts.Engine.Subscribe(t).Close() }

func (s *Server) Complete(r *http.Request, prompt string) (string, footnote.Spent, error) {
	return s.opts.Engine.Complete(r.Context(), s.Caller(r), prompt)
}

func (s *Server) Find(r *http.Request, id string) (head footnote.Stream, found bool, err error) {
	if id == "" || len(id) > 128 {
		return footnote.Stream{}, false, nil
	}
	missing := true
	if validID(id) {
		head, err = s.mine(r.Context(), s.Caller(r), id)
		missing = footnote.CodeOf(err) == footnote.NotFound
	}
	if missing {
		head, err = s.named(r.Context(), s.Caller(r), id)
	}
	if footnote.CodeOf(err) == footnote.NotFound {
		return footnote.Stream{}, false, nil
	}
	return head, err == nil, err
}

func (s *Server) List(r *http.Request, assistant, before string, limit int) ([]footnote.Stream, string, error) {
	p := s.Caller(r)
	page, next, err := s.opts.Log.List(r.Context(), footnote.Page{
		Org: p.Org, User: p.User, Kind: "conversation", Before: before, Limit: limit,
	})
	if err != nil {
		return nil, "", err
	}
	var heads []footnote.Stream
	for _, head := range page {
		if head.Assistant != assistant {
			continue
		}
		if ok, err := s.visible(r.Context(), p, head); err != nil {
			return nil, "", err
		} else if ok {
			heads = append(heads, head)
		}
	}
	return heads, next, nil
}

func (s *Server) Events(r *http.Request, conversation string, after int64) iter.Seq2[footnote.Event, error] {
	return s.opts.Log.Events(r.Context(), conversation, after)
}

func (s *Server) Rows(r *http.Request, conversation string, res footnote.StoredResult,
	limit int) ([]json.RawMessage, error) {
	return s.page(r.Context(), conversation, res, 0, limit)
}

func (s *Server) Stop(r *http.Request, conversation string) error {
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	return s.opts.Engine.Stop(ctx, conversation, "user")
}

func (s *Server) AnswerTime(r *http.Request) (context.Context, context.CancelFunc) {
	return limited(r.Context(), s.opts.AnswerTimeout)
}

func (s *Server) Now() time.Time { return s.opts.Now() }

func (s *Server) Outcome(r *http.Request, word string) { scopeOf(r.Context()).outcome = word }
