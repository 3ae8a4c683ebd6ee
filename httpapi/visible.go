package httpapi

import (
	"context"
	"sync"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/protocol"
)

// maxOpenings is the number of conversations whose Opened event is cached. That event never changes.
const maxOpenings = 10_000

// openings caches the Opened events of conversations.
type openings struct {
	mu sync.Mutex // guards below
	of map[string]footnote.Opened
}

// mine returns the head of a conversation of p by its id. It returns NotFound if the conversation does not exist,
// belongs to another user, or is about data that p may no longer use.
func (s *Server) mine(ctx context.Context, p footnote.Principal, id string) (footnote.Stream, error) {
	head, err := s.opts.Log.Get(ctx, id)
	return s.only(ctx, p, head, err)
}

// named is mine for an id that a client of p gave the conversation.
func (s *Server) named(ctx context.Context, p footnote.Principal, clientID string) (footnote.Stream, error) {
	head, err := s.opts.Log.Find(ctx, p.Org, p.User, "conversation", clientID)
	return s.only(ctx, p, head, err)
}

func (s *Server) only(ctx context.Context, p footnote.Principal, head footnote.Stream,
	err error) (footnote.Stream, error) {
	if head, err = owned(p, head, err); err != nil {
		return footnote.Stream{}, err
	}
	ok, err := s.visible(ctx, p, head)
	if err == nil && !ok {
		err = protocol.NoConversation()
	}
	return head, err
}

// owned returns the head of a conversation that was looked up, or NotFound if it is missing or belongs to another user.
func owned(p footnote.Principal, head footnote.Stream, err error) (footnote.Stream, error) {
	if footnote.CodeOf(err) == footnote.NotFound ||
		err == nil && (!p.Owner(head.Org, head.User) || head.Kind != "conversation") {
		return footnote.Stream{}, protocol.NoConversation()
	}
	return head, err
}

// visible reports whether p may still use the data that its conversation was opened with.
func (s *Server) visible(ctx context.Context, p footnote.Principal, head footnote.Stream) (bool, error) {
	if s.opts.Access == nil {
		return true, nil
	}
	s.openings.mu.Lock()
	opened, known := s.openings.of[head.ID]
	s.openings.mu.Unlock()
	lost := false
	if !known {
		var err error
		if opened, lost, err = s.opened(ctx, head); err != nil {
			return false, err
		}
	}
	return agent.MaySee(s.opts.Access, p, opened, lost), nil
}

// opened reads the Opened event of a conversation, or reports that it cannot be read.
func (s *Server) opened(ctx context.Context, head footnote.Stream) (opened footnote.Opened, lost bool, err error) {
	opened = footnote.Opened{Assistant: head.Assistant}
	for ev, err := range s.opts.Log.Events(ctx, head.ID, 0) {
		if err != nil {
			return opened, false, err
		}
		if _, lost := ev.Body.(footnote.Unreadable); lost {
			return opened, true, nil
		}
		b, ok := ev.Body.(footnote.Opened)
		if !ok {
			return opened, false, nil // an older conversation, or one without events yet
		}
		opened = b
		break
	}
	s.openings.mu.Lock()
	defer s.openings.mu.Unlock()
	if len(s.openings.of) >= maxOpenings {
		clear(s.openings.of)
	}
	s.openings.of[head.ID] = opened
	return opened, false, nil
}
