package planner

import (
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model/offline"
)

// stats answers a question about the user's trades in a period. Periods are relative to the market's time, which for a
// replay is the end of its data.
func (r *request) stats(t *turn, w *writer) *toolCall {
	in := map[string]any{}
	if r.symbol != "" {
		in["symbol"] = r.symbol
	}
	period := ""
	if r.period != "" {
		c := t.h.Result("get_trade_history")
		if c == nil {
			return &toolCall{"get_trade_history", map[string]any{"limit": 1}} // its result has the market's time
		}
		clock, ok := w.marketResult(c)
		if !ok {
			return nil
		}
		from, to := r.span(clock.Now.UTC())
		in["from"], in["to"] = from.Format(time.DateOnly), to.Format(time.DateOnly)
		period = "`" + from.Format(time.DateOnly) + "` to `" + to.AddDate(0, 0, -1).Format(time.DateOnly) + "` (" +
			plainPeriod(r.period) + ", counted from `" + clock.Now.UTC().Format(time.DateOnly) + "`, the market's day)"
	}
	c := t.h.Result("get_trade_stats")
	if c == nil {
		return &toolCall{"get_trade_stats", in}
	}
	table, ok := w.marketResult(c)
	if !ok {
		return nil
	}
	w.tradeStats(table, period)
	w.synthetic(table)
	return nil
}

// plainPeriod returns the name of a period without digits, because a year follows it.
func plainPeriod(p string) string {
	if strings.ContainsAny(p, "0123456789") {
		p = strings.TrimSpace(strings.TrimRight(p, "0123456789"))
		if p == "" {
			return "that year"
		}
	}
	return capitalizeMonth(p)
}

func capitalizeMonth(p string) string {
	if namedMonth.MatchString(p) {
		return offline.UpperFirst(p)
	}
	return p
}

// tradeStats writes the statistics of trades.
func (w *writer) tradeStats(t marketTable, period string) {
	if period == "" {
		period = "all of the journal"
	}
	if len(t.Rows) == 0 {
		w.Text("The journal has no closed trade of yours in this period: " + period + ".")
		return
	}
	for i := range t.Rows {
		if t.at(i, "group") != "all" {
			continue
		}
		if i > 0 {
			w.Text("\n\n")
		}
		w.totals(t, i)
		w.groupsOf(t, i, "session ", "By session")
		w.groupsOf(t, i, "pair ", "By pair")
	}
	w.Text("\n\nPeriod: " + period + ". Trades count when they were closed; times are UTC.")
}

// totals writes the row that sums up all trades in a currency.
func (w *writer) totals(t marketTable, row int) {
	num := func(before, column string, digits int) {
		w.Text(before)
		w.num(t, row, column, digits)
	}
	money := func(before, column string) {
		w.Text(before)
		w.money(t, row, column)
	}
	num("You closed ", "trades", -1)
	num(" trades: ", "wins", -1)
	num(" won and ", "losses", -1)
	num(" lost, a win rate of ", "win_rate_percent", 1)
	money(" percent. The net result is **", "net")
	w.Text("**")
	if name, _ := t.at(row, "currency").(string); name != "" {
		w.Text(" ")
		w.words(t, row, "currency")
	}
	money(": ", "profit")
	money(" of profits and ", "loss")
	w.Text(" of losses")
	if _, ok := t.value(row, "profit_factor"); ok {
		num(", a profit factor of ", "profit_factor", 2)
	}
	money(". The best trade made ", "best")
	money(", the worst ", "worst")
	money("; the largest drawdown was ", "max_drawdown")
	num(". The longest streaks were ", "longest_winning_streak", -1)
	num(" wins and ", "longest_losing_streak", -1)
	w.Text(" losses.")
}

// groupsOf writes the rows of a kind, such as "session ", that have the currency of a total.
func (w *writer) groupsOf(t marketTable, total int, kind, title string) {
	n := 0
	for i := range t.Rows {
		name, _ := t.at(i, "group").(string)
		name, ok := strings.CutPrefix(name, kind)
		if !ok || t.at(i, "currency") != t.at(total, "currency") {
			continue
		}
		if n == 0 {
			w.Text("\n\n" + title + ":\n")
		}
		w.Text("\n- " + name + ": ")
		w.money(t, i, "net")
		w.Text(" over ")
		w.num(t, i, "trades", -1)
		w.Text(" trades")
		n++
	}
}

// maxListed limits the events in an answer. For headlines the limit is half of it.
const maxListed = 12

// events answers a question about the calendar. For today it lists the events until midnight UTC and, separately, those
// in the rest of the next 24 hours. If there are none, it lists the events of the next seven days.
func (r *request) events(t *turn, w *writer) *toolCall {
	symbol := r.symbol
	if symbol == "" {
		symbol = t.at.symbol
	}
	var asked []*offline.Call
	for _, c := range t.h.Calls {
		if c.Name == "get_news_events" && c.Answered {
			asked = append(asked, c)
		}
	}
	if len(asked) == 0 {
		return &toolCall{"get_news_events", map[string]any{"symbol": symbol}}
	}
	table, ok := w.marketResult(asked[0])
	if !ok {
		return nil
	}
	now := table.Now.UTC()
	if table.Ends.IsZero() {
		w.Text("No calendar is loaded for the currencies of " + symbol +
			": whether anything is scheduled is not known.")
		w.marketNow(table, now)
		return nil
	}
	from, to, when := now, now.AddDate(0, 0, 7), "in the days that follow"
	if r.period == "tomorrow" || r.period == "this week" {
		from, to = r.span(now)
		when = r.period
	} else if len(table.Rows) > 0 {
		w.today(table, symbol, now)
		return nil
	}
	if from.Before(now) {
		from = now
	}
	if len(asked) == 1 {
		return &toolCall{
			"get_news_events", map[string]any{
				"symbol": symbol,
				"from":   from.Format(time.RFC3339),
				"to":     to.Format(time.RFC3339),
			},
		}
	}
	if table, ok = w.marketResult(asked[1]); !ok {
		return nil
	}
	if when != r.period {
		w.Text("Nothing is scheduled in the next `24` hours for the currencies of " + symbol + ".\n\n")
	}
	w.calendar(table, symbol, when, 0, len(table.Rows))
	w.marketNow(table, now)
	return nil
}

