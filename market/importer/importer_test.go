package importer_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/importer"
	"github.com/footnotehq/footnote/market/sqlite"
)

func open(t *testing.T) market.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "market.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// load imports a text, and returns the messages about bad rows.
func load(t *testing.T, s market.Store, text string, o importer.Options) (importer.Report, []string) {
	t.Helper()
	var bad []string
	o.Bad = func(line int, reason string) { bad = append(bad, fmt.Sprintf("%d: %s", line, reason)) }
	rep, err := importer.Import(t.Context(), s, strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return rep, bad
}

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return t
}

var minutes = importer.Options{Kind: importer.Candles, Symbol: "eurusd", Timeframe: market.M1, Digits: -1}

// TestCandles reads candles in the formats of several brokers.
func TestCandles(t *testing.T) {
	want := []market.Candle{
		{Time: at("2026-11-19 10:00"), Open: 1.1, High: 1.2, Low: 1.05, Close: 1.15, Volume: 7},
		{Time: at("2026-11-19 10:01"), Open: 1.15, High: 1.1525, Low: 1.15, Close: 1.15},
	}
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain": "time,open,high,low,close,volume\n2026-11-19 10:00,1.1,1.2,1.05,1.15,7\n2026-11-19 " +
			"10:01,1.15,1.1525,1.15,1.15,\n",
		"zones":       "\xef\xbb\xbfTimestamp;Open;High;Low;Close;Volume\r\n2026-11-19T11:00:00+01:00;1.1;1.2;1.05;1.15;7\r\n2026-11-19T10:01:00Z;1.15;1.1525;1.15;1.15;0\r\n",
		"two columns": "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\n2026.11.19\t10:00:00\t1.1\t1.2\t1.05\t1.15\t7\n2026.11.19\t10:01:00\t1.15\t1.1525\t1.15\t1.15\t0\n",
		"commas": "Date;Time;Open;High;Low;Close;Volume\n19.11.2026;10:00;1,1;1,2000;1,05;1," +
			"15;7\n19.11.2026;10:01;1,15;1,1525;1,15;1,15;\n",
		"exchange": "open_time,open,high,low,close,volume,close_time,ignore\n1795082400000,1.10000000,1.20000000," +
			"1.05000000,1.15000000,7.00000000,1795082459999,0\n" +
			"1795082460000000,1.15,1.1525,1.15,1.15,0,1795082519999999,0\n",
		"Unix seconds": "symbol,time,o,h,l,c,v\nEUR/USD,1795082400,1.1,1.2,1.05,1.15,7\nEURUSD,1795082460000,1.15," +
			"1.1525,1.15,1.15,0\n",
	} {
		s := open(t)
		o := minutes
		o.Zone = london // the same as UTC in winter
		if rep, bad := load(t, s, text, o); rep != (importer.Report{Rows: 2, Loaded: 2}) || bad != nil {
			t.Errorf("%s: %+v, %v", name, rep, bad)
		}
		got, err := s.Candles(t.Context(), market.CandleQuery{Symbol: "EURUSD", Timeframe: market.M1})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if list, err := s.Symbols(t.Context()); err != nil || list[0].Digits != 4 || list[0].Base != "EUR" ||
			list[0].Quote != "USD" {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

// TestBadRows checks that bad rows are reported with line and reason, and that nothing, or only the rest, is loaded.
func TestBadRows(t *testing.T) {
	text := `time,open,high,low,close
2026-11-19 10:00,1.1,1.2,1.05,1.15
yesterday,1,1,1,1
2026-11-19 10:02,1,0.5,1,1
2026-11-19 10:03,NaN,1,1,1
2026-11-19 10:04,1,1,1

2026-11-19 10:05:30,1,1,1,1
2026-11-19 10:06,"1
",1,1,1
2026-11-19 10:07,1"0,1,1,1
2026-11-19 10:08,1,2,1,2
`
	want := []string{
		`3: time is "yesterday", which is not a time such as 2026-11-19 15:00`,
		"4: its high 0.5 is below its open, low or close", `5: open is "NaN", which is not a number`,
		"6: it has 4 fields, and the first line 5",
		"8: 2026-11-19T10:05:30Z is not the start of a bar of 1m; 2026-11-19T10:05:00Z is",
		`11: it is not CSV: bare " in non-quoted-field`,
	}
	s := open(t)
	rep, bad := load(t, s, text, minutes)
	if rep != (importer.Report{Rows: 9, Bad: 6}) || !reflect.DeepEqual(bad, want) {
		t.Errorf("report and bad rows: %+v\n%s", rep, strings.Join(bad, "\n"))
	}
	if list, err := s.Symbols(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("half a file is loaded: %v, %v", list, err)
	}
	o := minutes
	o.SkipBad = true
	if rep, _ := load(t, s, text, o); rep.Loaded != 3 {
		t.Errorf("report of the second import: %+v", rep)
	}
	if got, err := s.Candles(t.Context(), market.CandleQuery{Symbol: "EURUSD", Timeframe: market.M1}); err != nil ||
		len(got) != 3 {
		t.Errorf("candles: %v, %v", got, err)
	}
}

// TestLargeFile has a bad row near the end, long after the first rows were added.
func TestLargeFile(t *testing.T) {
	var text strings.Builder
	text.WriteString("time,open,high,low,close\n")
	for i := range 250_000 {
		fmt.Fprintf(&text, "%d,1,1,1,1\n", at("2026-01-01 00:00").Unix()+int64(i)*60)
	}
	s := open(t)
	o := minutes
	var told []int
	o.Progress = func(rows int) { told = append(told, rows) }
	if rep, bad := load(t, s, text.String()+"x,1,1,1,1\n", o); rep.Loaded != 0 || len(bad) != 1 ||
		!strings.HasPrefix(bad[0], "250002: ") {
		t.Errorf("report and bad rows: %+v, %v", rep, bad)
	}
	if list, err := s.Symbols(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("half a file is loaded: %v, %v", list, err)
	}
	if !reflect.DeepEqual(told, []int{100_000, 200_000}) {
		t.Errorf("progress reports %v", told)
	}
}

// TestZones checks that a local time that occurred twice or never is rejected.
func TestZones(t *testing.T) {
	o := minutes
	var err error
	if o.Zone, err = time.LoadLocation("Europe/London"); err != nil {
		t.Fatal(err)
	}
	text := "time,open,high,low,close\n2026-07-01 10:00,1,1,1,1\n2026-10-25 01:30,1,1,1,1\n2026-03-29 " +
		"01:30,1,1,1,1\n2026-10-25T01:30:00Z,1,1,1,1\n2026-10-25 02:00,1,1,1,1\n"
	s := open(t)
	o.SkipBad = true
	_, bad := load(t, s, text, o)
	if len(bad) != 2 || !strings.Contains(bad[0], "3: ") || !strings.Contains(bad[0], "twice") ||
		!strings.Contains(bad[1], "never occurred") {
		t.Errorf("bad rows: %v", bad)
	}
	got, err := s.Candles(t.Context(), market.CandleQuery{Symbol: "EURUSD", Timeframe: market.M1})
	if err != nil || len(got) != 3 || !got[0].Time.Equal(at("2026-07-01 09:00")) ||
		!got[1].Time.Equal(at("2026-10-25 01:30")) || !got[2].Time.Equal(at("2026-10-25 02:00")) {
		t.Errorf("candles: %v, %v", got, err)
	}
}

// endless is a file without an end, and without quotes.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = "x,1\n"[i%4]
	}
	return len(p), nil
}

