package modeltest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/footnotehq/footnote/internal/strictjson"
)

// futureBlock is a block type that clients cannot know yet.
const futureBlock = "future_block"

// piece is a block of a reply, ready to send.
type piece struct {
	Block
	start  []byte          // the content_block of its start event
	deltas [][]byte        // the delta objects; unused for timed and repeating blocks
	final  json.RawMessage // the whole block
}

// addDeltas adds a delta of a kind for each part, which is the value of a field.
func (p *piece) addDeltas(kind, field string, parts ...string) {
	for _, part := range parts {
		p.deltas = append(p.deltas, []byte(`{"type":"`+kind+`","`+field+`":`+quote(part)+`}`))
	}
}

// writer writes one reply.
type writer struct {
	s      *Server
	w      http.ResponseWriter
	rc     *http.ResponseController
	r      *http.Request
	req    Request
	reply  Reply
	pieces []piece
	output int // bytes of output, including thinking
	buf    []byte
	sent   int  // deltas
	broken bool // nothing more can be written
}

func newWriter(s *Server, w http.ResponseWriter, r *http.Request, req Request, reply Reply) *writer {
	wr := &writer{s: s, w: w, rc: http.NewResponseController(w), r: r, req: req, reply: reply}
	wr.prepare()
	return wr
}

func (w *writer) write() {
	h := w.w.Header()
	h.Set("Request-Id", requestID(w.req.N))
	h.Set("Anthropic-Organization-Id", "org_modeltest")
	if !w.req.Stream {
		w.writeWhole()
		return
	}
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	w.w.WriteHeader(http.StatusOK)
	if w.reply.Hold > 0 {
		w.rc.Flush()
		if !w.s.sleep(w.r, w.reply.Hold) {
			return
		}
	}
	if w.reply.Raw != "" {
		w.buf = append(w.buf, w.reply.Raw...)
		w.flush()
		return
	}
	w.stream()
}

// prepare builds the blocks, including signatures.
func (w *writer) prepare() {
	var p *prefix
	if !w.s.opts.Lax {
		p = newPrefix(w.req)
		for _, m := range w.req.Messages {
			p.message(m)
		}
	}
	blocks := w.reply.blocks()
	if w.reply.Odd {
		blocks = append([]Block{{Raw: `{"type":"` + futureBlock + `","payload":{"a":[1, 2.50]}}`}}, blocks...)
	}
	calls := 0
	for _, b := range blocks {
		if (b.Type == "thinking" || b.Type == "redacted_thinking") && !w.thinks() {
			continue
		}
		if (b.Type == "tool_use" || b.Type == "server_tool_use") && b.ID == "" {
			calls++
			kind := map[string]string{"tool_use": "toolu", "server_tool_use": "srvtoolu"}[b.Type]
			b.ID = fmt.Sprintf("%s_%08d_%d", kind, w.req.N, calls)
		}
		made := w.make(b, p)
		w.pieces = append(w.pieces, made)
		w.output += len(b.Text) + len(b.Input)
	}
	if w.reply.stopReason() == "pause_turn" {
		var finals []json.RawMessage
		for _, made := range w.pieces {
			finals = append(finals, made.final)
		}
		w.s.remember(finals)
	}
}

// thinks reports whether the model thinks in this request.
func (w *writer) thinks() bool {
	if w.s.opts.Compatible || w.s.opts.Lax {
		return true
	}
	m, _ := w.s.prices.Model(w.req.Model)
	if m.Thinking.Always || w.req.Thinking.Type == "adaptive" || w.req.Thinking.Type == "enabled" {
		return true
	}
	return w.req.Thinking.Type == "" && m.PrefixCheck // on by default
}

func (w *writer) make(b Block, p *prefix) piece {
	made := piece{Block: b}
	switch {
	case b.Raw != "":
		made.start = []byte(b.Raw)
		made.final = made.start
	case b.Type == "thinking":
		w.makeThinking(&made, p)
	case b.Type == "redacted_thinking":
		data := "opaque"
		if p != nil && !w.s.opts.Compatible {
			data = w.s.sign(p.at, "")
			p.thought(Content{Data: data})
		}
		made.start = []byte(`{"type":"redacted_thinking","data":` + quote(data) + `}`)
		made.final = made.start
	case b.Type == "tool_use" || b.Type == "server_tool_use":
		w.makeCall(&made)
	default:
		made.start = []byte(`{"type":"text","text":""}`)
		made.final = json.RawMessage(`{"type":"text","text":` + quote(b.Text) + `}`)
		if b.Citation != "" {
			made.start = []byte(`{"type":"text","text":"","citations":[]}`)
			made.deltas = append(made.deltas, []byte(`{"type":"citations_delta","citation":`+b.Citation+`}`))
			made.final = json.RawMessage(`{"type":"text","text":` + quote(b.Text) + `,"citations":[` + b.Citation +
				`]}`)
		}
		made.addDeltas("text_delta", "text", pieces(b.Text, b.Deltas)...)
	}
	return made
}

