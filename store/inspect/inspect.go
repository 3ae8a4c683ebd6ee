// Package inspect reads a whole log and reports contradictions: gaps, runs with two ends, calls without a result,
// sums that differ from the sum of their parts, missing blobs, and balances that differ from the usage in the log. It
// is for operators, and for tests that break something on purpose. It relies only on the order of the store.
package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
)

// Log is the part of a store that is inspected.
type Log interface {
	Get(ctx context.Context, id string) (footnote.Stream, error)
	Blob(ctx context.Context, stream string, d footnote.Digest) ([]byte, error)
	Tail(ctx context.Context, after int64, limit int) ([]footnote.Positioned, error)
	Tallies(ctx context.Context, after footnote.Tally, limit int) ([]footnote.Tally, error)
	Cursor(ctx context.Context, name string) (int64, error)
}

// Problem is a contradiction in a log.
type Problem struct {
	Stream string // empty: not a single one
	Seq    int64  // the event that revealed it; 0: none
	Words  string
}

func (p Problem) String() string {
	switch {
	case p.Stream == "":
		return p.Words
	case p.Seq == 0:
		return p.Stream + ": " + p.Words
	}
	return fmt.Sprintf("%s, event %d: %s", p.Stream, p.Seq, p.Words)
}

// Report counts the content of a log, and lists its problems.
type Report struct {
	Streams, Events, Runs, Calls int
	Unfinished                   int // active or parked runs, which are not a problem
	Cost                         footnote.Cost
	Balances                     int // number compared with the log
	Problems                     []Problem
	More                         int // problems not listed
}

// maxProblems is the maximum number of problems in a report.
const maxProblems = 100

// page is the number of events to read at a time.
const page = 500

// Read inspects a log. The log may be in use; the report describes what Read found. multipliers are the
// weights of tokens by tier. Results that are older than keep may lack their rows, unless keep is 0. The error is the
// reason why Read did not reach the end of the log.
func Read(ctx context.Context, log Log, multipliers map[string]int64, keep time.Duration) (Report, error) {
	in := inspector{
		log:     log,
		keep:    keep,
		streams: map[string]*stream{},
		books:   books{multipliers: multipliers, used: map[account]use{}, unreliable: map[account]bool{}},
	}
	var err error
	if in.expired, err = log.Cursor(ctx, footnote.ExpiredResults); err != nil {
		return in.report, err
	}
	if in.books.before, err = tallies(ctx, log); err != nil {
		return in.report, err
	}
	for after := int64(0); ; {
		events, err := log.Tail(ctx, after, page)
		if err != nil {
			return in.report, fmt.Errorf("read the log after position %d: %w", after, err)
		}
		for _, ev := range events {
			if ev.Position <= after {
				in.problem(ev.Stream, ev.Seq, "the position %d comes after %d", ev.Position, after)
			}
			after, in.after = ev.Position, ev.Position
			if err := in.event(ctx, ev); err != nil {
				return in.report, err
			}
		}
		if len(events) == 0 {
			break
		}
	}
	err = in.end(ctx)
	return in.report, err
}

type inspector struct {
	log     Log
	report  Report
	streams map[string]*stream
	books   books
	after   int64 // the position of the newest event read
	expired int64 // the position up to which results have lost their rows
	keep    time.Duration
}

// stream holds the state of one stream during the inspection.
type stream struct {
	org, user, tier string
	last            int64
	run             string                  // the active run
	runs            map[string]bool         // all runs; true: ended
	open            map[string]int64        // sequence by id, for calls without a result
	results         map[string]int64        // by call
	blobs           map[footnote.Digest]int // blobs looked up so far
	usage           footnote.Usage          // of the active run
	cost            footnote.Cost
	damaged         bool // some events are unreadable, so conclusions from them are uncertain
}

// unreadable processes the only known property of an unreadable event: its kind.
func (in *inspector) unreadable(s *stream, ev footnote.Positioned, u footnote.Unreadable) {
	in.problem(ev.Stream, ev.Seq, "it cannot be read: %s", u.Reason)
	s.damaged = true
	day := ""
	if !ev.Time.IsZero() {
		day = dayOf(ev.Time)
	}
	in.books.unreliable[account{ev.Org, ev.User, ev.Stream, day}] = true
	switch {
	case u.Kind == "run_started":
		s.run, s.runs[ev.Run] = ev.Run, false
		in.report.Runs++
	case footnote.Terminal(u):
		s.run, s.runs[ev.Run] = "", true
	}
}

// problemUnlessDamaged reports a problem, unless it may result from an unreadable event.
func (in *inspector) problemUnlessDamaged(s *stream, id string, seq int64, words string, args ...any) {
	if !s.damaged {
		in.problem(id, seq, words, args...)
	}
}

