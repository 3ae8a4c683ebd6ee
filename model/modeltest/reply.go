package modeltest

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reply is the server's answer to one request: blocks, an error, or both (blocks up to a Fault). The zero
// value is an empty end_turn.
type Reply struct {
	Blocks       []Block `yaml:"blocks"`
	Text         string  `yaml:"text"`        // shorthand for a single text block, which comes last
	StopReason   string  `yaml:"stop_reason"` // default: tool_use with a tool call, else end_turn
	StopSequence string  `yaml:"stop_sequence"`
	StopDetails  string  `yaml:"stop_details"` // JSON, for refusals
	Model        string  `yaml:"model"`        // the model reported as serving; default: the requested one
	Usage        *Usage  `yaml:"usage"`        // default: estimated from the sizes
	NoUsage      bool    `yaml:"no_usage"`     // no usage at all, like some servers

	Wait  time.Duration `yaml:"wait"`  // before the headers
	Hold  time.Duration `yaml:"hold"`  // between the headers and the first event
	Loris time.Duration `yaml:"loris"` // write one byte at a time, with this delay between two
	Pings int           `yaml:"pings"` // a ping before every n-th delta
	Odd   bool          `yaml:"odd"`   // unknown events, unknown fields and a block of an unknown type

	Error *Failure `yaml:"error"` // answer with this instead of a message
	Fault *Fault   `yaml:"fault"` // break the stream
	Raw   string   `yaml:"raw"`   // send this as the whole event stream instead
}

// Usage is the token usage that a reply reports.
type Usage struct {
	Input      int64 `yaml:"input"`
	CacheWrite int64 `yaml:"cache_write"` // five minutes
	CacheHour  int64 `yaml:"cache_hour"`  // one hour
	CacheRead  int64 `yaml:"cache_read"`
	Output     int64 `yaml:"output"`
	Thinking   int64 `yaml:"thinking"`
	Searches   int64 `yaml:"searches"`
}

// Block is one block of a reply.
type Block struct {
	// Type is text, thinking, redacted_thinking, tool_use or server_tool_use. It is ignored if Raw is set.
	Type string `yaml:"type"`
	Text string `yaml:"text"` // of text and thinking; thinking is hidden unless the request asks for it

	Deltas int           `yaml:"deltas"` // pieces of Text or Input; 0: one per word, or per 24 characters of input
	Gap    time.Duration `yaml:"gap"`    // between two pieces, measured by the clock and not from the last write
	// Timed makes a text block of Deltas pieces in the format of AppendTimed: the number of the piece, and
	// Monotonic at the time it was written. Text follows each of them.
	Timed bool `yaml:"timed"`
	// Repeat makes a text block of Deltas pieces, each of them Text.
	Repeat bool `yaml:"repeat"`

	ID         string `yaml:"id"` // of a tool call; default: a counter
	Name       string `yaml:"name"`
	Input      string `yaml:"input"`       // JSON text, sent unchanged, valid or not
	EmptyFirst bool   `yaml:"empty_first"` // the first fragment is empty
	Whole      bool   `yaml:"whole"`       // the start event has the input, without fragments

	Citation string `yaml:"citation"` // JSON; a citations_delta before the text
	Raw      string `yaml:"raw"`      // JSON of a whole block, sent in the start event
}

// Failure is an error response. Type defaults to that of the status.
type Failure struct {
	Status      int    `yaml:"status"`
	Type        string `yaml:"type"`
	Code        string `yaml:"code"` // details.error_code
	Message     string `yaml:"message"`
	RetryAfter  string `yaml:"retry_after"`
	ShouldRetry string `yaml:"should_retry"`
	Body        string `yaml:"body"` // the whole body instead, in any form
}

// Ways in which a stream can break.
const (
	Reset   = "reset"   // the TCP connection is reset
	Drop    = "drop"    // the connection closes without ending the body
	EOF     = "eof"     // the body ends cleanly, without message_stop
	Stall   = "stall"   // nothing more is sent until the client leaves
	Garbage = "garbage" // an event that is not JSON, then a clean end
	ErrorIn = "error"   // an error event, then a clean end
)

// Fault breaks a stream after After deltas: before the first if After is 0, and after the last, before the
// message ends, if there are fewer.
type Fault struct {
	Kind    string `yaml:"kind"`
	After   int    `yaml:"after"`
	Type    string `yaml:"type"` // of an error event; default overloaded_error
	Code    string `yaml:"code"`
	Message string `yaml:"message"`
}

// Say returns a reply of text.
func Say(text string) Reply { return Reply{Blocks: []Block{TextBlock(text)}} }

// Use returns a reply of one tool call. input is JSON text.
func Use(name, input string) Reply { return Reply{Blocks: []Block{CallBlock(name, input)}} }

// Blocks returns a reply of these blocks.
func Blocks(blocks ...Block) Reply { return Reply{Blocks: blocks} }

// TextBlock returns a text block.
func TextBlock(text string) Block { return Block{Type: "text", Text: text} }

// ThinkBlock returns a thinking block.
func ThinkBlock(text string) Block { return Block{Type: "thinking", Text: text} }

// CallBlock returns a tool call whose id is a counter.
func CallBlock(name, input string) Block { return Block{Type: "tool_use", Name: name, Input: input} }

// Fail returns an error response with this status.
func Fail(status int) Reply { return Reply{Error: &Failure{Status: status}} }

// Break returns r with a fault after a number of deltas.
func (r Reply) Break(kind string, after int) Reply {
	r.Fault = &Fault{Kind: kind, After: after}
	return r
}

// blocks returns the blocks of a reply, including the shorthand Text.
func (r Reply) blocks() []Block {
	if r.Text == "" {
		return r.Blocks
	}
	return append(slices.Clone(r.Blocks), TextBlock(r.Text))
}

func (r Reply) stopReason() string {
	if slices.ContainsFunc(r.Blocks, func(b Block) bool { return b.Type == "tool_use" }) {
		return cmp.Or(r.StopReason, "tool_use")
	}
	return cmp.Or(r.StopReason, "end_turn")
}

// pieces cuts text into n parts, between characters. If n is 0 it cuts after each word.
func pieces(text string, n int) []string {
	if text == "" {
		return nil
	}
	if n == 0 {
		return words(text)
	}
	runes := []rune(text)
	var out []string
	for i := range n {
		from, to := len(runes)*i/n, len(runes)*(i+1)/n
		if from < to {
			out = append(out, string(runes[from:to]))
		}
	}
	return out
}

func words(text string) []string {
	var out []string
	for len(text) > 0 {
		i := strings.IndexByte(text[1:], ' ')
		if i < 0 {
			return append(out, text)
		}
		out, text = append(out, text[:i+1]), text[i+1:]
	}
	return out
}

var errorTypes = map[int]string{
	http.StatusBadRequest:            "invalid_request_error",
	http.StatusUnauthorized:          "authentication_error",
	http.StatusPaymentRequired:       "billing_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusConflict:              "conflict_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	http.StatusInternalServerError:   "api_error",
	http.StatusBadGateway:            "api_error",
	http.StatusServiceUnavailable:    "api_error",
	http.StatusGatewayTimeout:        "timeout_error",
	529:                              "overloaded_error",
}

func (f Failure) kind() string { return cmp.Or(f.Type, errorTypes[f.Status], "invalid_request_error") }

func (f Failure) text() string {
	status := strconv.Itoa(f.Status) + " " + http.StatusText(f.Status)
	if f.Status == 529 {
		status = "Overloaded"
	}
	return cmp.Or(f.Message, status)
}