func (w *writer) makeThinking(made *piece, p *prefix) {
	text := made.Text
	if w.req.Thinking.Display != "summarized" && !w.s.opts.Compatible {
		text = ""
	}
	made.addDeltas("thinking_delta", "thinking", pieces(text, made.Deltas)...)
	if w.s.opts.Compatible {
		made.start = []byte(`{"type":"thinking","thinking":""}`)
		made.final = json.RawMessage(`{"type":"thinking","thinking":` + quote(text) + `}`)
		return
	}
	signature := "unsigned"
	if p != nil {
		signature = w.s.sign(p.at, text)
		p.thought(Content{Signature: signature})
	}
	made.start = []byte(`{"type":"thinking","thinking":"","signature":""}`)
	made.addDeltas("signature_delta", "signature", signature)
	made.final = json.RawMessage(`{"type":"thinking","thinking":` + quote(text) + `,"signature":` + quote(signature) +
		`}`)
}

func (w *writer) makeCall(made *piece) {
	head := `{"type":` + quote(made.Type) + `,"id":` + quote(made.ID) + `,"name":` + quote(made.Name) + `,"input":`
	input := made.Input
	if !json.Valid([]byte(input)) {
		input = "{}"
	}
	made.final = json.RawMessage(head + input + "}")
	made.start = []byte(head + "{}}")
	if made.Whole {
		made.start = made.final
		return
	}
	n := made.Deltas
	if n == 0 {
		n = (len(made.Input) + 23) / 24
	}
	if w.s.opts.Compatible {
		n = 1
	}
	parts := pieces(made.Input, max(n, 1))
	if made.EmptyFirst {
		parts = slices.Insert(parts, 0, "")
	}
	made.addDeltas("input_json_delta", "partial_json", parts...)
}

// quote returns a string as JSON, without HTML escaping.
func quote(s string) string { return string(strictjson.AppendString(nil, s)) }

func (w *writer) messageID() string { return fmt.Sprintf("msg_%08d", w.req.N) }

func (w *writer) model() string { return cmp.Or(w.reply.Model, w.req.Model) }

// usage returns the usage member at the start or the end of a message.
func (w *writer) usage(end bool) string {
	if w.reply.NoUsage {
		return ""
	}
	u := Usage{Input: tokens(len(w.req.Body)), Output: tokens(w.output) + 1}
	if w.s.opts.Compatible {
		u.Input = 0
	}
	if w.reply.Usage != nil {
		u = *w.reply.Usage
	}
	if !end {
		u.Output = min(u.Output, 1)
	}
	if w.s.opts.Compatible {
		return fmt.Sprintf(`,"usage":{"input_tokens":%d,"output_tokens":%d}`, u.Input, u.Output)
	}
	out := fmt.Sprintf(`,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,`+
		`"output_tokens":%d`,
		u.Input, u.CacheWrite+u.CacheHour, u.CacheRead, u.Output)
	if !end {
		out += fmt.Sprintf(`,"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":%d},`+
			`"service_tier":"standard"`, u.CacheWrite, u.CacheHour)
	} else if u.Thinking > 0 {
		out += fmt.Sprintf(`,"output_tokens_details":{"thinking_tokens":%d}`, u.Thinking)
	}
	if end && u.Searches > 0 {
		out += fmt.Sprintf(`,"server_tool_use":{"web_search_requests":%d,"web_fetch_requests":0}`, u.Searches)
	}
	return out + "}"
}

func (w *writer) stop() string {
	out := `"stop_reason":` + quote(w.reply.stopReason()) + `,"stop_sequence":`
	if w.reply.StopSequence != "" {
		out += quote(w.reply.StopSequence)
	} else {
		out += "null"
	}
	if w.reply.StopDetails != "" {
		out += `,"stop_details":` + w.reply.StopDetails
	}
	return out
}

// stream writes the events.
func (w *writer) stream() {
	w.event("message_start",
		`{"type":"message_start","message":{"id":"`+w.messageID()+`","type":"message","role":"assistant","model":`+
			quote(w.model())+`,"content":[],"stop_reason":null,"stop_sequence":null`+w.usage(false)+`}`+w.odd()+`}`)
	w.flush()
	if w.reply.Odd {
		w.event("brand_new", `{"type":"brand_new","index":0,"delta":{"type":"text_delta","text":"never shown"}}`)
	}
	for i, p := range w.pieces {
		w.event("content_block_start",
			`{"type":"content_block_start","index":`+strconv.Itoa(i)+`,"content_block":`+string(p.start)+w.odd()+`}`)
		if i == 0 && !w.s.opts.Compatible {
			w.event("ping", `{"type":"ping"}`)
		}
		if w.deltas(i, p); w.broken {
			return
		}
		w.event("content_block_stop", `{"type":"content_block_stop","index":`+strconv.Itoa(i)+`}`)
	}
	if w.reply.Fault != nil {
		w.breakOff(*w.reply.Fault)
		return
	}
	w.event("message_delta", `{"type":"message_delta","delta":{`+w.stop()+`}`+w.usage(true)+w.odd()+`}`)
	w.event("message_stop", `{"type":"message_stop"}`)
	w.flush()
}

