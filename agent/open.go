package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/fence"
	"github.com/footnotehq/footnote/tool"
)

// open starts the first run of a new conversation.
func (e *Engine) open(ctx context.Context, a *Assistant, t *Turn) (Ticket, error) {
	head, opened, blobs, err := e.opening(ctx, a, t)
	if err != nil {
		return Ticket{}, err
	}
	t.weight = e.weight(opened.Tier)
	if t.ClientID != "" {
		// If two messages open a conversation with one name at the same time, the second one continues the conversation
		// of the first.
		unlock, err := e.lock(ctx, t.name())
		if err != nil {
			return Ticket{}, err
		}
		defer unlock()
		if now, found, err := e.opened(ctx, t); err != nil {
			return Ticket{}, err
		} else if found {
			ticket, err := e.startRun(ctx, a, now, t)
			if footnote.CodeOf(err) != footnote.NotFound {
				return ticket, err
			}
			// If the first message could not be stored, there is no conversation to continue.
			if _, found, again := e.opened(ctx, t); found || again != nil {
				return ticket, err
			}
		}
	}
	r := e.newRun(head, a, &state{}, *t)
	r.system, r.tools = blobs[opened.System], blobs[opened.Tools]
	r.w.fresh = true
	if t.ClientID != "" {
		e.setRun(t.name(), r)
	}
	ticket, err := e.begin(ctx, r, blobs, openingBodies(opened, t))
	if e.raced(err) && t.ClientID != "" {
		// Meanwhile another engine has opened a conversation with this name.
		if now, found, err := e.find(ctx, t); err == nil && found {
			return e.startRun(ctx, a, now, t)
		}
	}
	return ticket, err
}

// opening returns the head of a new conversation, and its first event with the blobs to which it refers.
func (e *Engine) opening(ctx context.Context, a *Assistant, t *Turn) (footnote.Stream, footnote.Opened,
	map[footnote.Digest][]byte, error) {
	tier, err := e.tier(t.Principal, a, t.Tier)
	if err != nil {
		return footnote.Stream{}, footnote.Opened{}, nil, err
	}
	frozen, err := a.Opening(ctx, t.Principal, t.Sources)
	if err != nil {
		return footnote.Stream{}, footnote.Opened{}, nil, err
	}
	system, tools := frozen.System, e.toolsOf(t.Principal, a, frozen)
	opened := footnote.Opened{
		Assistant: a.Name, Model: tier.Model, Tier: tier.Name, Effort: cmp.Or(t.Effort, tier.Effort),
		Sources: frozen.Sources, System: e.systemDigest.of(system), Tools: e.toolsDigest.of(tools),
		Context: frozen.Context,
	}
	head := footnote.Stream{
		ID: "conv_" + rand.Text(), Kind: "conversation", Org: t.Principal.Org, User: t.Principal.User,
		ClientID: t.ClientID, Assistant: a.Name,
	}
	return head, opened, map[footnote.Digest][]byte{opened.System: system, opened.Tools: tools}, nil
}

// openingBodies returns the first events of a new conversation.
func openingBodies(opened footnote.Opened, t *Turn) []footnote.Body {
	bodies := []footnote.Body{opened}
	if title := title(t.Text); title != "" {
		bodies = append(bodies, footnote.Titled{Title: title, Auto: true})
	}
	if len(t.History) > 0 {
		bodies = append(bodies, footnote.Imported{Turns: t.History})
	}
	return bodies
}

// title returns a provisional title for a conversation: the beginning of its first message.
func title(text string) string {
	words := strings.Fields(text)
	out := ""
	for _, w := range words {
		if len([]rune(out))+len([]rune(w)) > 60 {
			if out == "" {
				out = string([]rune(w)[:60])
			}
			return out + "…"
		}
		out = strings.TrimSpace(out + " " + w)
	}
	return out
}

// Freeze returns the definitions of the tools that a policy offers. The model gets the same definitions for the whole
// life of a conversation.
func Freeze(tools []tool.Tool, p Policy) json.RawMessage {
	type definition struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	defs := []definition{}
	for _, t := range tools {
		s := t.Spec()
		if v := p.Verdict(s); v == Allow || v == Ask {
			defs = append(defs, definition{s.Name, s.Description, s.InputSchema})
		}
	}
	return marshal(defs)
}

// begin puts the first events of a run and launches it. If the conversation exists already, its stream must be locked.
func (e *Engine) begin(ctx context.Context, r *run, blobs map[footnote.Digest][]byte,
	bodies []footnote.Body) (Ticket, error) {
	t := &r.turn
	if t.Where == nil {
		t.Where = r.s.where()
	}
	more := t.Context
	if r.a.Setting != nil {
		more = strings.TrimSpace(more + "\n" + r.a.Setting.Describe(ctx, t.Principal, t.Where))
	}
	bodies = append(bodies,
		footnote.UserMessage{Text: t.Text, Context: r.context(more), ID: t.MessageID, Where: t.Where},
		footnote.RunStarted{Protocol: t.Protocol, OnDisconnect: t.OnDisconnect, RequestID: t.RequestID,
			Unattended: t.Unattended, Key: t.Key,
			Roles: t.Principal.Roles, Attributes: t.Principal.Attributes, MaxTokens: t.MaxTokens, Trace: r.trace,
			Choice: t.choice, Weight: t.weight})
	ticket := r.ticket()
	if e.opts.Shared == nil || r.w.fresh && t.ClientID == "" {
		r.put(blobs, bodies...)
		e.launch(r)
		return ticket, nil
	}
	// Another engine may be quicker: it may append an event such as a title, or open a conversation with the same
	// client's name. Store the first events before the model is called.
	r.mu.Lock()
	r.apply(r.w.next, bodies)
	err := r.first(ctx, footnote.Append{Bodies: bodies, Blobs: blobs})
	r.mu.Unlock()
	if err != nil {
		e.clearRun(t.name(), r, nil)
		r.drop()
		ticket.reader.Close()
		return Ticket{}, err
	}
	e.launch(r)
	return ticket, nil
}

