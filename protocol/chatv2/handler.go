package chatv2

import (
	_ "embed"
	"net/http"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/aside"
	"github.com/footnotehq/footnote/protocol"
)

// Settings configure the protocol. The zero value has the defaults.
type Settings struct {
	// OnBusy is the policy for a message when its conversation is still answering: agent.Reject, agent.Enqueue or
	// agent.Interrupt; default agent.Reject.
	OnBusy string
}

// New returns the protocol.
func New(s Settings) protocol.Protocol { return &handler{Settings: s} }

// handler serves the protocol's address.
type handler struct {
	Settings
	server protocol.Server
}

//go:embed openapi.yaml
var description []byte

func (p *handler) Routes(s protocol.Server) protocol.Routes {
	p.server = s
	return protocol.Routes{
		Prefix: "/api/chat-v2", Errors: envelope, OpenAPI: description,
		List: []protocol.Route{{Method: http.MethodPost, Pattern: "/api/chat-v2", Handler: p.post, Held: true}},
		Views: map[string]protocol.View{
			"seed": func(log []footnote.Event, after int64) any { return View(log, after) },
		},
	}
}

// envelope writes an error as the protocol's clients expect it.
func envelope(err error, f protocol.Failure) (contentType string, body []byte) {
	return "application/json", AppendError(nil, err, f.RequestID)
}

// post handles POST /api/chat-v2. It returns the whole answer, or a stream to a client that accepts one.
func (p *handler) post(w http.ResponseWriter, r *http.Request) error {
	run, err := aside.Do(func() (agent.Ticket, error) { return p.submit(w, r) })
	if err != nil {
		return err
	}
	if protocol.WantsStream(r) {
		return p.server.Show(w, r, protocol.Stream{
			Name: Protocol, Ticket: run, Encoder: NewEncoder(run.Conversation, run.Run),
		})
	}
	body, err := p.server.Collect(r, run, NewCollector(run.Conversation, run.Run))
	if err != nil {
		return err
	}
	return protocol.WriteJSON(w, http.StatusOK, body)
}

// submit reads a message and returns the run that answers it.
func (p *handler) submit(w http.ResponseWriter, r *http.Request) (run agent.Ticket, err error) {
	var q Request
	if err := p.server.Read(w, r, 1, &q); err != nil {
		return run, err
	}
	if err := q.Check(); err != nil {
		return run, err
	}
	if org := p.server.Caller(r).Org; q.OrgID != "" && q.OrgID != org {
		return run, footnote.Errorf(footnote.Forbidden,
			"Your key does not belong to the organisation of orgId. Leave orgId out: the key decides.")
	}
	if q.Assistant != "" {
		a, ok := protocol.AssistantOf(protocol.Unattended(p.server.Assistants(r)), q.Assistant)
		if !ok {
			return run, footnote.Errorf(footnote.ModelNotFound,
				"There is no model named %.100q; GET /v1/models lists them.", q.Assistant)
		}
		q.Assistant = a.Name
	}
	turn := q.Turn()
	turn.OnBusy = p.OnBusy
	if err := protocol.InConversation(p.server, r, &turn, q.ConversationID); err != nil {
		return run, err
	}
	ctx, cancel := p.server.AnswerTime(r)
	defer cancel()
	return p.server.Submit(w, r.WithContext(ctx), turn)
}
