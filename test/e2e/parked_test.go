package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote/model/modeltest"
)

// slow is a query that takes a while, so that a crash interrupts it.
const slow = `{"sql":"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 200000) SELECT count(*) ` +
	`AS orders FROM n"}`

// TestCrashParked kills the server with kill -9 while the model speaks, while SQL runs, while a query waits
// for the browser, while a call waits for an approval, and while either is answered. It then continues with
// the retries that a client would make, through each protocol, and also through a different protocol than before, as
// a second device would. FOOTNOTE_CRASH_SEED repeats a series of random times.
func TestCrashParked(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if v := os.Getenv("FOOTNOTE_CRASH_SEED"); v != "" {
		var err error
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("FOOTNOTE_CRASH_SEED=%d", seed)
	rounds := crashRounds(t)
	const side = 4
	for n := range min(side, rounds) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			c := &parkedCrash{crash: crash{rnd: rand.New(rand.NewPCG(seed, uint64(n)))}}
			_, upstream := imitate(t, c.rule)
			c.settings = append(upstream, "FOOTNOTE_DATA="+t.TempDir(), "FOOTNOTE_LOG_OUTPUT=file",
				"FOOTNOTE_TOOLS_APPROVE=list_tables")
			p := serve(t, c.settings...)
			for round := n; round < rounds && !t.Failed(); round += side {
				p = c.round(t, p, round)
			}
			p.kill()
			t.Logf("killed: %v", c.found)
		})
	}
}

// parkedCrash is a series of rounds over one data folder.
type parkedCrash struct {
	crash
	found     map[string]int // states that the kills interrupted
	noOpPosts int            // posts in this round to the AI SDK's protocol with nothing new
}

// maxNoOpPosts bounds noOpPosts. The protocol accepts more than that for a chat within a minute.
const maxNoOpPosts = 5

// rule asks for queries a few times, and then says some text slowly.
func (c *parkedCrash) rule(r modeltest.Request) modeltest.Reply {
	switch {
	case strings.Contains(r.LastUserText(), "Give the title"):
		return modeltest.Say("A crash")
	case !strings.Contains(r.LastUserText(), "crash"):
		return modeltest.Say("Hello.")
	}
	trickle := modeltest.Block{
		Type: "text",
		Text: "The answer comes one word after the other, so that a crash finds it open.",
		Gap:  3 * time.Millisecond,
	}
	if len(r.Messages) > 4 || len(r.Messages) > 1 && c.random(3) == 0 {
		return modeltest.Blocks(modeltest.ThinkBlock("Enough."), trickle)
	}
	reply := modeltest.Blocks(modeltest.ThinkBlock("I need a number."))
	if c.random(2) == 0 {
		reply.Blocks = append(reply.Blocks, trickle)
	}
	input := slow
	if r.HasTool("transform_data") { // the queries of the browser state a reason
		input = `{"thought":"I need it.","sql":"SELECT 42"}`
	}
	for range 1 + c.random(3) {
		reply.Blocks = append(reply.Blocks, modeltest.CallBlock("run_query", input))
	}
	return reply
}

