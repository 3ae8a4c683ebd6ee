// Package clickhouse implements a source over ClickHouse, through its HTTP interface. Each statement is sent with the
// setting readonly=1 and with limits, unless the user's profile already fixes them. A statement that must end early is
// killed by its query id. KILL, SETTINGS, FORMAT and INTO OUTFILE never pass the gate: ClickHouse allows them, or some
// of them, even when it is readonly.
package clickhouse

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/warehouse"
)

const (
	example  = "clickhouse://user:password@host:8443/database"
	maxLine  = 16 << 20 // bytes of a row
	killWait = 50 * time.Millisecond
	kills    = 20 // a kill that arrives before the statement has no effect

	beginTime = 15 * time.Second
)

// Engine returns ClickHouse for the program's list of engines.
func Engine() engines.Engine {
	return engines.Engine{
		Dialect: Dialect,
		Schemes: []string{"clickhouse"},
		Hosts:   hosts,
		Proof:   source.Proof{Strength: source.Gated, TestedOn: source.Imitation},
		Open: func(ctx context.Context, name, address string, o engines.Options) (source.Source, error) {
			s, database, err := connect(name, address, o.Limits)
			if err != nil {
				return nil, err
			}
			if err := s.begin(ctx); err != nil {
				s.Close()
				return nil, source.Named(name, err)
			}
			src, err := warehouse.Open(ctx, describe(database), s, o.Limits, o.Hiding)
			if err != nil {
				return nil, source.Named(name, err)
			}
			return src, nil
		},
	}
}

func hosts(address string) []string {
	if a, err := warehouse.ParseAddress("", address, example, "tls"); err == nil {
		return []string{a.Hostname()}
	}
	return nil
}

// service implements warehouse.Service.
type service struct {
	client   *warehouse.Client
	database string
	profile  int // the setting readonly of the user
	memory   int64
}

func connect(name, address string, limits source.Limits) (*service, string, error) {
	a, err := warehouse.ParseAddress(name, address, example, "tls")
	if err != nil {
		return nil, "", err
	}
	database, ok := a.Parts(1)
	if !ok {
		return nil, "", warehouse.Invalid(name, "it must end with the name of one database: %s", example)
	}
	scheme, port := "https", "8443"
	switch a.Get("tls") {
	case "", "true":
	case "false":
		scheme, port = "http", "8123"
	default:
		return nil, "", warehouse.Invalid(name, "its parameter tls must be true or false")
	}
	if p := a.Port(); p != "" {
		port = p
	}
	user := a.User.Username()
	password, _ := a.User.Password()
	client, err := warehouse.NewClient(scheme+"://"+net.JoinHostPort(a.Hostname(), port),
		func(_ context.Context, h http.Header) error {
			h.Set("X-ClickHouse-User", user)
			h.Set("X-ClickHouse-Key", password)
			return nil
		}, password)
	if err != nil {
		return nil, "", warehouse.Invalid(name, "%v", err)
	}
	memory := limits.Memory
	if memory <= 0 {
		memory = source.DefaultLimits().Memory
	}
	return &service{client: client, database: database[0], memory: memory}, database[0], nil
}

// Close implements warehouse.Service.
func (s *service) Close() { s.client.Close() }

// begin reads the setting readonly of the user's profile: under 1, no request may bring settings, and under 2, it must
// not change this one.
func (s *service) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	s.profile = 1
	value := ""
	err := warehouse.Collect(ctx, s, "SELECT getSetting('readonly')", func(row []string) error {
		value = row[0]
		return nil
	})
	if bad, ok := errors.AsType[*source.Error](err); ok {
		return footnote.Errorf(footnote.DatabaseUnavailable, "%s", bad.Reason)
	} else if err != nil {
		return err
	}
	if s.profile, err = strconv.Atoi(value); err != nil || s.profile < 0 || s.profile > 2 {
		return footnote.Errorf(footnote.DatabaseUnavailable, "The setting readonly has a value that is not known.")
	}
	return nil
}

