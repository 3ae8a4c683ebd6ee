// Package offline is the planner that answers without an AI model. It turns plain questions into SQL by fixed rules,
// over a database it has never seen, and puts the result into words. It needs no network and no key, and gives the
// same answer to the same question every time.
//
// First, the words of a question are linked to tables, columns, values in the data, dates and numbers (words.go,
// dates.go, keyword.go, link.go). Then the links are turned into a plan (interpret.go and measure.go, figures.go,
// rank.go, filters.go, roles.go, finish.go). The plan is written as SQL (sql.go) and run by the run_query tool, as for
// any model, and its rows are put into words (say.go). A word that no rule used is never ignored: the question is
// declined (decline.go), with suggestions that can be answered. Every answer shows how the question was read.
package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/knowledge/verified"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/source"
)

// Name is the model name in the planner's messages.
const Name = "offline-planner"

// Catalog returns an open source by its name.
type Catalog interface {
	Source(name string) (source.Source, error)
}

// Options configure a planner.
type Options struct {
	Catalog Catalog // required
	// Verified returns the current verified queries; nil: there are none.
	Verified func() *verified.Set
	// Metrics returns the metrics that the caller in ctx may use; nil: there are none.
	Metrics func(ctx context.Context) []Metric
}

// Planner implements model.Model. It may be used by many runs at once.
type Planner struct {
	free
	opts     Options
	profiles profiles
}

var _ model.Model = (*Planner)(nil)

// New returns a planner over a catalogue of sources.
func New(o Options) *Planner {
	if o.Catalog == nil {
		panic("offline: no catalog") // a programmer's mistake
	}
	return &Planner{
		opts:     o,
		profiles: profiles{m: map[string]*profileEntry{}},
	}
}

// stepTime limits one step, including the profile of a new source.
const stepTime = 20 * time.Second

// Step answers the last question of the history: with a call of run_query, then perhaps one of show_chart, then with
// text. A wording of a verified query becomes a call of verified_query, and a search for words one of search_database,
// if these tools are offered.
func (pn *Planner) Step(ctx context.Context, req model.Request, live model.Live) (model.Reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, stepTime, errSlow)
	defer cancel()
	reply, err := pn.step(ctx, req)
	if err != nil {
		return model.Reply{}, stepError(ctx, err)
	}
	return Emit(reply, live), nil
}

var errSlow = errors.New("the offline planner took too long")

func stepError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errSlow) {
		return cause
	}
	code, words := footnote.CodeOf(err), footnote.MessageOf(err)
	if errors.Is(context.Cause(ctx), errSlow) {
		code, words = footnote.AgentTimeout, "Reading the data took too long."
	}
	return &model.StepError{Code: code, Message: words, Again: code == footnote.DatabaseUnavailable, Err: err}
}

// Answer is the text of a step, or the tool that it calls. Planners of other assistants build it from a History, with a
// Writer or ToolCall, and Emit turns it into a model's reply.
type Answer struct {
	Text  string
	Cites []footnote.Cite
	tool  string
	id    string
	input json.RawMessage
}

func (pn *Planner) step(ctx context.Context, req model.Request) (Answer, error) {
	h := ReadHistory(req.Messages)
	if len(req.Sources) == 0 {
		return Answer{Text: ShortTitle(h.Last())}, nil
	}
	if a, ok := pn.verified(req, h); ok {
		return a, nil
	}
	if a, ok := h.search(req); ok {
		return a, nil
	}
	w := &Writer{}
	r, err := pn.readLast(ctx, req, h)
	if err != nil {
		return Answer{}, err
	}
	if r.choice != nil {
		call, which := h.askedBack(req, r.choice.options())
		if call.tool != "" {
			return call, nil
		}
		if which != "" {
			h.from[len(h.from)-1] = which
			if r, err = pn.understandPinned(ctx, req.Sources, h); err != nil {
				return Answer{}, err
			}
		}
	}
	r.named = len(req.Sources) > 1
	switch {
	case r.say != nil:
		r.say(w)
	case h.Result("run_query") == nil && (req.NoTools || HasTools(req.Tools) && !Offered(req.Tools, "run_query")):
		w.Text("No query can be run at this point, so I cannot look it up. Please ask again.")
	default:
		if call, ok := pn.nextCall(req, h, r); ok {
			return call, nil
		}
		pn.writeAnswer(ctx, w, h, r)
	}
	w.writeFileNotes(r.about)
	if len(h.Questions) <= 1 {
		w.writeBadge()
	}
	return Answer{Text: w.b.String(), Cites: w.cites}, nil
}

