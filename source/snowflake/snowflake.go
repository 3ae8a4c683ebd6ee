// Package snowflake implements a source over Snowflake, through its SQL API (version 2). A statement is submitted alone
// and asynchronously, asked for until it has ended, and read in partitions. The user signs in with a key pair.
package snowflake

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/plainfile"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/warehouse"
)

const (
	example   = "snowflake://user@account/DATABASE/SCHEMA?key=/path/key.p8&role=ROLE&warehouse=WAREHOUSE"
	path      = "/api/v2/statements"
	tokenTime = 30 * time.Minute
	maxRoles  = 100
)

var parameters = []string{"key", "role", "warehouse", "endpoint"}

// Engine returns Snowflake for the program's list of engines.
func Engine() engines.Engine {
	return engines.Engine{
		Dialect: Dialect,
		Schemes: []string{"snowflake"},
		Hosts: func(address string) []string {
			a, err := warehouse.ParseAddress("", address, example, parameters...)
			if err != nil {
				return nil
			}
			return a.Contacts(hostOf(a))
		},
		Proof: source.Proof{Strength: source.Gated, TestedOn: source.Imitation},
		Open: func(ctx context.Context, name, address string, o engines.Options) (source.Source, error) {
			s, err := connect(name, address)
			if err != nil {
				return nil, err
			}
			src, err := warehouse.Open(ctx, describe(s.database, s.schema), s, o.Limits, o.Hiding)
			if err != nil {
				return nil, source.Named(name, err)
			}
			return src, nil
		},
	}
}

func hostOf(a warehouse.Address) string { return a.Hostname() + ".snowflakecomputing.com" }

// service implements warehouse.Service.
type service struct {
	client                            *warehouse.Client
	database, schema, role, warehouse string
}

func connect(name, address string) (*service, error) {
	a, err := warehouse.ParseAddress(name, address, example, parameters...)
	if err != nil {
		return nil, err
	}
	parts, ok := a.Parts(2)
	user := a.User.Username()
	_, hasPassword := a.User.Password()
	if !ok || user == "" || hasPassword || a.Get("key") == "" || a.Get("role") == "" || a.Get("warehouse") == "" {
		return nil, warehouse.Invalid(name, "it needs a user without a password, a database, a schema, a key, a role "+
			"and a warehouse: %s", example)
	}
	text, err := plainfile.Head(a.Get("key"), 64<<10)
	if err != nil {
		return nil, warehouse.Invalid(name, "the file of its parameter key cannot be read: %v", err)
	}
	key, err := warehouse.ParseKey(text)
	if err != nil {
		return nil, warehouse.Invalid(name, "the file of its parameter key: %v", err)
	}
	account, _, _ := strings.Cut(a.Hostname(), ".")
	issue, err := issuer(key, strings.ToUpper(account)+"."+strings.ToUpper(user))
	if err != nil {
		return nil, warehouse.Invalid(name, "the file of its parameter key: %v", err)
	}
	client, err := warehouse.NewClient(a.Endpoint(hostOf(a)), func(_ context.Context, h http.Header) error {
		token, err := issue(time.Now())
		h.Set("Authorization", "Bearer "+token)
		h.Set("X-Snowflake-Authorization-Token-Type", "KEYPAIR_JWT")
		return err
	})
	if err != nil {
		return nil, warehouse.Invalid(name, "%v", err)
	}
	return &service{
		client: client, database: parts[0], schema: parts[1], role: a.Get("role"), warehouse: a.Get("warehouse"),
	}, nil
}

// issuer returns a function that makes tokens of a user.
func issuer(key *rsa.PrivateKey, subject string) (func(now time.Time) (string, error), error) {
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	print := sha256.Sum256(public)
	iss := subject + ".SHA256:" + base64.StdEncoding.EncodeToString(print[:])
	return func(now time.Time) (string, error) {
		return warehouse.Sign(key, "", map[string]any{
			"iss": iss, "sub": subject, "iat": now.Unix(), "exp": now.Add(tokenTime).Unix(),
		})
	}, nil
}

// Close implements warehouse.Service.
func (s *service) Close() { s.client.Close() }

