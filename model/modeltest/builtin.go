package modeltest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Params shape a built-in scenario. Zero fields mean the default.
type Params struct {
	Deltas int           // number of pieces of text; default 200
	Gap    time.Duration // between two pieces; default none
	Text   string        // the text; each scenario has a default
	Tool   string        // the tool to call; default run_query
	Input  string        // its input, JSON text; default {"sql": SQL}
	SQL    string        // default: SELECT 1

	queryGiven bool // SQL or Input was given
}

var builtins = map[string]func(Params) Rule{
	"text":    textRule,
	"timed":   timedRule,
	"flood":   floodRule,
	"tool":    toolRule,
	"analyst": analystRule,
	"auto":    autoRule,
	"faults":  faultsRule,

	"marks-all":   marksRule(allMarked),
	"marks-half":  marksRule(halfMarked),
	"marks-wrong": marksRule(misstated),
	"marks-cut":   marksRule(cutMark),
	"marks-code":  marksRule(markedInCode),
	"marks-table": marksRule(markedTable),
}

// Builtins returns the names of the built-in scenarios:
//
//	text     says Text in Deltas pieces, Gap apart
//	timed    says Deltas numbered pieces with the time they were written, Gap apart
//	flood    says Text in each of Deltas pieces, as fast as it is read
//	tool     calls Tool, and says Text once it has the result
//	analyst  calls Tool, and says the numbers in the result once it has it
//	auto     follows lines "fake: …" in the question; otherwise it counts the rows
//	         of a table in the schema it receives, or works as analyst if SQL or
//	         Input was given, or if it receives no schema
//	faults   fails every other request, each time in a different way
//
// Those named marks-… call Tool and state the numbers of its result with marks: all of them, every other one, with
// figures that are not the cell's, with half a mark at the end, in code, and in a table.
func Builtins() []string { return slices.Sorted(maps.Keys(builtins)) }

// Builtin returns the rule of a built-in scenario.
func Builtin(name string, p Params) (Rule, error) {
	make, ok := builtins[name]
	if !ok {
		return nil, fmt.Errorf("there is no scenario %q; there are %s", name, strings.Join(Builtins(), ", "))
	}
	p.Deltas = cmp.Or(max(p.Deltas, 0), 200)
	p.Tool = cmp.Or(p.Tool, "run_query")
	p.queryGiven = p.SQL != "" || p.Input != ""
	p.SQL = cmp.Or(p.SQL, "SELECT 1")
	p.Input = cmp.Or(p.Input, `{"sql":`+quote(p.SQL)+`}`)
	return make(p), nil
}

func textRule(p Params) Rule {
	text := cmp.Or(p.Text, strings.TrimSpace(strings.Repeat("Revenue rose by 4 % in March. ", (p.Deltas+5)/6)))
	reply := Blocks(Block{Type: "text", Text: text, Deltas: p.Deltas, Gap: p.Gap})
	return func(Request) Reply { return reply }
}

func timedRule(p Params) Rule {
	reply := Blocks(Block{Type: "text", Timed: true, Deltas: p.Deltas, Gap: p.Gap})
	return func(Request) Reply { return reply }
}

func floodRule(p Params) Rule {
	reply := Blocks(Block{
		Type: "text", Text: cmp.Or(p.Text, " revenue in March"), Repeat: true, Deltas: p.Deltas, Gap: p.Gap,
	})
	return func(Request) Reply { return reply }
}

func toolRule(p Params) Rule {
	call := Use(p.Tool, p.Input)
	done := Blocks(Block{Type: "text", Text: cmp.Or(p.Text, "Done."), Deltas: 1, Gap: p.Gap})
	return func(r Request) Reply {
		// Check the body, so that it works with a Lax server, too: the result is in the last message.
		if answersCall(r) {
			return done
		}
		return call
	}
}

// answersCall reports whether the request ends in tool results.
func answersCall(r Request) bool {
	if r.Messages != nil {
		return len(r.Results()) > 0
	}
	body := string(r.Body)
	last := strings.LastIndex(body, `"role":`)
	return last >= 0 && strings.Contains(body[last:], `"type":"tool_result"`)
}

