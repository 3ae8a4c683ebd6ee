package aisdk

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/tool"
)

// Post is a client's post: the last message of its chat, and what to do with it.
type Post struct {
	Chat            string // the client's id for the chat, or one of ours; may be empty
	Assistant, Tier string
	Sources         []string
	Dialect         Dialect
	Regenerate      bool
	// About is the id of the message to edit, continue or regenerate.
	About string
	User  bool   // the last message is the user's, not the assistant's
	ID    string // of the last message
	Text  string
	Files string // the files of the message, as text for the model
	// Where is the context of the message: the body's context, if it is an object.
	Where json.RawMessage
	// Answers and Decisions come from the last step of the assistant's message.
	Answers   []tool.Answer
	Decisions []Decision

	earlier []strictjson.Value // the messages before the last one
}

// Decision is a person's decision about a call, as a client reports it.
type Decision struct {
	ID               string // of the approval
	Approved, Always bool
	Reason           string
}

// maxReasonChars is the number of characters of a reason to keep.
const maxReasonChars = 1000

// Decode reads a posted chat. Dialect comes from the address or a header; the dialect key of the body takes
// precedence. Unknown keys are ignored. It returns InvalidRequest, UnsupportedParameter or TooLarge.
func Decode(body []byte, dialect string) (Post, error) {
	v, err := strictjson.Parse(body)
	if err != nil {
		return Post{}, footnote.Wrapf(footnote.InvalidRequest, err, "The body cannot be read: %v.", err)
	}
	if v.Kind() != strictjson.Object {
		return Post{}, footnote.Invalidf("The body is not a useChat request.")
	}
	d := decoder{}
	p := Post{
		Chat: d.text(v, "id"), Assistant: d.text(v, "assistant"), Tier: d.text(v, "tier"),
		Sources: d.texts(v, "sources"),
		About:   d.text(v, "messageId"), Regenerate: d.trigger(v), Dialect: d.dialect(v, dialect),
	}
	if where := v.Get("context"); where.Kind() == strictjson.Object {
		p.Where = json.RawMessage(where.Raw())
	}
	last := v.Get("message")
	if items := v.Get("messages").Items(); last.Absent() && len(items) > 0 {
		last, p.earlier = items[len(items)-1], items[:len(items)-1]
	}
	d.message(&p, last)
	if always, _ := v.Get("always").Bool(); always {
		for i := range p.Decisions {
			p.Decisions[i].Always = p.Decisions[i].Approved
		}
	}
	return p, d.err
}

// History returns the texts of the messages before the last one. They count only in a chat that the server does not
// know, because its log is better.
func (p Post) History() []footnote.TextTurn {
	var turns []footnote.TextTurn
	for _, m := range p.earlier {
		role, _ := m.Get("role").Text()
		var texts []string
		for _, part := range m.Get("parts").Items() {
			kind, _ := part.Get("type").Text()
			if text, _ := part.Get("text").Text(); kind == "text" && strings.TrimSpace(text) != "" {
				texts = append(texts, text)
			}
		}
		if (role == "user" || role == "assistant") && len(texts) > 0 {
			turns = append(turns, footnote.TextTurn{Role: role, Text: strings.Join(texts, "\n\n")})
		}
	}
	return turns
}

// decoder keeps the first error.
type decoder struct{ err error }

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = footnote.Invalidf(format, args...)
	}
}

// text returns the string value of an optional key.
func (d *decoder) text(v strictjson.Value, name string) string {
	v = v.Get(name)
	s, ok := v.Text()
	if !ok && !v.Absent() {
		d.fail("The key %s must be a string.", name)
	}
	return s
}

func (d *decoder) texts(v strictjson.Value, name string) []string {
	v = v.Get(name)
	if !v.Absent() && v.Kind() != strictjson.Array {
		d.fail("The key %s must be an array of strings.", name)
	}
	var out []string
	for _, item := range v.Items() {
		s, ok := item.Text()
		if !ok {
			d.fail("The key %s must be an array of strings.", name)
		}
		out = append(out, s)
	}
	return out
}

func (d *decoder) trigger(v strictjson.Value) (regenerate bool) {
	switch t := d.text(v, "trigger"); t {
	case "", "submit-message":
		return false
	case "regenerate-message":
		return true
	default:
		d.fail("There is no trigger %.40q.", t)
		return false
	}
}