// TestLongRows checks that the import stops at an endless row, reports the line in which it begins, and loads
// nothing, even when it skips bad rows.
func TestLongRows(t *testing.T) {
	for name, c := range map[string]struct{ text, line string }{
		"an open quote": {
			"time,open,high,low,close\n2026-11-19 10:00,1,1,1,1\n\"2026-11-19 10:01\n", "3: it is longer than 128 KiB",
		},
		"a long line": {
			"time,open,high,low,close\n2026-11-19 10:00,1,1,1,1\n\n2026-11-19 10:01" + strings.Repeat(" ", 200_000),
			"4: it is longer than 128 KiB",
		},
	} {
		s := open(t)
		var bad []string
		o := minutes
		o.SkipBad, o.Bad = true, func(line int, reason string) {
			bad = append(bad, fmt.Sprintf("%d: %s", line, reason))
		}
		rep, err := importer.Import(t.Context(), s, io.MultiReader(strings.NewReader(c.text), endless{}), o)
		if err != nil || rep != (importer.Report{Rows: 2, Bad: 1, Cut: true}) || len(bad) != 1 ||
			!strings.HasPrefix(bad[0], c.line) {
			t.Errorf("%s: %+v, %v, %v", name, rep, bad, err)
		}
		if list, err := s.Symbols(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("%s: half a file is loaded: %v, %v", name, list, err)
		}
	}
	if _, err := importer.Import(t.Context(), open(t), io.MultiReader(strings.NewReader("time,\"open"), endless{}),
		minutes); footnote.CodeOf(err) != footnote.InvalidRequest || !strings.Contains(err.Error(), "128 KiB") {
		t.Error(err)
	}
	// A note of several lines belongs to one row, and the line numbers after it are right.
	o := importer.Options{Kind: importer.Trades, Org: "acme", User: "ada"}
	rep, bad := load(t, open(t),
		"id,symbol,side,size,opened,entry,notes\n1,EURUSD,long,1,2026-11-19 "+
			"10:00,1,\"a\n\nb\"\n2,EURUSD,hold,1,2026-11-19 10:00,1,\n", o)
	if rep.Rows != 2 || len(bad) != 1 || !strings.HasPrefix(bad[0], "5: side") {
		t.Errorf("report and bad rows: %+v, %v", rep, bad)
	}
}

