package offline

import (
	"context"
	"regexp"
	"slices"
)

// decline returns a reading that says why a question is not answered, and suggests three questions that were run and
// have an answer.
func (pn *Planner) decline(ctx context.Context, sources []string, source, words string,
	answer bool) (*reading, error) {
	if !answer {
		return &reading{source: source}, nil
	}
	var each [][]string
	for _, name := range sources[:min(8, len(sources))] {
		hints, err := pn.suggestions(ctx, name)
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		each = append(each, hints)
	}
	hints := interleave(each...)
	return &reading{source: source, say: func(w *Writer) {
		w.echo(words)
		for i, h := range hints[:min(3, len(hints))] {
			w.say(map[bool]string{true: "\n\nYou could ask:\n- ", false: "- "}[i == 0], echo(h), "\n")
		}
	}}, nil
}

// talkWords are the words of greetings, thanks and calls for help.
var talkWords = set(`hi hello hey hallo hola ola moin servus yo greetings howdy thanks thank thx ty cheers great perfect
	nice cool ok okay bye goodbye there you very much good morning afternoon evening so for the help that is it was all
	a lot everyone team please what can do who are how does this work ask i me`)

// smallTalk answers input that is not a question, such as a greeting.
func smallTalk(q string) (string, bool) {
	ws, _ := tokenize(q)
	if slices.ContainsFunc(ws, func(w word) bool { return !talkWords[w.low] }) {
		return "", false
	}
	return "I answer simple questions about your data by fixed rules: counts, totals, averages, medians, rankings, " +
		"shares, comparisons and developments over time, filtered by values, numbers and dates. Every answer says " +
		"how I read the question.", true
}

var writeVerbs = set(
	`delete drop truncate update insert remove erase alter create add set change modify mark rename cancel replace
	merge grant revoke purge wipe reset overwrite move assign fix correct make execute exec import upload write
	close reopen approve reject refund buy book send email call`)

var writeAnywhere = regexp.MustCompile(
	`(?i)\b(drop\s+(table|database|view|index|column|schema)|delete\s+from|insert\s+into|truncate\s+table|` +
		`alter\s+table|update\s+\S+\s+set)\b`)

// refusal answers requests to change data.
func refusal(q string) (string, bool) {
	const words = "I can only read data, so I can't change, add or delete anything. I ran no query."
	if writeAnywhere.MatchString(q) {
		return words, true
	}
	ws, _ := tokenize(q)
	i := 0
	for i < len(ws) && set(
		"please can could you would will kindly just now go ahead and i want to need let us me hey hi ok then " +
			"also")[ws[i].low] {
		i++
	}
	if i < len(ws) && writeVerbs[ws[i].low] && !(ws[i].low == "set" && i+1 == len(ws)) {
		if i+1 < len(ws) && (set("rate by per %")[ws[i+1].low] || ws[i+1].isNum) ||
			ws[i].low == "make" && i+1 < len(ws) && set("a it that this the")[ws[i+1].low] &&
				anySaid(ws, set("chart line bar pie list table")) {
			return "", false
		}
		return words, true
	}
	return "", false
}

var (
	causes = regexp.MustCompile(
		`(?i)\b(why|what\s+(has\s+)?(caused|causes|is\s+causing)|cause[sd]?|reasons?|how\s+come|explain\s+why|` +
			`because|root\s+cause|what\s+(is\s+)?(behind|driving|drove)|due\s+to)\b`)
	futures = regexp.MustCompile(
		`(?i)\b(predict|prediction|forecast|projection|project\s+the|extrapolate|will\s+(we|i|they|it|there|be|the|` +
			`our)|going\s+to\s+be|tomorrow|expected\s+to|estimate\s+(the\s+)?(next|future)|next\s+(week|month|` +
			`quarter|year|season|spring|summer|autumn|winter|january|february|march|april|may|june|july|august|` +
			`september|october|november|december))\b`)
	opinion = regexp.MustCompile(`(?i)\b(should\s+(we|i)|recommend|advice|advise|what\s+do\s+you\s+think)\b`)
)

// askedCause matches the ways of asking for a cause, even if a column is called cause or reason.
var askedCause = regexp.MustCompile(`(?i)\b(why|what\s+(is|are|was|were)\b.*\b(causes?|reasons?)\s+(of|for|behind)|` +
	`how\s+come|explain|because|due\s+to|behind|driving|drove|what\s+(has\s+)?caused?)\b`)

// namesCause reports whether a question refers to a column called cause or reason, rather than asking why.
func (p *profile) namesCause(q string) bool {
	return (p.words["cause"] || p.words["reason"]) && !askedCause.MatchString(q)
}

// withoutData answers what needs no data: small talk, and requests that are refused.
func withoutData(q string) (string, bool) {
	if len(q) > 2000 {
		return tooLong, true
	}
	for _, answer := range []func(string) (string, bool){smallTalk, refusal, futureOrOpinion} {
		if words, ok := answer(q); ok {
			return words, true
		}
	}
	return "", false
}

const tooLong = "That is too long for fixed rules: please ask one short question."

const noCauseWords = "The data says what happened, not why, and I won't guess at a cause."

// futureOrOpinion answers questions about the future or for opinions, which no database answers.
func futureOrOpinion(q string) (string, bool) {
	switch {
	case futures.MatchString(q):
		return "I can't predict the future, but I can show how a figure has developed so far.", true
	case opinion.MatchString(q):
		return "That's a judgement call, and I can only report what the data says.", true
	}
	return "", false
}
