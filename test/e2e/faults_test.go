package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote/model/modeltest"
)

// fault is one way in which the upstream fails, and what the client must see.
type fault struct {
	replies []modeltest.Reply // the last one repeats
	status  int               // of the response; 200 with a code is an error within a stream
	code    string            // of the error; empty: the question is answered
	text    string            // part of the answer
}

const (
	callAll   = `{"sql":"SELECT count(*) AS orders FROM orders"}`
	longWords = "one two three four five six seven"
)

// slowReply returns longWords, slow enough that the first words are shown before the reply breaks.
func slowReply() modeltest.Reply {
	return modeltest.Blocks(modeltest.Block{Type: "text", Text: longWords, Gap: 30 * time.Millisecond})
}

// faults returns the ways in which an API fails. What was not shown is retried; what was shown is never
// withdrawn.
func faults() map[string]fault {
	say, fail := modeltest.Say, modeltest.Fail
	unavailable := func(r ...modeltest.Reply) fault { return fault{replies: r, status: 503, code: "model_unavailable"} }
	retried := func(r modeltest.Reply) fault {
		return fault{replies: []modeltest.Reply{r, say("All is well.")}, status: 200, text: "All is well."}
	}
	midway := func(r modeltest.Reply) fault {
		return fault{replies: []modeltest.Reply{r}, status: 503, code: "model_unavailable", text: "one two"}
	}
	answered := func(text string, r ...modeltest.Reply) fault { return fault{replies: r, status: 200, text: text} }
	return map[string]fault{
		"429":      {replies: []modeltest.Reply{fail(429)}, status: 429, code: "rate_limited"},
		"429 once": retried(modeltest.Reply{Error: &modeltest.Failure{Status: 429, RetryAfter: "0"}}),
		"429 long": {
			replies: []modeltest.Reply{{Error: &modeltest.Failure{Status: 429, RetryAfter: "77"}}},
			status:  429,
			code:    "rate_limited",
		},
		"529":      unavailable(fail(529)),
		"529 once": retried(fail(529)),
		"500":      unavailable(fail(500)),
		"500 once": retried(fail(500)),
		"not JSON 502": retried(modeltest.Reply{
			Error: &modeltest.Failure{Status: 502, Body: "<html>bad gateway</html>"},
		}),
		"400": {replies: []modeltest.Reply{fail(400)}, status: 500, code: "internal_error"},
		"too long": {
			replies: []modeltest.Reply{
				{Error: &modeltest.Failure{Status: 400, Message: "prompt is too long: 300000 tokens > 200000 maximum"}},
			},
			status: 400,
			code:   "input_too_long",
		},
		"401":               unavailable(fail(401)),
		"402":               unavailable(fail(402)),
		"403":               unavailable(fail(403)),
		"404":               unavailable(fail(404)),
		"413":               {replies: []modeltest.Reply{fail(413)}, status: 413, code: "too_large"},
		"error event first": retried(say(longWords).Break(modeltest.ErrorIn, 0)),
		"error event":       midway(slowReply().Break(modeltest.ErrorIn, 3)),
		"reset first":       retried(say(longWords).Break(modeltest.Reset, 0)),
		"reset":             midway(slowReply().Break(modeltest.Reset, 3)),
		"reset always":      unavailable(say(longWords).Break(modeltest.Reset, 0)),
		"drop first":        retried(say(longWords).Break(modeltest.Drop, 0)),
		"drop":              midway(slowReply().Break(modeltest.Drop, 3)),
		"no end":            midway(slowReply().Break(modeltest.EOF, 99)),
		"garbage first":     retried(say(longWords).Break(modeltest.Garbage, 0)),
		"garbage":           midway(slowReply().Break(modeltest.Garbage, 3)),
		"stall first":       retried(say(longWords).Break(modeltest.Stall, 0)),
		"stall": {
			replies: []modeltest.Reply{slowReply().Break(modeltest.Stall, 3)}, status: 504, code: "agent_timeout",
			text: "one two",
		},
		"slow loris": answered("All is well.", modeltest.Reply{
			Text:  "All is well.",
			Loris: 200 * time.Microsecond,
		}),
		"cut input": answered("Shorter it is.", modeltest.Reply{
			Blocks: []modeltest.Block{
				modeltest.TextBlock("I look."), modeltest.CallBlock("run_query", `{"sql":"sel`),
			},
			StopReason: "max_tokens",
		}, say("Shorter it is.")),
		"input not JSON": answered("Now it is.", modeltest.Use("run_query", `{"sql":`), say("Now it is.")),
		"unknown tool":   answered("I see.", modeltest.Use("launch_rocket", `{}`), say("I see.")),
		"bad input":      answered("I see.", modeltest.Use("run_query", `{"sql":7,"x":[]}`), say("I see.")),
		"refusal": answered("I will not", modeltest.Reply{Text: "I will not", StopReason: "refusal",
			StopDetails: `{"type":"refusal","category":null,"explanation":"no"}`}),
		"pause": answered("second half", modeltest.Reply{
			Text:       "first half",
			StopReason: "pause_turn",
		}, say("second half")),
		"silent end":   answered("At last.", modeltest.Reply{StopReason: "end_turn"}, say("At last.")),
		"empty answer": answered("", modeltest.Reply{StopReason: "end_turn"}),
		"context window": answered("All of it.", modeltest.Reply{
			Text:       "All of it.",
			StopReason: "model_context_window_exceeded",
		}),
		"new reason": answered("All of it.", modeltest.Reply{Text: "All of it.", StopReason: "brand_new_reason"}),
		"no usage":   answered("All of it.", modeltest.Reply{Text: "All of it.", NoUsage: true}),
		"odd events": answered("All of it.", modeltest.Reply{Text: "All of it.", Odd: true, Pings: 1}),
		"tool, then 500": {
			replies: []modeltest.Reply{modeltest.Use("run_query", callAll), fail(401)},
			status:  503,
			code:    "model_unavailable",
		},
		"tool, then reset": {replies: []modeltest.Reply{modeltest.Use("run_query", callAll),
			slowReply().Break(modeltest.Reset, 3)}, status: 503, code: "model_unavailable", text: "one two"},
		"two tools, one bad": answered("Both.", modeltest.Blocks(modeltest.CallBlock("run_query", callAll),
			modeltest.CallBlock("run_query", `{"sql":"DROP TABLE orders"}`)), say("Both.")),
	}
}

