package offline

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/fence"
	"github.com/footnotehq/footnote/internal/localschema"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/duckdb/dialect"
	"github.com/footnotehq/footnote/tool"
)

// Local is the planner of the assistant whose data is files in the user's browser. It knows their names and types from
// the messages, and of their values only what the browser's tools may show. It keeps no state: each step is computed
// from the messages alone. The zero value is ready to use and safe for concurrent use. It implements model.Model.
type Local struct {
	free
	Now func() time.Time // for relative dates if the newest date is unknown; default time.Now
}

var _ model.Model = Local{}

// Step answers the last question of the history: first with a call for values that it needs, then with its query, then
// with the final answer.
func (l Local) Step(ctx context.Context, req model.Request, live model.Live) (model.Reply, error) {
	if ctx.Err() != nil {
		return model.Reply{}, context.Cause(ctx)
	}
	return Emit(l.step(ctx, req), live), nil
}

func (l Local) step(ctx context.Context, req model.Request) Answer {
	h := ReadHistory(req.Messages)
	if !HasTools(req.Tools) {
		return Answer{Text: ShortTitle(h.Last())} // a side job, such as a title
	}
	seen := readBrowserData(req.Messages)
	if !seen.open {
		return Answer{Text: "No file is open in this browser. Open one with Add file, then ask again."}
	}
	p := seen.profile(l.now())
	r, next := p.local(h, seen)
	w := &Writer{}
	switch {
	case next != nil && !req.NoTools && Offered(req.Tools, next.name):
		return ToolCall(h, next.name, next.input)
	case r.say != nil:
		r.say(w)
		return finishAnswer(w, h, Answer{})
	case h.Result("run_query") == nil && (req.NoTools || !Offered(req.Tools, "run_query")):
		w.Text("No query can be run at this point, so I cannot look it up. Please ask again.")
	case h.Result("run_query") == nil:
		return ToolCall(h, "run_query", map[string]any{"sql": r.sql, "thought": r.thought()})
	default:
		writeLocalAnswer(ctx, w, h, r)
	}
	return finishAnswer(w, h, final(req, h, r))
}

func (l Local) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}

// finishAnswer returns the answer with the written text: as text, or in the prepared final call.
func finishAnswer(w *Writer, h History, a Answer) Answer {
	if len(h.Questions) <= 1 {
		w.writeBadge()
	}
	a.Cites = w.cites
	if a.tool == "" {
		a.Text = w.b.String()
		return a
	}
	var in map[string]any
	_ = json.Unmarshal(a.input, &in) // ToolCall made it, so it is valid
	in["answer"] = w.b.String()
	a.input = marshal(in)
	return a
}

// final prepares the call of final_answer, with a chart if one helps.
func final(req model.Request, h History, r *reading) Answer {
	if req.NoTools || !Offered(req.Tools, tool.FinalAnswer) {
		return Answer{}
	}
	in := map[string]any{"answer": "", "chartType": "table"}
	if res, err := ParseResult(h.Result("run_query")); err == nil && r.plan != nil {
		if spec, ok := chartFor(r.plan, res); ok {
			in["chartType"], in["xAxis"], in["yAxis"] = spec["type"], spec["x"], spec["y"]
		}
	}
	return ToolCall(h, tool.FinalAnswer, in)
}

// writeLocalAnswer describes a result that stays in the browser. Rows that another client sends in part are not shown.
func writeLocalAnswer(ctx context.Context, w *Writer, h History, r *reading) {
	res, err := ParseResult(h.Result("run_query"))
	if err != nil || len(res.Rows) == res.Count {
		(&Planner{}).writeAnswer(ctx, w, h, r)
		return
	}
	w.Text("Your browser ran this on its own rows. No values were sent, so the figures are shown in the browser only.")
	w.Text("\n\n")
	w.writeReading(r)
}

// neededCall is a tool call that is needed before a question can be read.
type neededCall struct {
	name  string
	input map[string]any
}

// maxLookups is the maximum number of columns looked up for one question.
const maxLookups = 4

var relativeDate = regexp.MustCompile(
	`(?i)\b(last|past|previous|recent|recently|latest|newest|since|ago|this ` +
		`(year|month|quarter|week)|today|yesterday|to date|ytd|so far)\b`)

