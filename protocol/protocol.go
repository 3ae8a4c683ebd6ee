// Package protocol defines what a protocol is: how one kind of client talks to Footnote. Each protocol is a folder that
// holds its decoding, its encoding and its handlers. The server that mounts it does the rest: callers and their limits,
// the engine, and the pump that writes the events of a run as frames.
package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/tool"
)

// Protocol is one protocol. Routes is called once, before the server starts; the handlers keep s.
type Protocol interface {
	Routes(s Server) Routes
}

// Routes are the addresses of a protocol, and what holds for all of them.
type Routes struct {
	List   []Route
	Errors Envelope // how an error is written; nil: as the server writes its own
	// Prefix makes unknown addresses that begin with it answer with Errors, too. Empty: none.
	Prefix string
	// ClientIDs is the beginning of addresses that end in an id of the client's own, which may look like a path.
	ClientIDs string
	// Views are formats for GET /api/conversations/{id}/events?view=…, by their names.
	Views map[string]View
}

// View returns the events after one of a log, as a value that is sent as JSON.
type View func(log []footnote.Event, after int64) any

// Route is a method at an address. A route for GET also takes HEAD, unless it is held.
type Route struct {
	Method  string
	Pattern string // as for http.ServeMux, without the method
	Handler Handler
	// Held is for requests that stay open, to stream or to wait for an answer: they count as streams of their user.
	Held bool
}

// Handler serves a request or returns an error, which is written as Errors says. If it returns an error after the
// response has begun, the server aborts the connection.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Envelope encodes an error in the format that a protocol's clients expect. The text must come from
// footnote.MessageOf, which is safe to show.
type Envelope func(err error, f Failure) (contentType string, body []byte)

// Failure carries what an envelope may need besides the error.
type Failure struct {
	RequestID  string
	UnknownURL bool // no route matches
}

// Server is what the handlers of a protocol may use.
type Server interface {
	// Body returns the JSON body of a request, which may be as large as the setting body_limit times scale.
	Body(w http.ResponseWriter, r *http.Request, scale int64) ([]byte, error)
	// Caller returns who sent the request.
	Caller(r *http.Request) footnote.Principal
	// MayStart reports whether a GET may start a run. Any page can make a browser send a GET, and the run would cost
	// the user money; so it takes a key, or a page of this server or of an allowed origin.
	MayStart(r *http.Request) bool
	// Assistants lists what the caller may use, the default assistant first.
	Assistants(r *http.Request) []agent.AssistantInfo

	// Submit submits a turn on behalf of the caller; see agent.Engine.Submit. An empty OnDisconnect takes the setting
	// stored_on_disconnect. The ticket must go to Show, Collect or Discard.
	Submit(w http.ResponseWriter, r *http.Request, t agent.Turn) (agent.Ticket, error)
	// Show writes the answer while it is being made. A Duplicate ticket shows its run from After on. Headers are sent
	// with the first word, so that a run that fails earlier gets the status of its error.
	Show(w http.ResponseWriter, r *http.Request, s Stream) error
	// Collect gives all events of a run to c until the answer is complete. It returns an error if there is no answer.
	Collect(r *http.Request, t agent.Ticket, onDisconnect string, c Collector) error
	// Discard closes a ticket whose run is not shown.
	Discard(t agent.Ticket)
	// Complete asks the model for a text outside of any conversation.
	Complete(r *http.Request, prompt string) (string, footnote.Spent, error)

	// Find returns a conversation of the caller, by our id or by the one its client chose.
	Find(r *http.Request, id string) (head footnote.Stream, found bool, err error)
	// List returns a page of the caller's conversations before a cursor, the newest first, and the next cursor. It
	// leaves out those that are not held with the assistant, so a page may be empty although there are more.
	List(r *http.Request, assistant, before string, limit int) (heads []footnote.Stream, next string, err error)
	// Paging reads the parameters limit, with its default and its maximum, and before.
	Paging(r *http.Request, def, most int64) (limit int, before string, err error)
	// Events reads the log of a conversation that Find or Submit returned.
	Events(r *http.Request, conversation string, after int64) iter.Seq2[footnote.Event, error]
	// Rows returns the first rows of a stored result, each as a JSON array.
	Rows(r *http.Request, conversation string, res footnote.StoredResult, limit int) ([]json.RawMessage, error)
	// Stop asks the run of a conversation to stop. One that has ended already is no error.
	Stop(r *http.Request, conversation string) error
	// AnswerTime returns a context that ends when an answer that is not streamed may take no longer.
	AnswerTime(r *http.Request) (context.Context, context.CancelFunc)

	Now() time.Time
	// Outcome sets the word for the request in the log, where none of the server's own fits.
	Outcome(r *http.Request, word string)
}

// Stream is a run that is shown to its client.
type Stream struct {
	Name         string // of the protocol, for the metrics
	Ticket       agent.Ticket
	Encoder      Encoder
	OnDisconnect string // agent.Cancel or agent.Continue; default as in Submit. A Duplicate ticket's run continues.
	Preface      []byte // frames before all others of a Duplicate ticket; may be nil
	// Parks keeps the stream open while the run waits for its client: another process may receive the client's
	// answer, and drive the run from then on.
	Parks bool
	// ContentType of the response; default text/event-stream. Other types get no heartbeats.
	ContentType string
}

// Encoder encodes the events of a run as the frames of a protocol. Each method appends complete frames to dst, or
// nothing.
type Encoder interface {
	// Open starts an answer whose first word is slow to come. It is called at most once, and only before anything has
	// been written.
	Open(dst []byte) []byte
	Event(dst []byte, ev footnote.Event) []byte
	Delta(dst []byte, d footnote.Delta) []byte
	// Fail ends the answer with an error.
	Fail(dst []byte, err error) []byte
	// Done reports whether the answer is complete: nothing may follow.
	Done() bool
	// Err returns why a completed stream has no answer, or nil.
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

// ResetHeader tells a client that is ahead of the log where the log ends.
const ResetHeader = "X-Log-Reset"

// Plain is the error envelope for clients that show the response body to their users unchanged.
func Plain(err error, _ Failure) (contentType string, body []byte) {
	return "text/plain; charset=utf-8", []byte(footnote.MessageOf(err))
}

// afterWork marks an error that happened after the run had begun: a client that repeats the request would pay twice.
type afterWork struct{ error }

func (e afterWork) Unwrap() error { return e.error }

// AfterWork marks an error of a run that had begun. Clients are told not to retry such a request automatically.
func AfterWork(err error) error { return afterWork{err} }

// IsAfterWork reports whether an error was marked by AfterWork.
func IsAfterWork(err error) bool {
	_, ok := errors.AsType[afterWork](err)
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

// NoConversation is the error for a conversation that does not exist, or that the caller must not know of.
func NoConversation() error {
	return footnote.Errorf(footnote.NotFound, "There is no such conversation.")
}

// AssistantOf returns the assistant with a name or alias. The empty name means the default assistant.
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
