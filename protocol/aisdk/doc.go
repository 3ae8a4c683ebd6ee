// Package aisdk implements the UI message stream of the Vercel AI SDK (useChat). It converts a posted chat to
// a turn, events and deltas to chunks, and a log to the messages of a page. It emits the core set of chunks
// that every client version accepts, and newer ones only when the client says that it supports them.
//
// A browser posts its whole chat, which is untrusted. Decode keeps only the content of the last message;
// Chat, a fold over the server's own log, decides what it means: a new message, an edit, another try, or
// answers to open calls.
package aisdk

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/tool"
)

// Dialect is the newest major version of the SDK whose chunks a client accepts.
type Dialect int

// The dialects. Every version from 5 on accepts Core. A client that states none gets the same chunks, and a text where
// it must ask for an approval, because a page that does not know how would seem to hang.
const (
	Unstated Dialect = 0

	Core Dialect = 5
	V6   Dialect = 6 // adds approvals
	V7   Dialect = 7
)

// ParseDialect reads a dialect: "5", "6" or "7"; empty is Unstated.
func ParseDialect(s string) (Dialect, error) {
	d, ok := map[string]Dialect{"": Unstated, "5": Core, "6": V6, "7": V7}[s]
	if !ok {
		return 0, footnote.Invalidf("The dialect must be 5, 6 or 7.")
	}
	return d, nil
}

// AskTool is the name of the call that asks a client of the Core dialect to approve another call. Its id is
// the approval's id, and its output {approved, reason?, always?} is the decision. The model never sees it.
const AskTool = "ask_approval"

// Options are the inputs of an Encoder and of Messages besides the events.
type Options struct {
	Dialect      Dialect
	Run          string // the run to show; Messages ignores it
	Conversation string // included in the metadata, if set
	Tools        []agent.ToolInfo
	// Unfinished makes Messages include the stored part of a running run. Do not set it for a page that
	// resumes the stream, which delivers the whole message.
	Unfinished bool
}

// kind tells where a call runs, and whether it needs approval, from a person or the server, before the
// browser sees it.
type kind struct{ client, asks bool }

func (o Options) kinds() map[string]kind {
	m := map[string]kind{}
	for _, t := range o.Tools {
		m[t.Name] = kind{client: t.Side == tool.Client, asks: t.Verdict == agent.Ask || t.Checked}
	}
	return m
}

// approvalText tells the user of a page that stated no dialect that a call waits for approval.
func approvalText(toolName string) string {
	return "The call of " + toolName + " needs your approval. If this page shows no buttons for it, approve it in " +
		"Footnote's own app, or send another message to continue without it. The page's developer finds in " +
		"docs/protocols.md how a page asks for approvals."
}

// messageID returns the id of the message that shows a run.
func messageID(run string) string { return "msg_" + run }

// Metadata is the metadata of a message. A client merges the metadata from the start and the end of a
// message.
type Metadata struct {
	Conversation string    `json:"conversation,omitempty"`
	Assistant    string    `json:"assistant,omitempty"`
	Model        string    `json:"model,omitempty"`
	Created      string    `json:"created,omitempty"`  // RFC 3339
	Seq          int64     `json:"seq,omitempty"`      // of a user's message, in the log
	Answered     int64     `json:"answered,omitempty"` // sequence number of the answer, for feedback
	Usage        *Tokens   `json:"usage,omitempty"`
	Cost         *Money    `json:"cost,omitempty"`
	Steps        int       `json:"steps,omitempty"`
	Millis       int64     `json:"millis,omitempty"`
	Stopped      string    `json:"stopped,omitempty"` // by whom
	Feedback     *Feedback `json:"feedback,omitempty"`
}

// Tokens counts tokens as the SDK does: the input includes its cached part, the output its reasoning.
type Tokens struct {
	Input     int64 `json:"inputTokens"`
	Output    int64 `json:"outputTokens"`
	Total     int64 `json:"totalTokens"`
	Reasoning int64 `json:"reasoningTokens"`
	Cached    int64 `json:"cachedInputTokens"`
	Weighted  int64 `json:"weightedTokens"` // Total times the multiplier of the tier, as it counts against limits
}

// Money is the cost of an answer.
type Money struct {
	USD      float64 `json:"usd"`
	Unpriced bool    `json:"unpriced,omitempty"` // no known price; the highest known one was used
}

// Feedback is a person's rating of an answer.
type Feedback struct {
	Good  bool   `json:"good"`
	Words string `json:"words,omitempty"`
}

func tokens(u footnote.Usage, weight int64) *Tokens {
	return &Tokens{
		Input: u.Prompt(), Output: u.Output, Total: u.Prompt() + u.Output, Reasoning: u.Thinking, Cached: u.CacheRead,
		Weighted: u.Weighted(weight),
	}
}

func money(c footnote.Cost) *Money { return &Money{USD: c.USD(), Unpriced: c.Unpriced} }

func timeOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Footnotes is the data of a data-footnotes part. Start and End of a footnote count UTF-16 units, as
// JavaScript's strings do, from the beginning of the answer, which is the joined text parts of the last step
// that has any.
type Footnotes struct {
	Footnotes  []footnote.Cite       `json:"footnotes"`
	Unresolved []footnote.Unresolved `json:"unresolved,omitempty"`
	// Verified lists the results behind the answer that verified queries returned.
	Verified []footnote.VerifiedResult `json:"verified,omitempty"`
}

func footnotesOf(a footnote.Answered) (f Footnotes) {
	f.Footnotes, f.Unresolved = protocol.UTF16(a)
	f.Verified = a.Verified
	return f
}

// Result is the data of a data-result part: the result of a query without its rows.
type Result struct {
	ID         string             `json:"id"`
	ToolCallID string             `json:"toolCallId"`
	Source     string             `json:"source,omitempty"`
	SQL        string             `json:"sql,omitempty"`
	Columns    []footnote.Column  `json:"columns"`
	RowCount   int                `json:"rowCount"`
	Truncated  bool               `json:"truncated"`
	Verified   *footnote.Verified `json:"verified,omitempty"`
}

func resultOf(call string, r footnote.StoredResult) Result {
	return Result{
		ID: r.ID, ToolCallID: call, Source: r.Source, SQL: r.SQL, Columns: append([]footnote.Column{}, r.Columns...),
		RowCount: r.RowCount, Truncated: r.Truncated, Verified: r.Verified,
	}
}

// outputOf returns a result's content for a page: as JSON if it is an object or array, and as a string
// otherwise.
func outputOf(content string) json.RawMessage {
	if v, err := strictjson.Parse([]byte(content)); err == nil &&
		(v.Kind() == strictjson.Object || v.Kind() == strictjson.Array) {
		return compact(json.RawMessage(content))
	}
	return mustJSON(content)
}

// compact removes white space from JSON, because an event is one line. It returns an empty object for invalid
// JSON.
func compact(raw json.RawMessage) json.RawMessage {
	var buf bytes.Buffer
	if len(raw) == 0 || json.Compact(&buf, raw) != nil {
		return json.RawMessage("{}")
	}
	return buf.Bytes()
}

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // structs of strings and numbers always encode
	}
	return b
}

func blockKey(step, index int) string { return strconv.Itoa(step) + "_" + strconv.Itoa(index) }