func analystRule(p Params) Rule {
	return func(r Request) Reply {
		if results := r.Results(); len(results) > 0 {
			return Blocks(Block{Type: "text", Text: summary(results), Gap: p.Gap})
		}
		if !r.HasTool(p.Tool) || r.Choice == "none" {
			return Say("I was given no tool with which to look at the data.")
		}
		return Blocks(ThinkBlock("I look at the data first."), Block{
			Type: "text",
			Text: "Looking at the data.",
			Gap:  p.Gap,
		}, CallBlock(p.Tool, p.Input))
	}
}

// summary builds an answer from the results.
func summary(results []Result) string {
	var out []string
	for _, one := range results {
		found := numbers(one.Content)
		switch {
		case one.IsError:
			out = append(out, "The query failed: "+one.Content)
		case len(found) == 0:
			out = append(out, "The result has no numbers.")
		default:
			out = append(out, "The result holds "+strings.Join(found, ", ")+".")
		}
	}
	return strings.Join(out, " ")
}

// autoRule follows directives in the newest user text, each on its own line:
//
//	fake: say TEXT                   fake: think TEXT
//	fake: call TOOL INPUT            (several are parallel calls)
//	fake: timed DELTAS GAP           fake: fail STATUS
//	fake: break KIND AFTER           fake: stop REASON
//	fake: wait DURATION
func autoRule(p Params) Rule {
	otherwise := analystRule(p)
	if !p.queryGiven {
		otherwise = countRule(p, otherwise)
	}
	return func(r Request) Reply {
		if len(r.Results()) > 0 {
			return otherwise(r)
		}
		var reply Reply
		found := false
		for line := range strings.Lines(r.LastUserText()) {
			rest, ok := strings.CutPrefix(strings.TrimSpace(line), "fake: ")
			if !ok {
				continue
			}
			found = true
			if err := applyDirective(&reply, rest); err != nil {
				return Reply{Error: &Failure{Status: 400, Message: fmt.Sprintf("fake: %s: %v", rest, err)}}
			}
		}
		if !found {
			return otherwise(r)
		}
		return reply
	}
}

func applyDirective(reply *Reply, directive string) error {
	verb, rest, _ := strings.Cut(directive, " ")
	first, second, _ := strings.Cut(rest, " ")
	var err error
	switch verb {
	case "say":
		reply.Blocks = append(reply.Blocks, TextBlock(rest))
	case "think":
		reply.Blocks = append(reply.Blocks, ThinkBlock(rest))
	case "call":
		reply.Blocks = append(reply.Blocks, CallBlock(first, second))
	case "timed":
		b := Block{Type: "text", Timed: true}
		if b.Deltas, err = strconv.Atoi(first); err == nil && second != "" {
			b.Gap, err = time.ParseDuration(second)
		}
		reply.Blocks = append(reply.Blocks, b)
	case "fail":
		f := Failure{}
		f.Status, err = strconv.Atoi(first)
		if err == nil && (f.Status < 400 || f.Status > 599) {
			err = fmt.Errorf("not an error status")
		}
		reply.Error = &f
	case "break":
		f := Fault{Kind: first}
		f.After, err = strconv.Atoi(second)
		reply.Fault = &f
	case "stop":
		reply.StopReason = first
	case "wait":
		reply.Wait, err = time.ParseDuration(first)
	default:
		err = fmt.Errorf("unknown directive")
	}
	return err
}

func faultsRule(p Params) Rule {
	text := cmp.Or(p.Text, "one two three four five")
	all := []Reply{
		Fail(529), Fail(500), {Error: &Failure{Status: 429, RetryAfter: "1"}},
		Say(text).Break(Reset, 2), Say(text).Break(Drop, 2), Say(text).Break(EOF, 2),
		Say(text).Break(ErrorIn, 2), Say(text).Break(Garbage, 2),
		{Blocks: []Block{TextBlock(text), CallBlock("run_query", `{"sql":"sel`)}, StopReason: "max_tokens"},
		{
			Blocks:      []Block{TextBlock(text)},
			StopReason:  "refusal",
			StopDetails: `{"type":"refusal","category":null,"explanation":"no"}`,
		},
		{StopReason: "end_turn"},
		{Blocks: []Block{TextBlock(text)}, StopReason: "model_context_window_exceeded"},
		{Blocks: []Block{TextBlock(text)}, StopReason: "brand_new_reason"},
		{Blocks: []Block{TextBlock(text)}, NoUsage: true, Odd: true},
	}
	return func(r Request) Reply {
		if r.N%2 == 0 {
			return Say(text)
		}
		return all[r.N/2%len(all)]
	}
}
