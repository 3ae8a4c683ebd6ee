package protocol

import (
	"net/http"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
)

// maxName is the length of a client's own id of a conversation, in bytes.
const maxName = 128

// InConversation sets the conversation of a turn to the one that its client names, by our id or by an id of the
// client's own. An unknown id of the client's own opens a conversation; an unknown one of ours is NotFound.
//
// Without a name the turn opens a conversation. If it has a MessageID, the conversation is named after it, so that the
// message finds its conversation and its answer when it is sent again. Protocol and MessageID of the turn must be set.
func InConversation(s Server, r *http.Request, t *agent.Turn, name string) error {
	if name == "" && t.MessageID != "" {
		name = t.Protocol + "/" + t.MessageID
		if len(name) > maxName {
			return footnote.Invalidf(
				"The id of a message can have at most %d bytes, unless the request names its conversation.",
				maxName-len(t.Protocol)-len("/"))
		}
	}
	if name == "" {
		return nil
	}
	if !PlainID(name, maxName) {
		return footnote.Invalidf("A conversation id must be 1 to %d bytes of printable UTF-8.", maxName)
	}
	head, found, err := s.Find(r, name)
	switch {
	case err != nil:
		return err
	case found:
		t.Conversation = head.ID
	case strings.HasPrefix(name, "conv_"):
		return NoConversation()
	default:
		t.ClientID = name
	}
	return nil
}
