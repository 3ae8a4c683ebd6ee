package bench_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footnotehq/footnote/model/modeltest"
)

// serveRole prints its address and runs one part until its standard input closes. A durable part writes to file, the
// floor and its child query it.
func serveRole(role, upstream, file string) (err error) {
	var handler http.Handler
	switch role {
	case "fake":
		handler = newFake()
	case "proxy":
		handler, err = newProxy(upstream)
	case "durable":
		handler, err = newDurable(upstream, file)
	case "floor":
		handler, err = newFloor(upstream, file)
	case "query":
		return answerQueries(file)
	default:
		err = fmt.Errorf("unknown role %q", role)
	}
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0) // the parent program has exited
	}()
	return http.Serve(listener, handler)
}

// newProxy returns the bare reverse proxy.
func newProxy(upstream string) (http.Handler, error) {
	u, err := url.Parse(upstream)
	if err != nil {
		return nil, err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u) },
		FlushInterval: -1,
		Transport:     transport(),
	}
	// Read the body before calling the upstream: the proxy breaks streams if the upstream answers while the request
	// body is still being sent.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}), nil
}

// newDurable returns the proxy that also commits a row with each request, and shows nothing of the answer before the
// row is on disk. Requests that wait at the same time share a transaction.
func newDurable(upstream, file string) (http.Handler, error) {
	proxy, err := newProxy(upstream)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", durable(file))
	if err == nil {
		err = createRaw(context.Background(), db, 1)
	}
	if err != nil {
		return nil, err
	}
	insert, err := db.Prepare(insertRaw)
	if err != nil {
		return nil, err
	}
	rows := make(chan chan error, 4096)
	go commitRows(db, insert, rows) // until the process ends
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stored := make(chan error, 1)
		rows <- stored
		proxy.ServeHTTP(&afterCommit{ResponseWriter: w, stored: stored}, r)
	}), nil
}

// commitRows inserts a row for each channel, and tells it when the row is on disk.
func commitRows(db *sql.DB, insert *sql.Stmt, rows chan chan error) {
	for n := 0; ; {
		waiting := []chan error{<-rows}
		for len(rows) > 0 {
			waiting = append(waiting, <-rows)
		}
		tx, err := db.Begin()
		for range waiting {
			if n++; err == nil {
				_, err = tx.Stmt(insert).Exec(0, n, rowBody)
			}
		}
		if tx != nil {
			err = errors.Join(err, tx.Commit())
		}
		for _, w := range waiting {
			w <- err
		}
	}
}

// afterCommit is a response that begins when its row is stored.
type afterCommit struct {
	http.ResponseWriter
	stored chan error
}

func (a *afterCommit) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader waits for the row. If it could not be stored, the answer breaks off.
func (a *afterCommit) WriteHeader(status int) {
	if err := <-a.stored; err != nil {
		panic(http.ErrAbortHandler)
	}
	a.ResponseWriter.WriteHeader(status)
}

func transport() *http.Transport {
	return &http.Transport{MaxIdleConns: 4096, MaxIdleConnsPerHost: 4096, DisableCompression: true}
}

// order is a request's instruction to the fake API, contained in the user's text.
type order struct {
	Kind   string `json:"kind"` // text, hold or tool
	Deltas int    `json:"deltas"`
	GapMS  int    `json:"gap_ms"`
	ID     string `json:"id"`
	Texts  string `json:"texts"`
}

const marker = "bench-order:"

// toolStatement is the statement of a tool step.
const toolStatement = "SELECT 1 AS one"

// prompt returns the user's text for an order.
func (o order) prompt() string {
	o.Texts = *texts
	b, _ := json.Marshal(o) // strings and numbers always encode
	return marker + string(b)
}

// readOrder finds the order in a body, where it may be escaped once more.
func readOrder(body []byte) (order, bool) {
	at := bytes.LastIndex(body, []byte(marker))
	if at < 0 {
		return order{}, false
	}
	rest := body[at+len(marker):]
	rest = bytes.ReplaceAll(rest[:min(len(rest), 400)], []byte(`\"`), []byte(`"`))
	var o order
	err := json.NewDecoder(bytes.NewReader(rest)).Decode(&o)
	return o, err == nil
}

// fake is the fake API with timing of tool steps.
type fake struct {
	api *modeltest.Server

	mu    sync.Mutex // guards below
	ended map[string]time.Time
	steps []float64 // milliseconds from the end of a tool call to the next request
}

func newFake() *fake {
	f := &fake{ended: map[string]time.Time{}}
	f.api = modeltest.New(modeltest.Options{Lax: true, Rule: rule, Keep: 1})
	return f
}

func rule(r modeltest.Request) modeltest.Reply {
	o, _ := readOrder(r.Body)
	switch {
	case bytes.Contains(r.Body, []byte("Give the title of a conversation")):
		return modeltest.Say("Orders") // it quotes the order
	case o.Kind == "tool" && !bytes.Contains(r.Body, []byte("tool_result")):
		return modeltest.Use("run_query", `{"sql":"`+toolStatement+`"}`)
	case o.Kind == "hold":
		reply := modeltest.Blocks(modeltest.Block{Type: "text", Timed: true, Deltas: 1})
		return reply.Break(modeltest.Stall, 1)
	case o.Kind == "text":
		block := modeltest.Block{
			Type: "text", Timed: true, Deltas: o.Deltas, Gap: time.Duration(o.GapMS) * time.Millisecond,
		}
		if o.Texts == "every" {
			block.Text = "has 846 orders, "
		}
		reply := modeltest.Blocks(block)
		if reply.Text = conclusion; o.Texts == "words" {
			reply.Text = "Orders grew in most cities. The best month was March and the worst was July."
		}
		return reply
	default:
		return modeltest.Say("done")
	}
}

