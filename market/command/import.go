// Package command holds the commands about markets.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/importer"
	"github.com/footnotehq/footnote/market/open"
)

// Env holds the parts of the program that the commands use.
type Env struct {
	Config   func() (config.Config, error) // with the settings of the command line
	In       io.Reader
	Out, Err io.Writer
}

// Market is the command footnote market.
type Market struct {
	Import Import `cmd:"" help:"Load a CSV file: candles, the calendar, headlines, COT reports or a journal of trades."`
}

// Import is the command footnote market import.
type Import struct {
	Kind      string `arg:"" enum:"candles,calendar,headlines,cot,trades" help:"Kind of data: ${enum}."`
	File      string `arg:"" optional:"" help:"File to read; default: standard input."`
	Symbol    string `help:"Symbol of the candles, and of other rows without one." placeholder:"SYMBOL"`
	Timeframe string `help:"Timeframe of the candles: 1m, 5m, 15m, 30m, 1h, 4h, 1D, 1W or 1M." placeholder:"TIME"`
	Name      string `help:"Full name of the symbol." placeholder:"NAME"`
	Digits    int    `help:"Decimals of its prices; default: as before, or as in the file." default:"-1"`
	Org       string `help:"Whose trades they are." placeholder:"ORG" default:"local"`
	User      string `help:"Whose trades they are." placeholder:"USER" default:"local"`
	Currency  string `help:"Currency of trades without one." placeholder:"CUR"`
	Zone      string `help:"Time zone of times without one, such as Europe/London." default:"UTC" placeholder:"ZONE"`
	Synthetic bool   `help:"The data is synthetic; every answer says so."`
	SkipBad   bool   `help:"Load the good rows and skip the bad ones."`
}

// Help is shown by footnote market import --help.
func (Import) Help() string {
	return `Loads one file into the database of market.store. If the file has bad rows, they are listed with line
and reason, and nothing is loaded (exit code 1); --skip-bad loads the others. Existing rows are
replaced. A server may run meanwhile.

  footnote market import candles eurusd.csv --symbol EURUSD --timeframe 1m --set market.store=market.db
  footnote market import trades journal.csv --org acme --user ann --zone Europe/London

docs/market.md lists the columns of each kind.`
}

// maxBadRows limits how many bad rows are listed.
const maxBadRows = 100

// Run executes the command.
func (cmd *Import) Run(ctx context.Context, e Env) (err error) {
	c, err := e.Config()
	if err != nil {
		return err
	}
	if c.Market.Store == "" {
		return &config.Invalid{Err: errors.New("market.store is not set; name the database with " +
			"--set market.store=market.db or FOOTNOTE_MARKET_STORE")}
	}
	zone, err := time.LoadLocation(cmd.Zone)
	if err != nil || cmd.Zone == "Local" {
		return &config.Invalid{Err: fmt.Errorf(
			"--zone is %q, which is not a time zone such as Europe/London", cmd.Zone)}
	}
	in, closeIn, err := cmd.open(e.In)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeIn()) }()
	store, err := open.Store(ctx, string(c.Market.Store))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	bad := 0
	rep, err := importer.Import(ctx, store, in, importer.Options{
		Kind: cmd.Kind, Symbol: cmd.Symbol, Timeframe: market.Timeframe(cmd.Timeframe), Name: cmd.Name,
		Digits: cmd.Digits,
		Org:    cmd.Org, User: cmd.User, Zone: zone, Synthetic: cmd.Synthetic, SkipBad: cmd.SkipBad,
		Currency: cmd.Currency,
		Unread: func(columns []string) {
			fmt.Fprintf(e.Err, "ignored columns: %s\n", strings.Join(columns, ", "))
		},
		Waiting:  func() { fmt.Fprintln(e.Err, "waiting for the market database: another import is running") },
		Progress: func(rows int) { fmt.Fprintf(e.Err, "%d rows%s\n", rows, in.share()) },
		Bad: func(line int, reason string) {
			if bad++; bad <= maxBadRows {
				fmt.Fprintf(e.Err, "line %d: %s\n", line, reason)
			} else if bad == maxBadRows+1 {
				fmt.Fprintln(e.Err, "further bad rows are only counted")
			}
		},
	})
	if err != nil {
		if footnote.CodeOf(err) == footnote.InvalidRequest {
			return &config.Invalid{Err: errors.New(footnote.MessageOf(err))}
		}
		return err
	}
	return cmd.report(e.Out, rep)
}

// report reports the result of the import.
func (cmd *Import) report(w io.Writer, rep importer.Report) error {
	switch {
	case rep.Rows == 0:
		return errors.New("the file has no rows; nothing was loaded")
	case rep.Loaded == 0:
		return fmt.Errorf("%d of %d rows cannot be loaded; nothing was loaded", rep.Bad, rep.Rows)
	}
	_, err := fmt.Fprintf(w, "%d rows loaded, %d bad rows left out\n", rep.Loaded, rep.Bad)
	return err
}

// measured is a file that counts how much of it has been read.
type measured struct {
	io.Reader
	read, size int64
}

func (c *measured) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.read += int64(n)
	return n, err
}

// share describes which part of the file has been read; it is empty when the size is unknown.
func (c *measured) share() string {
	if c.size <= 0 {
		return ""
	}
	return fmt.Sprintf(", %d%%", min(100, 100*c.read/c.size))
}

func (cmd *Import) open(stdin io.Reader) (*measured, func() error, error) {
	if cmd.File == "" || cmd.File == "-" {
		return &measured{Reader: stdin}, func() error { return nil }, nil
	}
	f, err := os.Open(cmd.File)
	if err != nil {
		return nil, nil, err
	}
	in := &measured{Reader: f}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		in.size = info.Size()
	}
	return in, f.Close, nil
}