// today writes the events of the next 24 hours.
func (w *writer) today(t marketTable, symbol string, now time.Time) {
	midnight := now.Truncate(24*time.Hour).AddDate(0, 0, 1)
	n := 0
	for n < len(t.Rows) && t.moment(n, "time").Before(midnight) {
		n++
	}
	w.calendar(t, symbol, "later today", 0, n)
	if n < len(t.Rows) {
		w.Text("\n\n")
		w.calendar(t, symbol, "in the hours after midnight", n, len(t.Rows))
	}
	w.marketNow(t, now)
}

func (w *writer) marketNow(t marketTable, now time.Time) {
	w.Text("\n\nTimes are UTC; now is `" + clock(now) + "` in this market.")
	if !t.Ends.IsZero() && t.Ends.Before(t.To) {
		w.Text(" The calendar that is loaded ends at `" + clock(t.Ends) + "`: what comes after is not known.")
	}
	w.synthetic(t)
}

// calendar lists events.
func (w *writer) calendar(t marketTable, symbol, when string, from, to int) {
	if from == to {
		w.Text("Nothing is scheduled " + when + " for the currencies of " + symbol + ".")
		return
	}
	w.Text("Scheduled " + when + " for the currencies of " + symbol + ":\n")
	for i := from; i < min(to, from+maxListed); i++ {
		w.Text("\n- ")
		w.when(t, i, "time")
		w.Text(" ")
		w.words(t, i, "currency")
		w.Text(" ")
		w.words(t, i, "title")
		w.Text(" (")
		w.words(t, i, "impact")
		w.Text(")")
		unit, _ := t.at(i, "unit").(string)
		for _, name := range []string{"actual", "forecast", "previous"} {
			if _, ok := t.value(i, name); ok {
				w.Text(", " + name + " ")
				w.num(t, i, name, -1)
				w.Text(unit)
			}
		}
	}
	if to-from > maxListed {
		w.Text("\n- and more")
	}
}

func (w *writer) marketPrice(t marketTable) {
	if len(t.Rows) == 0 {
		w.Text("There is no price.")
		return
	}
	w.words(t, 0, "symbol")
	w.Text(": bid **")
	w.num(t, 0, "bid", -1)
	w.Text("**, ask **")
	w.num(t, 0, "ask", -1)
	w.Text("**")
	if _, ok := t.value(0, "spread_pips"); ok {
		w.Text(", a spread of ")
		w.num(t, 0, "spread_pips", 1)
		w.Text(" pips")
	}
	w.Text(", as of ")
	w.when(t, 0, "time")
	w.Text(" (UTC). The price is ")
	w.num(t, 0, "age_seconds", -1)
	w.Text(" seconds old.")
}

// positions writes the positions of large traders.
func (w *writer) positions(symbol string, t marketTable) {
	if len(t.Rows) == 0 {
		w.Text("The reports were read and have none of " + symbol + ".")
		return
	}
	w.Text("Speculators in " + symbol + " held ")
	w.count(t, "noncommercial_long")
	w.Text(" contracts long and ")
	w.count(t, "noncommercial_short")
	w.Text(" short on ")
	w.when(t, 0, "date")
	w.Text(": a net position of **")
	w.count(t, "noncommercial_net")
	w.Text("**")
	if _, ok := t.value(0, "net_change"); ok {
		w.Text(", a change of ")
		w.count(t, "net_change")
		w.Text(" in a week")
	}
	w.Text(". Hedgers held ")
	w.count(t, "commercial_long")
	w.Text(" long and ")
	w.count(t, "commercial_short")
	w.Text(" short; the open interest was ")
	w.count(t, "open_interest")
	w.Text(". The report was published at ")
	w.when(t, 0, "published")
	w.Text(" (UTC), so these positions are days old.")
}

// count writes a number of contracts.
func (w *writer) count(t marketTable, column string) {
	v, ok := t.value(0, column)
	if !ok {
		w.Text("not known")
		return
	}
	w.Cite(offline.Figure(v), footnote.Cite{
		Result: t.ID, Row: new(0), Column: column, Value: offline.Exact(t.at(0, column)),
	})
}

func (w *writer) headlines(symbol string, t marketTable) {
	if len(t.Rows) == 0 {
		w.Text("The news was read and has no headline about the currencies of " + symbol + " in the last days.")
		return
	}
	w.Text("The newest headlines about the currencies of " + symbol + ":\n")
	for i := range t.Rows[:min(len(t.Rows), maxListed/2)] {
		w.Text("\n- ")
		w.when(t, i, "time")
		w.Text(" ")
		w.words(t, i, "title")
		w.Text(" (")
		w.words(t, i, "source")
		w.Text(")")
	}
}