// request starts a statement.
type request struct {
	Statement  string            `json:"statement"`
	Timeout    int               `json:"timeout"`
	Database   string            `json:"database"`
	Schema     string            `json:"schema"`
	Warehouse  string            `json:"warehouse"`
	Role       string            `json:"role"`
	Parameters map[string]string `json:"parameters"`
}

// answer is the state of a statement, or a partition of its rows.
type answer struct {
	Code     string `json:"code"`
	SQLState string `json:"sqlState"`
	Message  string `json:"message"`
	Handle   string `json:"statementHandle"`
	Meta     struct {
		Types      []rowType         `json:"rowType"`
		Partitions []json.RawMessage `json:"partitionInfo"`
	} `json:"resultSetMetaData"`
	Data [][]*string `json:"data"`
}

type rowType struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Scale int    `json:"scale"`
}

// Run implements warehouse.Service.
func (s *service) Run(ctx context.Context, st warehouse.Statement, to warehouse.Sink) error {
	r := request{
		Statement: st.SQL, Timeout: warehouse.Seconds(ctx, 60), Database: s.database, Schema: s.schema,
		Warehouse: s.warehouse, Role: s.role,
		Parameters: map[string]string{"MULTI_STATEMENT_COUNT": "1", "TIMEZONE": "UTC", "QUERY_TAG": "footnote"},
	}
	if st.Rows > 0 {
		r.Parameters["ROWS_PER_RESULTSET"] = strconv.Itoa(st.Rows + 1)
	}
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	a, status, err := s.submit(ctx, body)
	if err != nil {
		return err
	}
	handle := url.PathEscape(a.Handle)
	if err = s.read(ctx, handle, a, status, to); err != nil {
		s.stop(ctx, handle)
	}
	return err
}

func (s *service) submit(ctx context.Context, body []byte) (a answer, status int, err error) {
	ctx, cancel := warehouse.Submitting(ctx)
	defer cancel()
	status, err = s.ask(ctx, warehouse.Request{
		Method: http.MethodPost, Path: path, Body: body, Header: http.Header{"Content-Type": {"application/json"}},
		Query: url.Values{"async": {"true"}, "requestId": {requestID()}},
	}, &a)
	if err == nil && a.Handle == "" {
		err = footnote.Errorf(footnote.DatabaseUnavailable, "The database gave a statement no handle.")
	}
	return a, status, err
}

// requestID returns a random UUID.
func requestID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// ask sends a request. The status is that of a result (200) or of a statement that still runs (202).
func (s *service) ask(ctx context.Context, r warehouse.Request, a *answer) (int, error) {
	*a = answer{}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Accept", "application/json")
	status, err := s.client.JSON(ctx, r, a)
	switch message := s.client.Clean(a.Message); {
	case err != nil || status == http.StatusOK || status == http.StatusAccepted:
		return status, err
	case status == http.StatusRequestTimeout:
		return status, &source.Error{Kind: source.Limited, TimedOut: true, Reason: "The query was stopped: " + message}
	case a.SQLState == "42501" || a.Code == "003001":
		return status, source.Refusef("%s", message)
	case status == http.StatusUnprocessableEntity && (a.Code == "000604" || a.SQLState == "57014"):
		return status, source.Limitf("The query was stopped: %s", message)
	case status == http.StatusUnprocessableEntity:
		return status, source.Failf("%s", message)
	default:
		return status, s.client.Fault(status, message)
	}
}

