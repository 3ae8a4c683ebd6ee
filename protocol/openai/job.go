package openai

import (
	"strings"
	"unicode/utf8"

	"github.com/footnotehq/footnote/internal/strictjson"
)

// isJob recognises the prompts that chat front ends send on their own. They post
// them to the model of the chat, and a run with tools for a title would be waste.
func isJob(text string) bool {
	opening := head(text)
	for _, j := range jobs {
		if strings.HasPrefix(opening, j.begins) && strings.Contains(text, j.holds) {
			return true
		}
	}
	return false
}

// head is the beginning of a prompt with its white space as single blanks: front
// ends and their users break the lines of their templates in different places.
func head(text string) string {
	return strings.Join(strings.Fields(text[:min(len(text), 512)]), " ")
}

// jobs are the openings of such prompts, and words that must follow somewhere. A
// person who types the same words gets a plain answer without tools, so both must
// fit.
var jobs = []struct{ begins, holds string }{
	// Open WebUI: titles, tags, follow-ups, search queries, image prompts.
	{"### Task: ", "<chat_history>"},
	{"### Task: Generate a concise", "title"},
	// Open WebUI: completion while typing.
	{"### Task: ", "autocompletion system"},
	// Open WebUI: an emoji for a voice call.
	{"Your task is to reflect the speaker's likely facial expression", "emoji"},
	// LibreChat: titles, in its three wordings.
	{"Provide a concise, 5-word-or-less title for the conversation", "title"},
	{"Please generate a concise, 5-word-or-less title for the conversation", "title"},
	{"Analyze this conversation and provide:", "concise title in the detected language"},
}

// JobAnswer answers the prompt of a job without a model, as well as that can be
// done: a title is what the user said first, and where something must be thought
// of, such as tags or more questions, there is none. The answer has the JSON form
// that the prompt asks for. It reports false when it does not know the job.
func JobAnswer(prompt string) (string, bool) {
	task, chat := split(prompt)
	for _, key := range []string{"title", "tags", "follow_ups", "queries", "text"} {
		if !strings.Contains(task, `"`+key+`"`) {
			continue
		}
		switch key {
		case "title":
			return string(append(strictjson.AppendString([]byte(`{"title":`), title(chat)), '}')), true
		case "text":
			return `{"text":""}`, true
		default:
			return `{"` + key + `":[]}`, true
		}
	}
	if title := title(chat); title != "" && strings.Contains(task, "title") {
		return title, true
	}
	return "", false
}

// split parts what is to be done from the conversation that it is about.
func split(prompt string) (task, chat string) {
	if task, chat, ok := strings.Cut(prompt, "<chat_history>"); ok {
		chat, _, _ = strings.Cut(chat, "</chat_history>")
		return task, chat
	}
	for _, mark := range []string{"Conversation:", "\nUser:", "\nUSER:"} {
		if i := strings.Index(prompt, mark); i >= 0 {
			return prompt[:i], prompt[i:]
		}
	}
	return prompt, ""
}

// titleSize is how many characters a title may have.
const titleSize = 60

// title is the first line that the user said in a conversation, cut between words.
func title(chat string) string {
	said := ""
	for _, who := range []string{"USER:", "User:"} {
		if _, after, ok := strings.Cut(chat, who); ok {
			said = strings.TrimSpace(after)
			break
		}
	}
	for _, who := range []string{" ASSISTANT:", "\nAI:", " Assistant:"} {
		said, _, _ = strings.Cut(said, who)
	}
	said, _, _ = strings.Cut(strings.TrimPrefix(said, `"""`), "\n")
	said = strings.Join(strings.Fields(strings.TrimSuffix(said, `"""`)), " ")
	if utf8.RuneCountInString(said) <= titleSize {
		return said
	}
	cut := string([]rune(said)[:titleSize])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:") + "…"
}