// round kills p during a run that waits for a person, and continues the run until it has its answer.
func (c *parkedCrash) round(t *testing.T, p *process, round int) *process {
	t.Helper()
	protocol := [...]string{"app", "aisdk", "analyze"}[round%3]
	assistant := [...]string{"explore", "analyst"}[round/3%2]
	if protocol == "analyze" {
		assistant = "explore"
	}
	text := fmt.Sprintf("Now a crash, number %d.", round)
	path, opening := openingOf(protocol, assistant, text)
	c.noOpPosts = 0
	device := &analyzeReader{}
	var asked sync.WaitGroup
	asked.Go(func() {
		if protocol == "analyze" {
			device.read(t.Context(), p, path, opening)
		} else {
			p.tryJSON(path, opening)
		}
	})
	p = c.killed(t, p, 250*time.Millisecond)
	asked.Wait()
	id := p.conversation(t, text)
	if id == "" { // the request was never accepted; the client asks again
		c.count("nothing")
		server := p
		asked.Go(func() { server.tryJSON(path, opening) }) // a stream ends with the run
		defer asked.Wait()
		eventually(t, "the question is accepted", func() bool { id = p.conversation(t, text); return id != "" })
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	shown := watch(ctx, t, p, id)
	kills := 0
	for end := time.Now().Add(30 * time.Second); ; {
		if time.Now().After(end) {
			t.Fatalf("round %d: the run does not end", round)
		}
		events := p.log(t, id, "")
		if !running(events) {
			break
		}
		calls := waiting(t, events)
		if len(calls) == 0 {
			time.Sleep(2 * time.Millisecond)
			continue
		}
		call := calls[c.random(len(calls))]
		if c.random(3) == 0 && kills < 3 { // the answer or its acknowledgement is lost
			kills++
			var answered sync.WaitGroup
			path, body := c.answer(c.random(3), id, assistant, call, "yes")
			answered.Go(func() { p.tryJSON(path, body) })
			p = c.killed(t, p, 15*time.Millisecond)
			answered.Wait()
			c.checkShown(t, p, id, <-shown)
			shown = watch(ctx, t, p, id)
		}
		c.deliver(t, p, id, assistant, call)
	}
	cancel()
	events := p.log(t, id, "")
	checkLog(t, events)
	c.checkShown(t, p, id, <-shown)
	if protocol == "analyze" {
		device.checkWhole(t, p, path, opening)
	}
	c.checkAgain(t, p, id, protocol, path, opening)
	if last := events[slices.IndexFunc(events, terminal)]; last.Kind != "run_finished" {
		t.Errorf("round %d: the run ended with %s", round, last.line)
	}
	if status, body := p.sendJSON(t, "/api/conversations/"+id+"/turns", map[string]any{
		"text": "Hello again?",
	}); status != http.StatusAccepted {
		t.Errorf("round %d: %d %s", round, status, body)
	}
	eventually(t, "the next question is answered", func() bool { return !running(p.log(t, id, "")) })
	checkLog(t, p.log(t, id, ""))
	return p
}

// killed kills p within a time and starts the next process.
func (c *parkedCrash) killed(t *testing.T, p *process, within time.Duration) *process {
	t.Helper()
	time.Sleep(time.Duration(c.random(int(within.Microseconds()))) * time.Microsecond) // to vary the kill
	p.kill()
	next := serve(t, c.settings...)
	_, body := next.get(t, "/api/conversations?limit=1", "")
	for _, state := range []string{"parked", "running", "idle"} {
		if strings.Contains(body, `"state":"`+state+`"`) {
			c.count(state)
		}
	}
	return next
}

func (c *parkedCrash) count(what string) {
	if c.found == nil {
		c.found = map[string]int{}
	}
	c.found[what]++
}

// openingOf returns a question as a client of a protocol sends it. Sending it again repeats the same question,
// except at the app's protocol.
func openingOf(protocol, assistant, text string) (path string, body map[string]any) {
	switch protocol {
	case "aisdk":
		return "/api/ai", map[string]any{"id": text, "assistant": assistant, "messages": []any{
			map[string]any{
				"id":    "message of " + text,
				"role":  "user",
				"parts": []any{map[string]any{"type": "text", "text": text}},
			},
		}}
	case "analyze":
		return "/api/analyze", map[string]any{"question": text, "assistant": assistant, "request_id": text}
	default:
		return "/api/conversations", map[string]any{"text": text, "assistant": assistant}
	}
}

// The protocols that accept the answer to a call.
const (
	atApp = iota
	atAISDK
	atAnalyze // only for browser queries
)

// answer returns what a client of a protocol sends for a call.
func (c *parkedCrash) answer(protocol int, id, assistant, call, words string) (path string, body any) {
	approves := assistant == "analyst"
	turns := "/api/conversations/" + id + "/turns"
	switch {
	case protocol == atAISDK:
		part := map[string]any{
			"type": "tool-run_query", "toolCallId": call, "state": "output-available", "input": map[string]any{},
			"output": words,
		}
		post := map[string]any{
			"id":       id,
			"messages": []any{map[string]any{"id": "msg_x", "role": "assistant", "parts": []any{part}}},
		}
		if approves && c.random(2) == 0 {
			part["type"], part["toolCallId"], part["output"] = "tool-ask_approval", "appr_"+call, map[string]any{
				"approved": words == "yes",
			}
		} else if approves {
			part["state"], part["approval"] = "approval-responded", map[string]any{
				"id":       "appr_" + call,
				"approved": words == "yes",
			}
			post["dialect"] = 6
		}
		return "/api/ai", post
	case approves:
		return turns, map[string]any{"approvals": []any{map[string]any{"call_id": call, "approved": words == "yes"}}}
	case protocol == atAnalyze:
		return "/api/analyze/tool-result", map[string]any{"sessionId": id, "toolCallId": call, "result": words}
	default:
		return turns, map[string]any{"answers": []any{map[string]any{"call_id": call, "content": words}}}
	}
}

// again returns a protocol for a post with nothing new.
func (c *parkedCrash) again() int {
	protocol := c.random(3)
	if protocol == atAISDK {
		if c.noOpPosts++; c.noOpPosts > maxNoOpPosts {
			return atApp
		}
	}
	return protocol
}

// refusals maps the codes of the other protocols to the AI SDK protocol's texts.
var refusals = map[string][]string{
	"call_answered": {"call_answered", "already has a different"},
	"call_unknown":  {"call_unknown", "in this conversation"},
}

// deliver answers a call twice with the same text, and then with another.
func (c *parkedCrash) deliver(t *testing.T, p *process, id, assistant, call string) {
	t.Helper()
	path, body := c.answer(c.random(3), id, assistant, call, "yes")
	if status, got := p.sendJSON(t, path, body); status != http.StatusAccepted && status != http.StatusOK {
		t.Errorf("the answer to %s at %s: %d %s", call, path, status, got)
	}
	path, body = c.answer(c.again(), id, assistant, call, "yes")
	status, got := p.sendJSON(t, path, body)
	switch {
	case status != http.StatusAccepted && status != http.StatusOK:
		t.Errorf("the same answer to %s at %s: %d %s", call, path, status, got)
	case path == "/api/ai":
		checkChunks(t, got)
	case !strings.Contains(got, `"duplicate":true`):
		t.Errorf("the repeated answer to %s at %s was accepted as new: %s", call, path, got)
	}
	for words, want := range map[string]string{call: "call_answered", "zzz": "call_unknown"} {
		path, body := c.answer(c.again(), id, assistant, words, "no")
		status, got := p.sendJSON(t, path, body)
		if status != http.StatusConflict ||
			!slices.ContainsFunc(refusals[want], func(w string) bool { return strings.Contains(got, w) }) {
			t.Errorf("%s at %s: %d %s, want %s", words, path, status, got, want)
		}
	}
}

// checkChunks checks that a message is complete: it has one start, each part ends, and the last word is
// there.
func checkChunks(t *testing.T, body string) {
	t.Helper()
	open := map[string]int{}
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || strings.HasPrefix(data, "[DONE]") {
			continue
		}
		var chunk struct{ Type, ID string }
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		switch kind, op, _ := strings.Cut(chunk.Type, "-"); {
		case chunk.Type == "start", chunk.Type == "start-step":
			open[chunk.Type]++
		case chunk.Type == "finish":
			open["start"]--
		case chunk.Type == "finish-step":
			open["start-step"]--
		case op == "start" && kind != "tool":
			open[chunk.ID]++
		case op == "end":
			open[chunk.ID]--
		case chunk.Type == "error", chunk.Type == "abort":
			t.Errorf("the message ends with %s", data)
		}
	}
	for what, n := range open {
		if n != 0 {
			t.Errorf("%s is open %d times in\n%s", what, n, body)
		}
	}
	if !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("the message ends without its end:\n%s", body)
	}
}