func (w *writer) odd() string {
	if w.reply.Odd {
		return `,"brand_new_field":{"deep":["}",1]}`
	}
	return ""
}

// deltas writes the deltas of one block.
func (w *writer) deltas(index int, p piece) {
	head := `event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":` + strconv.Itoa(index) +
		`,"delta":`
	tail := "}\n\n"
	n := len(p.deltas)
	quoted := quote(p.Text)
	if p.Timed || p.Repeat {
		n = p.Block.Deltas
	}
	start := time.Now()
	for i := range n {
		if f := w.reply.Fault; f != nil && w.sent >= f.After {
			w.breakOff(*f)
			return
		}
		if p.Gap > 0 && i > 0 && !w.s.sleep(w.r, time.Until(start.Add(time.Duration(i)*p.Gap))) {
			w.broken = true
			return
		}
		if w.reply.Pings > 0 && w.sent%w.reply.Pings == 0 {
			w.event("ping", `{"type":"ping"}`)
		}
		w.buf = append(w.buf, head...)
		switch {
		case p.Timed:
			w.buf = append(w.buf, `{"type":"text_delta","text":"`...)
			w.buf = AppendTimed(w.buf, i, Monotonic())
			w.buf = append(append(w.buf, quoted[1:len(quoted)-1]...), `"}`...)
		case p.Repeat:
			w.buf = append(append(append(w.buf, `{"type":"text_delta","text":`...), quoted...), '}')
		default:
			w.buf = append(w.buf, p.deltas[i]...)
		}
		w.buf = append(w.buf, tail...)
		w.sent++
		w.s.deltas.Add(1)
		if w.flush(); w.broken {
			return
		}
	}
}

func (w *writer) event(name, data string) {
	w.buf = append(append(append(append(append(w.buf, "event: "...), name...), "\ndata: "...), data...), "\n\n"...)
}

// flush sends the buffer, in one write or byte by byte.
func (w *writer) flush() {
	defer func() { w.buf = w.buf[:0] }()
	if w.reply.Loris == 0 {
		if _, err := w.w.Write(w.buf); err != nil || w.rc.Flush() != nil {
			w.broken = true
		}
		return
	}
	for i := range w.buf {
		if _, err := w.w.Write(w.buf[i : i+1]); err != nil || w.rc.Flush() != nil || !w.s.sleep(w.r, w.reply.Loris) {
			w.broken = true
			return
		}
	}
}

// breakOff ends the stream as f specifies.
func (w *writer) breakOff(f Fault) {
	switch f.Kind {
	case ErrorIn:
		failure := Failure{Type: f.Type, Code: f.Code, Message: f.Message}
		if f.Type == "" {
			failure.Status, failure.Type = 529, "overloaded_error"
		}
		w.event("error", string(errorBody(failure, requestID(w.req.N))))
	case Garbage:
		w.buf = append(w.buf,
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"del\n\n"...)
	}
	w.flush()
	w.broken = true
	switch f.Kind {
	case Stall:
		w.s.sleep(w.r, maxStall)
	case Reset:
		reset(w.rc)
	case Drop:
		panic(http.ErrAbortHandler)
	}
}

// reset closes the connection with a TCP reset.
func reset(rc *http.ResponseController) {
	conn, _, err := rc.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // an HTTP/2 stream has no connection of its own to reset
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0) // if this fails, the close below still breaks the stream
	}
	conn.Close()
}

// writeWhole answers a request for a response without streaming.
func (w *writer) writeWhole() {
	if f := w.reply.Fault; f != nil {
		switch f.Kind {
		case ErrorIn:
			w.s.writeError(w.w, w.req.N, Failure{Status: 529, Type: f.Type, Code: f.Code, Message: f.Message})
		case Stall:
			w.s.sleep(w.r, maxStall)
		case Reset:
			reset(w.rc)
		default:
			io.WriteString(w.w, `{"id":"msg`)
		}
		return
	}
	var content bytes.Buffer
	for i, p := range w.pieces {
		if i > 0 {
			content.WriteByte(',')
		}
		content.Write(p.final)
	}
	w.w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w.w, `{"id":%q,"type":"message","role":"assistant","model":%s,"content":[%s],%s%s}`,
		w.messageID(), quote(w.model()), content.String(), w.stop(), w.usage(true))
}