// nextQuestion is the question after a fault.
const nextQuestion = "And now?"

// scripted answers a question "fault: NAME" with the fault's replies in turn, the question after it in words,
// and every other question as auto does.
func scripted(t *testing.T, all map[string]fault) modeltest.Rule {
	otherwise := auto(t)
	var mu sync.Mutex // guards asked
	asked := map[string]int{}
	return func(r modeltest.Request) modeltest.Reply {
		newest := newestQuestion(r)
		name, ok := strings.CutPrefix(newest, "fault: ")
		switch {
		case newest == nextQuestion:
			return modeltest.Say("We go on.")
		case !ok:
			return otherwise(r)
		}
		mu.Lock()
		defer mu.Unlock()
		replies := all[strings.TrimSuffix(name, ", streamed")].replies
		n := min(asked[name], len(replies)-1)
		asked[name]++
		return replies[n]
	}
}

// newestQuestion returns the newest text that begins like one of ours. Questions that were not answered are
// in one message with the next.
func newestQuestion(r modeltest.Request) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		content := r.Messages[i].Content
		for n := len(content) - 1; n >= 0; n-- {
			if text := content[n].Text; text == nextQuestion || strings.HasPrefix(text, "fault: ") {
				return text
			}
		}
	}
	return ""
}

func TestUpstreamFaults(t *testing.T) {
	t.Parallel()
	all := faults()
	_, settings := imitate(t, scripted(t, all))
	p := serve(t, append(settings, "FOOTNOTE_MODEL_IDLE_TIMEOUT=500ms")...)
	t.Run("all", func(t *testing.T) {
		for name, f := range all {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f.check(t, p, name, false)
			})
			t.Run(name+", streamed", func(t *testing.T) {
				t.Parallel()
				f.check(t, p, name+", streamed", true)
			})
		}
	})
}