// checkAgain repeats the question where that does not start a new one, and checks the conversation as the AI
// SDK's protocol shows it to a device that knows nothing.
func (c *parkedCrash) checkAgain(t *testing.T, p *process, id, protocol, path string, opening any) {
	t.Helper()
	if protocol != "app" {
		status, got := p.sendJSON(t, path, opening)
		if status != http.StatusOK {
			t.Errorf("asked again at %s: %d %s", path, status, got)
		}
		if protocol == "aisdk" {
			checkChunks(t, got)
		}
	}
	runs := 0
	for _, e := range p.log(t, id, "") { // a title may have been added meanwhile
		if e.Kind == "run_started" {
			runs++
		}
	}
	if runs != 1 {
		t.Errorf("one question started %d runs", runs)
	}
	_, body := p.get(t, "/api/ai/"+id, "")
	var messages []struct {
		Role  string
		Parts []struct{ Type, State string }
	}
	if err := json.Unmarshal([]byte(body), &messages); err != nil || len(messages) != 2 {
		t.Fatalf("%v: the AI SDK's protocol shows %s", err, body)
	}
	for _, part := range messages[1].Parts {
		if strings.HasPrefix(part.Type, "tool-") && !strings.HasPrefix(part.State, "output-") {
			t.Errorf("a call is left open: %+v", part)
		}
	}
}