// dialect returns the dialect in the body, a number or a string, or else the given one.
func (d *decoder) dialect(v strictjson.Value, given string) Dialect {
	v = v.Get("dialect")
	if n, ok := v.Int(); ok {
		given = strconv.FormatInt(n, 10)
	} else if s, ok := v.Text(); ok {
		given = s
	} else if !v.Absent() {
		given = "?"
	}
	dialect, err := ParseDialect(given)
	if err != nil && d.err == nil {
		d.err = err
	}
	return dialect
}

func (d *decoder) message(p *Post, m strictjson.Value) {
	if p.ID = d.text(m, "id"); !protocol.PlainID(p.ID, 128) {
		d.fail("A message id must be at most 128 bytes of printable UTF-8.")
	}
	switch role := d.text(m, "role"); {
	case p.Regenerate && m.Absent() && p.About != "":
	case m.Kind() != strictjson.Object:
		d.fail("The chat has no messages.")
	case role == "user":
		p.User = true
		d.user(p, m.Get("parts").Items())
	case role == "assistant":
		d.assistant(p, m.Get("parts").Items())
	default:
		d.fail("The last message must be the user's or the assistant's.")
	}
}

// user reads a user's message: text, and files that are text.
func (d *decoder) user(p *Post, parts []strictjson.Value) {
	var words []string
	files := attachments{}
	for _, part := range parts {
		switch d.text(part, "type") {
		case "text":
			if t := d.text(part, "text"); t != "" {
				words = append(words, t)
			}
		case "file":
			if err := files.add(d.text(part, "filename"), d.text(part, "mediaType"), d.text(part, "url")); err != nil &&
				d.err == nil && !p.Regenerate {
				d.err = err
			}
		}
	}
	p.Text, p.Files = strings.Join(words, "\n"), files.text()
	if strings.TrimSpace(p.Text) == "" && p.Files == "" && !p.Regenerate {
		d.fail("The message is empty.")
	}
}

// assistant reads what the last step of a message contains about calls that the server does not run. Earlier
// steps are history, and the log has the better record.
func (d *decoder) assistant(p *Post, parts []strictjson.Value) {
	for i := len(parts) - 1; i >= 0; i-- {
		if d.text(parts[i], "type") == "step-start" {
			parts = parts[i+1:]
			break
		}
	}
	for _, part := range parts {
		kind := d.text(part, "type")
		name, static := strings.CutPrefix(kind, "tool-")
		if kind == "dynamic-tool" {
			name, static = d.text(part, "toolName"), true
		}
		if static {
			d.tool(p, part, name)
		}
	}
}

func (d *decoder) tool(p *Post, part strictjson.Value, name string) {
	id, state := d.text(part, "toolCallId"), d.text(part, "state")
	if len(id) > 256 {
		d.fail("A call id is too long.")
		return
	}
	executed, _ := part.Get("providerExecuted").Bool()
	switch {
	case state == "approval-responded":
		d.approval(p, part.Get("approval"))
	case executed:
	case name == AskTool && state == "output-available":
		d.decision(p, id, part.Get("output"))
	case name == AskTool && state == "output-error":
		p.Decisions = append(p.Decisions, Decision{ID: id, Reason: cut(d.text(part, "errorText"), maxReasonChars)})
	case state == "output-available":
		output := part.Get("output").Raw()
		if output == nil {
			output = []byte("null")
		}
		p.Answers = append(p.Answers, ClientResult(id, json.RawMessage(output)))
	case state == "output-error":
		p.Answers = append(p.Answers, tool.Answer{CallID: id, Content: d.text(part, "errorText"), IsError: true})
	}
}

func (d *decoder) approval(p *Post, a strictjson.Value) {
	approved, ok := a.Get("approved").Bool()
	if !ok {
		d.fail("An approval response must say whether the call is approved.")
	}
	p.Decisions = append(p.Decisions, Decision{
		ID:       d.text(a, "id"),
		Approved: approved,
		Reason:   cut(d.text(a, "reason"), maxReasonChars),
	})
}

// decision reads the output of an AskTool call.
func (d *decoder) decision(p *Post, id string, output strictjson.Value) {
	approved, ok := output.Bool()
	if !ok {
		approved, ok = output.Get("approved").Bool()
	}
	if !ok {
		d.fail(`The output of %s is {"approved": true or false, "reason"?, "always"?}.`, AskTool)
		return
	}
	always, _ := output.Get("always").Bool()
	p.Decisions = append(p.Decisions, Decision{
		ID: id, Approved: approved, Always: always && approved, Reason: cut(d.text(output, "reason"), maxReasonChars),
	})
}

// cut shortens a text to n characters.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