// check asks for a fault, and then something else in the same conversation.
func (f fault) check(t *testing.T, p *process, name string, stream bool) {
	thread := strings.NewReplacer(" ", "-", ",", "").Replace(name)
	begun := time.Now()
	r := p.ask(t, question{text: "fault: " + name, conversation: thread, stream: stream})
	// A stream delays its headers for the first word, but not forever.
	shown := stream && (f.text != "" || f.code != "" && r.midstream && time.Since(begun) > 4500*time.Millisecond)
	wantStatus := f.status
	if shown {
		wantStatus = http.StatusOK // the words were sent before
	}
	if r.status != wantStatus || r.code != f.code || r.midstream != (shown && f.code != "") {
		t.Errorf("status %d, code %q, in the stream %v, %q %q; want %d %q", r.status, r.code, r.midstream, r.text,
			r.message, wantStatus, f.code)
	}
	if (f.code == "" || shown) && !strings.Contains(r.text, f.text) {
		t.Errorf("the text is %q; it must hold %q", r.text, f.text)
	}
	if strings.Contains(r.message, modelKey) || strings.Contains(r.message, "127.0.0.1") {
		t.Errorf("the message tells too much: %s", r.message)
	}
	next := p.answered(t, question{text: nextQuestion, conversation: thread, stream: stream})
	if next.text != "We go on." {
		t.Errorf("the next answer is %q", next.text)
	}
	if r.conversation == "" || next.conversation != r.conversation {
		t.Errorf("the conversation changed from %q to %q", r.conversation, next.conversation)
	}
	checkLog(t, p.log(t, r.conversation, ""))
}

func TestRetryAfterIsForwarded(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, scripted(t, faults()))
	p := serve(t, settings...)
	r := p.ask(t, question{text: "fault: 429 long"})
	if got := r.header.Get("Retry-After"); r.status != 429 || got != "77" {
		t.Errorf("status %d, Retry-After %q; want 429 and 77", r.status, got)
	}
}

func TestUpstreamUnreachable(t *testing.T) {
	t.Parallel()
	p := serve(t, upstream("http://127.0.0.1:1")...)
	for _, stream := range []bool{false, true} {
		r := p.ask(t, question{text: "Anybody?", stream: stream})
		if r.status != http.StatusServiceUnavailable || r.code != "model_unavailable" {
			t.Errorf("stream %v: status %d, code %q", stream, r.status, r.code)
		}
		checkLog(t, p.log(t, r.conversation, ""))
	}
}

func TestRunTimeout(t *testing.T) {
	t.Parallel()
	late := fault{
		replies: []modeltest.Reply{{Text: "Too late.", Wait: 30 * time.Second}},
		status:  504,
		code:    "agent_timeout",
	}
	halfway := fault{
		replies: []modeltest.Reply{slowReply().Break(modeltest.Stall, 3)}, status: 504, code: "agent_timeout",
		text: "one two",
	}
	fake, settings := imitate(t, scripted(t, map[string]fault{"late": late, "halfway": halfway}))
	// Long enough for the follow-up questions, which run in parallel with all other tests.
	p := serve(t, append(settings, "FOOTNOTE_RUN_TIMEOUT=4s", "FOOTNOTE_TOOL_TIMEOUT=3s",
		"FOOTNOTE_LIMITS_QUERY_TIME=3s")...)
	late.check(t, p, "late", false)
	late.check(t, p, "late, streamed", true)
	halfway.check(t, p, "halfway", false)
	halfway.check(t, p, "halfway, streamed", true)
	eventually(t, "the upstream calls end with their runs", func() bool { return fake.Metrics().Open == 0 })
}

func TestCompatibleUpstream(t *testing.T) {
	t.Parallel()
	fake := modeltest.New(modeltest.Options{Rule: auto(t), Compatible: true})
	p := serve(t, "ANTHROPIC_BASE_URL="+fake.Start(t), "FOOTNOTE_MODEL=qwen3:8b")
	for _, stream := range []bool{false, true} {
		r := p.answered(t, question{text: "How many orders?", conversation: "local", stream: stream})
		if !strings.Contains(r.text, "846") {
			t.Errorf("the answer is %q", r.text)
		}
	}
	if refused := fake.Refusals(); len(refused) > 0 {
		t.Error(refused)
	}
}
