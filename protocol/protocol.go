// Package protocol defines the interface of protocols. A protocol is how one kind of client talks to Footnote. Each has
// a package with its decoding, its encoding and its handlers. The server that mounts it provides the rest: callers and
// their limits, the engine, and the pump that writes the events of a run as frames.
package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/tool"
)

// Protocol is one protocol. Routes is called once, before the server starts; the handlers keep s.
type Protocol interface {
	Routes(s Server) Routes
}

// Routes holds the addresses of a protocol, and the options that apply to all of them.
type Routes struct {
	List   []Route
	Errors Envelope // format of errors; nil: the server's own
	// Prefix is the beginning of unknown addresses whose errors also have the format Errors; empty: none.
	Prefix string
	// Challenge returns parameters to add to the header WWW-Authenticate of a refusal; nil: none.
	Challenge func(r *http.Request) string
	// ClientIDs is the beginning of addresses that end in an id of the client's own, which may look like a path.
	ClientIDs string
	// Views are formats for GET /api/conversations/{id}/events?view=…, by their names.
	Views map[string]View
	// OpenAPI describes these addresses, in YAML: the part of the document at /api/openapi.yaml with their paths and
	// with the components that only they use. Nil: they are not described.
	OpenAPI []byte
}

// View returns the events of a log after a sequence, as a value to send as JSON.
type View func(log []footnote.Event, after int64) any

// Route is a method at an address. A route for GET also takes HEAD, unless it is held.
type Route struct {
	Method  string
	Pattern string // as for http.ServeMux, without the method
	Handler Handler
	// Held is for requests that stay open, to stream or to wait for an answer: they count as streams of their user.
	Held bool
	// Open is for requests that need no key.
	Open bool
	// Queries is for requests that query a database: each user may have only a few at a time, and further ones wait.
	Queries bool
}

// Handler serves a request or returns an error, which is sent in the format Errors. If it returns an error after the
// response has begun, the server aborts the connection.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Envelope encodes an error in the format that a protocol's clients expect. The text must come from
// footnote.MessageOf, which is safe to show.
type Envelope func(err error, f Failure) (contentType string, body []byte)

// Failure carries what an envelope may need besides the error.
type Failure struct {
	RequestID  string // X-Request-Id of the response, which is also in the log
	UnknownURL bool   // no route matches
}

// Server has the methods that the handlers of a protocol may call.
type Server interface {
	// Body returns the body of a request, which may be as large as the setting body_limit times scale. It accepts the
	// media types listed, such as "text/plain"; without any, JSON. Text must be UTF-8. Handlers must not read r.Body
	// themselves: Body also limits how slowly a body may arrive, and counts a POST to a Held route as a stream.
	Body(w http.ResponseWriter, r *http.Request, scale int64, media ...string) ([]byte, error)
	// Read decodes a JSON body. It rejects unknown keys.
	Read(w http.ResponseWriter, r *http.Request, scale int64, into any) error
	// Caller returns the principal of the request.
	Caller(r *http.Request) footnote.Principal
	// MayStart reports whether a GET may start a run. Any page can make a browser send a GET, and the run would cost
	// the user money; so the GET needs a key, or must come from a page of this server or of an allowed origin.
	MayStart(r *http.Request) bool
	// Assistants lists the assistants that the caller may use, the default one first.
	Assistants(r *http.Request) []agent.AssistantInfo

	// Submit submits a turn on behalf of the caller; see agent.Engine.Submit. The ticket must go to Show, Collect or
	// Discard. If the client leaves Show or Collect early, the run does what OnDisconnect of the turn says; the default
	// is the setting stored_on_disconnect. Leave it empty if a client can get the answer later, by its MessageID or by
	// reading its conversation. Otherwise take the setting on_disconnect as an option of the protocol, and set it. The
	// run of a Duplicate ticket always continues: the client that started it may still read.
	Submit(w http.ResponseWriter, r *http.Request, t agent.Turn) (agent.Ticket, error)
	// Show streams the answer. A Duplicate ticket shows its run from After on. Headers are sent with the first word, so
	// that a run that fails earlier gets the status of its error.
	Show(w http.ResponseWriter, r *http.Request, s Stream) error
	// Collect gives all events of a run to c until the answer is complete, and returns the answer. It returns an error
	// if there is none.
	Collect(r *http.Request, t agent.Ticket, c Collector) ([]byte, error)
	// Feed writes a stream that shows no run.
	Feed(w http.ResponseWriter, r *http.Request, f Feed) error
	// Discard closes a ticket whose run is not shown.
	Discard(t agent.Ticket)
	// Complete makes a model call outside any conversation.
	Complete(r *http.Request, prompt string) (string, footnote.Spent, error)

	// Find returns a conversation of the caller, by our id or by the one its client chose.
	Find(r *http.Request, id string) (head footnote.Stream, found bool, err error)
	// List returns a page of the caller's conversations before a cursor, the newest first, and the next cursor. It
	// leaves out conversations with other assistants, so a page may be empty although there are more.
	List(r *http.Request, assistant, before string, limit int) (heads []footnote.Stream, next string, err error)
	// Events reads the log of a conversation that Find or Submit returned.
	Events(r *http.Request, conversation string, after int64) iter.Seq2[footnote.Event, error]
	// Rows returns the first rows of a stored result, each as a JSON array.
	Rows(r *http.Request, conversation string, res footnote.StoredResult, limit int) ([]json.RawMessage, error)
	// Stop asks the run of a conversation to stop. It is not an error if the run has ended already.
	Stop(r *http.Request, conversation string) error
	// AnswerTime returns a context that ends after the time limit of an answer that is not streamed.
	AnswerTime(r *http.Request) (context.Context, context.CancelFunc)

	Data

	Now() time.Time
	// Outcome sets the outcome of the request in the server's log, if none of the server's own words fits.
	Outcome(r *http.Request, word string)
}

