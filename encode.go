package footnote

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// This file encodes the bodies that occur in every run without reflection. It produces the
// same bytes as encoding/json without HTML escaping; a test compares the two.

// appendBody appends the JSON of a body. It returns ok false for bodies it leaves to encoding/json: rare types, and
// bodies with unusual values.
func appendBody(dst []byte, b Body) (_ []byte, ok bool, err error) {
	o := object{dst: append(dst, '{')}
	switch b := b.(type) {
	case Opened:
		o.opened(&b)
	case UserMessage:
		o.text("text", b.Text)
		o.optText("context", b.Context)
		o.optText("id", b.ID)
		o.optRaw("where", b.Where)
	case Imported:
		o.imported(b.Turns)
	case AssistantMessage:
		o.message(&b)
	case ToolResult:
		o.result(&b)
	case RunStarted:
		if len(b.Attributes) > 0 {
			return dst, false, nil // encoding/json sorts the members by name
		}
		o.started(&b)
	case RunFinished:
		o.text("reason", b.Reason)
		o.number("steps", int64(b.Steps))
		o.sums(b.Usage, b.Cost)
		o.number("millis", b.Millis)
	case Answered:
		o.answered(&b)
	case Titled:
		o.text("title", b.Title)
		o.flag("auto", b.Auto)
		if b.Usage != (Usage{}) {
			o.usage(b.Usage)
		}
		if b.Cost != (Cost{}) {
			o.cost(b.Cost)
		}
		o.optText("model", b.Model)
		o.optNumber("millis", b.Millis)
	default:
		return dst, false, nil
	}
	return append(o.dst, '}'), !o.unsupported, o.err
}

// sizeOf estimates the length of a body's JSON, so that one buffer allocation is enough.
func sizeOf(b Body) int {
	n := 0
	switch b := b.(type) {
	case UserMessage:
		n = len(b.Text) + len(b.Context) + len(b.Where)
	case Imported:
		for _, t := range b.Turns {
			n += len(t.Text) + 40
		}
	case AssistantMessage:
		for _, raw := range b.Blocks {
			n += len(raw) + 1
		}
	case ToolResult:
		n = len(b.Content) + len(b.Detail) + len(b.Chart)
	case Answered:
		n = len(b.Text) + len(b.Chart) + 160*len(b.Cites) + 100*len(b.Unresolved)
	}
	return n + n/32 + 384
}

func (o *object) opened(b *Opened) {
	o.text("assistant", b.Assistant)
	o.text("model", b.Model)
	o.optText("tier", b.Tier)
	o.optText("effort", b.Effort)
	o.texts("sources", b.Sources)
	o.text("system", b.System)
	o.text("tools", b.Tools)
}

func (o *object) imported(turns []TextTurn) {
	o.key("turns")
	if turns == nil {
		o.dst = append(o.dst, "null"...)
		return
	}
	o.dst = append(o.dst, '[')
	for i := range turns {
		o.element(i)
		o.text("role", turns[i].Role)
		o.text("text", turns[i].Text)
		o.dst = append(o.dst, '}')
	}
	o.dst = append(o.dst, ']')
}

func (o *object) message(b *AssistantMessage) {
	o.number("step", int64(b.Step))
	o.optText("upstream", b.Upstream)
	o.optText("request", b.Request)
	o.text("model", b.Model)
	o.key("blocks")
	if b.Blocks == nil {
		o.dst = append(o.dst, "null"...)
	} else {
		o.dst = append(o.dst, '[')
		for i, raw := range b.Blocks {
			if i > 0 {
				o.dst = append(o.dst, ',')
			}
			o.raw(raw)
		}
		o.dst = append(o.dst, ']')
	}
	o.text("stop_reason", b.StopReason)
	o.sums(b.Usage, b.Cost)
	o.optNumber("millis", b.Millis)
	if len(b.Tools) > 0 {
		o.key("tools")
		o.dst = append(o.dst, '{')
		for _, name := range slices.Sorted(maps.Keys(b.Tools)) {
			o.tool(name, b.Tools[name])
		}
		o.dst = append(o.dst, '}')
	}
}

func (o *object) tool(name string, t CalledTool) {
	if o.dst[len(o.dst)-1] != '{' {
		o.dst = append(o.dst, ',')
	}
	o.dst = appendString(o.dst, name)
	o.dst = append(o.dst, ':', '{')
	o.optText("label", t.Label)
	o.optText("family", t.Family)
	o.dst = append(o.dst, '}')
}

