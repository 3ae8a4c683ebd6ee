package history

import "encoding/json"

// Block is the readable content of one block of a message.
type Block struct {
	Text   string // of text; the input of a call; the content of a result
	Name   string // of a call's tool
	Result bool   // the answer to a call
}

// Blocks returns the readable blocks of a message, without thinking.
func Blocks(m Message) []Block {
	var raw []struct {
		Type    string          `json:"type"`
		Text    string          `json:"text"`
		Name    string          `json:"name"`
		Input   json.RawMessage `json:"input"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(m.Content, &raw) != nil {
		return nil
	}
	var blocks []Block
	for _, b := range raw {
		switch b.Type {
		case "text":
			blocks = append(blocks, Block{Text: b.Text})
		case "tool_use":
			blocks = append(blocks, Block{Text: string(b.Input), Name: b.Name})
		case "tool_result":
			text := string(b.Content)
			_ = json.Unmarshal(b.Content, &text) // a value that is not a string stays JSON
			blocks = append(blocks, Block{Text: text, Result: true})
		}
	}
	return blocks
}
