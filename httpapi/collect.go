package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/protocol"
)

// errAnswerTime is the cancellation cause when a non-streamed answer takes too long.
var errAnswerTime = errors.New("the time for the answer is over")

// Collect reads a run until its answer is complete. It returns an error if there is no answer.
func (s *Server) Collect(r *http.Request, t agent.Ticket, onDisconnect string, col protocol.Collector) error {
	if t.Duplicate {
		return s.collectBegun(r, t.Conversation, t.After, col)
	}
	onDisconnect = cmp.Or(onDisconnect, s.opts.StoredOnDisconnect)
	rd := s.opts.Engine.Subscribe(t)
	defer rd.Close()
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.opts.AnswerTimeout, errAnswerTime)
	defer cancel()
	enough := false
	for {
		batch, err := rd.Next(ctx)
		if err != nil {
			s.leave(r, t, onDisconnect)
			return protocol.AfterWork(s.interrupted(r, err))
		}
		for _, e := range batch {
			if e.Event == nil {
				col.Delta(e.Delta)
				continue
			}
			col.Event(*e.Event)
			if _, done, err := col.Completion(); err != nil {
				s.unparked(r, t, e.Event.Body)
				return protocol.AfterWork(err)
			} else if done {
				return nil
			}
		}
		if col.Enough() && !enough {
			enough = true
			s.stop(r, t, agent.ByStopString)
		}
	}
}

// leave stops a run whose answer nobody will read, if that is its policy.
func (s *Server) leave(r *http.Request, t agent.Ticket, onDisconnect string) {
	if onDisconnect == agent.Cancel {
		s.stop(r, t, "disconnect")
	}
}

// unparked stops a run that waits for input that its client cannot provide.
func (s *Server) unparked(r *http.Request, t agent.Ticket, last footnote.Body) {
	if _, ok := last.(footnote.RunParked); ok {
		s.stop(r, t, "disconnect")
	}
}

func (s *Server) stop(r *http.Request, t agent.Ticket, by string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 5*time.Second)
	defer cancel()
	if err := s.opts.Engine.Stop(ctx, t.Conversation, by); err != nil {
		s.opts.Logger.WarnContext(ctx, "run not stopped", "conversation", t.Conversation, "run", t.Run, "err", err)
	}
}

// collectBegun is Collect for a run that has already begun: it reads past events from the log. It never stops
// the run, because another reader is waiting for it.
func (s *Server) collectBegun(r *http.Request, conversation string, after int64, col protocol.Collector) error {
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.opts.AnswerTimeout, errAnswerTime)
	defer cancel()
	rd, replay := s.opts.Hub.Subscribe(conversation, after)
	defer rd.Close()
	for {
		for ev, err := range s.opts.Log.Events(ctx, conversation, after) {
			if err != nil {
				return s.interrupted(r, err)
			}
			after = ev.Seq
			col.Event(ended(ev))
		}
		if _, done, err := col.Completion(); err != nil {
			return protocol.AfterWork(err)
		} else if done {
			return nil
		}
		rd.Skip(after)
		if err := s.news(ctx, rd, replay < 0); err != nil {
			return protocol.AfterWork(s.interrupted(r, err))
		}
	}
}

// news waits until a conversation may have a new event. The hub does not see a run that another process
// drives.
func (s *Server) news(ctx context.Context, rd *hub.Reader, remote bool) error {
	if remote || s.opts.Watch != nil {
		return sleep(ctx, pollRemote/4)
	}
	for {
		batch, err := rd.Next(ctx)
		if err != nil || batch.First() > 0 {
			return err
		}
	}
}

// sleep waits for d, or returns the cause when ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
