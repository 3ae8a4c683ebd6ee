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
	"github.com/footnotehq/footnote/protocol/openai"
)

// chatCompletions is POST /v1/chat/completions.
func (s *Server) chatCompletions(w http.ResponseWriter, r *http.Request) error {
	body, err := s.Body(w, r)
	if err != nil {
		return err
	}
	req, err := openai.Decode(body, r.Header, openai.Limits{
		InputChars: s.opts.InputMaxChars, TrustOpenWebUI: s.opts.TrustOpenWebUI,
	})
	if err != nil {
		return err
	}
	a, err := s.assistant(req.Model)
	if err != nil {
		return err
	}
	opt := openai.Options{
		ID: "chatcmpl-" + rand.Text(), Model: req.Model, Created: s.opts.Now(), Usage: req.IncludeUsage,
		Footnotes: req.Footnotes, Reasoning: s.opts.Reasoning, Stop: req.Stop,
	}
	if req.Job {
		return s.job(w, r, a, req, opt)
	}
	turn, err := s.turn(r.Context(), a, req)
	if err != nil {
		return err
	}
	ticket, err := s.opts.Engine.Submit(r.Context(), turn)
	if err != nil {
		return err
	}
	opt.Run = ticket.Run
	w.Header().Set("X-Conversation-Id", ticket.Conversation)
	if req.Stream {
		return s.Stream(w, r, Streaming{
			Door: turn.Door, Ticket: ticket, Encoder: openai.NewEncoder(opt), OnDisconnect: turn.OnDisconnect,
		})
	}
	col := openai.NewCollector(opt)
	if err := s.Collect(r, ticket, turn.OnDisconnect, func(ev footnote.Event) (bool, error) {
		col.Event(ev)
		_, done, err := col.Completion()
		return done, err
	}); err != nil {
		return err
	}
	answer, _, _ := col.Completion()
	return writeJSON(w, http.StatusOK, answer)
}

// turn is what the engine is told.
func (s *Server) turn(ctx context.Context, a agent.AssistantInfo, req openai.Request) (agent.Turn, error) {
	t := agent.Turn{
		Assistant: a.Name, Principal: PrincipalOf(ctx), Door: "openai", OnDisconnect: s.opts.OnDisconnect,
		RequestID: RequestIDOf(ctx), Text: req.Text, Context: req.System, MaxTokens: req.MaxTokens,
	}
	for _, m := range req.History {
		t.History = append(t.History, footnote.TextTurn{Role: m.Role, Text: m.Text})
	}
	if req.Conversation == "" {
		return t, nil
	}
	// Either our own id, from the header of an earlier answer, or one of the
	// client's. A foreign conversation is taken for the latter: it stays unknown
	// whether it exists.
	if validID(req.Conversation) {
		head, err := s.opts.Log.Get(ctx, req.Conversation)
		if err != nil && footnote.CodeOf(err) != footnote.NotFound {
			return t, err
		}
		if err == nil && owns(t.Principal, head) {
			t.Conversation = head.ID
			return t, nil
		}
	}
	t.ClientID = req.Conversation
	return t, nil
}

func owns(p footnote.Principal, head footnote.Stream) bool {
	return p.Owner(head.Org, head.User) && head.Kind == "conversation"
}

// offlineModel is the model of assistants that plan questions by rules: it answers
// questions about data, and cannot read a front end's instructions.
const offlineModel = "offline"

// job answers the side traffic of chat front ends with one plain model call.
func (s *Server) job(w http.ResponseWriter, r *http.Request, a agent.AssistantInfo, req openai.Request, opt openai.Options) error {
	scopeOf(r.Context()).outcome = "job"
	if a.Model == offlineModel {
		if text, ok := openai.JobAnswer(req.Text); ok {
			return writeJSON(w, http.StatusOK, openai.AppendCompletion(nil, opt, text, footnote.Usage{}))
		}
	}
	text, usage, err := s.opts.Engine.Complete(r.Context(), PrincipalOf(r.Context()), req.Text)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, openai.AppendCompletion(nil, opt, text, usage))
}

// assistant finds the assistant that a client calls a model.
func (s *Server) assistant(name string) (agent.AssistantInfo, error) {
	for _, a := range s.opts.Engine.Assistants() {
		if a.Name == name || slices.Contains(a.Aliases, name) {
			return a, nil
		}
	}
	return agent.AssistantInfo{}, &openai.Param{Name: "model", Err: footnote.Errorf(footnote.ModelNotFound,
		"There is no model named %.100q; GET /v1/models lists them.", name)}
}

// models lists the assistants under all their names.
func (s *Server) models() []openai.Model {
	var models []openai.Model
	for _, a := range s.opts.Engine.Assistants() {
		for _, id := range append([]string{a.Name}, a.Aliases...) {
			models = append(models, openai.Model{ID: id, Created: a.Created})
		}
	}
	return models
}

// listModels is GET /v1/models.
func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, openai.AppendModels(nil, s.models()))
}

// getModel is GET /v1/models/{id}; ids may hold slashes.
func (s *Server) getModel(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	for _, m := range s.models() {
		if m.ID == id {
			return writeJSON(w, http.StatusOK, openai.AppendModel(nil, m))
		}
	}
	_, err := s.assistant(id)
	return err
}

// errAnswerTime is the cause of an unstreamed answer that took too long.
var errAnswerTime = errors.New("the time for the answer is over")

// Collect reads the events of a run until done says that they are enough. An
// error of done is why there is no answer.
func (s *Server) Collect(r *http.Request, t agent.Ticket, onDisconnect string, done func(footnote.Event) (bool, error)) error {
	rd := s.opts.Engine.Subscribe(t)
	defer rd.Close()
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.opts.AnswerTimeout, errAnswerTime)
	defer cancel()
	for {
		batch, err := rd.Next(ctx)
		if err != nil {
			s.leave(r, t, onDisconnect)
			return AfterWork(s.interrupted(r, err))
		}
		for _, e := range batch {
			if e.Event == nil {
				continue
			}
			if ok, err := done(*e.Event); err != nil {
				s.unparked(r, t, e.Event.Body)
				return AfterWork(err)
			} else if ok {
				return nil
			}
		}
	}
}

// leave stops a run whose answer nobody will read, if that is its policy.
func (s *Server) leave(r *http.Request, t agent.Ticket, onDisconnect string) {
	if onDisconnect == agent.Cancel {
		s.stop(r, t)
	}
}

// unparked stops a run that waits for what its door cannot bring.
func (s *Server) unparked(r *http.Request, t agent.Ticket, last footnote.Body) {
	if _, ok := last.(footnote.RunParked); ok {
		s.stop(r, t)
	}
}

func (s *Server) stop(r *http.Request, t agent.Ticket) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 5*time.Second)
	defer cancel()
	if err := s.opts.Engine.Stop(ctx, t.Conversation, "disconnect"); err != nil {
		s.opts.Logger.WarnContext(ctx, "run not stopped", "conversation", t.Conversation, "run", t.Run, "err", err)
	}
}
