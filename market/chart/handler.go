package chart

import (
	"cmp"
	_ "embed"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/aside"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/tool"
)

// New returns the protocol.
func New() protocol.Protocol { return &handler{summaries: summaries{of: map[string]summarised{}}} }

// handler serves the protocol's addresses.
type handler struct {
	server    protocol.Server
	summaries summaries
}

//go:embed openapi.yaml
var description []byte

func (p *handler) Routes(s protocol.Server) protocol.Routes {
	p.server = s
	return protocol.Routes{OpenAPI: description, List: []protocol.Route{
		{Method: http.MethodPost, Pattern: "/api/chat", Handler: p.post, Held: true},
		{Method: http.MethodGet, Pattern: "/api/chat", Handler: p.list},
		{Method: http.MethodGet, Pattern: "/api/chat/{id}", Handler: p.view},
		{Method: http.MethodPost, Pattern: "/api/chat/tool-result", Handler: p.toolResult},
	}}
}

// post handles POST /api/chat: the stream stays open until the answer is complete, also while the client
// draws.
func (p *handler) post(w http.ResponseWriter, r *http.Request) error {
	ticket, err := aside.Do(func() (agent.Ticket, error) { return p.submit(w, r) })
	if err != nil {
		return err
	}
	a, _ := protocol.AssistantOf(p.server.Assistants(r), Assistant)
	return p.server.Show(w, r, protocol.Stream{Name: Protocol, Ticket: ticket, Parks: true, Encoder: NewEncoder(Options{
		Conversation: ticket.Conversation, Run: ticket.Run, Tools: a.Tools,
	})})
}

// submit reads a message and submits it.
func (p *handler) submit(w http.ResponseWriter, r *http.Request) (ticket agent.Ticket, err error) {
	body, err := p.server.Body(w, r, 1)
	if err != nil {
		return ticket, err
	}
	q, err := Decode(body)
	if err != nil {
		return ticket, err
	}
	where, err := q.Where()
	if err != nil {
		return ticket, err
	}
	turn := agent.Turn{Protocol: Protocol, Assistant: Assistant, Text: q.Message, MessageID: q.MessageID, Where: where}
	tier, err := p.tier(r, q.Model)
	if err != nil {
		return ticket, err
	}
	turn.Tier = tier
	if err := protocol.InConversation(p.server, r, &turn, q.ConversationID); err != nil {
		return ticket, err
	}
	return p.server.Submit(w, r, turn)
}

// tier returns the tier that a client selects with a model: the name of a tier, the name of a model, or
// a word that only one model's name contains, such as haiku. Empty selects none.
func (p *handler) tier(r *http.Request, model string) (string, error) {
	if model == "" {
		return "", nil
	}
	a, _ := protocol.AssistantOf(p.server.Assistants(r), Assistant)
	var names []string
	var meant []agent.Tier                                 // the first tier of each model whose name contains the word
	own := agent.Tier{Name: a.DefaultTier, Model: a.Model} // first, because several tiers may have its model
	for _, t := range append([]agent.Tier{own}, a.Tiers...) {
		if t.Name == model || t.Model == model {
			return t.Name, nil
		}
		if name := cmp.Or(t.Name, t.Model); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		known := slices.ContainsFunc(meant, func(m agent.Tier) bool { return m.Model == t.Model })
		if !known && wordOf(t.Model, model) {
			meant = append(meant, t)
		}
	}
	there, problem := cmp.Or(strings.Join(names, ", "), "none to choose from"), "Several models match"
	switch len(meant) {
	case 1:
		return meant[0].Name, nil
	case 0:
		problem = "Unknown model"
	}
	return "", footnote.Invalidf("%s %.40q; the models are %s.", problem, model, there)
}

// wordOf reports whether word contains a letter and is one of the parts of a model's name.
func wordOf(name, word string) bool {
	return strings.ContainsFunc(word, unicode.IsLetter) && slices.Contains(strings.FieldsFunc(name, func(r rune) bool {
		return r == '-' || r == '/' || r == ':'
	}), word)
}

// toolResult handles POST /api/chat/tool-result: the result of a call. The stream that showed the call goes
// on, on whichever server it is.
func (p *handler) toolResult(w http.ResponseWriter, r *http.Request) error {
	body, err := p.server.Body(w, r, 1)
	if err != nil {
		return err
	}
	q, err := DecodeResult(body)
	if err != nil {
		return err
	}
	head, found, err := p.server.Find(r, q.ConversationID)
	if err != nil {
		return err
	}
	if !found {
		return protocol.NoConversation()
	}
	ticket, err := p.server.Submit(w, r, agent.Turn{
		Protocol: Protocol, Conversation: head.ID, Answers: []tool.Answer{q.Answer()},
	})
	if err != nil {
		return err
	}
	p.server.Discard(ticket)
	return protocol.WriteValue(w, http.StatusOK, struct {
		OK        bool `json:"ok"`
		Duplicate bool `json:"duplicate,omitempty"`
	}{true, ticket.Duplicate})
}

// events returns the events of a conversation.
func (p *handler) events(r *http.Request, id string) (events []footnote.Event, err error) {
	for ev, err := range p.server.Events(r, id, 0) {
		if err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// view handles GET /api/chat/{id}: it returns a conversation with its messages.
func (p *handler) view(w http.ResponseWriter, r *http.Request) error {
	head, found, err := p.server.Find(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	if !found || head.Assistant != Assistant {
		return protocol.NoConversation()
	}
	events, err := p.events(r, head.ID)
	if err != nil {
		return err
	}
	return protocol.WriteValue(w, http.StatusOK, View(head, events))
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
	Summary
}

// summary returns the summary of a conversation for a list.
func (p *handler) summary(r *http.Request, head footnote.Stream) (Summary, error) {
	p.summaries.mu.Lock()
	known, ok := p.summaries.of[head.ID]
	p.summaries.mu.Unlock()
	if ok && known.last == head.Last {
		return known.Summary, nil
	}
	events, err := p.events(r, head.ID)
	if err != nil {
		return Summary{}, err
	}
	sum := View(head, events).Summary
	if n := len(events); n > 0 && events[n-1].Seq == head.Last {
		p.summaries.mu.Lock()
		defer p.summaries.mu.Unlock()
		if len(p.summaries.of) >= maxSummaries {
			clear(p.summaries.of)
		}
		p.summaries.of[head.ID] = summarised{head.Last, sum}
	}
	return sum, nil
}

// list handles GET /api/chat: the conversations about charts, most recently changed first.
func (p *handler) list(w http.ResponseWriter, r *http.Request) error {
	limit, before, err := protocol.Paging(r.URL.Query(), 20, 50)
	if err != nil {
		return err
	}
	out := struct {
		Conversations []Summary `json:"conversations"`
		Next          string    `json:"next,omitempty"`
	}{Conversations: []Summary{}, Next: before}
	for range maxSkippedPages {
		heads, next, err := p.server.List(r, Assistant, out.Next, limit)
		if err != nil {
			return err
		}
		for _, head := range heads {
			sum, err := p.summary(r, head)
			if err != nil {
				return err
			}
			out.Conversations = append(out.Conversations, sum)
		}
		if out.Next = next; next == "" || len(out.Conversations) > 0 {
			break
		}
	}
	return protocol.WriteValue(w, http.StatusOK, out)
}