// readLast reads the last question. If it was already queried for, it stays with the source of that query, even if
// other sources have become available meanwhile.
func (pn *Planner) readLast(ctx context.Context, req model.Request, h History) (*reading, error) {
	if len(h.from) == 0 {
		return pn.understandPinned(ctx, req.Sources, h)
	}
	queried := &h.from[len(h.from)-1]
	source := *queried
	*queried = ""
	r, err := pn.understandPinned(ctx, req.Sources, h)
	*queried = source
	if err != nil || source == "" || r.choice == nil && r.source == source {
		return r, err
	}
	return pn.understandPinned(ctx, req.Sources, h)
}

// askTool asks the person a question, if a page can show it.
const askTool = "ask_user"

// askedBack returns the call that asks for one of the sources, or the source that the person chose. Both are empty if
// nobody can answer.
func (h History) askedBack(req model.Request, options []string) (Answer, string) {
	if c := h.Result(askTool); c != nil {
		if which, ok := pickedOption(c.Content, options); ok && !c.Failed {
			return Answer{}, which
		}
		return Answer{}, ""
	}
	if req.NoTools || h.called(askTool) || !Offered(req.Tools, askTool) {
		return Answer{}, ""
	}
	shown := options[:min(len(options), maxOptions)]
	return ToolCall(h, askTool, map[string]any{"question": whichSource, "options": shown}), ""
}

// maxOptions is the maximum number of options that ask_user accepts.
const maxOptions = 6

// nextCall returns the next tool call: the query, then a chart of its rows.
func (pn *Planner) nextCall(req model.Request, h History, r *reading) (Answer, bool) {
	if h.Result("run_query") == nil {
		return ToolCall(h, "run_query", map[string]any{"sql": r.sql, "source": r.source, "thought": r.thought()}), true
	}
	if req.NoTools || h.called("show_chart") || !Offered(req.Tools, "show_chart") {
		return Answer{}, false
	}
	res, err := ParseResult(h.Result("run_query"))
	if err != nil || r.plan == nil {
		return Answer{}, false
	}
	spec, ok := chartFor(r.plan, res)
	if !ok {
		return Answer{}, false
	}
	return ToolCall(h, "show_chart", spec), true
}

// ToolCall returns the answer that calls a tool.
func ToolCall(h History, name string, input map[string]any) Answer {
	return Answer{tool: name, id: fmt.Sprintf("toolu_offline_%d", h.total+1), input: marshal(input)}
}

// toolNames returns the names of a request's tools.
func toolNames(tools json.RawMessage) []string {
	var list []struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(tools, &list) // without tools, there is no list
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.Name
	}
	return names
}

// HasTools reports whether any tools are named.
func HasTools(tools json.RawMessage) bool { return len(toolNames(tools)) > 0 }

// Offered reports whether a tool is among those of a request.
func Offered(tools json.RawMessage, name string) bool { return slices.Contains(toolNames(tools), name) }

// Emit reports the answer's block to live and returns its message.
func Emit(a Answer, live model.Live) model.Reply {
	msg := footnote.AssistantMessage{Model: Name, StopReason: model.EndTurn}
	block := map[string]any{"type": model.TextBlock, "text": a.Text}
	if a.tool == "" {
		live.Start(0, model.TextBlock, "", "")
		live.Delta(0, escaped(a.Text))
	} else {
		msg.StopReason = model.ToolUse
		block = map[string]any{"type": model.ToolUseBlock, "id": a.id, "name": a.tool, "input": a.input}
		live.Start(0, model.ToolUseBlock, a.id, a.tool)
		live.Delta(0, escaped(string(a.input)))
	}
	msg.Blocks = []json.RawMessage{marshal(block)}
	live.Stop(0)
	live.Flush()
	return model.Reply{Message: msg, Cites: a.Cites}
}

// escaped returns s as the inside of a JSON string.
func escaped(s string) []byte {
	b := marshal(s)
	return b[1 : len(b)-1]
}

func marshal(v any) json.RawMessage {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // strings, numbers and maps of them always encode
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

// ShortTitle answers side jobs, such as naming a conversation.
func ShortTitle(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.LastIndex(text, "\n"); i >= 0 && strings.TrimSpace(text[i:]) != "" {
		text = text[i:]
	}
	words := strings.Fields(text)
	if len(words) > 8 {
		words = words[:8]
	}
	t := Clip(strings.Trim(strings.Join(words, " "), " .?!\"“”"))
	if t == "" {
		return "New conversation"
	}
	return UpperFirst(t)
}
