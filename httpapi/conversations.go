package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/protocol"
)

func (s *Server) conversationRoutes() {
	s.Handle("/api/conversations", protocol.Native, Methods{
		http.MethodGet:  s.listConversations,
		http.MethodPost: s.openConversation,
	})
	s.Handle("/api/conversations/{id}", protocol.Native, Methods{
		http.MethodGet:    s.inConversation(s.getConversation),
		http.MethodPatch:  s.inConversation(s.renameConversation),
		http.MethodDelete: s.deleteConversation,
	})
	for name, m := range map[string]Methods{
		"events":       {http.MethodGet: s.inConversation(s.events)},
		"messages":     get(s.inConversation(s.messages)),
		"export":       get(s.inConversation(s.exportConversation)),
		"turns":        {http.MethodPost: s.inConversation(s.takeTurn)},
		"queries":      {http.MethodPost: s.ranHere},
		"calculations": {http.MethodPost: s.withSlot(s.calculate)},
		"stop":         {http.MethodPost: s.inConversation(s.stopConversation)},
		"sources":      {http.MethodPost: s.inConversation(s.addSource)},
	} {
		s.Handle("/api/conversations/{id}/"+name, protocol.Native, m)
	}
	s.Handle("/api/feedback", protocol.Native, Methods{http.MethodPost: s.feedback})
}

// conversationHandler serves a request about one of the caller's conversations.
type conversationHandler func(w http.ResponseWriter, r *http.Request, head footnote.Stream) error

// inConversation makes a handler for a route with the id of a conversation.
func (s *Server) inConversation(h conversationHandler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		head, err := s.conversation(r, r.PathValue("id"))
		if err != nil {
			return err
		}
		return h(w, r, head)
	}
}

