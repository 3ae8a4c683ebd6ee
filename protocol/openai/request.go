package openai

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
)

// Request is a decoded client request.
type Request struct {
	Model        string
	Stream       bool
	IncludeUsage bool // end the stream with a usage chunk
	Footnotes    bool // add footnotes under a vendor key
	MaxTokens    int  // per model call; 0: not set
	Stop         []string
	Effort       string // thinking effort, in the engine's terms; empty: not set

	// Conversation is the client's or our own id of the conversation; empty for a stand-alone request.
	Conversation string
	System       string              // the client's system text; ours takes precedence
	History      []footnote.TextTurn // messages before Text
	Text         string              // the user's current message

	// Job is true for the background requests of chat front ends: titles, tags, follow-up questions. Text is
	// then the whole prompt, and the request is not a turn of a conversation. Form is the shape of its
	// answer; nil for plain text.
	Job  bool
	Form *Form
}

const (
	maxMessages = 10_000
	maxStops    = 16
	maxStopLen  = 256
	maxTokens   = 1 << 24
)

// Decode reads a request. It ignores unknown keys, the sampling settings, response_format and logprobs. It
// rejects unsupported parameters that would change the meaning of the answer: tools, several choices, sound,
// pictures. Errors are a *Param or a *footnote.Error.
//
// The user's messages after the assistant's last one are the current message. Everything before is history.
// It is only used if the server has no record of the conversation; the server's record is better, because it
// contains all tool results.
//
// The user's text may have maxChars characters; 0 means 10,000.
func Decode(body []byte, h http.Header, maxChars int) (Request, error) {
	maxChars = cmp.Or(max(maxChars, 0), 10_000)
	doc, err := strictjson.Parse(body)
	if err != nil {
		return Request{}, invalid(err)
	}
	if doc.Kind() != strictjson.Object {
		return Request{}, footnote.Invalidf("The body must be a JSON object, not %s.", doc.Kind())
	}
	if err := choices(doc); err != nil {
		return Request{}, err
	}
	form := formOf(doc)
	if form == nil || form.Function == "" {
		if err := tools(doc); err != nil {
			return Request{}, err
		}
	}
	var r Request
	if err := r.options(doc, h); err != nil {
		return Request{}, err
	}
	if err := r.messages(doc.Get("messages")); err != nil {
		return Request{}, err
	}
	if r.Conversation, err = conversation(h); err != nil {
		return Request{}, err
	}
	if err := r.sideJob(doc, form); err != nil {
		return Request{}, err
	}
	if n := utf8.RuneCountInString(r.Text); n > maxChars && !r.Job {
		return Request{}, refuse(footnote.InputTooLong, "messages",
			"The message has %d characters; at most %d are allowed.", n, maxChars)
	}
	return r, nil
}

// sideJob recognises the background requests of chat programs by their words, or by a form for a title.
// Either way the request consists of a single message.
func (r *Request) sideJob(doc strictjson.Value, form *Form) error {
	alone, called := len(r.History) == 0, form != nil && form.Function != ""
	if called && !alone {
		return tools(doc)
	}
	r.Job = alone && (called || !r.Stream && isJob(r.Text))
	if r.Job {
		r.Form = form
	}
	return nil
}

// invalid classifies a JSON error.
func invalid(err error) error {
	if se, ok := errors.AsType[*strictjson.SyntaxError](err); ok {
		return footnote.Wrapf(footnote.InvalidRequest, err, "The body is not valid JSON at byte %d: %s.", se.Offset,
			se.Msg)
	}
	return err
}

// tools rejects client tools. They must not be ignored: a client that asks for tools and gets no calls
// assumes that none were needed.
func tools(doc strictjson.Value) error {
	for _, key := range []string{"tools", "functions"} {
		switch v := doc.Get(key); {
		case v.Absent():
		case v.Kind() != strictjson.Array:
			return refuse(footnote.InvalidRequest, key, "%s must be an array, not %s.", key, v.Kind())
		case len(v.Items()) > 0:
			return refuse(footnote.UnsupportedParameter, key,
				"This server runs its own tools; %s of the client are not supported.", key)
		}
	}
	for _, key := range []string{"tool_choice", "function_call"} {
		v := doc.Get(key)
		if word, ok := v.Text(); !v.Absent() && (!ok || word != "none" && word != "auto") {
			return refuse(footnote.UnsupportedParameter, key,
				"%s can only be \"none\" or \"auto\": this server runs its own tools.", key)
		}
	}
	return nil
}

