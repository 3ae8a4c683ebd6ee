package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/export"
	"github.com/footnotehq/footnote/ledger/usage"
	"github.com/footnotehq/footnote/protocol"
)

// forAdmins wraps a handler that only administrators may call. They see data of their own organisation only.
func (s *Server) forAdmins(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !PrincipalOf(r.Context()).Has(footnote.Admin) {
			return footnote.Errorf(footnote.Forbidden, "Only administrators of your organisation may see this.")
		}
		return h(w, r)
	}
}

// personDay is one user's usage on one day.
type personDay struct {
	Day       string  `json:"day"`
	User      string  `json:"user"`
	Questions int64   `json:"questions"`
	Runs      int64   `json:"runs"`
	Failed    int64   `json:"failed"`
	Calls     int64   `json:"tool_calls"`
	Hits      int64   `json:"cache_hits"`
	Input     int64   `json:"input_tokens"` // all input, cached or not
	Cached    int64   `json:"cached_tokens"`
	Output    int64   `json:"output_tokens"`
	Weighted  int64   `json:"weighted_tokens"` // all of these, times the multiplier of their tier
	CostUSD   float64 `json:"cost_usd"`
	Unpriced  bool    `json:"cost_is_upper_bound,omitempty"`
}

// add adds the usage of one tier, whose tokens have a weight.
func (p *personDay) add(d usage.Day, weight int64) {
	p.Questions, p.Runs, p.Failed = p.Questions+d.Questions, p.Runs+d.Runs, p.Failed+d.Failed
	p.Calls, p.Hits = p.Calls+d.Calls, p.Hits+d.Hits
	p.Input, p.Cached, p.Output = p.Input+d.Usage.Prompt(), p.Cached+d.Usage.CacheRead, p.Output+d.Usage.Output
	p.Weighted += d.Usage.Weighted(weight)
	p.CostUSD, p.Unpriced = p.CostUSD+d.Cost.USD(), p.Unpriced || d.Cost.Unpriced
}

// Limits for what administrators see at once.
const (
	daysDefault   = 30
	maxDays       = 366
	maxQuestions  = 50
	questionChars = 300
)

// span returns the first and last day that a request asks for, both inclusive.
func (s *Server) span(r *http.Request) (from, to string, err error) {
	day := func(name string, def time.Time) time.Time {
		text := r.URL.Query().Get(name)
		if text == "" || err != nil {
			return def
		}
		var t time.Time
		if t, err = time.Parse(time.DateOnly, text); err != nil {
			err = footnote.Invalidf("%s is %.40q; it must be a day such as 2026-03-31.", name, text)
		}
		return t
	}
	last := day("to", s.opts.Now().UTC())
	first := day("from", last.AddDate(0, 0, 1-daysDefault))
	if err != nil {
		return "", "", err
	}
	if n := last.Sub(first).Hours()/24 + 1; n < 0.5 || n > maxDays {
		return "", "", footnote.Invalidf("from must not be after to, and not more than %d days before it.", maxDays)
	}
	return first.Format(time.DateOnly), last.Format(time.DateOnly), nil
}

// getPeople handles GET /api/usage/people: the usage of each user in the caller's organisation by day, as
// JSON or CSV.
func (s *Server) getPeople(w http.ResponseWriter, r *http.Request) error {
	from, to, err := s.span(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	format := cmp.Or(q.Get("format"), "json")
	if format != "json" && format != "csv" {
		return footnote.Invalidf("format is %.40q; it must be json or csv.", format)
	}
	if format == "csv" { // a file is kept, so it must be complete
		if err := s.opts.Usage.Settle(r.Context()); err != nil {
			return err
		}
	}
	users, whole, err := s.opts.Usage.Org(r.Context(), PrincipalOf(r.Context()).Org)
	if err != nil {
		return err
	}
	rows := s.peopleDays(users, q.Get("user"), from, to)
	if format == "csv" {
		w.Header().Set("Content-Disposition", `attachment; filename="usage-`+from+`-`+to+`.csv"`)
		return protocol.Write(w, http.StatusOK, "text/csv; charset=utf-8", peopleCSV(rows))
	}
	return protocol.WriteValue(w, http.StatusOK, struct {
		From    string      `json:"from"`
		To      string      `json:"to"`
		Rows    []personDay `json:"rows"`
		Partial bool        `json:"incomplete,omitempty"`
	}{from, to, rows, !whole})
}

// peopleDays returns the days of a span, newest first, and for each day the heaviest users first.
func (s *Server) peopleDays(users map[string][]usage.Day, only, from, to string) []personDay {
	rows := []personDay{}
	for user, days := range users {
		if only != "" && user != only {
			continue
		}
		for _, d := range days {
			if d.Date < from || d.Date > to {
				continue
			}
			if n := len(rows); n == 0 || rows[n-1].Day != d.Date || rows[n-1].User != user {
				rows = append(rows, personDay{Day: d.Date, User: user})
			}
			rows[len(rows)-1].add(d, s.weight(d.Tier))
		}
	}
	slices.SortFunc(rows, func(a, b personDay) int {
		return cmp.Or(strings.Compare(b.Day, a.Day), cmp.Compare(b.CostUSD, a.CostUSD),
			cmp.Compare(b.Questions, a.Questions), strings.Compare(a.User, b.User))
	})
	return rows
}

// peopleCSV encodes the rows for a spreadsheet.
func peopleCSV(rows []personDay) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out) // a buffer accepts every write
	_ = w.Write([]string{
		"day", "user", "questions", "runs", "failed", "tool_calls", "cache_hits", "input_tokens", "cached_tokens",
		"output_tokens", "weighted_tokens", "cost_usd", "cost_is_upper_bound",
	})
	n := func(i int64) string { return strconv.FormatInt(i, 10) }
	for _, p := range rows {
		_ = w.Write([]string{p.Day, export.Inert(p.User), n(p.Questions), n(p.Runs), n(p.Failed), n(p.Calls), n(p.Hits),
			n(p.Input), n(p.Cached), n(p.Output), n(p.Weighted),
			strconv.FormatFloat(p.CostUSD, 'f', 6, 64), strconv.FormatBool(p.Unpriced)})
	}
	w.Flush()
	return out.Bytes()
}