func (in *inspector) problem(id string, seq int64, words string, args ...any) {
	if len(in.report.Problems) == maxProblems {
		in.report.More++
		return
	}
	in.report.Problems = append(in.report.Problems, Problem{id, seq, fmt.Sprintf(words, args...)})
}

func (in *inspector) event(ctx context.Context, ev footnote.Positioned) error {
	if ev.Stream == "" { // too damaged to have an owner
		in.problem("", 0, "the event at position %d cannot be read", ev.Position)
		in.books.unreliable[account{}] = true
		return nil
	}
	s := in.streams[ev.Stream]
	if s == nil {
		s = &stream{
			org: ev.Org, user: ev.User, runs: map[string]bool{}, open: map[string]int64{}, results: map[string]int64{},
			blobs: map[footnote.Digest]int{},
		}
		in.streams[ev.Stream] = s
		in.report.Streams++
	}
	in.report.Events++
	if ev.Seq != s.last+1 {
		in.problem(ev.Stream, ev.Seq, "the event before it is %d", s.last)
		in.books.unreliable[account{org: ev.Org, user: ev.User, stream: ev.Stream}] = true
	}
	if ev.Org != s.org || ev.User != s.user {
		in.problem(ev.Stream, ev.Seq, "it belongs to %s/%s, and what came before to %s/%s", ev.Org, ev.User, s.org,
			s.user)
	}
	s.last = ev.Seq
	if u, ok := ev.Body.(footnote.Unreadable); ok {
		in.unreadable(s, ev, u)
		return nil
	}
	if tier, ok := footnote.TierOf(ev.Body); ok {
		s.tier = tier
	}
	in.books.write(s.tier, ev)
	_, cost := footnote.UsedBy(ev.Body)
	in.report.Cost = in.report.Cost.Add(cost)
	in.ofRun(s, ev.Event)
	return in.ofCalls(ctx, s, ev.Event)
}

// ofRun tracks the start, end and usage of runs.
func (in *inspector) ofRun(s *stream, ev footnote.Event) {
	switch b := ev.Body.(type) {
	case footnote.RunStarted:
		if _, twice := s.runs[ev.Run]; twice {
			in.problemUnlessDamaged(s, ev.Stream, ev.Seq, "the run %s begins twice", ev.Run)
		}
		if s.run != "" {
			in.problemUnlessDamaged(s, ev.Stream, ev.Seq, "a run begins while %s is active", s.run)
		}
		s.run, s.runs[ev.Run] = ev.Run, false
		s.usage, s.cost = footnote.Usage{}, footnote.Cost{}
		in.report.Runs++
	case footnote.AssistantMessage, footnote.StepFailed, footnote.Segmented, footnote.ToolResult:
		u, c := footnote.UsedBy(b)
		s.usage, s.cost = s.usage.Add(u), s.cost.Add(c)
	case footnote.RunFinished:
		in.ended(s, ev, b.Usage, b.Cost)
	case footnote.RunFailed:
		in.ended(s, ev, b.Usage, b.Cost)
	case footnote.RunStopped:
		in.ended(s, ev, b.Usage, b.Cost)
	}
	if ended := s.runs[ev.Run]; ended && !footnote.Terminal(ev.Body) {
		in.problemUnlessDamaged(s, ev.Stream, ev.Seq, "a %s comes after the end of its run", footnote.KindOf(ev.Body))
	}
}

func (in *inspector) ended(s *stream, ev footnote.Event, u footnote.Usage, c footnote.Cost) {
	switch ended, began := s.runs[ev.Run]; {
	case !began:
		in.problemUnlessDamaged(s, ev.Stream, ev.Seq, "the run %s ends, but has not begun", ev.Run)
	case ended:
		in.problemUnlessDamaged(s, ev.Stream, ev.Seq, "the run %s ends twice", ev.Run)
	case u != s.usage || c != s.cost:
		in.problemUnlessDamaged(s, ev.Stream, ev.Seq, "the run took %+v for %d, but its calls %+v for %d",
			u, c.MicroUSD, s.usage, s.cost.MicroUSD)
	}
	for id := range s.open {
		in.problemUnlessDamaged(s, ev.Stream, ev.Seq, "the run ends, but the call %s has no result", id)
	}
	clear(s.open)
	s.runs[ev.Run] = true
	if s.run == ev.Run {
		s.run = ""
	}
}