// TestDuplicateRows checks that rows are rejected if one would replace another in the same file, and that loading the
// same file again changes nothing.
func TestDuplicateRows(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		o          importer.Options
	}{
		"candles": {
			"time,open,high,low,close\n2026-11-19 10:02,1,1,1,1\n2026-11-19 " +
				"10:00,1,1,1,1\n2026-11-19T10:02:00Z,2,2,2,2\n", "4: an earlier row has the same time", minutes,
		},
		"old": {
			"time,open,high,low,close\n1969-12-31 23:59,1,1,1,1\n1970-01-01 00:00,1,1,1,1\n1969-12-31 23:59,1,1,1,1\n",
			"4: an earlier row has the same time", minutes,
		},
		"trades": {
			"id,symbol,side,size,opened,entry\n1,EURUSD,long,1,2026-11-19 10:00,1\n1,EURUSD,short,1,2026-11-19 " +
				"11:00,1\n", "3: an earlier row has the same id", importer.Options{
				Kind: importer.Trades,
				Org:  "acme",
				User: "ada",
			},
		},
		"cot": {"date,noncommercial_long,noncommercial_short,commercial_long,commercial_short," +
			"open_interest\n2026-11-10,1,1,1,1,1\n2026-11-10,2,2,2,2,2\n",
			"3: an earlier row has the same symbol and date", importer.Options{Kind: importer.COT, Symbol: "EURUSD"}},
		"calendar": {
			"time,currency,title,impact\n2026-11-10,USD,x,low\n2026-11-10,usd,x,low\n",
			"3: an earlier row has the same time, currency and title", importer.Options{
				Kind: importer.Calendar,
			},
		},
	} {
		s := open(t)
		if rep, bad := load(t, s, c.text, c.o); rep.Loaded != 0 || len(bad) != 1 || bad[0] != c.want {
			t.Errorf("%s: %+v, %v", name, rep, bad)
		}
		c.o.SkipBad = true
		for range 2 {
			if rep, _ := load(t, s, c.text, c.o); rep.Loaded != rep.Rows-1 {
				t.Errorf("%s: %+v", name, rep)
			}
		}
		list, err := s.Candles(t.Context(), market.CandleQuery{Symbol: "EURUSD", Timeframe: market.M1})
		if c.o.Kind == importer.Candles && (err != nil || len(list) != 2 || list[1].Close != 1) {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
}

// TestTimes reads all time formats, and rejects ambiguous times.
func TestTimes(t *testing.T) {
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"202611191500": "15:00", "20261119150000": "15:00", "2026-11-19 15:00:00.000": "15:00",
		"2026-11-19 9:05": "09:05", "20261119": "00:00", "2026-11-19T17:00:00+02:00": "15:00",
		"19/11/2026 15:00": "", "11/19/2026": "", "19.11.2026 15:00": "15:00", "26-11-19": "", "12345678901": "",
		"1795100400000000": "15:00", "179510040000000000": "", "15:00": "", "45980.625": "", "": "",
	} {
		for _, zone := range []*time.Location{time.UTC, london} {
			s := open(t)
			rep, bad := load(t, s, "time,currency,title,impact\n"+text+",USD,x,low\n", importer.Options{
				Kind: importer.Calendar,
				Zone: zone,
			})
			list, err := s.Events(t.Context(), market.EventQuery{})
			if err != nil || (rep.Loaded == 1) != (want != "") ||
				want != "" && !list[0].Time.Equal(at("2026-11-19 "+want)) {
				t.Errorf("%q in %v: %+v, %v, %v", text, zone, list, bad, err)
			}
		}
	}
}