// analyzeReader is a reader of the native stream that reconnects with the id of the last frame it read.
type analyzeReader struct {
	last   string
	frames []string // without thinking: after a crash the model thinks the lost part again
}

// read reads until the connection ends.
func (a *analyzeReader) read(ctx context.Context, p *process, path string, body any) (status int) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil {
		return 0
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+path, bytes.NewReader(data))
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	if a.last != "" {
		req.Header.Set("Last-Event-ID", a.last)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	id, frame := "", ""
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return res.StatusCode // an incomplete frame was not shown
		}
		switch field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); field {
		case "id":
			id = value
		case "data":
			frame = value
		case "":
			if a.last = cmp.Or(id, a.last); frame != "" && !strings.HasPrefix(frame, `{"type":"thinking"`) {
				a.frames = append(a.frames, frame)
			}
			id, frame = "", ""
		}
	}
}

// checkWhole checks that a reader that got the stream in pieces got the same as one that reads it at once.
func (a *analyzeReader) checkWhole(t *testing.T, p *process, path string, body any) {
	t.Helper()
	if a.read(t.Context(), p, path, body); a.last == "" {
		return
	}
	if status := a.read(t.Context(), p, path, body); status != http.StatusNoContent {
		t.Errorf("a reader that has everything gets %d", status)
	}
	whole := &analyzeReader{}
	whole.read(t.Context(), p, path, body)
	if !slices.Equal(a.frames, whole.frames) {
		t.Errorf("in pieces:\n%s\nat once:\n%s", strings.Join(a.frames, "\n"), strings.Join(whole.frames, "\n"))
	}
}

// checkShown checks that what a reader saw is unchanged in the log.
func (c *parkedCrash) checkShown(t *testing.T, p *process, id string, frames map[int64]string) {
	t.Helper()
	events := p.log(t, id, "")
	for seq, data := range frames {
		if seq > int64(len(events)) || events[seq-1].line != data {
			t.Errorf("event %d was shown, but is not in the log as it was:\n%s", seq, data)
		}
	}
}

// waiting lists the calls that a parked run waits for.
func waiting(t *testing.T, events []event) (calls []string) {
	t.Helper()
	for _, e := range events {
		var b struct {
			CallID string   `json:"call_id"`
			Calls  []string `json:"calls"`
		}
		if err := json.Unmarshal(e.Body, &b); err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case "run_parked":
			calls = b.Calls
		case "run_resumed", "run_finished", "run_failed", "run_stopped":
			calls = nil
		case "tool_result", "approval_given":
			calls = slices.DeleteFunc(slices.Clone(calls), func(id string) bool { return id == b.CallID })
		}
	}
	return calls
}

