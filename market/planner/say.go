package planner

import (
	"cmp"
	"strings"
	"time"

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
	p = cmp.Or(strings.TrimRight(p, " 0123456789"), "that year")
	if namedMonth.MatchString(p) {
		return offline.UpperFirst(p)
	}
	return p
}

// tradeStats writes the statistics of trades.
func (w *writer) tradeStats(t marketTable, period string) {
	period = cmp.Or(period, "all of the journal")
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
	w.row(t, row, "You closed {trades} trades: {wins} won and {losses} lost, a win rate of {win_rate_percent 1} "+
		"percent. The net result is **{net money}**")
	if name, _ := t.at(row, "currency").(string); name != "" {
		w.row(t, row, " {currency text}")
	}
	w.row(t, row, ": {profit money} of profits and {loss money} of losses")
	if _, ok := t.value(row, "profit_factor"); ok {
		w.row(t, row, ", a profit factor of {profit_factor 2}")
	}
	w.row(t, row, ". The best trade made {best money}, the worst {worst money}; the largest drawdown was "+
		"{max_drawdown money}. The longest streaks were {longest_winning_streak} wins and "+
		"{longest_losing_streak} losses.")
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
		w.row(t, i, "\n- "+name+": {net money} over {trades} trades")
		n++
	}
}

// maxListed limits the events in an answer. For headlines the limit is half of it.
const maxListed = 12

// events answers a question about the calendar. For today it lists the events until midnight UTC and, separately, those
// in the rest of the next 24 hours. If there are none, it lists the events of the next seven days.
func (r *request) events(t *turn, w *writer) *toolCall {
	symbol := cmp.Or(r.symbol, t.at.symbol)
	asked := t.answered("get_news_events")
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
			", so it is not known whether anything is scheduled.")
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
		return &toolCall{"get_news_events", map[string]any{
			"symbol": symbol, "from": from.Format(time.RFC3339), "to": to.Format(time.RFC3339),
		}}
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
		w.Text(" The loaded calendar ends at `" + clock(t.Ends) + "`; later events are not known.")
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
		w.row(t, i, "\n- {time time} {currency text} {title text} ({impact text})")
		unit, _ := t.at(i, "unit").(string)
		for _, name := range []string{"actual", "forecast", "previous"} {
			if _, ok := t.value(i, name); ok {
				w.row(t, i, ", "+name+" {"+name+"}")
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
	w.row(t, 0, "{symbol text}: bid **{bid}**, ask **{ask}**")
	if _, ok := t.value(0, "spread_pips"); ok {
		w.row(t, 0, ", a spread of {spread_pips 1} pips")
	}
	w.row(t, 0, ", as of {time time} (UTC). The price is {age_seconds} seconds old.")
}

// positions writes the positions of large traders.
func (w *writer) positions(symbol string, t marketTable) {
	if len(t.Rows) == 0 {
		w.Text("The reports were read and have none of " + symbol + ".")
		return
	}
	w.row(t, 0, "Speculators in "+symbol+" held {noncommercial_long count} contracts long and "+
		"{noncommercial_short count} short on {date time}: a net position of **{noncommercial_net count}**")
	if _, ok := t.value(0, "net_change"); ok {
		w.row(t, 0, ", a change of {net_change count} in a week")
	}
	w.row(t, 0, ". Hedgers held {commercial_long count} long and {commercial_short count} short; the open interest "+
		"was {open_interest count}. The report was published at {published time} (UTC), so these positions are "+
		"days old.")
}

func (w *writer) headlines(symbol string, t marketTable) {
	if len(t.Rows) == 0 {
		w.Text("The news was read and has no headline about the currencies of " + symbol + " in the last days.")
		return
	}
	w.Text("The newest headlines about the currencies of " + symbol + ":\n")
	for i := range t.Rows[:min(len(t.Rows), maxListed/2)] {
		w.row(t, i, "\n- {time time} {title text} ({source text})")
	}
}