func (o *object) result(b *ToolResult) {
	o.text("call_id", b.CallID)
	o.text("name", b.Name)
	o.text("content", b.Content)
	o.flag("is_error", b.IsError)
	o.optText("fault", b.Fault)
	o.optNumber("millis", b.Millis)
	o.flag("cache_hit", b.CacheHit)
	o.optTime("ran_at", b.RanAt)
	if b.Result != nil {
		o.key("result")
		o.stored(b.Result)
	}
	o.optRaw("chart", b.Chart)
	o.optRaw("detail", b.Detail)
	if b.Cost != (Cost{}) {
		o.cost(b.Cost)
	}
	o.optText("by", b.By)
	o.optText("told", b.Told)
	if len(b.Statements) > 0 {
		o.key("statements")
		o.dst = append(o.dst, '[')
		for i := range b.Statements {
			o.element(i)
			o.statement(&b.Statements[i])
		}
		o.dst = append(o.dst, ']')
	}
}

func (o *object) statement(s *Statement) {
	o.text("sql", s.SQL)
	o.optText("source", s.Source)
	o.text("outcome", s.Outcome)
	o.texts("tables", s.Tables)
	o.texts("columns", s.Columns)
	o.optNumber("row_count", int64(s.RowCount))
	o.flag("in_browser", s.InBrowser)
	o.dst = append(o.dst, '}')
}

func (o *object) stored(r *StoredResult) {
	o.dst = append(o.dst, '{')
	o.text("id", r.ID)
	o.optText("source", r.Source)
	o.optText("sql", r.SQL)
	o.key("columns")
	if r.Columns == nil {
		o.dst = append(o.dst, "null"...)
	} else {
		o.dst = append(o.dst, '[')
		for i := range r.Columns {
			o.element(i)
			o.text("name", r.Columns[i].Name)
			o.optText("kind", r.Columns[i].Kind)
			o.dst = append(o.dst, '}')
		}
		o.dst = append(o.dst, ']')
	}
	o.number("row_count", int64(r.RowCount))
	o.flag("truncated", r.Truncated)
	if len(r.Chunks) > 0 {
		o.key("chunks")
		o.dst = append(o.dst, '[')
		for i := range r.Chunks {
			o.element(i)
			o.text("digest", r.Chunks[i].Digest)
			o.number("rows", int64(r.Chunks[i].Rows))
			o.dst = append(o.dst, '}')
		}
		o.dst = append(o.dst, ']')
	}
	o.dst = append(o.dst, '}')
}

func (o *object) started(b *RunStarted) {
	o.text("door", b.Protocol)
	o.optText("on_disconnect", b.OnDisconnect)
	o.optText("request_id", b.RequestID)
	o.flag("unattended", b.Unattended)
	o.optText("key", b.Key)
	o.texts("roles", b.Roles)
	o.optNumber("max_tokens", int64(b.MaxTokens))
	o.optText("trace", b.Trace)
}

func (o *object) answered(b *Answered) {
	o.text("text", b.Text)
	o.key("footnotes")
	if b.Cites == nil {
		o.dst = append(o.dst, "null"...)
	} else {
		o.dst = append(o.dst, '[')
		for i := range b.Cites {
			o.element(i)
			o.cite(&b.Cites[i])
			o.dst = append(o.dst, '}')
		}
		o.dst = append(o.dst, ']')
	}
	if len(b.Unresolved) > 0 {
		o.key("unresolved")
		o.dst = append(o.dst, '[')
		for i := range b.Unresolved {
			u := &b.Unresolved[i]
			o.element(i)
			o.number("start", int64(u.Start))
			o.number("end", int64(u.End))
			o.text("text", u.Text)
			o.optText("reason", u.Reason)
			o.dst = append(o.dst, '}')
		}
		o.dst = append(o.dst, ']')
	}
	o.optRaw("chart", b.Chart)
}

func (o *object) cite(c *Cite) {
	o.number("start", int64(c.Start))
	o.number("end", int64(c.End))
	o.text("text", c.Text)
	o.optText("result", c.Result)
	if c.Row != nil {
		o.number("row", int64(*c.Row))
	}
	o.optText("column", c.Column)
	o.optText("formula", c.Formula)
	o.optText("value", c.Value)
	o.key("confidence")
	if f := math.Abs(c.Confidence); f != 0 && f < 1e-6 || !(f < 1e21) {
		o.unsupported = true // it has an exponent, or is not a number
		return
	}
	o.dst = strconv.AppendFloat(o.dst, c.Confidence, 'f', -1, 64)
}

func (o *object) sums(u Usage, c Cost) {
	o.usage(u)
	o.cost(c)
}

func (o *object) usage(u Usage) {
	o.key("usage")
	o.dst = append(o.dst, '{')
	o.number("input", u.Input)
	o.optNumber("cache_write_5m", u.CacheWrite5m)
	o.optNumber("cache_write_1h", u.CacheWrite1h)
	o.optNumber("cache_read", u.CacheRead)
	o.number("output", u.Output)
	o.optNumber("thinking", u.Thinking)
	o.optNumber("searches", u.Searches)
	o.flag("estimated", u.Estimated)
	o.dst = append(o.dst, '}')
}

