package openai

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"net/http"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/aside"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/sse"
)

// Settings configure the protocol. The zero value has the defaults.
type Settings struct {
	InputMaxChars int    // of a user's message; default 10,000
	OnDisconnect  string // what a run does when its client leaves; default agent.Cancel
	// SideJob, if not nil, is called after each model call for a chat front end's own requests, such as titles.
	SideJob func(ctx context.Context, j SideJob)
}

// New returns the protocol.
func New(s Settings) protocol.Protocol {
	s.OnDisconnect = cmp.Or(s.OnDisconnect, agent.Cancel)
	return &handler{Settings: s}
}

// handler serves the protocol's addresses.
type handler struct {
	Settings
	server protocol.Server
}

//go:embed openapi.yaml
var description []byte

func (p *handler) Routes(s protocol.Server) protocol.Routes {
	p.server = s
	return protocol.Routes{
		Prefix: "/v1/", Errors: envelope, OpenAPI: description,
		List: []protocol.Route{
			{Method: http.MethodPost, Pattern: "/v1/chat/completions", Handler: p.chatCompletions, Held: true},
			{Method: http.MethodGet, Pattern: "/v1/models", Handler: p.listModels},
			{Method: http.MethodGet, Pattern: "/v1/models/{id...}", Handler: p.getModel},
		},
	}
}

// envelope writes an error as the Chat Completions API does.
func envelope(err error, f protocol.Failure) (contentType string, body []byte) {
	code := ""
	if f.UnknownURL {
		code = UnknownURL
	}
	return "application/json", AppendError(nil, err, code)
}

// chatCompletions handles POST /v1/chat/completions.
func (p *handler) chatCompletions(w http.ResponseWriter, r *http.Request) error {
	st, err := aside.Do(func() (*protocol.Stream, error) { return p.completion(w, r) })
	if err != nil || st == nil {
		return err
	}
	return p.server.Show(w, r, *st)
}

// completion starts an answer. It returns nil when it has written the whole answer, and otherwise the run to
// stream.
func (p *handler) completion(w http.ResponseWriter, r *http.Request) (*protocol.Stream, error) {
	req, err := p.request(w, r)
	if err != nil {
		return nil, err
	}
	a, err := p.assistant(r, req.Model)
	if err != nil {
		return nil, err
	}
	opt := Options{
		ID: "chatcmpl-" + rand.Text(), Model: req.Model, Created: p.server.Now(), Usage: req.IncludeUsage,
		Footnotes: req.Footnotes, Stop: req.Stop,
	}
	if req.Job {
		return nil, p.job(w, r, a, *req, opt)
	}
	turn, err := p.turn(r, a, req)
	if err != nil {
		return nil, err
	}
	ticket, err := p.server.Submit(w, r, turn)
	if err != nil {
		return nil, err
	}
	opt.Run = ticket.Run
	if req.Stream {
		return &protocol.Stream{Name: name, Ticket: ticket, Encoder: NewEncoder(opt)}, nil
	}
	answer, err := p.server.Collect(r, ticket, NewCollector(opt))
	if err != nil {
		return nil, err
	}
	return nil, protocol.WriteJSON(w, http.StatusOK, answer)
}

// request reads and checks the request body.
func (p *handler) request(w http.ResponseWriter, r *http.Request) (*Request, error) {
	body, err := p.server.Body(w, r, 1)
	if err != nil {
		return nil, err
	}
	req, err := Decode(body, r.Header, p.InputMaxChars)
	return &req, err
}

// turn converts the request to a turn for the engine.
func (p *handler) turn(r *http.Request, a agent.AssistantInfo, req *Request) (agent.Turn, error) {
	t := agent.Turn{
		Assistant: a.Name, Protocol: name, OnDisconnect: p.OnDisconnect, Text: req.Text, Context: req.System,
		MaxTokens: req.MaxTokens, Effort: req.Effort, History: req.History,
		Unattended: true, // its clients know neither our tools nor approvals
	}
	if req.Conversation == "" {
		return t, nil
	}
	// The id is either ours, from the header of an earlier answer, or the client's own. Somebody else's
	// conversation counts as the client's own id, so that the caller cannot find out whether it exists.
	head, found, err := p.server.Find(r, req.Conversation)
	if t.Conversation = head.ID; !found {
		t.ClientID = req.Conversation
	}
	return t, err
}

// name is the protocol's name in the log and the metrics.
const name = "openai"

// offlineModel is the model of assistants that plan queries by rules. It answers questions about data, and
// cannot follow a front end's instructions.
const offlineModel = "offline"

// job answers the background requests of chat front ends (such as titles) with one plain model call.
func (p *handler) job(w http.ResponseWriter, r *http.Request, a agent.AssistantInfo, req Request, opt Options) error {
	p.server.Outcome(r, "job")
	text, usage, err := p.jobText(r, a, req)
	switch {
	case err != nil:
		return err
	case req.Form == nil:
		return protocol.WriteJSON(w, http.StatusOK, AppendCompletion(nil, opt, text, usage))
	}
	body := req.Form.AppendFilled(nil, opt, req.Stream, text, usage)
	if req.Stream {
		_, err := sse.Start(w, http.StatusOK, body)
		return err
	}
	return protocol.WriteJSON(w, http.StatusOK, body)
}

// SideJob describes a model call for the side traffic of a chat front end, such as a title.
type SideJob struct {
	Prompt, Text string
	Spent        footnote.Spent
	Took         time.Duration
	Err          error
}

// jobText returns the model's answer, or a fallback without a model.
func (p *handler) jobText(r *http.Request, a agent.AssistantInfo, req Request) (string, footnote.Usage, error) {
	if a.Model == offlineModel {
		if text, ok := JobAnswer(req.Text); ok {
			return text, footnote.Usage{}, nil
		}
	}
	prompt := req.Text
	if req.Form != nil && a.Model != offlineModel {
		prompt = req.Form.Prompt(prompt)
	}
	begun := p.server.Now()
	text, spent, err := p.server.Complete(r, prompt)
	if p.SideJob != nil {
		took := p.server.Now().Sub(begun)
		p.SideJob(r.Context(), SideJob{Prompt: prompt, Text: text, Spent: spent, Took: took, Err: err})
	}
	return text, spent.Usage, err
}

// assistant returns the assistant for the model name that a client sent.
func (p *handler) assistant(r *http.Request, model string) (agent.AssistantInfo, error) {
	if a, ok := protocol.AssistantOf(p.unattended(r), model); ok && model != "" {
		return a, nil
	}
	return agent.AssistantInfo{}, &Param{Name: "model", Err: footnote.Errorf(footnote.ModelNotFound,
		"There is no model named %.100q; GET /v1/models lists them.", model)}
}

// unattended lists the assistants that work behind this protocol: no browser is there to run tools.
func (p *handler) unattended(r *http.Request) []agent.AssistantInfo {
	return protocol.Unattended(p.server.Assistants(r))
}

// listModels handles GET /v1/models.
func (p *handler) listModels(w http.ResponseWriter, r *http.Request) error {
	return protocol.WriteValue(w, http.StatusOK, ModelsOf(p.unattended(r)))
}

// getModel handles GET /v1/models/{id}; ids may contain slashes.
func (p *handler) getModel(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	for _, m := range ModelsOf(p.unattended(r)).Data {
		if m.ID == id {
			return protocol.WriteValue(w, http.StatusOK, m)
		}
	}
	_, err := p.assistant(r, id)
	return err
}
