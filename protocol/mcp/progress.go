package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote"
)

// reporter tells a client how far its call is, if the client asked for it.
type reporter struct {
	ctx     context.Context // of the SDK: it says which response a notification belongs to
	session *sdk.ServerSession
	token   any // nil: the client does not ask
	call    *call
	begun   time.Time

	mu   sync.Mutex // guards the rest
	step float64
	last string
}

func newReporter(ctx context.Context, c *call, req *sdk.CallToolRequest) *reporter {
	return &reporter{
		ctx: ctx, session: req.Session, token: req.Params.GetProgressToken(), call: c, begun: time.Now(),
		last: "Working",
	}
}

// say sends a notification.
func (p *reporter) say(text string) {
	p.mu.Lock()
	p.step++
	p.last = text
	step := p.step
	p.mu.Unlock()
	p.notify(step, text)
}

func (p *reporter) notify(step float64, text string) {
	if p.token == nil {
		return
	}
	// It fails if the client has left, and then nobody needs it.
	_ = p.session.NotifyProgress(p.ctx, &sdk.ProgressNotificationParams{
		ProgressToken: p.token, Progress: step, Message: text,
	})
}

// start sends signs of life until stop is called, which waits for the last one.
func (p *reporter) start() (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-p.call.request.Context().Done():
				return
			case <-tick.C:
				p.beat()
			}
		}
	}()
	return func() { close(ended); <-done }
}

// beat sends a sign of life: a notification if the client asked for them, else a comment.
func (p *reporter) beat() {
	if p.token == nil {
		if p.call.response != nil {
			_ = p.call.response.ping() // a client that has left ends the request by itself
		}
		return
	}
	p.mu.Lock()
	p.step++
	step, text := p.step, p.last
	p.mu.Unlock()
	p.notify(step, fmt.Sprintf("%s (%s)", text, time.Since(p.begun).Round(time.Second)))
}

// watch consumes the events of a run until it ends or waits for a person. It reports each step as progress.
type watch struct {
	run      string
	progress *reporter
	// resumed is the newest event known when the run was found: the run continued after every park before it.
	resumed int64
	end     footnote.Body
}

func (w *watch) Delta(footnote.Delta) {}

func (w *watch) Enough() bool { return false }

func (w *watch) Event(ev footnote.Event) {
	if w.end != nil || ev.Run != w.run {
		return
	}
	switch b := ev.Body.(type) {
	case footnote.RunStarted:
		w.progress.say("Thinking")
	case footnote.AssistantMessage:
		if labels := labelsOf(b); labels != "" {
			w.progress.say(labels)
		}
	case footnote.ToolResult:
		w.progress.say("Thinking")
	case footnote.RunParked:
		if ev.Seq > w.resumed {
			w.end = b
		}
	default:
		if footnote.Terminal(b) {
			w.end = b
		}
	}
}

// labelsOf returns what the calls of a message do, for people.
func labelsOf(m footnote.AssistantMessage) string {
	var labels []string
	for _, t := range m.Tools {
		if t.Label != "" && !slices.Contains(labels, t.Label) {
			labels = append(labels, t.Label)
		}
	}
	slices.Sort(labels)
	return strings.Join(labels, ", ")
}

// Completion implements protocol.Collector. The answer is read from the log afterwards.
func (w *watch) Completion() (body []byte, done bool, err error) { return nil, w.end != nil, nil }