// TestKilled kills an import process in the middle of a file. Nothing of the file is loaded, and it can be loaded
// again.
func TestKilled(t *testing.T) {
	const key = "FOOTNOTE_TEST_IMPORT"
	if path := os.Getenv(key); path != "" {
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		o := minutes
		o.Progress = func(rows int) { fmt.Fprintln(os.Stderr, rows) }
		_, err = importer.Import(t.Context(), s, os.Stdin, o)
		t.Fatal("it was not killed", err)
	}
	path := filepath.Join(t.TempDir(), "market.db")
	child := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	child.Env = append(os.Environ(), key+"="+path)
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	told, err := child.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	row := func(i int) string { return fmt.Sprintf("%d,1,1,1,1\n", at("2026-01-01 00:00").Unix()+int64(i)*60) }
	const head = "time,open,high,low,close\n"
	fmt.Fprint(in, head)
	var text strings.Builder
	for i := range 101_000 { // then it waits for more
		text.WriteString(row(i))
	}
	fmt.Fprint(in, text.String())
	if line, err := bufio.NewReader(told).ReadString('\n'); line != "100000\n" {
		t.Errorf("the first progress line is %q, %v", line, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // killed
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if list, err := s.Symbols(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("half a file is loaded: %v, %v", list, err)
	}
	if rep, bad := load(t, s, head+row(0), minutes); rep.Loaded != 1 {
		t.Errorf("report after the restart: %+v, %v", rep, bad)
	}
}

func TestOtherKinds(t *testing.T) {
	s := open(t)
	load(t, s, "time,open,high,low,close\n2026-11-19 10:00,1,1,1,1\n", minutes)
	_, bad := load(t, s,
		"date,event,ccy,importance,actual,forecast,previous\n2026-11-19 13:30,CPI "+
			"y/y,usd,High,3.1%,,-0.5\n2026-11-19 14:30,Claims,USD,medium,218K,220K,\n2026-11-19 14:30,x,USD,huge,,,\n",
		importer.Options{Kind: importer.Calendar, SkipBad: true})
	events, err := s.Events(t.Context(), market.EventQuery{})
	if err != nil || len(events) != 2 || *events[0].Actual != 3.1 || events[0].Unit != "%" ||
		events[0].Forecast != nil || *events[0].Previous != -0.5 || events[0].Impact != "high" ||
		*events[1].Actual != 218 || events[1].Unit != "K" || len(bad) != 1 ||
		bad[0] != `4: impact is "huge"; it must be low, medium or high` {
		t.Errorf("events and bad rows: %+v, %v, %v", events, bad, err)
	}
	_, bad = load(t, s, "time,currency,title,impact,actual,forecast,previous,unit\n2026-11-20 "+
		"13:30,USD,Permits,low,1.2M,900K,0.001b,\n2026-11-20 14:30,USD,Payrolls,low,50,1.5M,,k\n2026-11-20 "+
		"15:30,USD,x,low,1%,2K,,\n",
		importer.Options{Kind: importer.Calendar, SkipBad: true})
	events, err = s.Events(t.Context(), market.EventQuery{From: at("2026-11-20 00:00")})
	if err != nil || len(events) != 2 || *events[0].Actual != 1.2 || *events[0].Forecast != 0.9 ||
		*events[0].Previous != 1 || events[0].Unit != "M" ||
		*events[1].Actual != 50 || *events[1].Forecast != 1500 || len(bad) != 1 ||
		bad[0] != `4: forecast is "2K", and the unit of the row is %` {
		t.Errorf("events and bad rows: %+v, %v, %v", events, bad, err)
	}
	_, bad = load(t, s, "time,title,source,url,currencies\n2026-11-19 13:30,\"Euro, "+
		"\"\"up\"\"\",wire,https://example.org,EUR USD\n2026-11-19 13:30,x,wire,javascript:alert(1),EUR\n",
		importer.Options{Kind: importer.Headlines, SkipBad: true, Synthetic: true})
	news, err := s.Headlines(t.Context(), market.HeadlineQuery{})
	if err != nil || len(news) != 1 || news[0].Title != `Euro, "up"` || len(news[0].Currencies) != 2 ||
		!news[0].Synthetic || len(bad) != 1 || !strings.Contains(bad[0], "not the address") {
		t.Errorf("headlines and bad rows: %+v, %v, %v", news, bad, err)
	}
	head := "date,noncommercial_long,noncommercial_short,commercial_long,commercial_short,open_interest\n"
	_, bad = load(t, s, head+
		"2026-11-10,\"1,000\",2,3,4,5\n2026-11-17,-1,2,3,4,5\n2026-11-17,\"1,5\",2,3,4,5\n2026-07-07,1,2,3,4,5\n",
		importer.Options{
			Kind:    importer.COT,
			Symbol:  "EURUSD",
			SkipBad: true,
		})
	reports, err := s.COT(t.Context(), market.COTQuery{Symbol: "EURUSD"})
	if err != nil || len(reports) != 2 || reports[1].NonCommercialLong != 1000 ||
		!reports[1].Published.Equal(at("2026-11-13 20:30")) || !reports[0].Published.Equal(at("2026-07-10 19:30")) ||
		len(bad) != 2 {
		t.Errorf("reports and bad rows: %+v, %v, %v", reports, bad, err)
	}
	head = "ticket,symbol,type,lots,open_time,close_time,open_price,close_price,profit,notes\n"
	o := importer.Options{Kind: importer.Trades, Org: "acme", User: "ada", SkipBad: true}
	_, bad = load(t, s, head+
		"1,EURUSD,buy,0.5,2026-11-19 10:00,2026-11-19 11:00,1.1,1.2,-5.25,\n2,EURUSD,sell,1,2026-11-19 "+
		"10:00,,1.1,,,open\n3,EURUSD,sell,1,2026-11-19 10:00,2026-11-19 09:00,1.1,1,1,\n4,EURUSD,hold,1,2026-11-19 "+
		"10:00,,1.1,,,\n5,EURUSD,buy,1,2026-11-19 10:00,2026-11-19 11:00,1.1,,,\n", o)
	trades, err := s.Trades(t.Context(), market.TradeQuery{Org: "acme", User: "ada", Open: true})
	if err != nil || len(trades) != 2 || trades[0].PnL != -5.25 || trades[0].Side != "long" ||
		trades[0].Currency != "" || !trades[1].Closed.IsZero() || len(bad) != 3 {
		t.Errorf("trades and bad rows: %+v, %v, %v", trades, bad, err)
	}
}

// TestDecimalSigns reads decimal commas in a file separated by semicolons, and rejects a file with both commas and
// points, in which 1.500 would be ambiguous.
func TestDecimalSigns(t *testing.T) {
	const head, line = "time;open;high;low;close;volume\n", "2026-11-19 10:00;"
	for text, want := range map[string]string{
		head + line + "1,5;1,5;1,5;1,5;2\n": "",
		head + line + "-,5;2;-1,;1,5;1.500\n": `2: volume is "1.500", and numbers before ` +
			`it have a decimal ","`,
		head + line + "1.5;1.5;1.5;1.5;1,500\n": `2: volume is "1,500", and numbers before ` +
			`it have a decimal "."`,
		head + line + "1,5;1,5;1,5;1.000,5;2\n": `2: close is "1.000,5", which is not a number`,
		head + line + "1;1;1;1;1,000,000\n": `2: volume is "1,000,000", which is not ` +
			`a number`,
		"time,open,high,low,close\n2026-11-19 10:00,\"1,5\",1,1,1\n": `2: open is "1,5", which is not a number: ` +
			`a comma is a decimal sign only in files that semicolons separate`,
		"time\topen\thigh\tlow\tclose\n2026-11-19 10:00\t1,5\t1\t1\t1\n": `2: open is "1,5", which is not a number: ` +
			`a comma is a decimal sign only in files that semicolons separate`,
		"time,open,high,low,close\n2026-11-19 10:00,1e16,1e16,1,1\n": `2: open is "1e16", which is not a number`,
	} {
		_, bad := load(t, open(t), text, minutes)
		if strings.Join(bad, "\n") != want {
			t.Errorf("%q:\n%s, want\n%s", text, bad, want)
		}
	}
	s := open(t)
	load(t, s, "date;time;currency;event;impact;actual;forecast\n19.11.2026;13:30;USD;CPI y/y;high;3,1%;-0,5%\n",
		importer.Options{
			Kind: importer.Calendar,
		})
	events, err := s.Events(t.Context(), market.EventQuery{})
	if err != nil || len(events) != 1 || !events[0].Time.Equal(at("2026-11-19 13:30")) || *events[0].Actual != 3.1 ||
		*events[0].Forecast != -0.5 {
		t.Errorf("events: %+v, %v", events, err)
	}
}

// TestWrongTimeframe rejects hours declared as minutes, and accepts a few minutes that happen to be hours apart.
func TestWrongTimeframe(t *testing.T) {
	rows := func(n int, step time.Duration) string {
		var text strings.Builder
		text.WriteString("time,open,high,low,close\n")
		for i := range n {
			// Newest first.
			fmt.Fprintf(&text, "%d,1,1,1,1\n", at("2026-01-05 00:00").Add(time.Duration(n-i)*step).Unix())
		}
		return text.String()
	}
	s := open(t)
	_, err := importer.Import(t.Context(), s, strings.NewReader(rows(100, time.Hour)), minutes)
	if footnote.CodeOf(err) != footnote.InvalidRequest ||
		!strings.Contains(err.Error(), "declared as 1m, but no two of the 100 are less than 1h apart.") {
		t.Error(err)
	}
	if list, err := s.Symbols(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("half a file is loaded: %v, %v", list, err)
	}
	one := fmt.Sprintf("%d,1,1,1,1\n", at("2026-01-05 01:01").Unix())
	for _, text := range []string{rows(99, time.Hour), rows(100, time.Hour) + one, rows(100, time.Minute)} {
		if rep, bad := load(t, open(t), text, minutes); rep.Loaded == 0 {
			t.Errorf("%d rows: %v", rep.Rows, bad)
		}
	}
}

// TestUnusedColumns checks that unused columns are reported.
func TestUnusedColumns(t *testing.T) {
	o := minutes
	var unread []string
	o.Unread = func(columns []string) { unread = columns }
	load(t, open(t), "Date,Time,Open,High,Low,Close,Volume BTC\n2026-11-19,10:00,1,1,1,1,1\n", o)
	if !reflect.DeepEqual(unread, []string{"Volume BTC"}) {
		t.Errorf("unread columns: %q", unread)
	}
}

// TestPairs checks that currency pairs are recognised, and that other names of six letters are not.
func TestPairs(t *testing.T) {
	s := open(t)
	for symbol, want := range map[string]string{
		"EURUSD": "EUR USD", "XAUUSD": "XAU USD", "SILVER": "", "EURSSS": "", "BTCUSDT": "",
	} {
		o := minutes
		o.Symbol = symbol
		load(t, s, "time,open,high,low,close\n2026-11-19 10:00,1,1,1,1\n", o)
		if m, err := market.Find(t.Context(), s, symbol); err != nil || strings.Join(m.Currencies(), " ") != want {
			t.Errorf("%s: %+v, %v", symbol, m, err)
		}
	}
}

// TestImportWaitsForOtherLoad checks that an import reports that it waits while another process loads, and continues
// after that.
func TestImportWaitsForOtherLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "market.db")
	var stores [2]market.Store
	for i := range stores {
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		stores[i] = s
	}
	other, err := stores[0].Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o, waited := minutes, 0
	o.Waiting = func() {
		if waited++; other.Rollback() != nil {
			t.Error("the other load cannot end")
		}
	}
	if rep, bad := load(t, stores[1], "time,open,high,low,close\n2026-11-19 10:00,1,1,1,1\n", o); rep.Loaded != 1 ||
		waited != 1 {
		t.Errorf("%+v, %v, told %d times", rep, bad, waited)
	}
	if other, err = stores[0].Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Waiting = cancel // a waiting caller can cancel
	if rep, err := importer.Import(ctx, stores[1], strings.NewReader("time,open,high,low,close\n"), o); !errors.Is(err,
		context.Canceled) {
		t.Errorf("want the import to wait and be cancelled: %+v, %v", rep, err)
	}
}