// ofCalls matches calls with their results, and checks that the blobs of events exist.
func (in *inspector) ofCalls(ctx context.Context, s *stream, ev footnote.Event) error {
	switch b := ev.Body.(type) {
	case footnote.Opened:
		return in.blobs(ctx, s, ev, b.System, b.Tools)
	case footnote.AssistantMessage:
		for id := range s.open {
			in.problemUnlessDamaged(s, ev.Stream, ev.Seq, "a message comes before the result of %s", id)
		}
		clear(s.open)
		for _, id := range calls(b) {
			in.report.Calls++
			_, answered := s.results[id]
			if _, twice := s.open[id]; twice || answered {
				in.problemUnlessDamaged(s, ev.Stream, ev.Seq, "the call %s is made twice", id)
			}
			s.open[id] = ev.Seq
		}
	case footnote.ToolResult:
		if at, twice := s.results[b.CallID]; twice {
			in.problemUnlessDamaged(s, ev.Stream, ev.Seq, "the call %s has a result in event %d already", b.CallID, at)
		} else if _, made := s.open[b.CallID]; !made {
			in.problemUnlessDamaged(s, ev.Stream, ev.Seq, "the result of %s comes without its call", b.CallID)
		}
		delete(s.open, b.CallID)
		s.results[b.CallID] = ev.Seq
	}
	if stored := footnote.ResultOf(ev.Body); stored != nil && !in.mayHaveExpired(ev) {
		return in.blobs(ctx, s, ev, digests(*stored)...)
	}
	return nil
}

// mayHaveExpired reports whether the newest event, if it stores a result, may have lost the rows. Imported
// conversations come without rows that had expired elsewhere.
func (in *inspector) mayHaveExpired(ev footnote.Event) bool {
	return in.after <= in.expired || in.keep > 0 && time.Since(ev.Time) > in.keep
}

func calls(m footnote.AssistantMessage) (ids []string) {
	for _, raw := range m.Blocks {
		var b struct{ Type, ID string }
		if json.Unmarshal(raw, &b) == nil && b.Type == "tool_use" {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

func digests(r footnote.StoredResult) (all []footnote.Digest) {
	for _, c := range r.Chunks {
		all = append(all, c.Digest)
	}
	return all
}

func (in *inspector) blobs(ctx context.Context, s *stream, ev footnote.Event, digests ...footnote.Digest) error {
	for _, d := range digests {
		if s.blobs[d]++; d == "" || s.blobs[d] > 1 {
			continue
		}
		_, err := in.log.Blob(ctx, ev.Stream, d)
		switch footnote.CodeOf(err) {
		case "":
		case footnote.NotFound:
			in.problem(ev.Stream, ev.Seq, "the bytes %s are not there", d)
		case footnote.StorageDamaged:
			in.problem(ev.Stream, ev.Seq, "the bytes %s are damaged", d)
		default:
			return err
		}
	}
	return nil
}

// end compares the events with the heads of their streams, and with the balances.
func (in *inspector) end(ctx context.Context) error {
	ahead := map[string]int64{}
	for _, id := range slices.Sorted(maps.Keys(in.streams)) {
		s := in.streams[id]
		head, err := in.log.Get(ctx, id)
		switch {
		case footnote.CodeOf(err) == footnote.NotFound:
			continue // deleted in the meantime
		case err != nil:
			return err
		case head.Last > s.last:
			ahead[id] = head.Last
			continue
		case head.Last < s.last:
			in.problem(id, s.last, "the stream says that its last event is %d", head.Last)
		case head.Org != s.org || head.User != s.user:
			in.problem(id, s.last, "the stream belongs to %s/%s, and its events to %s/%s", head.Org, head.User, s.org,
				s.user)
		case (head.RunState == "") != (s.run == ""):
			in.problemUnlessDamaged(s, id, s.last, "the stream head says run %q, but the events say run %q is active",
				head.RunState, s.run)
		}
		if s.run != "" {
			in.report.Unfinished++
		}
	}
	if err := in.missing(ctx, ahead); err != nil {
		return err
	}
	after, err := tallies(ctx, in.log)
	if err == nil {
		in.balance(after)
	}
	return err
}

// missing reports the streams of which the newest events are missing, among those whose heads are ahead of the events
// read so far. The others have continued in the meantime: their events are in the rest of the tail.
func (in *inspector) missing(ctx context.Context, ahead map[string]int64) error {
	for after := in.after; len(ahead) > 0; {
		events, err := in.log.Tail(ctx, after, page)
		if err != nil {
			return fmt.Errorf("read the log after position %d: %w", after, err)
		}
		for _, ev := range events {
			after = ev.Position
			if last, ok := ahead[ev.Stream]; !ok {
				continue
			} else if ev.Seq >= last {
				delete(ahead, ev.Stream)
			} else {
				in.streams[ev.Stream].last = ev.Seq
			}
		}
		if len(events) == 0 {
			break
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ahead)) {
		s := in.streams[id]
		in.problem(id, s.last+1, "the events up to %d are missing", ahead[id])
		in.books.unreliable[account{org: s.org, user: s.user, stream: id}] = true
	}
	return nil
}