// settings returns the parameters of a request.
func (s *service) settings(ctx context.Context, id string, st warehouse.Statement) url.Values {
	v := url.Values{
		"database": {s.database}, "query_id": {id}, "default_format": {"JSONCompactEachRowWithNamesAndTypes"},
	}
	if s.profile == 1 {
		return v
	}
	if s.profile == 0 {
		v.Set("readonly", "1")
	}
	if _, ok := ctx.Deadline(); ok {
		v.Set("max_execution_time", strconv.Itoa(warehouse.Seconds(ctx, 0)))
	}
	if st.Rows > 0 {
		v.Set("max_result_rows", strconv.Itoa(st.Rows+1))
		v.Set("result_overflow_mode", "break")
	}
	v.Set("max_memory_usage", strconv.FormatInt(s.memory, 10))
	v.Set("session_timezone", "UTC")
	v.Set("cancel_http_readonly_queries_on_client_close", "1")
	return v
}

// Run implements warehouse.Service.
func (s *service) Run(ctx context.Context, st warehouse.Statement, to warehouse.Sink) error {
	id := "footnote-" + rand.Text()
	resp, err := s.client.Do(ctx, warehouse.Request{
		Method: http.MethodPost, Query: s.settings(ctx, id, st), Body: []byte(st.SQL),
	})
	if err != nil {
		s.kill(ctx, id)
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		return s.explain(resp.StatusCode, resp.Header.Get("X-ClickHouse-Exception-Code"), string(body))
	}
	err = s.read(bufio.NewReaderSize(resp.Body, 64<<10), to)
	if bad, ok := errors.AsType[*source.Error](err); err != nil && (!ok || bad.Kind == source.Limited) {
		_ = resp.Body.Close()
		s.kill(ctx, id)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return err
}

// read reads the lines of a result: names, types and rows, each an array. Another line is an exception.
func (s *service) read(r *bufio.Reader, to warehouse.Sink) error {
	var names, types []string
	for n := 0; ; n++ {
		line, err := readLine(r)
		switch {
		case errors.Is(err, io.EOF) && n >= 2 && len(line) == 0:
			return nil
		case errors.Is(err, io.EOF) && n == 0 && len(line) == 0:
			to.Columns(nil)
			return nil // a statement without a result
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case len(line) == 0 || line[0] != '[':
			rest, _ := io.ReadAll(io.LimitReader(r, 64<<10))
			return s.explain(http.StatusOK, "", string(line)+string(rest))
		}
		var cells []json.RawMessage
		if err := errors.Join(json.Unmarshal(line, &cells), decodeNames(n, line, &names, &types)); err != nil {
			return footnote.Wrapf(footnote.DatabaseUnavailable, err, "The database sent a row that cannot be read.")
		}
		if n < 2 {
			if n == 1 {
				to.Columns(columns(names, types))
			}
			continue
		}
		row := make([]any, len(cells))
		for i, c := range cells {
			row[i] = c
		}
		if err := to.Row(row); err != nil {
			return err
		}
	}
}

func decodeNames(n int, line []byte, names, types *[]string) error {
	switch n {
	case 0:
		return json.Unmarshal(line, names)
	case 1:
		return json.Unmarshal(line, types)
	}
	return nil
}

func columns(names, types []string) []warehouse.Column {
	cols := make([]warehouse.Column, min(len(names), len(types)))
	for i := range cols {
		cols[i] = warehouse.Column{Name: names[i], Type: types[i]}
	}
	return cols
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLine {
			return nil, source.Limitf("A row is larger than %d MB. Select fewer columns.", maxLine>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if err != nil && !errors.Is(err, io.EOF) {
				err = footnote.Wrapf(footnote.DatabaseUnavailable, err, "The connection to the database broke.")
			}
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

// kill ends a statement on the server, and waits until it is gone.
func (s *service) kill(ctx context.Context, id string) {
	ctx, cancel := warehouse.Stopping(ctx)
	defer cancel()
	for try := range kills {
		resp, err := s.client.Do(ctx, warehouse.Request{
			Method: http.MethodPost, Query: url.Values{"default_format": {"TabSeparated"}},
			Body: []byte("KILL QUERY WHERE query_id = '" + id + "' ASYNC"),
		})
		if err != nil {
			return // the server ends the statement when it cannot send its rows, or at its limit of time
		}
		found, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || len(found) == 0 && try > 0 {
			return
		}
		if warehouse.Pause(ctx, killWait) != nil {
			return
		}
	}
}

// Codes of exceptions.
var (
	codesStopped = wordlist.Set("159 160 394")
	codesTooMuch = wordlist.Set("158 161 162 167 168 173 191 241 243 290 307 396")
	codesDenied  = wordlist.Set("164 291 392 452 497")
	codesSignIn  = wordlist.Set("192 193 194 516")
)

// explain returns the error for an exception.
func (s *service) explain(status int, code, message string) error {
	rest, isException := strings.CutPrefix(message, "Code: ")
	number, reason, _ := strings.Cut(rest, ". ")
	if code == "" && isException {
		code = number
	}
	if !isException {
		reason = message
	}
	reason = strings.TrimPrefix(reason, "DB::Exception: ")
	if at := strings.LastIndex(reason, " (version "); at > 0 {
		reason = reason[:at]
	}
	reason = s.client.Clean(reason)
	switch {
	case codesStopped[code]:
		return &source.Error{Kind: source.Limited, TimedOut: code == "159", Reason: "The query was stopped: " + reason}
	case codesTooMuch[code]:
		return source.Limitf("The query needed more than it may use: %s", reason)
	case codesDenied[code]:
		return source.Refusef("%s", reason)
	case codesSignIn[code], code == "":
		return s.client.Fault(max(status, http.StatusUnauthorized), reason)
	}
	return source.Failf("%s", reason)
}

// harmless are the rights of a user who only reads.
var harmless = []string{
	"SELECT", "USAGE", "SHOW", "SHOW DATABASES", "SHOW TABLES", "SHOW COLUMNS", "SHOW DICTIONARIES",
}

// Excess implements warehouse.Service. Among the rights beyond reading are those on sources outside the database: URL,
// S3, REMOTE, FILE, …
func (s *service) Excess(ctx context.Context) ([]string, error) {
	lines, err := s.lines(ctx, "SHOW GRANTS FINAL")
	if bad, ok := errors.AsType[*source.Error](err); ok && bad.Kind == source.Failed { // an older server
		lines, err = s.lines(ctx, "SHOW GRANTS")
	}
	var found []string
	for _, line := range lines {
		found = append(found, excessOf(line)...)
	}
	return found, err
}

func (s *service) lines(ctx context.Context, sql string) (lines []string, err error) {
	err = warehouse.Collect(ctx, s, sql, func(row []string) error {
		lines = append(lines, row[0])
		return nil
	})
	return lines, err
}

// excessOf returns the rights in a line such as GRANT SELECT(a, b), INSERT ON shop.* TO reader that go beyond reading.
func excessOf(line string) []string {
	if strings.HasPrefix(line, "REVOKE ") { // a part of what another line grants
		return nil
	}
	list, ok := strings.CutPrefix(line, "GRANT ")
	list, on, hasOn := strings.Cut(list, " ON ")
	if !ok || !hasOn {
		return []string{fmt.Sprintf("a right or role that cannot be judged (%.80s)", line)}
	}
	on, _, _ = strings.Cut(on, " TO ")
	var found []string
	depth, from := 0, 0
	for i, c := range list + "," {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			right, _, _ := strings.Cut(list[from:i], "(")
			if from = i + 1; !slices.Contains(harmless, strings.TrimSpace(right)) {
				found = append(found, strings.TrimSpace(right)+" on "+on)
			}
		}
	}
	if strings.Contains(line, "WITH GRANT OPTION") {
		found = append(found, "GRANT OPTION on "+on)
	}
	return found
}

// Estimate implements warehouse.Pricer, for tables of the MergeTree family.
func (s *service) Estimate(ctx context.Context, st warehouse.Statement) (source.Estimate, error) {
	est := source.Estimate{Rows: -1, Bytes: -1}
	if strings.HasPrefix(st.SQL, "EXPLAIN ") {
		return est, nil
	}
	var most int64
	err := warehouse.Collect(ctx, s, "EXPLAIN ESTIMATE "+st.SQL, func(row []string) error {
		if len(row) < 4 {
			return nil
		}
		n, err := strconv.ParseInt(row[3], 10, 64)
		if err != nil {
			return nil
		}
		if est.Rows = max(est.Rows, 0) + n; n >= most {
			most, est.Why = n, fmt.Sprintf("reads %d rows of %s", n, row[1])
		}
		return nil
	})
	return est, err
}
