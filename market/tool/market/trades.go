package market

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/cell"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/schema"
)

type tradesInput struct {
	Thought string  `json:"thought,omitempty" jsonschema:"Why the trades are needed, in one short sentence. The user sees it."`
	Symbol  string  `json:"symbol,omitempty" jsonschema:"Only trades of this symbol."`
	From    string  `json:"from,omitempty" jsonschema:"Only trades that were closed at or after this time, in UTC: 2026-10-01."`
	To      string  `json:"to,omitempty" jsonschema:"Only trades that were closed before this time, in UTC."`
	Limit   float64 `json:"limit,omitempty" jsonschema:"How many trades at most, the newest; default 50."`
	Open    bool    `json:"include_open,omitempty" jsonschema:"Also those that are still open."`
}

func (*tradesInput) journal() {}
func (*statsInput) journal()  {}

func (in *tradesInput) common() (thought, symbol *string) { return &in.Thought, &in.Symbol }

var tradesSpec = tool.Spec{
	Name: "get_trade_history", Label: "Looking at trades",
	Description: "Get the user's own past trades from their journal, in the order in which they were closed: symbol, " +
		"side, size, entry and exit with their times, stop, target, profit or loss, and notes. Nobody else's trades " +
		"can be seen, and no trade can be made or changed. For sums and rates use get_trade_stats.",
	InputSchema: inputSchema[tradesInput](schema.Length("symbol", 0, 32), schema.Length("from", 0, 40),
		schema.Length("to", 0, 40), schema.Integer("limit", 1, 200)),
}

// myTrades returns the caller's newest trades.
func (q question) myTrades(ctx context.Context, from, to string, limit int,
	open bool) (list []market.Trade, err error) {
	find := market.TradeQuery{Org: q.caller.Org, User: q.caller.User, Symbol: q.symbol.Symbol, Limit: limit, Open: open}
	if find.From, find.To, err = span(from, to); err != nil {
		return nil, err
	}
	return q.market.Trades(ctx, find)
}

func trades(ctx context.Context, q question, in *tradesInput) (a answer, err error) {
	in.Limit = cmp.Or(in.Limit, 50)
	limit := int(in.Limit)
	list, err := q.myTrades(ctx, in.From, in.To, limit+1, in.Open)
	if err != nil {
		return a, err
	}
	a.result.Columns = cell.Columns("id text, symbol text, side text, size number, opened timestamp, " +
		"closed timestamp, entry number, exit number, stop number, target number, pnl number, currency text, " +
		"session text, notes text")
	if len(list) > limit {
		list, a.result.Truncated = list[len(list)-limit:], true
		a.note("These are the newest %d trades; there are more. Do not add them up: get_trade_stats counts all.", limit)
	}
	for _, t := range list {
		a.synthetic = a.synthetic || t.Synthetic
		var pnl any
		if !t.Closed.IsZero() {
			pnl = t.PnL
		}
		a.result.Rows = append(a.result.Rows,
			[]any{t.ID, t.Symbol, t.Side, t.Size, cell.Time(t.Opened), cell.Time(t.Closed), t.Entry, cell.Set(t.Exit),
				cell.Set(t.Stop), cell.Set(t.Target), pnl, t.Currency, market.Session(t.Opened), t.Notes})
	}
	a.noTrades(len(list))
	return a, nil
}

func (a *answer) noTrades(n int) {
	if n == 0 {
		a.note("The journal was read and has no such trade of this user.")
	}
}

type statsInput struct {
	Thought string `json:"thought,omitempty" jsonschema:"Why the statistics are needed, in one short sentence. The user sees it."`
	Symbol  string `json:"symbol,omitempty" jsonschema:"Only trades of this symbol."`
	From    string `json:"from,omitempty" jsonschema:"Only trades that were closed at or after this time, in UTC: 2026-10-01."`
	To      string `json:"to,omitempty" jsonschema:"Only trades that were closed before this time, in UTC. For October 2026: from 2026-10-01 to 2026-11-01."`
}

func (in *statsInput) common() (thought, symbol *string) { return &in.Thought, &in.Symbol }

var statsSpec = tool.Spec{
	Name: "get_trade_stats", Label: "Counting trades",
	Description: "Get what the user's own closed trades add up to: number, wins, losses, win rate, profit and loss, " +
		"profit factor, longest streaks, the streak now, and the largest drawdown. The first row is all trades; then " +
		"come rows by session and by pair. The session is the one in which a trade was opened, by the clocks of " +
		"Tokyo, London and New York. Nobody else's trades can be seen.",
	InputSchema: inputSchema[statsInput](schema.Length("symbol", 0, 32), schema.Length("from", 0, 40),
		schema.Length("to", 0, 40)),
}

// group is a set of trades that are summed up: all in a currency, or those of a session or a pair.
type group struct{ name, currency string }

func stats(ctx context.Context, q question, in *statsInput) (a answer, err error) {
	list, err := q.myTrades(ctx, in.From, in.To, market.MaxTrades, false)
	if err != nil {
		return a, err
	}
	sums, err := market.StatsBy(ctx, list, func(t market.Trade) []group {
		return []group{
			{"all", t.Currency}, {"session " + market.Session(t.Opened), t.Currency}, {"pair " + t.Symbol, t.Currency},
		}
	})
	if err != nil {
		return a, err
	}
	a.result.Columns = cell.Columns("group text, currency text, trades integer, wins integer, losses integer, " +
		"win_rate_percent number, net number, profit number, loss number, profit_factor number, average number, " +
		"best number, worst number, longest_winning_streak integer, longest_losing_streak integer, " +
		"streak_now integer, max_drawdown number, drawdown_from timestamp, drawdown_to timestamp")
	names := []string{"all"}
	for _, session := range market.Sessions() {
		names = append(names, "session "+session)
	}
	for _, symbol := range values(list, func(t market.Trade) string { return t.Symbol }) {
		names = append(names, "pair "+symbol)
	}
	currencies := values(list, func(t market.Trade) string { return t.Currency })
	for _, currency := range currencies {
		for _, name := range names {
			if s, ok := sums[group{name, currency}]; ok {
				a.result.Rows = append(a.result.Rows, sumsRow(name, currency, s))
			}
		}
	}
	if slices.Contains(currencies, "") {
		a.note("Some trades have no currency, so the currency of their results is not known. Say so.")
	}
	if len(currencies) > 1 {
		a.note("The trades are in several currencies, which are not added up.")
	}
	if len(list) == market.MaxTrades {
		a.note("Only the newest %d trades were counted.", market.MaxTrades)
	}
	a.synthetic = slices.ContainsFunc(list, func(t market.Trade) bool { return t.Synthetic })
	a.noTrades(len(list))
	return a, nil
}

// values returns the distinct values of a property of the trades, sorted.
func values(list []market.Trade, of func(market.Trade) string) []string {
	all := map[string]bool{}
	for _, t := range list {
		all[of(t)] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func sumsRow(name, currency string, s market.TradeStats) []any {
	var factor, from, to any
	if f, ok := s.ProfitFactor(); ok {
		factor = round(f, 2)
	}
	if s.MaxDrawdown > 0 {
		from, to = cell.Time(s.DrawdownFrom), cell.Time(s.DrawdownTo)
	}
	return []any{name, currency, int64(s.Trades), int64(s.Wins), int64(s.Losses), round(100*s.WinRate(), 1), s.Net,
		s.Profit, s.Loss, factor, s.Average(), s.Best, s.Worst, int64(s.LongestWin), int64(s.LongestLoss),
		int64(s.Streak), s.MaxDrawdown, from, to}
}
