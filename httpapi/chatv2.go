package httpapi

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/internal/aside"
	"github.com/footnotehq/footnote/protocol/chatv2"
)

// Policies for a message to a conversation that is still answering.
const (
	Reject    = "reject"    // refuse the message
	Enqueue   = "enqueue"   // answer it when the current answer is complete
	Interrupt = "interrupt" // stop the current answer
)

// chatV2Routes registers the door for the support desk's chat API.
func (s *Server) chatV2Routes() {
	s.Handle("/api/chat-v2", chatV2Error, Methods{http.MethodPost: s.holding(s.chatV2)})
}

// chatV2Error is the error envelope of that door.
func chatV2Error(err error, f Failure) (contentType string, body []byte) {
	return "application/json", chatv2.AppendError(nil, err, f.RequestID)
}

// chatV2 handles POST /api/chat-v2. It returns the whole answer, or a stream to a client that accepts one.
func (s *Server) chatV2(w http.ResponseWriter, r *http.Request) error {
	var run agent.Ticket
	var err error
	aside.Do(func() { run, err = s.chatV2Take(w, r) })
	if err != nil {
		return err
	}
	w.Header().Set("X-Conversation-Id", run.Conversation)
	if wantsStream(r) {
		st := Streaming{
			Door: chatv2.Door, Ticket: run, Encoder: chatv2.NewEncoder(run.Conversation, run.Run),
			OnDisconnect: s.opts.StoredOnDisconnect,
		}
		if run.Duplicate {
			st.OnDisconnect = agent.Continue
			return s.Follow(w, r, st, run.After)
		}
		return s.Stream(w, r, st)
	}
	col := chatv2.NewCollector(run.Conversation, run.Run)
	if run.Duplicate {
		err = s.collectBegun(r, run.Conversation, run.After, col)
	} else {
		err = s.Collect(r, run, s.opts.StoredOnDisconnect, col)
	}
	if err != nil {
		return err
	}
	body, _, _ := col.Completion()
	return writeJSON(w, http.StatusOK, body)
}

// chatV2Take reads a message and returns the run that answers it.
func (s *Server) chatV2Take(w http.ResponseWriter, r *http.Request) (run agent.Ticket, err error) {
	body, err := s.Body(w, r)
	if err != nil {
		return run, err
	}
	q, err := chatv2.Decode(body)
	if err != nil {
		return run, err
	}
	if org := PrincipalOf(r.Context()).Org; q.OrgID != "" && q.OrgID != org {
		return run, footnote.Errorf(footnote.Forbidden,
			"Your key does not belong to the organisation of orgId. Leave orgId out: the key decides.")
	}
	if q.Assistant != "" {
		a, err := s.assistant(r, q.Assistant)
		if err != nil {
			return run, err
		}
		q.Assistant = a.Name
	}
	head, err := s.chatV2Head(r, q)
	if err != nil {
		return run, err
	}
	if s.opts.OnBusy == Enqueue {
		ctx, cancel := context.WithTimeoutCause(r.Context(), s.opts.AnswerTimeout, errAnswerTime)
		defer cancel()
		leave, err := s.queues.join(ctx, PrincipalOf(r.Context()), head.ID, q)
		if err != nil {
			return run, s.interrupted(r, err)
		}
		defer leave()
	}
	return s.chatV2Ask(w, r, q, head)
}

// chatV2Ask submits a message. When the conversation is busy, it follows the configured policy.
func (s *Server) chatV2Ask(w http.ResponseWriter, r *http.Request, q chatv2.Request,
	head footnote.Stream) (run agent.Ticket, err error) {
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.opts.AnswerTimeout, errAnswerTime)
	defer cancel()
	for {
		turn := q.Turn()
		turn.OnDisconnect = s.opts.StoredOnDisconnect
		if turn.Conversation = head.ID; head.ID == "" {
			if turn.ClientID = q.ConversationID; turn.ClientID == "" {
				turn.ClientID = q.ClientID()
			}
		}
		ticket, refused := s.submit(w, r, turn)
		if footnote.CodeOf(refused) != footnote.Conflict || refused == nil {
			return ticket, refused
		}
		// Another message is being answered.
		if head, err = s.chatV2Head(r, q); err != nil {
			return run, err
		}
		if head.RunState != "running" || s.opts.OnBusy == Reject {
			return run, refused
		}
		if s.opts.OnBusy == Interrupt {
			if err := s.halt(ctx, head); err != nil {
				return run, err
			}
		} else if err := s.settled(ctx, head); err != nil {
			return run, s.interrupted(r, err)
		}
	}
}