// conversation returns the id of the conversation that was created with a text, or "".
func (p *process) conversation(t *testing.T, text string) string {
	t.Helper()
	status, body := p.get(t, "/api/conversations?limit=10", "")
	var list struct{ Conversations []struct{ ID string } }
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK {
		t.Fatalf("conversations: %d %s: %v", status, body, err)
	}
	for _, c := range list.Conversations {
		for _, e := range p.log(t, url.PathEscape(c.ID), "") {
			if e.Kind == "user_message" && strings.Contains(string(e.Body), text) {
				return c.ID
			}
		}
	}
	return ""
}

// sendJSON posts a body and requires a response.
func (p *process) sendJSON(t *testing.T, path string, body any) (status int, got string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	status, got, err := p.exchange(ctx, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, got
}

// tryJSON posts a body to a process that may be killed meanwhile.
func (p *process) tryJSON(path string, body any) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, _, _ = p.exchange(ctx, path, body) // the log shows the outcome
}

func (p *process) exchange(ctx context.Context, path string, body any) (status int, got string, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return 0, "", err
	}
	res, err := p.post(ctx, path, bytes.NewReader(data), "", "")
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	read, err := io.ReadAll(res.Body)
	return res.StatusCode, string(read), err
}

// TestBrowserCallTimesOut checks that a page that never returns the result of a query delays its run
// by park_timeout at most: the model then reads an error, the open stream continues to the answer, and the
// page is told that its result is too late.
func TestBrowserCallTimesOut(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
		if !r.HasTool("run_query") {
			return modeltest.Say("A title")
		}
		if results := r.Results(); len(results) > 0 {
			if !results[0].IsError {
				t.Errorf("the model reads %+v", results[0])
			}
			return modeltest.Use("final_answer",
				`{"thought":"There is nothing.","answer":"The browser gave no answer.","chartType":"table"}`)
		}
		return modeltest.Use("run_query", `{"thought":"I need it.","sql":"SELECT sum(amount) FROM sales"}`)
	})
	p := serve(t, append(settings, "FOOTNOTE_PARK_TIMEOUT=1s")...)
	question := map[string]any{
		"question": "What was sold?", "request_id": "nobody",
		"schema": map[string]any{
			"tables": []any{
				map[string]any{"name": "sales", "columns": []any{map[string]any{"name": "amount", "type": "DOUBLE"}}},
			},
		},
	}
	reader := &analyzeReader{}
	if status := reader.read(t.Context(), p, "/api/analyze", question); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	var kinds []string
	var call, session string
	for _, f := range reader.frames {
		var frame struct{ Type, ID, SessionID string }
		if err := json.Unmarshal([]byte(f), &frame); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, frame.Type)
		call, session = cmp.Or(call, frame.ID), cmp.Or(session, frame.SessionID)
	}
	if got := strings.Join(kinds, " "); got != "session tool_call answer done" ||
		!strings.Contains(strings.Join(reader.frames, "\n"), "gave no answer") {
		t.Fatalf("the stream has %s:\n%s", got, strings.Join(reader.frames, "\n"))
	}
	events := p.log(t, session, "")
	checkLog(t, events)
	closed := slices.IndexFunc(events, func(e event) bool {
		return e.Kind == "tool_result" && strings.Contains(e.line, call) && strings.Contains(e.line, `"is_error":true`)
	})
	if resumed := slices.IndexFunc(events, func(e event) bool {
		return e.Kind == "run_resumed" && strings.Contains(e.line, `"deadline"`)
	}); closed < 0 || resumed < closed {
		t.Errorf("the call was closed by event %d, and the run resumed by %d", closed, resumed)
	}
	status, body := p.sendJSON(t, "/api/analyze/tool-result", map[string]any{
		"sessionId":  session,
		"toolCallId": call,
		"result":     "too late",
	})
	if status != http.StatusConflict || !strings.Contains(body, `"call_closed"`) {
		t.Errorf("a late result: %d %s", status, body)
	}
}