// TestInvalidOptions checks that missing options are reported before the file is read.
func TestInvalidOptions(t *testing.T) {
	s := open(t)
	for name, c := range map[string]struct {
		text, want string
		o          importer.Options
	}{
		"UTF-16":    {"\xff\xfet\x00i\x00", "The file is in UTF-16.", minutes},
		"no kind":   {"a\n", "There is no kind of file", importer.Options{Kind: "x"}},
		"empty":     {"", "The file is empty.", minutes},
		"no column": {"time,open,high,close\n", "The file has no column low", minutes},
		"no head": {
			"2026.11.19,10:00,1,1,1,1,7\n", "Its first line, which must name the columns, is: 2026.11.19, 10:00,",
			minutes,
		},
		"no symbol": {
			"time,open,high,low,close\n", "symbol of the candles", importer.Options{
				Kind:      importer.Candles,
				Timeframe: market.M1,
			},
		},
		"no length": {
			"time,open,high,low,close\n", "time frame of the candles", importer.Options{
				Kind:   importer.Candles,
				Symbol: "X",
			},
		},
		"bad length": {
			"time,open,high,low,close\n", `There is no time frame "1d". They are 1m, 5m,`, importer.Options{
				Kind:      importer.Candles,
				Symbol:    "X",
				Timeframe: "1d",
			},
		},
		"bad name": {
			"time,open,high,low,close\n", "capital letters", importer.Options{
				Kind:      importer.Candles,
				Symbol:    "a b",
				Timeframe: market.M1,
			},
		},
		"nobody's": {"id,side,size,opened,entry\n", "owner of the trades", importer.Options{Kind: importer.Trades}},
	} {
		_, err := importer.Import(t.Context(), s, strings.NewReader(c.text), c.o)
		if footnote.CodeOf(err) != footnote.InvalidRequest || !strings.Contains(footnote.MessageOf(err), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
