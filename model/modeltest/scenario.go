package modeltest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Scenario is a server's behaviour as a file describes it. Replies are used in order. After them, or if there
// are none, the first of Rules whose When matches answers.
type Scenario struct {
	Loop    bool         `yaml:"loop"`
	Replies []Reply      `yaml:"replies"`
	Rules   []RuleOfFile `yaml:"rules"`
}

// RuleOfFile answers requests that match When. In the reply's texts and inputs, {question} stands for the
// newest user text, {result} for the text of the tool results in the last message and {numbers} for the
// numbers in them.
type RuleOfFile struct {
	When  When  `yaml:"when"`
	Reply Reply `yaml:"reply"`
}

// When selects the requests for a rule. Empty conditions always match.
type When struct {
	Contains string `yaml:"contains"` // text in the newest user message, ignoring case
	Results  *bool  `yaml:"results"`  // whether the last message contains tool results
	After    string `yaml:"after"`    // the last message contains a result of this tool
	Offers   string `yaml:"offers"`   // the request offers this tool
}

func (w When) fits(r Request) bool {
	results := r.Results()
	if w.Results != nil && *w.Results != (len(results) > 0) {
		return false
	}
	after := slices.ContainsFunc(results, func(one Result) bool { return one.Name == w.After })
	return (w.After == "" || after) && (w.Offers == "" || r.HasTool(w.Offers)) &&
		strings.Contains(strings.ToLower(r.LastUserText()), strings.ToLower(w.Contains))
}

// Load reads a scenario in YAML or JSON. Unknown keys are an error.
func Load(data []byte) (Scenario, error) {
	var s Scenario
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("read scenario: %w", err)
	}
	if len(s.Replies) == 0 && len(s.Rules) == 0 {
		return s, fmt.Errorf("read scenario: it has no replies and no rules")
	}
	return s, nil
}

// Options returns the options of a server that follows the scenario.
func (s Scenario) Options() Options {
	return Options{Replies: s.Replies, Loop: s.Loop, Rule: s.answer}
}

func (s Scenario) answer(r Request) Reply {
	for _, rule := range s.Rules {
		if rule.When.fits(r) {
			return fill(rule.Reply, r)
		}
	}
	return Reply{Error: &Failure{Status: 500, Message: "No rule of the scenario fits.", ShouldRetry: "false"}}
}

// fill replaces the placeholders in a reply with values of the request.
func fill(reply Reply, r Request) Reply {
	plain := []string{
		"{question}", r.LastUserText(), "{result}", resultText(r), "{numbers}",
		strings.Join(numbers(resultText(r)), ", "),
	}
	inside := slices.Clone(plain) // for texts inside JSON
	for i := 1; i < len(inside); i += 2 {
		quoted := quote(inside[i])
		inside[i] = quoted[1 : len(quoted)-1]
	}
	reply.Text = strings.NewReplacer(plain...).Replace(reply.Text)
	blocks := slices.Clone(reply.Blocks)
	for i := range blocks {
		blocks[i].Text = strings.NewReplacer(plain...).Replace(blocks[i].Text)
		blocks[i].Input = strings.NewReplacer(inside...).Replace(blocks[i].Input)
	}
	reply.Blocks = blocks
	return reply
}

func resultText(r Request) string {
	var parts []string
	for _, one := range r.Results() {
		parts = append(parts, one.Content)
	}
	return strings.Join(parts, "\n")
}

var numeral = regexp.MustCompile(`-?\d+(\.\d+)?`)

// printedMarks matches what package mark adds to a result.
var printedMarks = regexp.MustCompile(`,"marks":"(?:[^"\\]|\\.)*"|"r\d+[.:]\w+",?`)

// numbers returns the first numbers in a text, at most twenty, without those of marks.
func numbers(text string) []string {
	return numeral.FindAllString(printedMarks.ReplaceAllString(text, ""), 20)
}
