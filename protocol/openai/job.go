package openai

import (
	"strings"
	"unicode/utf8"

	"github.com/footnotehq/footnote/internal/strictjson"
)

// isJob recognises prompts that chat front ends send automatically. They post them to the model of the chat,
// and a run with tools would be wasted on a title.
func isJob(text string) bool {
	opening := head(text)
	for _, j := range jobs {
		if strings.HasPrefix(opening, j.begins) && strings.Contains(text, j.holds) {
			return true
		}
	}
	return false
}

// head returns the start of a prompt with its white space collapsed: front ends and their users break the
// lines of their templates in different places.
func head(text string) string {
	return strings.Join(strings.Fields(text[:min(len(text), 512)]), " ")
}

// jobs lists how such prompts begin, and words that must follow somewhere. Both must match, because a person
// who types the same words would get a plain answer without tools.
var jobs = []struct{ begins, holds string }{
	// Open WebUI: titles, tags, follow-ups, search queries, image prompts.
	{"### Task: ", "<chat_history>"},
	{"### Task: Generate a concise", "title"},
	// Open WebUI: completion while typing.
	{"### Task: ", "autocompletion system"},
	// Open WebUI: emoji for a voice call.
	{"Your task is to reflect the speaker's likely facial expression", "emoji"},
	// LibreChat: titles, three variants.
	{"Provide a concise, 5-word-or-less title for the conversation", "title"},
	{"Please generate a concise, 5-word-or-less title for the conversation", "title"},
	{"Analyze this conversation and provide:", "concise title in the detected language"},
}

// JobAnswer answers the prompt of a job without a model, as well as possible. A title is the user's first
// words; tasks that need thought, such as tags or follow-up questions, get an empty result. The answer has
// the JSON form that the prompt asks for. It returns false for an unknown job.
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

// split separates the task from the conversation that it is about.
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

// titleSize is the maximum length of a title in characters.
const titleSize = 60

// title returns the first line that the user wrote in a conversation, cut between words.
func title(chat string) string {
	first := ""
	for _, speaker := range []string{"USER:", "User:"} {
		if _, after, ok := strings.Cut(chat, speaker); ok {
			first = strings.TrimSpace(after)
			break
		}
	}
	for _, speaker := range []string{" ASSISTANT:", "\nAI:", " Assistant:"} {
		first, _, _ = strings.Cut(first, speaker)
	}
	first, _, _ = strings.Cut(strings.TrimPrefix(first, `"""`), "\n")
	first = strings.Join(strings.Fields(strings.TrimSuffix(first, `"""`)), " ")
	if utf8.RuneCountInString(first) <= titleSize {
		return first
	}
	cut := string([]rune(first)[:titleSize])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:") + "…"
}