// The model reads the date on a line of its own, between these strings.
const (
	dateBegins = "Today is "
	dateEnds   = " (UTC)."
)

// context returns the text that the model reads after a message: the date, unless this
// conversation has it already, the queries that the user ran and the sources that the
// user added meanwhile, and the text that the protocol added.
func (r *run) context(more string) string {
	var lines []string
	today := dateBegins + r.e.opts.Now().UTC().Format("Monday, 2006-01-02") + dateEnds
	if !slices.ContainsFunc(r.s.messages, func(m userMessage) bool { return strings.Contains(m.Context, today) }) {
		lines = append(lines, today)
	}
	for _, a := range r.s.userQueries[max(0, len(r.s.userQueries)-maxUserQueries):] {
		lines = append(lines, a.describe())
	}
	told := int64(0)
	if last := len(r.s.messages) - 1; last >= 0 {
		told = r.s.messages[last].seq
	}
	for _, a := range r.s.added {
		if a.seq > told {
			lines = append(lines, fmt.Sprintf("The user has added the source %s to this conversation. Its tables:\n%s",
				a.Source, fence.Wrap(a.Tables)))
		}
	}
	return strings.TrimSpace(strings.Join(append(lines, more), "\n"))
}

// withoutDate removes the date from the beginning of a context.
func withoutDate(context string) string {
	line, rest, _ := strings.Cut(context, "\n")
	if strings.HasPrefix(line, dateBegins) && strings.HasSuffix(line, dateEnds) {
		return rest
	}
	return context
}

// maxUserQueries is the number of the user's own queries that the model reads, and userQuerySQL the number of bytes of
// each.
const (
	maxUserQueries = 5
	userQuerySQL   = 2_000
)

// describe returns what the model reads about a query that the user ran.
func (a userQuery) describe() string {
	sql := a.Result.SQL
	if len(sql) > userQuerySQL {
		sql = strings.ToValidUTF8(sql[:userQuerySQL], "") + " …"
	}
	said := "Meanwhile the user ran a query"
	if a.Replaces != "" {
		said += ", an edited form of that of " + a.Replaces
	}
	return fmt.Sprintf("%s; it gave %d rows, which are result %s: %s", said, a.Result.RowCount, a.Result.ID,
		strings.Join(strings.Fields(sql), " "))
}

// relay starts to send what happens in a run to other engines. Call it before the run is launched.
func (e *Engine) relay(r *run) {
	if r.stopRelay = func() {}; e.opts.Relay == nil {
		return
	}
	var ctx context.Context
	ctx, r.stopRelay = context.WithCancel(context.Background())
	rd, _ := e.opts.Hub.Subscribe(r.stream, r.w.seen())
	attempt := r.s.resumes
	e.work.Go(func() {
		defer rd.Close()
		e.opts.Relay(ctx, r.id, attempt, rd)
	})
}

// thaw reads the frozen prompt and tools of an existing conversation. If they are unknown or unreadable, it freezes the
// current ones.
func (r *run) thaw() error {
	if r.system != nil {
		return nil
	}
	system, err := r.blob(r.ctx, r.s.opened.System)
	var tools []byte
	if err == nil {
		tools, err = r.blob(r.ctx, r.s.opened.Tools)
	}
	switch code := footnote.CodeOf(err); {
	case r.s.opened.Model == "", code == footnote.StorageDamaged, code == footnote.NotFound:
		return r.reopen()
	case err != nil:
		return fmt.Errorf("read the frozen prompt and tools: %w", err)
	}
	r.system, r.tools = system, tools
	return nil
}

// reopen replaces an unreadable opening of a conversation.
func (r *run) reopen() error {
	old := r.s.opened
	tier, err := r.e.tier(r.turn.Principal, r.a, old.Tier)
	if err != nil {
		return err
	}
	if old.Model != "" {
		tier.Model, tier.Effort = old.Model, old.Effort
	}
	frozen, err := r.a.Opening(r.ctx, r.turn.Principal, old.Sources)
	if err != nil {
		return err
	}
	r.system, r.tools = frozen.System, r.e.toolsOf(r.turn.Principal, r.a, frozen)
	opened := footnote.Opened{
		Assistant: r.a.Name, Model: tier.Model, Tier: tier.Name, Effort: tier.Effort,
		Sources: frozen.Sources, System: footnote.DigestOf(r.system), Tools: footnote.DigestOf(r.tools),
		Context: frozen.Context,
	}
	r.log.Error("cannot read the opening of a conversation; it continues with today's prompt and tools")
	r.put(map[footnote.Digest][]byte{opened.System: r.system, opened.Tools: r.tools}, opened)
	return nil
}

// blob reads a blob of the conversation, and retries while the store is unavailable.
func (r *run) blob(ctx context.Context, d footnote.Digest) (data []byte, err error) {
	err = r.retryDuringOutage(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, readTime)
		defer cancel()
		data, err = r.e.opts.Log.Blob(ctx, r.stream, d)
		return timeoutAsOutage(ctx, err)
	})
	return data, err
}