// conclusion ends each answer with a typical number of figures.
const conclusion = "In all, 846 orders came to 12,345.60 euros, 12 % more than the 754 orders of 2024. The best " +
	"month was March with 98, the worst July with 41; 3 of 5 cities grew."

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/steps" {
		f.mu.Lock()
		defer f.mu.Unlock()
		_ = json.NewEncoder(w).Encode(f.steps)
		f.steps = nil
		return
	}
	arrived := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	o, _ := readOrder(body)
	second := o.Kind == "tool" && bytes.Contains(body, []byte("tool_result"))
	if second {
		f.mu.Lock()
		// If the request arrives before the other goroutine recorded the end of the call, the step took too little
		// time to measure.
		took := 0.0
		if begun, ok := f.ended[o.ID]; ok {
			took = float64(arrived.Sub(begun).Microseconds()) / 1000
			delete(f.ended, o.ID)
		}
		f.steps = append(f.steps, took)
		f.mu.Unlock()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.api.ServeHTTP(w, r)
	if o.Kind == "tool" && !second {
		_ = http.NewResponseController(w).Flush()
		f.mu.Lock()
		f.ended[o.ID] = time.Now()
		f.mu.Unlock()
	}
}

// smallest is the floor, the smallest program that does the work: it parses each event of the upstream, writes a chunk
// of another protocol, and in a tool step runs a query through the bare driver in a child process. It stores nothing.
type smallest struct {
	upstream string
	client   *http.Client

	mu      sync.Mutex // guards below: one query at a time
	queries io.Writer
	answers *bufio.Reader
}

func newFloor(upstream, file string) (http.Handler, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-role", "query", "-file", file)
	queries, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &smallest{
		upstream: upstream, client: &http.Client{Transport: transport()}, queries: queries,
		answers: bufio.NewReader(answers),
	}, cmd.Start() // it ends with its standard input
}

// query runs a statement in the child.
func (f *smallest) query(statement string) (answer string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := fmt.Fprintln(f.queries, statement); err != nil {
		return "", err
	}
	return f.answers.ReadString('\n')
}

// answerQueries answers each line of the standard input, a statement with one number as its result.
func answerQueries(file string) error {
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro")
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var n int64
		if err := db.QueryRow(lines.Text()).Scan(&n); err != nil {
			return err
		}
		fmt.Println(n)
	}
	return db.Close()
}

func (f *smallest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if tool := f.step(w, r, body); tool {
		if _, err := f.query(toolStatement); err != nil {
			return
		}
		second := bytes.Replace(body, []byte(`"messages":[`), []byte(`"tool_result":true,"messages":[`), 1)
		f.step(w, r, second)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// step makes one upstream call and forwards its text; it reports whether there was a tool call.
func (f *smallest) step(w http.ResponseWriter, r *http.Request, body []byte) (tool bool) {
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, f.upstream+"/v1/messages",
		bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header = r.Header.Clone()
	res, err := f.client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	rc := http.NewResponseController(w)
	buf, out := make([]byte, 0, 64<<10), make([]byte, 0, 64<<10)
	for {
		n, err := res.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		out = out[:0]
		used := 0
		for {
			end := bytes.Index(buf[used:], []byte("\n\n"))
			if end < 0 {
				break
			}
			event := buf[used : used+end]
			used += end + 2
			tool = tool || bytes.Contains(event, []byte(`"tool_use"`))
			if _, after, ok := bytes.Cut(event, []byte(`"type":"text_delta","text":"`)); ok {
				text, _, _ := bytes.Cut(after, []byte(`"}`))
				out = append(out, `data: {"type":"text-delta","id":"1","delta":"`...)
				out = append(out, text...)
				out = append(out, "\"}\n\n"...)
			}
		}
		buf = append(buf[:0], buf[used:]...)
		if len(out) > 0 {
			if _, err := w.Write(out); err != nil || rc.Flush() != nil {
				return false
			}
		}
		if err != nil {
			return tool
		}
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
		}
	}
}

// messagesBody returns a request to the fake API itself, with a history of the given size in bytes.
func messagesBody(o order, history int) []byte {
	return fmt.Appendf(nil,
		`{"model":"claude-sonnet-5-5","max_tokens":16000,"stream":true,"messages":[%s{"role":"user","content":%s}]}`,
		turns(history, `{"role":"user","content":%s},{"role":"assistant","content":%s},`), strconv.Quote(o.prompt()))
}

// chatBody returns the same request for the OpenAI endpoint.
func chatBody(o order, history int) []byte {
	return fmt.Appendf(nil, `{"model":"analyst","stream":true,"messages":[%s{"role":"user","content":%s}]}`,
		turns(history, `{"role":"user","content":%s},{"role":"assistant","content":%s},`), strconv.Quote(o.prompt()))
}

// chats counts the chats of the AI SDK endpoint: each request starts a new one.
var chats atomic.Int64

// aiBody returns the same request as useChat in a browser posts it. The endpoint ignores any history from a client.
func aiBody(o order, _ int) []byte {
	return fmt.Appendf(nil,
		`{"id":"bench-%d-%d","assistant":"analyst","trigger":"submit-message","messages":[{"id":"m1","role":"user",`+
			`"parts":[{"type":"text","text":%s}]}]}`,
		os.Getpid(), chats.Add(1), strconv.Quote(o.prompt()))
}

// turns returns earlier turns of about size bytes in total.
func turns(size int, format string) []byte {
	var out []byte
	words := strconv.Quote(string(bytes.Repeat([]byte("The orders of last month were good. "), 28)))
	for len(out) < size {
		out = fmt.Appendf(out, format, words, words)
	}
	return out
}