// askedQuestion is a question that a user asked, with its cost.
type askedQuestion struct {
	Run          string        `json:"run"`
	Conversation string        `json:"conversation"`
	User         string        `json:"user"`
	Time         time.Time     `json:"time"`
	Question     string        `json:"question,omitempty"` // its beginning; left out when the conversation is deleted
	Outcome      string        `json:"outcome"`
	Code         footnote.Code `json:"code,omitempty"`
	Tokens       int64         `json:"tokens"`
	Weighted     int64         `json:"weighted_tokens"`
	CostUSD      float64       `json:"cost_usd"`
	Millis       int64         `json:"ms"`
}

// getQuestions handles GET /api/usage/questions: the newest questions and who asked them, newest first. The
// parameter before is the last run of the previous page.
func (s *Server) getQuestions(w http.ResponseWriter, r *http.Request) error {
	from, to, err := s.span(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	runs, whole, err := s.opts.Usage.Runs(r.Context(), PrincipalOf(r.Context()).Org)
	if err != nil {
		return err
	}
	if before := q.Get("before"); before != "" {
		at := slices.IndexFunc(runs, func(u usage.Run) bool { return u.Run == before })
		if at < 0 {
			return footnote.Invalidf("before must be a run that is still listed.")
		}
		runs = runs[at+1:]
	}
	out := struct {
		Questions []askedQuestion `json:"questions"`
		Next      string          `json:"next,omitempty"`
		Partial   bool            `json:"incomplete,omitempty"`
	}{Questions: []askedQuestion{}, Partial: !whole}
	for _, u := range runs {
		if day := u.Began.Format(time.DateOnly); day < from || day > to ||
			q.Get("user") != "" && u.User != q.Get("user") {
			continue
		}
		if len(out.Questions) == maxQuestions {
			out.Next = out.Questions[maxQuestions-1].Run
			break
		}
		words, err := s.words(r.Context(), u)
		if err != nil {
			return err
		}
		out.Questions = append(out.Questions, askedQuestion{
			Run: u.Run, Conversation: u.Conversation, User: u.User, Time: u.Began.Truncate(time.Second),
			Question: words, Outcome: cmp.Or(u.Outcome, "running"),
			Code: u.Code, Tokens: u.Usage.Prompt() + u.Usage.Output,
			Weighted: u.Usage.Weighted(u.Weight), CostUSD: u.Cost.USD(), Millis: u.Millis,
		})
	}
	return protocol.WriteValue(w, http.StatusOK, out)
}

// words returns the question of a run, if it is still in the log.
func (s *Server) words(ctx context.Context, u usage.Run) (string, error) {
	if u.Question == 0 {
		return "", nil
	}
	for ev, err := range s.opts.Log.Events(ctx, u.Conversation, u.Question-1) {
		if footnote.CodeOf(err) == footnote.NotFound {
			break
		}
		if err != nil {
			return "", err
		}
		if m, ok := ev.Body.(footnote.UserMessage); ok && ev.Seq == u.Question {
			return beginning(m.Text), nil
		}
		break
	}
	return "", nil
}

// beginning shortens a question for a list.
func beginning(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > questionChars {
		return string(runes[:questionChars]) + "…"
	}
	return text
}