// conversation is the head of a conversation as clients see it.
type conversation struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Assistant string    `json:"assistant"`
	State     string    `json:"state"` // idle, running or parked
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`
	Excerpt   string    `json:"excerpt,omitempty"` // of the message that a search found
}

func conversationOf(head footnote.Stream) conversation {
	return conversation{
		head.ID, head.Title, head.Assistant, cmp.Or(head.RunState, "idle"), head.Created.UTC(), head.Updated.UTC(),
		head.Found,
	}
}

// maxListReads limits how often one request for conversations about a chart, or in a state, reads the list. The page
// may then be empty although there are more.
const maxListReads = 20

// listConversations handles GET /api/conversations?q=&limit=&before=&symbol=&state=. With symbol, it lists
// conversations that were last about that chart, and a page may be short although there are more.
func (s *Server) listConversations(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, before, err := protocol.Paging(q, 50, 200)
	if err != nil {
		return err
	}
	p := PrincipalOf(r.Context())
	symbol, state := q.Get("symbol"), q.Get("state")
	out := struct {
		Conversations []conversation `json:"conversations"`
		Next          string         `json:"next,omitempty"`
	}{[]conversation{}, before}
	for reads := 1; ; reads++ {
		heads, next, err := s.opts.Log.List(r.Context(), footnote.Page{
			Org: p.Org, User: p.User, Kind: "conversation", Query: q.Get("q"), Before: out.Next, Limit: limit,
		})
		if err != nil {
			return err
		}
		for _, head := range heads {
			c := conversationOf(head)
			if state != "" && c.State != state {
				continue
			}
			ok, err := s.visible(r.Context(), p, head)
			if ok && err == nil && symbol != "" {
				ok, err = s.isAbout(r.Context(), head, symbol)
			}
			if err != nil {
				return err
			}
			if ok {
				out.Conversations = append(out.Conversations, c)
			}
		}
		out.Next = next
		if next == "" || len(out.Conversations) > 0 || symbol == "" && state == "" || reads == maxListReads {
			return protocol.WriteValue(w, http.StatusOK, out)
		}
	}
}

// isAbout reports whether the newest question of a conversation is about a chart.
func (s *Server) isAbout(ctx context.Context, head footnote.Stream, symbol string) (bool, error) {
	if !slices.ContainsFunc(s.opts.Engine.Assistants(PrincipalOf(ctx)), func(a agent.AssistantInfo) bool {
		return a.Name == head.Assistant && a.TakesWhere
	}) {
		return false, nil
	}
	var at place
	for ev, err := range s.opts.Log.Events(ctx, head.ID, 0) {
		if err != nil {
			return false, err
		}
		if b, ok := ev.Body.(footnote.UserMessage); ok {
			at.read(b)
		}
	}
	return at.Symbol == symbol, nil
}

// spent holds the model usage of a conversation.
type spent struct {
	Input      int64   `json:"input_tokens"`
	Output     int64   `json:"output_tokens"`
	CacheRead  int64   `json:"cache_read_tokens"`
	CacheWrite int64   `json:"cache_write_tokens"`
	Weighted   int64   `json:"weighted_tokens"` // all of these, times the multiplier of their tier
	CostUSD    float64 `json:"cost_usd"`
	// Unpriced is set when the price of a model is unknown; the cost is then an upper bound.
	Unpriced bool `json:"cost_is_upper_bound,omitempty"`
	// Incomplete is set when some events cannot be read; their cost is missing.
	Incomplete bool `json:"incomplete,omitempty"`
}

func spentOf(u footnote.Usage, weighted int64, c footnote.Cost) spent {
	return spent{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite5m + u.CacheWrite1h,
		Weighted: weighted,
		CostUSD:  c.USD(), Unpriced: c.Unpriced,
	}
}

// details adds to the head of a conversation what its log contains.
type details struct {
	conversation
	Sources []string `json:"sources"`
	Model   string   `json:"model"`
	Tier    string   `json:"tier,omitempty"`
	Last    int64    `json:"last"` // sequence number of the newest event
	// Messages counts questions and answers, without those that were undone.
	Messages int   `json:"messages"`
	Where    place `json:"where,omitzero"` // the chart of the newest question
	Usage    spent `json:"usage"`
	// Unreadable lists the sequence numbers of events that cannot be read.
	Unreadable []int64 `json:"unreadable_events,omitempty"`
}

// place is the chart that a question refers to.
type place struct {
	Symbol    string `json:"symbol,omitempty"`
	Timeframe string `json:"timeframe,omitempty"`
}

// read takes the chart of a question, if it has one.
func (p *place) read(m footnote.UserMessage) {
	if m.Where != nil && json.Unmarshal(m.Where, p) != nil {
		*p = place{} // not a chart
	}
}

// messageSeqs lists the sequence numbers of the questions and answers in a log.
type messageSeqs []int64

func (s *messageSeqs) read(ev footnote.Event) {
	switch b := ev.Body.(type) {
	case footnote.UserMessage, footnote.Answered:
		*s = append(*s, ev.Seq)
	case footnote.Imported:
		for range b.Turns {
			*s = append(*s, ev.Seq)
		}
	case footnote.Rewound:
		*s = slices.DeleteFunc(*s, func(seq int64) bool { return seq > b.ToSeq })
	}
}

// getConversation handles GET /api/conversations/{id}.
func (s *Server) getConversation(w http.ResponseWriter, r *http.Request, head footnote.Stream) error {
	d := details{conversation: conversationOf(head), Sources: []string{}, Last: head.Last}
	var used footnote.Usage
	var cost footnote.Cost
	var weight, weighted int64
	var messages messageSeqs
	for ev, err := range s.opts.Log.Events(r.Context(), head.ID, 0) {
		if err != nil {
			return err
		}
		switch b := ev.Body.(type) {
		case footnote.Opened:
			d.Sources, d.Model, d.Tier = append(d.Sources, b.Sources...), b.Model, b.Tier
		case footnote.SourceAdded:
			d.Sources = append(d.Sources, b.Source)
		case footnote.RunStarted:
			if c := b.Choice; c != nil {
				d.Model, d.Tier = c.Model, c.Tier
			}
			weight = b.Weight
		case footnote.UserMessage:
			d.Where.read(b)
		case footnote.Unreadable:
			d.Unreadable = append(d.Unreadable, ev.Seq)
		}
		messages.read(ev)
		u, c := footnote.UsedBy(ev.Body)
		used, weighted, cost = used.Add(u), weighted+u.Weighted(weight), cost.Add(c)
	}
	d.Usage, d.Messages = spentOf(used, weighted, cost), len(messages)
	d.Usage.Incomplete = len(d.Unreadable) > 0
	return protocol.WriteValue(w, http.StatusOK, d)
}

// renameConversation handles PATCH /api/conversations/{id}.
func (s *Server) renameConversation(w http.ResponseWriter, r *http.Request, head footnote.Stream) error {
	var in struct {
		Title string `json:"title"`
	}
	if err := s.Read(w, r, 1, &in); err != nil {
		return err
	}
	_, _, err := s.opts.Engine.Append(r.Context(), PrincipalOf(r.Context()), head.ID,
		footnote.Titled{Title: in.Title}, nil)
	if err != nil {
		return err
	}
	head, err = s.opts.Log.Get(r.Context(), head.ID)
	return reply(w, conversationOf(head), err)
}

// deleteConversation handles DELETE /api/conversations/{id}. It stops a running run first. People may also delete what
// they may no longer see, because their rights have changed or its sources cannot be read.
func (s *Server) deleteConversation(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if !validID(id) {
		return protocol.NoConversation()
	}
	head, err := s.opts.Log.Get(r.Context(), id)
	if head, err = owned(PrincipalOf(r.Context()), head, err); err != nil {
		return err
	}
	if err := s.halt(r.Context(), head); err != nil {
		return err
	}
	if s.opts.Usage != nil {
		if err := s.opts.Usage.Settle(r.Context()); err != nil { // keep its cost in the totals
			return err
		}
	}
	if err = s.opts.Log.Delete(r.Context(), head.ID); footnote.CodeOf(err) == footnote.NotFound {
		err = nil
	}
	return done(w, err)
}

// haltTime is how long a stopped run may take to end.
const haltTime = 10 * time.Second

// halt stops the run of a conversation and waits until it has ended.
func (s *Server) halt(ctx context.Context, head footnote.Stream) error {
	if head.RunState == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, haltTime)
	defer cancel()
	rd, _ := s.opts.Hub.Subscribe(head.ID, head.Last)
	defer rd.Close()
	defer s.watch(head.ID, head.Last)()
	if err := s.opts.Engine.Stop(ctx, head.ID, "user"); err != nil {
		return err
	}
	for {
		now, err := s.opts.Log.Get(ctx, head.ID)
		if err != nil || now.RunState == "" || now.Run != head.Run {
			return err
		}
		if _, err := rd.Next(ctx); err != nil {
			return footnote.Errorf(footnote.Conflict, "The conversation is still answering. Try again in a moment.")
		}
	}
}

// stopConversation handles POST /api/conversations/{id}/stop. It does not wait for the end of the run;
// readers of the events see it.
func (s *Server) stopConversation(w http.ResponseWriter, r *http.Request, head footnote.Stream) error {
	return done(w, s.opts.Engine.Stop(r.Context(), head.ID, "user"))
}