// choices rejects more than one choice.
func choices(doc strictjson.Value) error {
	if v := doc.Get("n"); !v.Absent() {
		if n, ok := v.Int(); !ok || n < 1 {
			return refuse(footnote.InvalidRequest, "n", "n must be 1.")
		} else if n > 1 {
			return refuse(footnote.UnsupportedParameter, "n", "Only one choice is supported; n must be 1.")
		}
	}
	return nil
}

// options reads everything except the messages.
func (r *Request) options(doc strictjson.Value, h http.Header) error {
	var ok bool
	if r.Model, ok = doc.Get("model").Text(); !ok || r.Model == "" {
		return refuse(footnote.InvalidRequest, "model", "model must name an assistant; GET /v1/models lists them.")
	}
	var err error
	if r.Stream, err = boolean(doc, "stream"); err != nil {
		return err
	}
	if v := doc.Get("stream_options"); !v.Absent() {
		if v.Kind() != strictjson.Object {
			return refuse(footnote.InvalidRequest, "stream_options", "stream_options must be an object, not %s.",
				v.Kind())
		}
		if r.IncludeUsage, err = boolean(v, "include_usage"); err != nil {
			return err
		}
	}
	if r.Footnotes, err = boolean(doc, "footnotes"); err != nil {
		return err
	}
	switch strings.ToLower(h.Get(footnotesHeader)) {
	case "true", "1", "yes":
		r.Footnotes = true
	}
	if r.MaxTokens, err = tokens(doc); err != nil {
		return err
	}
	if r.Effort, err = effort(doc.Get("reasoning_effort")); err != nil {
		return err
	}
	r.Stop, err = stops(doc.Get("stop"))
	return err
}

// effort reads the thinking effort. This API's "minimal" maps to the lowest level.
func effort(v strictjson.Value) (string, error) {
	if v.Absent() {
		return "", nil
	}
	switch word, _ := v.Text(); word {
	case "none":
		return footnote.EffortOff, nil
	case "minimal":
		return "low", nil
	case "low", "medium", "high", "xhigh", "max":
		return word, nil
	}
	return "", refuse(footnote.InvalidRequest, "reasoning_effort",
		"reasoning_effort must be none, minimal, low, medium, high, xhigh or max.")
}

func boolean(v strictjson.Value, key string) (bool, error) {
	b, ok := v.Get(key).Bool()
	if !ok && !v.Get(key).Absent() {
		return false, refuse(footnote.InvalidRequest, key, "%s must be true or false, not %s.", key, v.Get(key).Kind())
	}
	return b, nil
}

// tokens reads the output limit. max_completion_tokens is the newer name and takes precedence.
func tokens(doc strictjson.Value) (int, error) {
	for _, key := range []string{"max_completion_tokens", "max_tokens"} {
		v := doc.Get(key)
		if v.Absent() {
			continue
		}
		n, ok := v.Int()
		if !ok || n < 1 {
			return 0, refuse(footnote.InvalidRequest, key, "%s must be a positive integer.", key)
		}
		return int(min(n, maxTokens)), nil
	}
	return 0, nil
}

// stops reads a string or a list of strings; it ignores empty ones.
func stops(v strictjson.Value) ([]string, error) {
	items := v.Items()
	switch v.Kind() {
	case strictjson.Missing, strictjson.Null:
		return nil, nil
	case strictjson.String:
		items = []strictjson.Value{v}
	case strictjson.Array:
	default:
		return nil, refuse(footnote.InvalidRequest, "stop", "stop must be a string or a list of strings, not %s.",
			v.Kind())
	}
	if len(items) > maxStops {
		return nil, refuse(footnote.InvalidRequest, "stop", "stop may hold at most %d strings.", maxStops)
	}
	var out []string
	for _, item := range items {
		s, ok := item.Text()
		if !ok || len(s) > maxStopLen {
			return nil, refuse(footnote.InvalidRequest, "stop", "stop must hold strings of at most %d bytes.",
				maxStopLen)
		}
		if s != "" {
			out = append(out, s)
		}
	}
	return out, nil
}