// local reads the questions. The second result is the lookup to make first, or nil.
func (p *profile) local(h History, seen *browserData) (*reading, *neededCall) {
	q := strings.TrimSpace(h.Last())
	if isSQL(q) {
		return &reading{sql: strings.TrimRight(q, "; \n"), plan: &plan{kind: kindRaw, raw: q}}, nil
	}
	if words, ok := withoutData(q); ok {
		return &reading{say: func(w *Writer) { w.echo(words) }}, nil
	}
	asked := seen.lookups >= maxLookups || seen.blind || h.Result("run_query") != nil
	if relativeDate.MatchString(q) && !asked {
		if w := p.unseenDate(seen); w != nil {
			return nil, w
		}
	}
	pl, d := p.planPinned(h)
	if d == nil {
		return &reading{sql: pl.sql(p.dialect), plan: pl, about: pl.base}, nil
	}
	if w := p.unseenValues(seen); w != nil && !asked && len(d.words) > 0 {
		return nil, w
	}
	return p.declineLocal(d, seen.blind), nil
}

// planPinned works like plan. If the plan is not about a table that was named beside the question, it tries the
// question with the name of that table.
func (p *profile) planPinned(h History) (*plan, *declined) {
	pl, d := p.plan(h.Questions)
	about := func(pl *plan, d *declined) bool {
		return d == nil && pl.base != nil && slices.Contains(h.pinned, pl.base.name)
	}
	if about(pl, d) {
		return pl, d
	}
	for _, pin := range h.pinned {
		if !slices.ContainsFunc(p.tables, func(t *table) bool { return t.name == pin }) {
			continue
		}
		with := slices.Clone(h.Questions)
		with[len(with)-1] = withName(h.Last(), pin)
		if named, d := p.plan(with); about(named, d) {
			return named, d
		}
	}
	return pl, d
}

// plan reads the last question, with the earlier ones as its context.
func (p *profile) plan(questions []string) (pl *plan, d *declined) {
	questions = questions[max(0, len(questions)-lastTurns):]
	var before *plan
	for i, q := range questions {
		a := p.read(strings.TrimSpace(q), before)
		if i == len(questions)-1 {
			return a.plan, a.declined
		}
		if a.declined == nil {
			before = a.plan
		}
	}
	return nil, decline("There is no question in that.")
}

func (p *profile) declineLocal(d *declined, blind bool) *reading {
	words := (&attempt{declined: d, profile: p}).words()
	return &reading{say: func(w *Writer) {
		w.echo(words)
		var names []string
		for _, c := range p.columns() {
			if c.role != roleKey && len(names) < 12 {
				names = append(names, Clip(c.name))
			}
		}
		w.say("\n\nI know these columns: ", echo(strings.Join(names, ", ")))
		if blind {
			w.Text(". Their cells stay in your browser, so I cannot look values up: I count, add up, average, rank, " +
				"group, and filter by dates. " +
				"Or write the statement yourself, beginning with SELECT.")
			return
		}
		w.Text(". I count, add up, average, rank, group, filter by values and dates, and compare.")
	}}
}

// unseenDate returns a call for the range of a date column that is not known, or nil.
func (p *profile) unseenDate(seen *browserData) *neededCall {
	for _, c := range p.columns() {
		if c.role == roleDate && !seen.requested[columnLookup{"get_column_stats", c.t.name, c.name}] {
			return &neededCall{
				"get_column_stats", map[string]any{
					"thought": "See until when the data reaches.", "table": c.t.name,
					"column": c.name,
				},
			}
		}
	}
	return nil
}