// settled waits until something may have changed in a conversation.
func (s *Server) settled(ctx context.Context, head footnote.Stream) error {
	rd, _ := s.opts.Hub.Subscribe(head.ID, head.Last)
	defer rd.Close()
	for {
		now, err := s.opts.Log.Get(ctx, head.ID)
		if err != nil || now.RunState != "running" {
			return err
		}
		if err := s.progress(ctx, rd); err != nil {
			return err
		}
	}
}

// chatV2Head returns the conversation of a message. A message without an id gets a new one. Ids that we
// issued must exist; any other id is a name that a client chose.
func (s *Server) chatV2Head(r *http.Request, q chatv2.Request) (footnote.Stream, error) {
	if strings.HasPrefix(q.ConversationID, "conv_") {
		return s.conversation(r, q.ConversationID)
	}
	name := q.ConversationID
	if name == "" {
		name = q.ClientID()
	}
	if name == "" {
		return footnote.Stream{}, nil
	}
	if len(name) > 128 {
		return footnote.Stream{},
			footnote.Errorf(footnote.InvalidRequest, "A conversation id is 1 to 128 bytes of printable UTF-8.")
	}
	p := PrincipalOf(r.Context())
	head, err := s.named(r.Context(), p, name)
	if footnote.CodeOf(err) == footnote.NotFound {
		return footnote.Stream{}, nil
	}
	return head, err
}

// collectBegun is Collect for a run that has already begun: it reads past events from the log. It never stops
// the run, because another reader is waiting for it.
func (s *Server) collectBegun(r *http.Request, conversation string, after int64, col Collector) error {
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
			return AfterWork(err)
		} else if done {
			return nil
		}
		rd.Skip(after)
		if err := s.news(ctx, rd, replay < 0); err != nil {
			return AfterWork(s.interrupted(r, err))
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

// eventsView handles GET /api/conversations/{id}/events?view=seed: it returns the events in this door's
// format, without those that were undone.
func (s *Server) eventsView(w http.ResponseWriter, r *http.Request, id string, after int64) error {
	var events []footnote.Event
	for ev, err := range s.opts.Log.Events(r.Context(), id, 0) {
		if err != nil {
			return err
		}
		events = append(events, ev)
	}
	return writeValue(w, http.StatusOK, chatv2.View(events, after))
}

// maxQueued is the largest number of messages that may wait for one conversation.
const maxQueued = 16

// queues holds the messages that wait for conversations, in order of arrival. The zero value is ready to use.
type queues struct {
	mu sync.Mutex // guards below
	m  map[string][]chan struct{}
}

// join waits until it is the message's turn. Calling leave admits the next one. It returns a RateLimited
// error when too many messages wait.
func (k *queues) join(ctx context.Context, p footnote.Principal, conversation string,
	q chatv2.Request) (leave func(), err error) {
	key := conversation
	if key == "" {
		if key = q.ConversationID; key == "" {
			return func() {}, nil // the message starts its own conversation
		}
		key = p.Org + "\x00" + p.User + "\x00" + key
	}
	turn := make(chan struct{})
	k.mu.Lock()
	if len(k.m[key]) > maxQueued {
		k.mu.Unlock()
		return nil, footnote.Errorf(footnote.RateLimited, "%d messages wait for this conversation already.", maxQueued)
	}
	if k.m == nil {
		k.m = map[string][]chan struct{}{}
	}
	if k.m[key] = append(k.m[key], turn); len(k.m[key]) == 1 {
		close(turn)
	}
	k.mu.Unlock()
	leave = func() { k.leave(key, turn) }
	select {
	case <-turn:
		return leave, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

func (k *queues) leave(key string, turn chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	line := k.m[key]
	for i, c := range line {
		if c != turn {
			continue
		}
		line = append(line[:i:i], line[i+1:]...)
		if i == 0 && len(line) > 0 {
			close(line[0])
		}
		break
	}
	if k.m[key] = line; len(line) == 0 {
		delete(k.m, key)
	}
}
