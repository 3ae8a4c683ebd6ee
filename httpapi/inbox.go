package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/knowledge/inbox"
	"github.com/footnotehq/footnote/knowledge/proposal"
	"github.com/footnotehq/footnote/protocol"
)

// Inbox is the part of inbox.Inbox that the endpoint needs.
type Inbox interface {
	Items(ctx context.Context, org string) (items []inbox.Item, whole bool, err error)
	Remove(org string, item inbox.Item)
}

func (s *Server) inboxRoutes() {
	if s.opts.Inbox == nil {
		return
	}
	s.Handle("/api/inbox", protocol.Native, get(s.forAdmins(s.getInbox)))
	if s.opts.Proposals != nil {
		s.proposalRoutes()
	}
}

// Limits of a page of the inbox. A question and its results are searched in the events before the answer.
const (
	inboxItems   = 20
	inboxEvents  = 500
	inboxResults = 20
	inboxFlagged = 50
	inboxChars   = 10_000
)

type flaggedNumber struct {
	Text   string `json:"text"`
	Reason string `json:"reason,omitempty"`
}

type inboxResult struct {
	ID     string `json:"id"`
	Source string `json:"source,omitempty"`
	SQL    string `json:"sql"`
	// Draft is the beginning of a verified query; nil where there can be none.
	Draft *proposal.Draft `json:"draft,omitempty"`
}

type inboxItem struct {
	Conversation string          `json:"conversation"`
	Seq          int64           `json:"seq"`
	User         string          `json:"user"`
	Time         time.Time       `json:"time"`
	Question     string          `json:"question,omitempty"`
	Answer       string          `json:"answer"`
	Flagged      []flaggedNumber `json:"flagged"`
	Results      []inboxResult   `json:"results"`
	Down         bool            `json:"rated_bad"`
	Words        string          `json:"words,omitempty"`
}

// getInbox handles GET /api/inbox: the answers of the caller's organisation that were rated as bad or have numbers
// without a footnote, newest first. The parameter before is next of the previous page.
func (s *Server) getInbox(w http.ResponseWriter, r *http.Request) error {
	var before int64
	if text := r.URL.Query().Get("before"); text != "" {
		var err error
		if before, err = strconv.ParseInt(text, 10, 64); err != nil || before < 1 {
			return footnote.Invalidf("before must be next of the previous page.")
		}
	}
	org := PrincipalOf(r.Context()).Org
	items, whole, err := s.opts.Inbox.Items(r.Context(), org)
	if err != nil {
		return err
	}
	out := struct {
		Items   []inboxItem `json:"items"`
		Next    string      `json:"next,omitempty"`
		Partial bool        `json:"incomplete,omitempty"`
	}{Items: []inboxItem{}, Partial: !whole}
	var last int64
	for _, item := range items {
		if before > 0 && item.Position >= before {
			continue
		}
		if len(out.Items) == inboxItems {
			out.Next = strconv.FormatInt(last, 10)
			break
		}
		shown, err := s.inboxItem(r.Context(), item)
		if footnote.CodeOf(err) == footnote.NotFound {
			s.opts.Inbox.Remove(org, item)
			continue
		}
		if err != nil {
			return err
		}
		out.Items, last = append(out.Items, shown), item.Position
	}
	return protocol.WriteValue(w, http.StatusOK, out)
}

// inboxItem reads an item's texts from the log. It returns NotFound if the conversation does not exist any more.
func (s *Server) inboxItem(ctx context.Context, item inbox.Item) (inboxItem, error) {
	head, err := s.opts.Log.Get(ctx, item.Conversation)
	if err != nil {
		return inboxItem{}, err
	}
	out := inboxItem{
		Conversation: item.Conversation, Seq: item.Seq, User: head.User, Time: item.Time.Truncate(time.Second),
		Flagged: []flaggedNumber{}, Results: []inboxResult{}, Down: item.Feedback > 0,
	}
	question := ""
	for ev, err := range s.opts.Log.Events(ctx, item.Conversation, max(0, item.Seq-inboxEvents)) {
		if err != nil {
			return out, err
		}
		switch b := ev.Body.(type) {
		case footnote.UserMessage:
			if b.Text != "" {
				question, out.Question, out.Results = b.Text, cut(b.Text), out.Results[:0]
			}
		case footnote.ToolResult:
			if b.Result != nil && b.Result.SQL != "" && len(out.Results) < inboxResults {
				out.Results = append(out.Results, inboxResult{
					ID: b.Result.ID, Source: b.Result.Source, SQL: cut(b.Result.SQL),
					Draft: s.draft(item, question, *b.Result),
				})
			}
		case footnote.Answered:
			if ev.Seq == item.Seq {
				out.Answer = cut(b.Text)
				for _, u := range b.Unresolved[:min(len(b.Unresolved), inboxFlagged)] {
					out.Flagged = append(out.Flagged, flaggedNumber{u.Text, u.Reason})
				}
			}
		}
		if ev.Seq >= item.Seq {
			break
		}
	}
	if item.Feedback == 0 {
		return out, nil
	}
	for ev, err := range s.opts.Log.Events(ctx, item.Conversation, item.Feedback-1) {
		if err != nil {
			return out, err
		}
		if f, ok := ev.Body.(footnote.Feedback); ok {
			out.Words = f.Words
		}
		break
	}
	return out, nil
}

// cut shortens a text that is too long for the inbox.
func cut(text string) string {
	if runes := []rune(text); len(runes) > inboxChars {
		return string(runes[:inboxChars]) + "…"
	}
	return text
}
