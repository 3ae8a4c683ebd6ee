// Package recorded records the calls of a model and replays them without it. A recording is found by the digest of its
// request. If none fits, the Player says what has changed since a similar request was recorded.
package recorded

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
)

// Head is the beginning of a file of recordings: what else decides about the requests.
type Head struct {
	Format   int       `json:"format"`
	Time     time.Time `json:"time"`     // when the recording began; a replay begins at the same time
	Upstream string    `json:"upstream"` // the setting
	Model    string    `json:"model"`
	// Parts names the digests of what requests are made from, such as glossary, so that a replay can say which of them
	// has changed.
	Parts map[string]footnote.Digest `json:"parts"`
}

// Format is the version of the files that this package writes.
const Format = 1

// Entry is the recording of one call.
type Entry struct {
	Key      footnote.Digest            `json:"key"` // of the request
	Question footnote.Digest            `json:"question"`
	Step     int                        `json:"step"`  // of the answer, from 1
	Parts    map[string]footnote.Digest `json:"parts"` // of the request
	Message  footnote.AssistantMessage  `json:"message"`
}

// keyed has the fields of a request that decide about its answer.
type keyed struct {
	Model    string          `json:"model"`
	Effort   string          `json:"effort"`
	System   json.RawMessage `json:"system"`
	Tools    json.RawMessage `json:"tools"`
	Messages []model.Message `json:"messages"`
	NoTools  bool            `json:"no_tools"`
	Most     int             `json:"max_tokens"`
}

// entryOf returns the entry of a request, without its message.
func entryOf(req model.Request) (Entry, error) {
	data, err := json.Marshal(keyed{
		Model: req.Model, Effort: req.Effort, System: req.System, Tools: req.Tools, Messages: req.Messages,
		NoTools: req.NoTools, Most: req.MaxTokens,
	})
	if err != nil {
		return Entry{}, fmt.Errorf("read a request to record it: %w", err)
	}
	e := Entry{Key: footnote.DigestOf(data), Step: 1, Parts: map[string]footnote.Digest{}}
	e.Parts[systemPart] = footnote.DigestOf(req.System)
	e.Parts["the model or its effort"] = footnote.DigestOf([]byte(req.Model + "\x00" + req.Effort))
	e.Parts["the limits of a call"] = footnote.DigestOf(fmt.Appendf(nil, "%v %d", req.NoTools, req.MaxTokens))
	addTools(e.Parts, req.Tools)
	addMessages(&e, req.Messages)
	return e, nil
}

// systemPart is the part of a request whose change has a more exact name if one of Head's parts has changed, too.
const systemPart = "the system prompt"

// addTools adds each tool of a request.
func addTools(parts map[string]footnote.Digest, tools json.RawMessage) {
	var list []json.RawMessage
	_ = json.Unmarshal(tools, &list) // without tools, there is no list
	for _, raw := range list {
		var t struct {
			Name string `json:"name"`
		}
		_ = json.Unmarshal(raw, &t) // the loop has made the list
		parts["the tool "+t.Name] = footnote.DigestOf(raw)
	}
}

// block is a block of a message, as far as it is compared.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
}

// addMessages adds the question, the results of tools and the step of a request.
func addMessages(e *Entry, messages []model.Message) {
	tools, results := map[string]string{}, 0
	for _, m := range messages {
		if m.Role == "assistant" {
			e.Step++
		}
		var blocks []block
		if json.Unmarshal(m.Content, &blocks) != nil {
			blocks = []block{{Type: "text", Text: string(m.Content)}}
		}
		for _, b := range blocks {
			switch {
			case b.Type == model.ToolUseBlock:
				tools[b.ID] = b.Name
			case b.Type == "tool_result":
				results++
				e.Parts[fmt.Sprintf("result %d, of %s", results, tools[b.ToolUseID])] = footnote.DigestOf(b.Content)
			case b.Type == model.TextBlock && m.Role == "user" && e.Question == "":
				e.Question = footnote.DigestOf([]byte(b.Text))
			}
		}
	}
}

// changed names the parts that differ between two requests. The system prompt is named only if none of the parts that
// it is made from has changed.
func changed(was, is Entry, wasHead, isHead map[string]footnote.Digest) []string {
	names := differing(wasHead, isHead)
	parts := differing(was.Parts, is.Parts)
	if len(names) > 0 {
		parts = slices.DeleteFunc(parts, func(n string) bool { return n == systemPart })
	}
	if names = append(names, parts...); len(names) == 0 {
		names = []string{"the messages of the conversation"}
	}
	return names
}

func differing(was, is map[string]footnote.Digest) []string {
	var names []string
	all := maps.Clone(was)
	if all == nil {
		all = map[string]footnote.Digest{}
	}
	maps.Copy(all, is)
	for name := range all {
		switch _, before := was[name]; {
		case was[name] == is[name]:
		case !before:
			names = append(names, name+" (new)")
		case is[name] == "":
			names = append(names, name+" (gone)")
		default:
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// words lists what has changed.
func words(names []string) string { return strings.Join(names, ", ") }
