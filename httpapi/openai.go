package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/aside"
	"github.com/footnotehq/footnote/protocol/openai"
	"github.com/footnotehq/footnote/protocol/sse"
	"github.com/footnotehq/footnote/tool"
)

// chatCompletions handles POST /v1/chat/completions.
func (s *Server) chatCompletions(w http.ResponseWriter, r *http.Request) error {
	var st *Streaming
	var err error
	aside.Do(func() { st, err = s.completion(w, r) })
	if err != nil || st == nil {
		return err
	}
	return s.Stream(w, r, *st)
}

// completion starts an answer. It returns nil when it has written the whole answer, and otherwise the run to
// stream.
func (s *Server) completion(w http.ResponseWriter, r *http.Request) (*Streaming, error) {
	req, err := s.request(w, r)
	if err != nil {
		return nil, err
	}
	a, err := s.assistant(r, req.Model)
	if err != nil {
		return nil, err
	}
	opt := openai.Options{
		ID: "chatcmpl-" + rand.Text(), Model: req.Model, Created: s.opts.Now(), Usage: req.IncludeUsage,
		Footnotes: req.Footnotes, Reasoning: s.opts.Reasoning, Stop: req.Stop,
	}
	if req.Job {
		return nil, s.job(w, r, a, *req, opt)
	}
	turn, err := s.turn(r.Context(), a, req)
	if err != nil {
		return nil, err
	}
	ticket, err := s.opts.Engine.Submit(r.Context(), turn)
	if err != nil {
		return nil, err
	}
	opt.Run = ticket.Run
	w.Header().Set("X-Conversation-Id", ticket.Conversation)
	if req.Stream {
		return &Streaming{
			Door: turn.Door, Ticket: ticket, Encoder: openai.NewEncoder(opt), OnDisconnect: turn.OnDisconnect,
		}, nil
	}
	col := openai.NewCollector(opt)
	if err := s.Collect(r, ticket, turn.OnDisconnect, col); err != nil {
		return nil, err
	}
	answer, _, _ := col.Completion()
	return nil, writeJSON(w, http.StatusOK, answer)
}

// request reads and checks the request body.
func (s *Server) request(w http.ResponseWriter, r *http.Request) (*openai.Request, error) {
	body, err := s.Body(w, r)
	if err != nil {
		return nil, err
	}
	req, err := openai.Decode(body, r.Header, openai.Limits{
		InputChars: s.opts.InputMaxChars, TrustOpenWebUI: s.opts.TrustOpenWebUI,
	})
	return &req, err
}

// turn converts the request to a turn for the engine.
func (s *Server) turn(ctx context.Context, a agent.AssistantInfo, req *openai.Request) (agent.Turn, error) {
	t := agent.Turn{
		Assistant: a.Name, Principal: PrincipalOf(ctx), Key: scopeOf(ctx).keyID, Door: "openai",
		OnDisconnect: s.opts.OnDisconnect,
		RequestID:    RequestIDOf(ctx), Trace: footnote.OriginOf(ctx).Trace, Text: req.Text, Context: req.System,
		MaxTokens: req.MaxTokens, Effort: req.Effort,
		Unattended: true, // its clients know neither our tools nor approvals
	}
	for _, m := range req.History {
		t.History = append(t.History, footnote.TextTurn{Role: m.Role, Text: m.Text})
	}
	if req.Conversation == "" {
		return t, nil
	}
	// The id is either ours, from the header of an earlier answer, or the client's own. Somebody else's
	// conversation counts as the client's own id, so that the caller cannot find out whether it exists.
	if validID(req.Conversation) {
		head, err := s.mine(ctx, t.Principal, req.Conversation)
		if err != nil && footnote.CodeOf(err) != footnote.NotFound {
			return t, err
		}
		if err == nil {
			t.Conversation = head.ID
			return t, nil
		}
	}
	t.ClientID = req.Conversation
	return t, nil
}

// offlineModel is the model of assistants that plan queries by rules. It answers questions about data, and
// cannot follow a front end's instructions.
const offlineModel = "offline"

// job answers the background requests of chat front ends (such as titles) with one plain model call.
func (s *Server) job(w http.ResponseWriter, r *http.Request, a agent.AssistantInfo, req openai.Request,
	opt openai.Options) error {
	scopeOf(r.Context()).outcome = "job"
	text, usage, err := s.jobText(r.Context(), a, req)
	switch {
	case err != nil:
		return err
	case req.Form == nil:
		return writeJSON(w, http.StatusOK, openai.AppendCompletion(nil, opt, text, usage))
	}
	body := req.Form.AppendFilled(nil, opt, req.Stream, text, usage)
	if req.Stream {
		_, err := sse.Start(w, http.StatusOK, body)
		return err
	}
	return writeJSON(w, http.StatusOK, body)
}