// Stream describes a run to show to its client.
type Stream struct {
	Name    string // of the protocol, for the metrics
	Ticket  agent.Ticket
	Encoder Encoder
	Preface []byte // frames before all others of a Duplicate ticket; may be nil
	// Parks keeps the stream open while the run waits for its client: another process may receive the client's
	// answer, and drive the run from then on.
	Parks bool
	// ContentType of the response; default text/event-stream. Other types get no heartbeats.
	ContentType string
}

// Feed is a stream of server-sent events that shows no run, such as the changes of a document. It ends when the client
// leaves or the time limit of streams is reached.
type Feed struct {
	Name    string // for the metrics
	Preface []byte // frames before all others; may be nil
	Log     string // Frames is called at once when this document changes; empty: none
	// Every is the interval between calls of Frames; default: the interval at which changes by other servers are
	// polled.
	Every time.Duration
	// Frames returns new frames, or nil if there is nothing new. It is called again at once if there may be more.
	Frames func(ctx context.Context) (frames []byte, more bool, err error)
}

// Encoder encodes the events of a run as the frames of a protocol. Each method appends complete frames to dst, or
// nothing, and keeps neither dst nor what it was given. The encoder of protocol/openai is the one to copy.
//
// It must handle these cases:
//   - A run has several steps, one for each message of the model. A step may say something before it calls tools.
//     Separate the text of two steps, for instance by a blank line.
//   - A model call may break off (StepBroke in the deltas, StepFailed in the log) and is then repeated with the next
//     Attempt. Its text is not part of the answer. If the client cannot remove it, begin a new paragraph.
//   - Deltas are not stored. An AssistantMessage repeats the text of the deltas of its step. A client that asks again,
//     or whose run another server drives, gets only the messages. Show a message if its step had no deltas.
//   - The answer may be the input of a call of final_answer. Its text may come as deltas, or only in Answered: show
//     that text if no message or delta has shown it. agent.Shown returns the text of a message in both cases.
//   - A footnote in Answered may cite a result of an earlier run, such as r1. The events of this run do not have it;
//     Server.Events from 0 has it. The offsets of footnotes are bytes; UTF16 converts them.
//   - Events and deltas of other runs may come. Ignore them.
//   - After a Terminal event, or RunParked for clients that cannot answer calls, the encoder is done. RunError returns
//     the error, if there is one.
type Encoder interface {
	// Open starts an answer before its first event, if that is slow to come. It is called at most once, and only before
	// anything has been written.
	Open(dst []byte) []byte
	Event(dst []byte, ev footnote.Event) []byte
	// Delta is called for each piece of text, so it must not allocate. strictjson.AppendUnescaped decodes the text.
	Delta(dst []byte, d footnote.Delta) []byte
	// Fail ends the answer with an error.
	Fail(dst []byte, err error) []byte
	// Done reports whether the answer is complete: nothing may follow.
	Done() bool
	// Err returns why a completed stream has no answer, or nil. If a run fails before it has said anything, the
	// response has the status of this error and no frames.
	Err() error
}

// Collector consumes the events of a run until the answer is complete.
type Collector interface {
	Event(ev footnote.Event)
	Delta(d footnote.Delta)
	// Enough reports whether the run may be stopped; the answer is then the text so far.
	Enough() bool
	// Completion returns the answer once it is done, or the error that prevented one.
	Completion() (body []byte, done bool, err error)
}

// WantsStream reports whether the client explicitly accepts server-sent events.
func WantsStream(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		if media, _, err := mime.ParseMediaType(part); err == nil && media == "text/event-stream" {
			return true
		}
	}
	return false
}

// LargerBody is the factor by which the limit of bodies is raised for requests that carry client state, such as the
// rows of a query or a whole chat.
const LargerBody = 8

// Number reads an integer parameter from minimum to maximum. It returns def when the parameter is missing.
func Number(q url.Values, name string, def, minimum, maximum int64) (int64, error) {
	text := q.Get(name)
	if text == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < minimum || n > maximum {
		return 0, footnote.Invalidf("%s must be a number from %d to %d.", name, minimum, maximum)
	}
	return n, nil
}

// Paging reads which page of a list a request asks for: its size, and the cursor that the previous page returned as
// next.
func Paging(q url.Values, def, maximum int64) (limit int, before string, err error) {
	n, err := Number(q, "limit", def, 1, maximum)
	return int(n), q.Get("before"), err
}

