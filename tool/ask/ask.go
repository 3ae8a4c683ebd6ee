// Package ask provides the tool ask_user, with which the model asks the user a question and waits for the answer.
package ask

import (
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/schema"
)

type input struct {
	Question string   `json:"question" jsonschema:"The question, in the user's language: one sentence, about one thing."`
	Options  []string `json:"options,omitempty" jsonschema:"Two to six answers to choose from, each a few words. The user may still answer in words of their own."`
}

// New returns ask_user. It runs in the user's page, which shows the question. Its result is the user's answer as
// text.
func New() tool.Tool { return tool.OnPage(spec) }

var spec = tool.Spec{
	Name: "ask_user", Label: "Asking you", Family: tool.Question,
	Description: "Ask the user one question and wait for the answer. " +
		"Use it only when the question cannot be answered without knowing, when the data and the conversation do not " +
		"say, and when a wrong guess would waste the user's time: which of two meanings, which period, which file. " +
		"Otherwise make the most likely assumption, continue, and say in your answer what you assumed. " +
		"The user may not answer. If so, you are told, and continue with the most likely assumption.",
	InputSchema: schema.For[input](schema.Length("question", 1, 2_000), schema.Items("options", 6, 200)),
	ReadOnly:    true,
}