func (o *object) cost(c Cost) {
	o.key("cost")
	o.dst = append(o.dst, '{')
	o.number("micro_usd", c.MicroUSD)
	o.flag("unpriced", c.Unpriced)
	o.dst = append(o.dst, '}')
}

// object is a JSON object under construction. Methods whose names begin with opt leave out empty values, like
// omitempty.
type object struct {
	dst         []byte
	unsupported bool // some value must be left to encoding/json
	err         error
}

// key begins a member. No value ends with an opening brace, so a trailing "{" means that this is the first member.
func (o *object) key(name string) {
	if o.dst[len(o.dst)-1] != '{' {
		o.dst = append(o.dst, ',')
	}
	o.dst = append(o.dst, '"')
	o.dst = append(o.dst, name...)
	o.dst = append(o.dst, '"', ':')
}

// element begins the object at index i of an array.
func (o *object) element(i int) {
	if i > 0 {
		o.dst = append(o.dst, ',')
	}
	o.dst = append(o.dst, '{')
}

func (o *object) text(name, v string) {
	o.key(name)
	o.dst = appendString(o.dst, v)
}

func (o *object) optText(name, v string) {
	if v != "" {
		o.text(name, v)
	}
}

func (o *object) texts(name string, v []string) {
	if len(v) == 0 {
		return
	}
	o.key(name)
	o.dst = append(o.dst, '[')
	for i, s := range v {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		o.dst = appendString(o.dst, s)
	}
	o.dst = append(o.dst, ']')
}

func (o *object) optTime(name string, v time.Time) {
	if v.IsZero() {
		return
	}
	if v.Location() != time.UTC || v.Year() < 0 || v.Year() > 9999 {
		o.unsupported = true
		return
	}
	o.key(name)
	o.dst = v.AppendFormat(append(o.dst, '"'), time.RFC3339Nano)
	o.dst = append(o.dst, '"')
}

func (o *object) number(name string, v int64) {
	o.key(name)
	o.dst = strconv.AppendInt(o.dst, v, 10)
}

func (o *object) optNumber(name string, v int64) {
	if v != 0 {
		o.number(name, v)
	}
}

func (o *object) flag(name string, v bool) {
	if v {
		o.key(name)
		o.dst = append(o.dst, "true"...)
	}
}

func (o *object) optRaw(name string, v json.RawMessage) {
	if len(v) > 0 {
		o.key(name)
		o.raw(v)
	}
}

// raw appends a value that is already JSON and removes the whitespace between its tokens.
func (o *object) raw(v json.RawMessage) {
	switch {
	case v == nil:
		o.dst = append(o.dst, "null"...)
	case isPlainText(v):
		o.dst = append(o.dst, v...)
	default:
		compact := bytes.NewBuffer(o.dst)
		if err := json.Compact(compact, v); err != nil {
			o.err = err
			return
		}
		o.dst = compact.Bytes()
	}
}

// isPlainText reports whether raw is a text block in its usual form, with no other members. It spares parsing long
// texts.
func isPlainText(raw []byte) bool {
	const head, tail = `{"type":"text","text":"`, `"}`
	if len(raw) < len(head)+len(tail) || string(raw[:len(head)]) != head || string(raw[len(raw)-len(tail):]) != tail {
		return false
	}
	inner := raw[len(head) : len(raw)-len(tail)]
	for i := 0; i < len(inner); i++ {
		c := inner[i]
		if safe[c] || c >= utf8.RuneSelf {
			continue
		}
		if c != '\\' {
			return false
		}
		if i++; i == len(inner) {
			return false
		}
		switch inner[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		default:
			return false // includes \u
		}
	}
	return true
}

// safe marks the bytes that need no escaping in a JSON string.
var safe = func() (s [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		s[c] = c != '"' && c != '\\'
	}
	return s
}()

// appendString appends a JSON string. It replaces bytes that are not UTF-8 with U+FFFD.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if safe[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && n == 1:
				dst = append(append(dst, s[from:i]...), `\ufffd`...)
				from = i + n
			case r == '\u2028' || r == '\u2029':
				dst = append(append(dst, s[from:i]...), `\u202`...)
				dst = append(dst, hex[r&15])
				from = i + n
			}
			i += n
			continue
		}
		dst = append(append(dst, s[from:i]...), '\\')
		switch c {
		case '"', '\\':
			dst = append(dst, c)
		case '\b':
			dst = append(dst, 'b')
		case '\f':
			dst = append(dst, 'f')
		case '\n':
			dst = append(dst, 'n')
		case '\r':
			dst = append(dst, 'r')
		case '\t':
			dst = append(dst, 't')
		default:
			dst = append(dst, 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}