// After reads the number of the newest event of a stream that a client has. The client may send that number, or the id
// of the event. Last-Event-ID, which a browser sends when it reconnects, is newer than the address and takes
// precedence. If it did not come from this stream, it is ignored.
func After(r *http.Request, stream string) (after int64, err error) {
	if v := r.URL.Query().Get("after"); v != "" {
		var ok bool
		if after, ok = seqOf(v, stream); !ok {
			return 0, footnote.Invalidf("after must be the number or the id of an event.")
		}
	}
	if n, ok := seqOf(r.Header.Get("Last-Event-ID"), stream); ok {
		after = n
	}
	return after, nil
}

// seqOf reads the number of an event in a stream, or its id.
func seqOf(text, stream string) (seq int64, ok bool) {
	seq, err := strconv.ParseInt(strings.TrimPrefix(text, stream+"."), 10, 64)
	return seq, err == nil && seq >= 0
}

// Reset returns the frame for a client that is ahead of the log: events after last no longer exist, because the log
// was restored from a backup. The id of the frame, that of the last event, moves an EventSource back to the end of the
// log.
func Reset(id string, last, asked int64) []byte {
	return fmt.Appendf(nil, "id: %s\nevent: reset\ndata: {\"last\":%d,\"asked\":%d}\n\n", id, last, asked)
}

// FileName replaces the characters of a file's name that cannot be in a header.
func FileName(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, s)
}

// Limit describes a limit, and how much of it is left, to clients.
type Limit struct {
	Name   string     `json:"name"`
	Unit   string     `json:"unit"` // requests, runs, tokens or usd
	Limit  float64    `json:"limit"`
	Left   float64    `json:"left"`
	Resets *time.Time `json:"resets,omitempty"`
}

// LimitOf converts a limit to its form for clients.
func LimitOf(o footnote.OverLimit) Limit {
	out := Limit{Name: o.Name, Unit: o.Unit, Limit: o.Limit, Left: o.Left}
	if !o.Resets.IsZero() {
		out.Resets = new(o.Resets.UTC().Truncate(time.Second))
	}
	return out
}

// Native is the error envelope of this project's own endpoints.
func Native(err error, f Failure) (contentType string, body []byte) {
	o := strictjson.Builder(`{"error":{`).Text("code", string(footnote.CodeOf(err)))
	o = o.Text("message", footnote.MessageOf(err)).Text("request_id", f.RequestID)
	if e, ok := errors.AsType[*footnote.Error](err); ok && e.Limit != nil {
		if limit, jerr := json.Marshal(LimitOf(*e.Limit)); jerr == nil { // NaN and infinity cannot be encoded
			o = o.Raw("limit", limit)
		}
	}
	return "application/json", append(o, `}}`...)
}

// ResetHeader tells a client that is ahead of the log where the log ends.
const ResetHeader = "X-Log-Reset"

// Plain is the error envelope for clients that show the response body to their users unchanged, and would show a final
// newline, too. It writes none; a protocol for terminals needs an envelope of its own.
func Plain(err error, _ Failure) (contentType string, body []byte) {
	return "text/plain; charset=utf-8", []byte(footnote.MessageOf(err))
}

// notRetryable marks an error that happened after the run had begun: a client that repeats the request would pay twice.
type notRetryable struct{ error }

func (e notRetryable) Unwrap() error { return e.error }

// NotRetryable marks an error of a run that had begun. The response asks clients not to retry such a request.
func NotRetryable(err error) error { return notRetryable{err} }

// IsNotRetryable reports whether an error was marked by NotRetryable.
func IsNotRetryable(err error) bool {
	_, ok := errors.AsType[notRetryable](err)
	return ok
}

// WriteValue sends a value as JSON.
func WriteValue(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return WriteJSON(w, status, body)
}

// WriteJSON sends a complete JSON response.
func WriteJSON(w http.ResponseWriter, status int, body []byte) error {
	return Write(w, status, "application/json", body)
}

// Write sends a complete response.
func Write(w http.ResponseWriter, status int, contentType string, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}

// NoConversation returns the error for a conversation that does not exist, or that is hidden from the caller.
func NoConversation() error {
	return footnote.Errorf(footnote.NotFound, "There is no such conversation.")
}

// AssistantOf returns the assistant with the given name or alias. The empty name means the default assistant.
func AssistantOf(assistants []agent.AssistantInfo, name string) (a agent.AssistantInfo, ok bool) {
	for i, a := range assistants {
		if a.Name == name || name == "" && i == 0 || slices.Contains(a.Aliases, name) {
			return a, true
		}
	}
	return a, false
}

// Unattended leaves out the assistants that cannot work without a client's tools.
func Unattended(assistants []agent.AssistantInfo) []agent.AssistantInfo {
	return slices.DeleteFunc(slices.Clone(assistants), func(a agent.AssistantInfo) bool {
		onServer := slices.ContainsFunc(a.Tools, func(t agent.ToolInfo) bool {
			return t.Side == tool.Server && t.Name != tool.FinalAnswer
		})
		return a.Unavailable != "" || len(a.Tools) > 0 && !onServer
	})
}
