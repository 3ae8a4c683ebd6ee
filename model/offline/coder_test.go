package offline

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model"
)

func TestUnderstandOrder(t *testing.T) {
	for said, want := range map[string]order{
		"list files":                  {kind: "list"},
		"Please list the files.":      {kind: "list"},
		"ls":                          {kind: "list"},
		"list *.csv":                  {kind: "list", file: "*.csv"},
		"list the files in src":       {kind: "list", file: "src"},
		"read README.md":              {kind: "read", file: "README.md"},
		"Show me the file sales.csv.": {kind: "read", file: "sales.csv"},
		"open \"my notes.txt\"":       {kind: "read", file: "my notes.txt"},
		"can you read src/a.py?":      {kind: "read", file: "src/a.py"},
		"cat Makefile_x":              {kind: "read", file: "Makefile_x"},
		"find TODO":                   {kind: "find", text: "TODO"},
		"search for \"unit price\"":   {kind: "find", text: "unit price"},
		"find total in report.py":     {kind: "find", text: "total", file: "report.py"},
		"where is def main?":          {kind: "find", text: "def main"},
		"replace draft by final in README.md": {
			kind: "replace", text: "draft", instead: "final", file: "README.md",
		},
		"Please replace 'a b' with \"c\" in f.txt.": {kind: "replace", text: "a b", instead: "c", file: "f.txt"},
		"change 10 to 20 in config.ini":             {kind: "replace", text: "10", instead: "20", file: "config.ini"},
		"replace `a in b` by `` in f":               {kind: "replace", text: "a in b", instead: "", file: "f"},
		"write hello to notes.txt":                  {kind: "write", text: "hello", file: "notes.txt"},
		"run wc -l *.csv":                           {kind: "run", text: "wc -l *.csv"},
		"run: echo \"a b\" | sort":                  {kind: "run", text: "echo \"a b\" | sort"},
		"$ python3 report.py":                       {kind: "run", text: "python3 report.py"},
		"run `ls -l`":                               {kind: "run", text: "ls -l"},
	} {
		if got := understandOrder(said); got == nil || *got != want {
			t.Errorf("%q = %+v, want %+v", said, got, want)
		}
	}
	for _, said := range []string{
		"", "hello", "make the script faster", "what is the meaning of life?", "read", "refactor everything", "why?",
		"show off", "who are you",
	} {
		if got := understandOrder(said); got != nil {
			t.Errorf("%q = %+v, want nothing", said, got)
		}
	}
}

type silentLive struct{ model.Live }

func (silentLive) Start(int, string, string, string) {}
func (silentLive) Delta(int, []byte)                 {}
func (silentLive) Stop(int)                          {}
func (silentLive) Flush()                            {}

// coderTurn runs one request against tools with the given results.
func coderTurn(t *testing.T, tools string, said string, results map[string]string) (calls []string, text string) {
	t.Helper()
	content := func(v any) json.RawMessage { return marshal([]any{v}) }
	messages := []model.Message{{Role: "user", Content: content(map[string]string{"type": "text", "text": said})}}
	for range 10 {
		reply, err := Coder{}.Step(t.Context(), model.Request{
			Tools:    json.RawMessage(tools),
			Messages: messages,
		}, silentLive{})
		if err != nil {
			t.Fatal(err)
		}
		var b block
		if err := json.Unmarshal(reply.Message.Blocks[0], &b); err != nil {
			t.Fatal(err)
		}
		if reply.Message.StopReason == model.EndTurn {
			return calls, b.Text
		}
		calls = append(calls, b.Name)
		result, failed := strings.CutPrefix(results[b.Name], "!")
		messages = append(messages, model.Message{Role: "assistant", Content: content(reply.Message.Blocks[0])},
			model.Message{
				Role: "user",
				Content: content(map[string]any{
					"type": "tool_result", "tool_use_id": b.ID, "content": result, "is_error": failed,
				}),
			})
	}
	t.Fatal("no end")
	return nil, ""
}

const coderTools = `[{"name":"Read"},{"name":"Write"},{"name":"Edit"},{"name":"Glob"},{"name":"Grep"},{"name":"Bash"}]`

func TestCoderCallsToolsAndReports(t *testing.T) {
	for _, c := range []struct {
		said    string
		results map[string]string
		calls   string
		want    string
	}{
		{
			"list files", map[string]string{
				"Glob": "a.txt (3 bytes)\nb.txt (4 bytes)\n",
			}, "Glob", "- a.txt (3 bytes)\n- b.txt (4 bytes)",
		},
		{
			"read a.txt", map[string]string{
				"Read": "     1\tone\n     2\ttwo\n",
			}, "Read", "`a.txt`:\n\n```\none\ntwo\n```",
		},
		{
			"read a.txt", map[string]string{
				"Read": "!There is no file a.txt.",
			}, "Read", "I could not read it: There is no file a.txt.",
		},
		{"find one", map[string]string{"Grep": "a.txt:1:one\n"}, "Grep", "a.txt:1:one"},
		{"find one", map[string]string{"Grep": "Nothing matches one."}, "Grep", `says "one"`},
		{
			"replace one by 1 in a.txt", map[string]string{
				"Read": "     1\tone\n",
				"Edit": "Changed a.txt (+1 −1 lines, 2 bytes).\n\n--- a/a.txt\n+++ b/a.txt\n-one\n+1\n",
			}, "Read Edit", "Changed a.txt (+1 −1 lines, 2 bytes).\n\n```diff\n--- a/a.txt",
		},
		{
			"replace one by 1 in a.txt", map[string]string{
				"Read": "     1\tone\n",
				"Edit": "!The user declined: no",
			}, "Read Edit", "nothing was changed",
		},
		{
			"replace one by 1 in a.txt", map[string]string{
				"Read": "!There is no file a.txt.",
			}, "Read", "I changed nothing: There is no file a.txt.",
		},
		{
			"write hi to b.txt", map[string]string{
				"Read":  "!There is no file b.txt.",
				"Write": "Created b.txt (+1 −0 lines, 3 bytes).",
			}, "Read Write", "Created b.txt",
		},
		{"run ls", map[string]string{"Bash": "a.txt\n"}, "Bash", "The command gave:\n\n```\na.txt\n```"},
		{"run ls", map[string]string{"Bash": "!The user declined this call."}, "Bash", "it was not run"},
		{"make it nicer", nil, "", "I did nothing"},
	} {
		calls, text := coderTurn(t, coderTools, c.said, c.results)
		if strings.Join(calls, " ") != c.calls || !strings.Contains(text, c.want) ||
			!strings.Contains(text, "Offline planner") {
			t.Errorf("%s: calls %v, text %q; want %s and %q", c.said, calls, text, c.calls, c.want)
		}
	}
	if calls, text := coderTurn(t, `[{"name":"Read"}]`, "run ls", nil); len(calls) > 0 ||
		!strings.Contains(text, "the tool Bash for that, which is not available") {
		t.Errorf("without Bash: %v, %q", calls, text)
	}
	if _, text := coderTurn(t, `[]`, "Name this: fix the report", nil); strings.Contains(text, "Offline") ||
		text == "" {
		t.Errorf("a title = %q", text)
	}
}