// unseenValues returns a call for the values of a text column that are not known, or nil. Columns that probably have
// few values come first.
func (p *profile) unseenValues(seen *browserData) *neededCall {
	var best *column
	for _, c := range p.columns() {
		if c.role != roleDimension && c.role != roleText || c.kind != footnote.KindText ||
			seen.requested[columnLookup{"get_value_distribution", c.t.name, c.name}] {
			continue
		}
		if best == nil || valueLikelihood(c) > valueLikelihood(best) {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	return &neededCall{"get_value_distribution", map[string]any{
		"thought": "See how the values of " + Clip(best.name) + " are written.", "table": best.t.name,
		"column": best.name, "limit": 100,
	}}
}

var (
	fewValues = set("region country state city category type kind status segment channel product group department " +
		"gender size color colour brand team plan method source level class store shop market land kategorie stadt " +
		"art typ")
	manyValues = set("id name email mail phone address comment note description text url customer key code title " +
		"remark")
)

// valueLikelihood estimates how likely a question names a value of a column.
func valueLikelihood(c *column) int {
	n := 0
	for _, w := range splitName(c.name) {
		if fewValues[w] {
			n++
		}
		if manyValues[w] {
			n--
		}
	}
	return n
}

// columnLookup identifies a lookup in a column.
type columnLookup = [3]string // tool, table, column

// browserData holds what the messages say about the files in the browser.
type browserData struct {
	open      bool
	schema    localschema.Schema
	requested map[columnLookup]bool
	values    map[columnLookup]Result
	lookups   int  // since the last question
	blind     bool // a lookup had rows, but none was shown
}

// readBrowserData reads the last schema and the values that tools have shown.
func readBrowserData(messages []model.Message) *browserData {
	seen := &browserData{requested: map[columnLookup]bool{}, values: map[columnLookup]Result{}}
	calls := map[string]columnLookup{}
	for _, m := range messages {
		var blocks []struct {
			block
			Input struct {
				Table  string `json:"table"`
				Column string `json:"column"`
			} `json:"input"`
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue
		}
		for _, b := range blocks {
			switch b.Type {
			case "text":
				if m.Role != "user" {
					continue
				}
				seen.lookups = 0
				if s, ok := localschema.Parse(b.Text); ok {
					seen.open, seen.schema = true, s
				}
			case "tool_use":
				if b.Name == "get_column_stats" || b.Name == "get_value_distribution" {
					at := columnLookup{b.Name, b.Input.Table, b.Input.Column}
					calls[b.ID], seen.requested[at] = at, true
					seen.lookups++
				}
			case "tool_result":
				if at, ok := calls[b.ToolUseID]; ok {
					content := fence.Unwrap(plainText(b.Content))
					if res, err := ParseResult(&Call{Content: content, Failed: b.IsError}); err == nil {
						seen.values[at] = res
						seen.blind = seen.blind || len(res.Rows) == 0 && res.Count > 0
					}
				}
			}
		}
	}
	return seen
}

// profile describes the files as far as they are known. Every text column can be used for grouping, whatever its
// values. The newest date is today if it is not known.
func (s *browserData) profile(now time.Time) *profile {
	p := emptyProfile("", dialect.DuckDB)
	for _, lt := range s.schema.Tables[:min(profileTables, len(s.schema.Tables))] {
		st := source.Table{Name: lt.Name, Rows: -1}
		if lt.Rows != nil {
			st.Rows = *lt.Rows
		}
		for _, c := range lt.Columns {
			st.Columns = append(st.Columns, source.Column{
				Name: c.Name, Type: c.Type, Kind: localschema.Kind(c.Type), Nullable: true,
			})
		}
		t := newTable(p, st)
		p.tables = append(p.tables, t)
		for _, c := range t.cols {
			c.nonNull = t.rows
			s.fill(c)
		}
	}
	p.link()
	today := now.UTC().Format(time.DateOnly)
	for _, t := range p.tables {
		t.assignRoles()
		for _, c := range t.cols {
			if c.role == roleText && c.kind == footnote.KindText {
				c.role = roleDimension
			}
			if c.role == roleDate && c.max == "" {
				c.max, c.unseen = today, true
			}
		}
	}
	if len(p.tables) == 1 {
		p.tables[0].findNouns()
	}
	p.index()
	return p
}

// fill adds the known facts about a column.
func (s *browserData) fill(c *column) {
	if res, ok := s.values[columnLookup{"get_column_stats", c.t.name, c.name}]; ok && len(res.Rows) == 1 {
		at := func(name string) any {
			if i := slices.Index(res.Columns, name); i >= 0 {
				return res.Rows[0][i]
			}
			return nil
		}
		if n, ok := Number(at("distinct")); ok {
			c.distinct = int64(n)
		}
		lo, _ := at("min").(string)
		hi, _ := at("max").(string)
		if isoDay(lo) && isoDay(hi) {
			c.min, c.max, c.stamp = lo[:10], hi[:10], len(lo) > 10 || len(hi) > 10
		}
	}
	if res, ok := s.values[columnLookup{"get_value_distribution", c.t.name, c.name}]; ok && len(res.Columns) > 0 {
		c.distinct = int64(res.Count)
		for _, row := range res.Rows {
			if v, ok := row[0].(string); ok {
				c.values = append(c.values, v)
			}
		}
	}
}