// read waits for the end of a statement and passes on its rows.
func (s *service) read(ctx context.Context, handle string, a answer, status int, to warehouse.Sink) error {
	err := warehouse.Poll(ctx, func() (_ bool, err error) {
		if status != http.StatusAccepted {
			return true, nil
		}
		status, err = s.ask(ctx, warehouse.Request{Method: http.MethodGet, Path: path + "/" + handle}, &a)
		return false, err
	})
	if err != nil {
		return err
	}
	types, partitions := a.Meta.Types, len(a.Meta.Partitions)
	cols := make([]warehouse.Column, len(types))
	for i, t := range types {
		cols[i] = warehouse.Column{Name: t.Name, Type: t.Type}
		if t.Type == "fixed" && t.Scale > 0 {
			cols[i].Type = "decimal"
		}
	}
	to.Columns(cols)
	for n := 0; ; {
		if err := pass(a.Data, types, to); err != nil {
			return err
		}
		if n++; n >= partitions {
			return nil
		}
		status, err := s.ask(ctx, warehouse.Request{
			Method: http.MethodGet, Path: path + "/" + handle, Query: url.Values{"partition": {strconv.Itoa(n)}},
		}, &a)
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return footnote.Errorf(footnote.DatabaseUnavailable, "The database took back a partition of the result.")
		}
	}
}

func pass(rows [][]*string, types []rowType, to warehouse.Sink) error {
	for _, values := range rows {
		row := make([]any, len(values))
		for i, v := range values {
			if v != nil && i < len(types) {
				row[i] = types[i].text(*v)
			}
		}
		if err := to.Row(row); err != nil {
			return err
		}
	}
	return nil
}

// text returns a value as text. Dates are days, and times seconds, since 1970; after a time with a zone comes its
// offset in minutes, plus a day's.
func (t rowType) text(v string) string {
	switch t.Type {
	case "date":
		if days, err := strconv.ParseInt(v, 10, 32); err == nil {
			return time.Unix(days*86400, 0).UTC().Format(time.DateOnly)
		}
	case "time":
		if at, ok := instant(v); ok {
			return at.Format("15:04:05.999999999")
		}
	case "timestamp_ntz":
		if at, ok := instant(v); ok {
			return at.Format("2006-01-02T15:04:05.999999999")
		}
	case "timestamp_ltz":
		if at, ok := instant(v); ok {
			return at.Format(time.RFC3339Nano)
		}
	case "timestamp_tz":
		seconds, offset, _ := strings.Cut(v, " ")
		minutes, err := strconv.Atoi(offset)
		if at, ok := instant(seconds); ok && err == nil && minutes >= 0 && minutes <= 2880 {
			return at.In(time.FixedZone("", (minutes-1440)*60)).Format(time.RFC3339Nano)
		}
	case "binary":
		return base64.StdEncoding.EncodeToString(make([]byte, len(v)/2)) // only its length is shown
	}
	return v
}

// instant reads seconds with a fraction, exactly.
func instant(v string) (time.Time, bool) {
	whole, fraction, _ := strings.Cut(v, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	nanos, err2 := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	if err != nil || err2 != nil {
		return time.Time{}, false
	}
	if strings.HasPrefix(v, "-") {
		nanos = -nanos
	}
	return time.Unix(seconds, nanos).UTC(), true
}

// stop ends a statement. One that has ended ignores it.
func (s *service) stop(ctx context.Context, handle string) {
	ctx, cancel := warehouse.Stopping(ctx)
	defer cancel()
	resp, err := s.client.Do(ctx, warehouse.Request{Method: http.MethodPost, Path: path + "/" + handle + "/cancel"})
	if err == nil {
		_ = resp.Body.Close()
	}
}

// harmless are the privileges of a role that only reads.
var harmless = []string{"SELECT", "USAGE", "REFERENCES", "MONITOR"}

// Excess implements warehouse.Service. It follows the roles that the role inherits.
func (s *service) Excess(ctx context.Context) ([]string, error) {
	var found []string
	roles := []string{s.role}
	for i := 0; i < len(roles) && len(roles) < maxRoles; i++ {
		// The columns are created_on, privilege, granted_on, name, …
		err := warehouse.Collect(ctx, s, "SHOW GRANTS TO ROLE "+rules.Quote(roles[i]), func(row []string) error {
			if len(row) < 4 {
				return footnote.Errorf(footnote.DatabaseUnavailable, "The grants of the role cannot be read.")
			}
			switch privilege, on, name := row[1], row[2], row[3]; {
			case on == "ROLE" && privilege == "USAGE":
				if !slices.Contains(roles, name) {
					roles = append(roles, name)
				}
			case !slices.Contains(harmless, privilege):
				found = append(found, privilege+" on "+on+" "+name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
