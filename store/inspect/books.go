package inspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
)

// account identifies a sum; an empty field stands for all values.
type account struct{ org, user, stream, day string }

func (a account) String() string {
	words := "everybody"
	switch {
	case a.user != "":
		words = a.org + "/" + a.user
	case a.org != "":
		words = a.org
	}
	if a.day != "" {
		words += " on " + a.day
	}
	return words
}

func (a account) compare(b account) int {
	return cmp.Or(cmp.Compare(a.org, b.org), cmp.Compare(a.user, b.user), cmp.Compare(a.stream, b.stream),
		cmp.Compare(a.day, b.day))
}

// use is the usage according to the log. The log does not record the weight of a token: it is between one and today's
// multiplier.
type use struct{ low, high footnote.Amount }

// books holds the balances of a log, and the usage its events record.
type books struct {
	multipliers map[string]int64
	before      map[account]footnote.Balance // at the start of the inspection
	used        map[account]use
	unreliable  map[account]bool // accounts with events that cannot be read; an empty field is unknown
}

// mayHaveUsedMore reports whether an account may have used more than the readable events show.
func (b *books) mayHaveUsedMore(a account) bool {
	either := func(x, y string) bool { return x == "" || y == "" || x == y }
	for d := range b.unreliable {
		if either(a.org, d.org) && either(a.user, d.user) && either(a.stream, d.stream) && either(a.day, d.day) {
			return true
		}
	}
	return false
}

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// tallies reads all balances.
func tallies(ctx context.Context, log Log) (map[account]footnote.Balance, error) {
	all := map[account]footnote.Balance{}
	var last footnote.Tally
	for {
		list, err := log.Tallies(ctx, last, page)
		if err != nil {
			return nil, fmt.Errorf("read the balances: %w", err)
		}
		for _, last = range list {
			all[account{last.Org, last.User, last.Stream, last.Day}] = last.Balance
		}
		if len(list) < page {
			return all, nil
		}
	}
}

// write adds the usage that an event records.
func (b *books) write(tier string, ev footnote.Positioned) {
	u, cost := footnote.UsedBy(ev.Body)
	low := footnote.Amount{MicroUSD: max(0, cost.MicroUSD), Tokens: max(0, u.Prompt()+u.Output)}
	if low == (footnote.Amount{}) {
		return
	}
	high := low
	high.Tokens *= max(1, b.multipliers[tier])
	day := dayOf(ev.Time)
	stream := ev.Stream
	if s, ok := ev.Body.(footnote.Spent); ok {
		stream = s.Conversation
		high.Tokens = low.Tokens * max(1, slices.Max(append(slices.Collect(maps.Values(b.multipliers)), 1)))
	}
	in := []account{
		{org: ev.Org, user: ev.User}, {org: ev.Org, user: ev.User, day: day}, {org: ev.Org}, {org: ev.Org, day: day},
		{day: day},
	}
	if stream != "" {
		in = append(in, account{org: ev.Org, user: ev.User, stream: stream})
	}
	for _, a := range in {
		b.used[a] = use{b.used[a].low.Add(low), b.used[a].high.Add(high)}
	}
}

// balance compares the balances from before and after the inspection with the log. Usage by deleted conversations is
// in no event.
func (in *inspector) balance(after map[account]footnote.Balance) {
	accounts := map[account]bool{}
	for a := range in.books.used {
		accounts[a] = true
	}
	for a := range after {
		accounts[a] = a.day != footnote.DayDeleted
	}
	for _, a := range slices.SortedFunc(maps.Keys(accounts), account.compare) {
		if !accounts[a] || a.stream != "" && in.streams[a.stream] == nil {
			continue
		}
		in.report.Balances++
		low, high := in.books.deletedUsage(a, in.books.before, after)
		used := in.books.used[a]
		low, high = low.Add(used.low), high.Add(used.high)
		in.compare(a, "millionths of a USD", in.books.before[a].Spent.MicroUSD, after[a].Spent.MicroUSD, low.MicroUSD,
			high.MicroUSD)
		in.compare(a, "tokens", in.books.before[a].Spent.Tokens, after[a].Spent.Tokens, low.Tokens, high.Tokens)
		if r := after[a].Reserved; r.MicroUSD < 0 || r.Tokens < 0 {
			in.problem(a.stream, 0, "%s: the reserved amount is negative: %+v", a, r)
		}
	}
}

// compare reports a balance that contradicts the log. The balance may have reached or passed the log's sum during the
// inspection.
func (in *inspector) compare(a account, unit string, before, after, low, high int64) {
	says := fmt.Sprint(low)
	if high > low {
		says = fmt.Sprintf("%d to %d", low, high)
	}
	if after < low || before > high && !in.books.mayHaveUsedMore(a) {
		in.problem(a.stream, 0, "%s: the balance is %d %s, but the log adds up to %s", a, after, unit, says)
	}
}

// deletedUsage returns the bounds on the usage of deleted conversations in an account. The days are
// unknown.
func (b *books) deletedUsage(a account, before, after map[account]footnote.Balance) (low, high footnote.Amount) {
	if a.stream != "" {
		return low, high
	}
	for d, balance := range after {
		if d.day != footnote.DayDeleted || a.org != "" && d.org != a.org || a.user != "" && d.user != a.user {
			continue
		}
		high = high.Add(balance.Spent)
		if a.day == "" {
			low = low.Add(before[d].Spent)
		}
	}
	return low, high
}