// messages splits the client's messages into system text, history and the current message.
func (r *Request) messages(v strictjson.Value) error {
	if v.Kind() != strictjson.Array || len(v.Items()) == 0 {
		return refuse(footnote.InvalidRequest, "messages", "messages must be an array of at least one message.")
	}
	if n := len(v.Items()); n > maxMessages {
		return refuse(footnote.InvalidRequest, "messages", "There are %d messages; at most %d are allowed.", n,
			maxMessages)
	}
	var system, current []string
	last := "" // role of the last message that is not a system message
	for i, m := range v.Items() {
		where := fmt.Sprintf("messages[%d]", i)
		role, text, err := message(m, where)
		if err != nil {
			return err
		}
		switch role {
		case "system":
			if text != "" {
				system = append(system, text)
			}
			continue
		case "user":
			current = append(current, text)
		case "assistant":
			r.addToHistory("user", current)
			current = nil
			r.addToHistory("assistant", []string{text})
		}
		last = role
	}
	r.System = strings.Join(system, "\n\n")
	switch r.Text = strings.Join(current, "\n\n"); {
	case last == "tool":
		return refuse(footnote.UnsupportedParameter, "messages",
			"The last message is a tool result, but this server runs its own tools and asked for none.")
	case last != "user":
		return refuse(footnote.InvalidRequest, "messages", "The last message must come from the user.")
	case strings.TrimSpace(r.Text) == "":
		return refuse(footnote.InvalidRequest, "messages", "The user's message is empty.")
	}
	return nil
}

// addToHistory adds a message to the history unless it is empty.
func (r *Request) addToHistory(role string, texts []string) {
	if text := strings.Join(texts, "\n\n"); strings.TrimSpace(text) != "" {
		r.History = append(r.History, footnote.TextTurn{Role: role, Text: text})
	}
}

// message reads the role and text of one message. Tool calls and results in the history belong to another
// server and have no text here.
func message(m strictjson.Value, where string) (role, text string, err error) {
	if m.Kind() != strictjson.Object {
		return "", "", refuse(footnote.InvalidRequest, where, "A message must be an object, not %s.", m.Kind())
	}
	switch role, _ = m.Get("role").Text(); role {
	case "developer":
		role = "system"
	case "tool", "function":
		return "tool", "", nil
	case "system", "user", "assistant":
	default:
		return "", "", refuse(footnote.InvalidRequest, where+".role",
			"The role must be system, developer, user, assistant or tool.")
	}
	switch c := m.Get("content"); {
	case c.Kind() == strictjson.String:
		text, _ = c.Text()
	case c.Kind() == strictjson.Array:
		text, err = parts(c.Items(), where+".content")
	case c.Absent() && role == "assistant": // it only called tools
	default:
		err = refuse(footnote.InvalidRequest, where+".content", "The content must be a string or an array of parts.")
	}
	return role, text, err
}

// parts joins the texts of a message's parts.
func parts(items []strictjson.Value, where string) (string, error) {
	var texts []string
	for i, p := range items {
		here := fmt.Sprintf("%s[%d]", where, i)
		kind, _ := p.Get("type").Text()
		key := "text"
		switch kind {
		case "text", "input_text", "output_text":
		case "refusal":
			key = "refusal"
		case "image_url", "file", "input_audio", "input_image", "input_file", "video_url":
			return "", refuse(footnote.UnsupportedParameter, here, "Parts of type %s are not supported; only text is.",
				kind)
		default:
			return "", refuse(footnote.InvalidRequest, here,
				"A part must have a known type; text is the one that is supported.")
		}
		text, ok := p.Get(key).Text()
		if !ok {
			return "", refuse(footnote.InvalidRequest, here+"."+key, "%s must be a string.", key)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n"), nil
}
