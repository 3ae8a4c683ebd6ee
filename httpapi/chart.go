package httpapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/aside"
	"github.com/footnotehq/footnote/market/chart"
	"github.com/footnotehq/footnote/tool"
)

// chartRoutes registers the door of the chart analyst.
func (s *Server) chartRoutes() {
	s.Handle("/api/chat", Native, Methods{http.MethodPost: s.holding(s.chartPost), http.MethodGet: s.chartList})
	s.Handle("/api/chat/tool-result", Native, Methods{http.MethodPost: s.chartResult})
	s.Handle("/api/chat/{id}", Native, get(s.chartView))
}

// chartPost handles POST /api/chat: the stream stays open until the answer is complete, also while the client
// draws.
func (s *Server) chartPost(w http.ResponseWriter, r *http.Request) error {
	var ticket agent.Ticket
	var err error
	aside.Do(func() { ticket, err = s.chartTurn(w, r) })
	if err != nil {
		return err
	}
	enc := chart.NewEncoder(chart.Options{
		Conversation: ticket.Conversation,
		Run:          ticket.Run,
		Tools:        s.toolsOf(r, chart.Assistant),
	})
	st := Streaming{
		Door: chart.Door, Ticket: ticket, Encoder: enc, OnDisconnect: s.opts.StoredOnDisconnect, Parks: true,
	}
	if ticket.Duplicate {
		st.OnDisconnect = agent.Continue
		return s.Follow(w, r, st, ticket.After)
	}
	return s.Stream(w, r, st)
}

// chartTurn reads a message and submits it.
func (s *Server) chartTurn(w http.ResponseWriter, r *http.Request) (ticket agent.Ticket, err error) {
	body, err := s.Body(w, r)
	if err != nil {
		return ticket, err
	}
	q, err := chart.Decode(body)
	if err != nil {
		return ticket, err
	}
	where, err := q.Where()
	if err != nil {
		return ticket, err
	}
	turn := agent.Turn{
		Door: chart.Door, OnDisconnect: s.opts.StoredOnDisconnect, Assistant: chart.Assistant, Text: q.Message,
		MessageID: q.MessageID, Where: where,
	}
	tier, err := s.chartTier(r, q.Model)
	if err != nil {
		return ticket, err
	}
	head, found, err := s.aiHead(r, q.ConversationID)
	if err != nil {
		return ticket, err
	}
	if turn.Conversation = head.ID; !found {
		if turn.ClientID = q.ConversationID; strings.HasPrefix(q.ConversationID, "conv_") {
			return ticket, noConversation()
		}
		turn.Tier = tier
	}
	return s.submit(w, r, turn)
}

// chartTier returns the tier that a client selects with a model: the name of a tier, the name of a model, or
// a word that only one model's name contains, such as haiku. Empty selects the assistant's own tier.
func (s *Server) chartTier(r *http.Request, model string) (string, error) {
	if model == "" {
		return "", nil
	}
	var tiers []agent.Tier // the assistant's own tier has no name
	for _, a := range s.opts.Engine.Assistants(PrincipalOf(r.Context())) {
		if a.Name == chart.Assistant {
			tiers = append([]agent.Tier{{Model: a.Model}}, a.Tiers...)
		}
	}
	var names []string
	meant := map[string]string{} // models whose name contains the word, with the first tier of each
	for _, t := range tiers {
		if t.Name == model || t.Model == model {
			return t.Name, nil
		}
		if name := cmp.Or(t.Name, t.Model); name != "" {
			names = append(names, name)
		}
		if _, known := meant[t.Model]; !known && wordOf(t.Model, model) {
			meant[t.Model] = t.Name
		}
	}
	if len(meant) == 1 {
		for _, tier := range meant {
			return tier, nil
		}
	}
	there := cmp.Or(strings.Join(names, ", "), "none to choose from")
	if len(meant) > 1 {
		return "", footnote.Errorf(footnote.InvalidRequest, "Several models are a %.40q; there are %s.", model, there)
	}
	return "", footnote.Errorf(footnote.InvalidRequest, "There is no model %.40q; there are %s.", model, there)
}

// wordOf reports whether word contains a letter and is one of the parts of a model's name.
func wordOf(name, word string) bool {
	return strings.ContainsFunc(word, unicode.IsLetter) && slices.Contains(strings.FieldsFunc(name, func(r rune) bool {
		return r == '-' || r == '/' || r == ':'
	}), word)
}

