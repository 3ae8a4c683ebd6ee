package store

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Message is an event whose text can be searched, or one that rewinds such events.
type Message struct {
	Stream string
	Seq    int64
	Kind   string // one of SearchedSQL
	Body   []byte // valid until the call returns
}

// SearchedSQL lists the kinds of events that a search reads: questions and answers, and what rewinds them.
const SearchedSQL = `'user_message', 'answered', 'rewound'`

// Limits of one page of a search. A page that reaches one ends there, and its cursor continues.
const (
	searchTime  = 2 * time.Second
	searchBytes = 32 << 20 // of bodies
	searchBatch = 100      // streams at once
)

// Search returns a page of the streams whose title or messages contain p.Query, for any store: list returns a page
// without a query, and messages calls each for the messages of some streams, ordered by sequence within each stream,
// until it returns false. A page may have fewer entries than p.Limit, or none, and a cursor.
func Search(ctx context.Context, p Page, list func(Page) ([]Stream, string, error),
	messages func(ids []string, each func(Message) bool) error) (found []Stream, next string, err error) {
	query, end, size := Fold(p.Query), time.Now().Add(searchTime), 0
	at := p
	at.Query, at.Limit = "", searchBatch
	for {
		heads, more, err := list(at)
		if err != nil {
			return nil, "", err
		}
		hits := map[string]hit{}
		var ids []string
		for _, h := range heads {
			if strings.Contains(Fold(h.Title), query) {
				hits[h.ID] = hit{}
			} else {
				ids = append(ids, h.ID)
			}
		}
		err = messages(ids, func(m Message) bool {
			size += len(m.Body)
			look(hits, m, query)
			return ctx.Err() == nil
		})
		if err != nil {
			return nil, "", err
		}
		for i, h := range heads {
			in, ok := hits[h.ID]
			if !ok {
				continue
			}
			if len(found) == p.Limit {
				if i == 0 {
					return found, at.Before, nil
				}
				at.Limit = i // the store knows the cursor
				_, next, err = list(at)
				return found, next, err
			}
			h.Found = in.excerpt
			found = append(found, h)
		}
		if at.Before = more; more == "" || size > searchBytes || time.Now().After(end) {
			return found, more, nil
		}
	}
}

// hit is the first message of a stream that contains the text.
type hit struct {
	seq     int64
	excerpt string
}

// look updates the hits with the next message of a stream. It ignores messages that are damaged.
func look(hits map[string]hit, m Message, query string) {
	var body struct {
		Text  string `json:"text"`
		ToSeq int64  `json:"to_seq"`
	}
	if json.Unmarshal(m.Body, &body) != nil {
		return
	}
	old, known := hits[m.Stream]
	switch {
	case m.Kind == "rewound":
		if known && old.seq > body.ToSeq {
			delete(hits, m.Stream)
		}
	case !known:
		if excerpt, ok := excerptOf(body.Text, query); ok {
			hits[m.Stream] = hit{m.Seq, excerpt}
		}
	}
}

// Characters of an excerpt before a match, and in total.
const (
	excerptBefore = 30
	excerptLength = 120
)

// notice begins what the offline planner says about itself below an answer, which is not part of it.
const notice = "_Offline planner: "

// markup matches Markdown that an excerpt of one line does not show: emphasis, code and the lines of tables.
var (
	markup = regexp.MustCompile("\\*\\*|^\\*|\\*$|`|\\b_|_\\b")
	lines  = regexp.MustCompile(`\s*\|[\s|:-]*`)
)

// excerptOf returns a part of a text around the first match of a folded query, without markup.
func excerptOf(text, query string) (excerpt string, ok bool) {
	text, _, _ = strings.Cut(text, notice)
	folded := Fold(text) // it has the same number of characters
	i := strings.Index(folded, query)
	if i < 0 {
		return "", false
	}
	all := []rune(text)
	from := max(0, utf8.RuneCountInString(folded[:i])-excerptBefore)
	to := min(len(all), from+excerptLength)
	if from > 0 { // begin with a word, if one begins before the match
		for j := from; j < from+excerptBefore && j < len(all); j++ {
			if unicode.IsSpace(all[j]) {
				from = j + 1
				break
			}
		}
	}
	excerpt = lines.ReplaceAllString(markup.ReplaceAllString(string(all[from:to]), ""), " · ")
	excerpt = strings.Trim(strings.Join(strings.Fields(excerpt), " "), "· ")
	if from > 0 {
		excerpt = "…" + excerpt
	}
	if to < len(all) {
		excerpt += "…"
	}
	return excerpt, true
}
