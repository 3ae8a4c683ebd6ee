package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/sse"
)

// pollRemote is how often a feed checks for changes by other servers.
const pollRemote = time.Second

// Feed writes a stream that shows no run.
func (s *Server) Feed(w http.ResponseWriter, r *http.Request, f protocol.Feed) error {
	switch {
	case f.Every > 0:
	case s.opts.Watch != nil:
		f.Every = pollRemote
	default:
		f.Every = sse.Heartbeat
	}
	rd, _ := s.opts.Hub.Subscribe(f.Log, 0)
	defer rd.Close()
	p := &pump{s: s, w: w, r: r, rd: rd, Stream: protocol.Stream{
		Name: f.Name, Encoder: &nativeEncoder{requestID: RequestIDOf(r.Context())},
	}}
	s.opts.Metrics.StreamOpened(f.Name)
	defer s.opts.Metrics.StreamClosed(f.Name)
	ctx, cancel := limited(r.Context(), s.opts.StreamTimeout)
	defer cancel()
	err := p.feed(ctx, f)
	if errors.Is(err, hub.ErrClosed) {
		err = nil
	}
	return p.end(err)
}

// feed writes new frames until there can be no more.
func (p *pump) feed(ctx context.Context, f protocol.Feed) error {
	tick := alarm{parent: ctx}
	defer tick.stop()
	waiting := f.Preface
	for {
		frames, more, err := f.Frames(ctx)
		if err != nil {
			return err
		}
		if err = p.write(append(waiting, frames...)); err == nil && (p.out == nil || p.out.Idle() >= sse.Heartbeat) {
			err = p.beat()
		}
		if waiting = nil; err != nil {
			return err
		}
		if more {
			continue
		}
		tick.set(f.Every)
		if _, err := p.rd.Next(tick.ctx); err != nil && err != errTick { //nolint:errorlint // the cause itself
			return err
		}
	}
}