// SideJob describes a model call for the side traffic of a chat front end, such as a title.
type SideJob struct {
	Prompt, Text string
	Spent        footnote.Spent
	Took         time.Duration
	Err          error
}

// jobText returns the model's answer, or a fallback without a model.
func (s *Server) jobText(ctx context.Context, a agent.AssistantInfo,
	req openai.Request) (string, footnote.Usage, error) {
	if a.Model == offlineModel {
		if text, ok := openai.JobAnswer(req.Text); ok {
			return text, footnote.Usage{}, nil
		}
	}
	prompt := req.Text
	if req.Form != nil && a.Model != offlineModel {
		prompt = req.Form.Prompt(prompt)
	}
	begun := s.opts.Now()
	text, spent, err := s.opts.Engine.Complete(ctx, PrincipalOf(ctx), prompt)
	if s.opts.SideJob != nil {
		took := s.opts.Now().Sub(begun)
		s.opts.SideJob(ctx, SideJob{Prompt: prompt, Text: text, Spent: spent, Took: took, Err: err})
	}
	return text, spent.Usage, err
}

// assistant returns the assistant for the model name that a client sent.
func (s *Server) assistant(r *http.Request, name string) (agent.AssistantInfo, error) {
	for _, a := range s.unattended(r) {
		if a.Name == name || slices.Contains(a.Aliases, name) {
			return a, nil
		}
	}
	return agent.AssistantInfo{}, &openai.Param{Name: "model", Err: footnote.Errorf(footnote.ModelNotFound,
		"There is no model named %.100q; GET /v1/models lists them.", name)}
}

// unattended lists the assistants that work behind this door. No browser is there to run tools, so assistants
// that have only browser tools are left out.
func (s *Server) unattended(r *http.Request) []agent.AssistantInfo {
	return slices.DeleteFunc(slices.Clone(s.opts.Engine.Assistants(PrincipalOf(r.Context()))),
		func(a agent.AssistantInfo) bool {
			onServer := slices.ContainsFunc(a.Tools, func(t agent.ToolInfo) bool {
				return t.Side == tool.Server && t.Name != tool.FinalAnswer
			})
			return a.Unavailable != "" || len(a.Tools) > 0 && !onServer
		})
}

// models lists the assistants under all their names.
func (s *Server) models(r *http.Request) []openai.Model {
	var models []openai.Model
	for _, a := range s.unattended(r) {
		for _, id := range append([]string{a.Name}, a.Aliases...) {
			models = append(models, openai.Model{ID: id, Created: a.Created})
		}
	}
	return models
}

// listModels handles GET /v1/models.
func (s *Server) listModels(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, http.StatusOK, openai.AppendModels(nil, s.models(r)))
}

// getModel handles GET /v1/models/{id}; ids may contain slashes.
func (s *Server) getModel(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	for _, m := range s.models(r) {
		if m.ID == id {
			return writeJSON(w, http.StatusOK, openai.AppendModel(nil, m))
		}
	}
	_, err := s.assistant(r, id)
	return err
}

// errAnswerTime is the cancellation cause when a non-streamed answer takes too long.
var errAnswerTime = errors.New("the time for the answer is over")

// Collector consumes the events of a run until the answer is complete.
type Collector interface {
	Event(ev footnote.Event)
	Delta(d footnote.Delta)
	// Enough reports whether the run may be stopped; the answer is then the text so far.
	Enough() bool
	// Completion returns the answer once it is done, or the error that prevented one.
	Completion() (body []byte, done bool, err error)
}

// Collect reads a run until its answer is complete. It returns an error if there is no answer.
func (s *Server) Collect(r *http.Request, t agent.Ticket, onDisconnect string, col Collector) error {
	rd := s.opts.Engine.Subscribe(t)
	defer rd.Close()
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.opts.AnswerTimeout, errAnswerTime)
	defer cancel()
	enough := false
	for {
		batch, err := rd.Next(ctx)
		if err != nil {
			s.leave(r, t, onDisconnect)
			return AfterWork(s.interrupted(r, err))
		}
		for _, e := range batch {
			if e.Event == nil {
				col.Delta(e.Delta)
				continue
			}
			col.Event(*e.Event)
			if _, done, err := col.Completion(); err != nil {
				s.unparked(r, t, e.Event.Body)
				return AfterWork(err)
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

// unparked stops a run that waits for input its door cannot provide.
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