// chartResult handles POST /api/chat/tool-result: the result of a call. The stream that showed the call goes
// on, on whichever server it is.
func (s *Server) chartResult(w http.ResponseWriter, r *http.Request) error {
	body, err := s.Body(w, r)
	if err != nil {
		return err
	}
	q, err := chart.DecodeResult(body)
	if err != nil {
		return err
	}
	head, found, err := s.aiHead(r, q.ConversationID)
	if err != nil {
		return err
	}
	if !found {
		return noConversation()
	}
	ticket, err := s.submit(w, r, agent.Turn{
		Door: chart.Door, OnDisconnect: s.opts.StoredOnDisconnect, Conversation: head.ID,
		Answers: []tool.Answer{q.Answer()},
	})
	if err != nil {
		return err
	}
	s.opts.Engine.Subscribe(ticket).Close()
	return writeValue(w, http.StatusOK, struct {
		OK        bool `json:"ok"`
		Duplicate bool `json:"duplicate,omitempty"`
	}{true, ticket.Duplicate})
}

// chartEvents returns the events of a conversation.
func (s *Server) chartEvents(r *http.Request, id string) (events []footnote.Event, err error) {
	for ev, err := range s.opts.Log.Events(r.Context(), id, 0) {
		if err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// chartView handles GET /api/chat/{id}: it returns a conversation with its messages.
func (s *Server) chartView(w http.ResponseWriter, r *http.Request) error {
	head, found, err := s.aiHead(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	if !found || head.Assistant != chart.Assistant {
		return noConversation()
	}
	events, err := s.chartEvents(r, head.ID)
	if err != nil {
		return err
	}
	return writeValue(w, http.StatusOK, chart.View(head, events))
}

// maxSummaries limits the cached conversation summaries; maxSkippedPages limits how many pages of unrelated
// conversations one list request skips.
const (
	maxSummaries    = 5_000
	maxSkippedPages = 20
)

// summaries caches the summaries of chart conversations by the sequence number of their last event, so that a
// list reads only the logs that changed.
type summaries struct {
	mu sync.Mutex // guards below
	of map[string]summarised
}

type summarised struct {
	last int64
	chart.Summary
}

// chartSummary returns the summary of a conversation for a list.
func (s *Server) chartSummary(r *http.Request, head footnote.Stream) (chart.Summary, error) {
	s.summaries.mu.Lock()
	known, ok := s.summaries.of[head.ID]
	s.summaries.mu.Unlock()
	if ok && known.last == head.Last {
		return known.Summary, nil
	}
	events, err := s.chartEvents(r, head.ID)
	if err != nil {
		return chart.Summary{}, err
	}
	sum := chart.View(head, events).Summary
	if n := len(events); n > 0 && events[n-1].Seq == head.Last {
		s.summaries.mu.Lock()
		defer s.summaries.mu.Unlock()
		if len(s.summaries.of) >= maxSummaries {
			clear(s.summaries.of)
		}
		s.summaries.of[head.ID] = summarised{head.Last, sum}
	}
	return sum, nil
}

// chartList handles GET /api/chat: the conversations about charts, most recently changed first.
func (s *Server) chartList(w http.ResponseWriter, r *http.Request) error {
	limit, before, err := paging(r.URL.Query(), 20, 50)
	if err != nil {
		return err
	}
	p := PrincipalOf(r.Context())
	out := struct {
		Conversations []chart.Summary `json:"conversations"`
		Next          string          `json:"next,omitempty"`
	}{Conversations: []chart.Summary{}, Next: before}
	for range maxSkippedPages {
		heads, next, err := s.opts.Log.List(r.Context(), footnote.Page{
			Org: p.Org, User: p.User, Kind: "conversation", Before: out.Next, Limit: limit,
		})
		if err != nil {
			return err
		}
		for _, head := range heads {
			if head.Assistant != chart.Assistant {
				continue
			}
			if ok, err := s.visible(r.Context(), p, head); err != nil {
				return err
			} else if !ok {
				continue
			}
			sum, err := s.chartSummary(r, head)
			if err != nil {
				return err
			}
			out.Conversations = append(out.Conversations, sum)
		}
		if out.Next = next; next == "" || len(out.Conversations) > 0 {
			break
		}
	}
	return writeValue(w, http.StatusOK, out)
}
