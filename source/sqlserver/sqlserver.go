// Package sqlserver implements a source over Microsoft SQL Server, through its protocol TDS. The gate, the catalog and
// the limits are those of package warehouse; this package connects, runs statements and reads rights.
//
// SQL Server has no read-only transactions. So every statement runs in a transaction that is rolled back, on a
// connection whose settings are fixed before each use. A statement is stopped by the attention of the protocol, which
// the server confirms.
package sqlserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/warehouse"
)

const (
	example   = "sqlserver://user:password@host:1433/database"
	loginTime = 10 * time.Second // for a connection and its login
	idleTime  = time.Minute
)

// Engine returns SQL Server for the program's list of engines.
func Engine() engines.Engine {
	return engines.Engine{
		Dialect: Dialect,
		Schemes: []string{"sqlserver"},
		Hosts: func(address string) []string {
			a, err := parse("", address)
			if err != nil {
				return nil
			}
			return a.hosts
		},
		Proof: source.Proof{Strength: source.Gated, TestedOn: source.Imitation},
		Open: func(ctx context.Context, name, address string, o engines.Options) (source.Source, error) {
			a, err := parse(name, address)
			if err != nil {
				return nil, err
			}
			s := connect(a, cmp.Or(o.Limits.Cell, source.DefaultLimits().Cell))
			src, err := warehouse.Open(ctx, describe(a.config.Database, a.schema), s, o.Limits, o.Hiding)
			if err != nil {
				return nil, source.Named(name, err)
			}
			return src, nil
		},
	}
}

// address holds the parts of an address.
type address struct {
	config msdsn.Config
	schema string   // of tables that are named without one
	hosts  []string // that connections may go to
}

// foreignSignIn are parameters of other programs for ways to sign in that need Kerberos or Microsoft Entra.
var foreignSignIn = []string{
	"authenticator", "fedauth", "authentication", "trusted_connection", "integrated security", "integratedsecurity",
}

// parse reads an address. Its errors never contain the password.
func parse(name, text string) (address, error) {
	if u, err := url.Parse(text); err == nil {
		for key := range u.Query() {
			if slices.Contains(foreignSignIn, strings.ToLower(key)) {
				return address{}, warehouse.Invalid(name, "signing in with Windows, Kerberos or Microsoft Entra is "+
					"not supported; make a login with a password: %s", example)
			}
		}
	}
	a, err := warehouse.ParseAddress(name, text, example, "encrypt", "schema", "route")
	if err != nil {
		return address{}, err
	}
	path, ok := a.Parts(1)
	user := a.User.Username()
	password, hasPassword := a.User.Password()
	switch {
	case !ok:
		return address{}, warehouse.Invalid(name, "it must end with the name of one database (a named instance has "+
			"a port of its own): %s", example)
	case user == "" || !hasPassword || strings.Contains(user, `\`):
		return address{}, warehouse.Invalid(name, "it needs a login of SQL Server and its password; users of Windows "+
			"and Microsoft Entra are not supported: %s", example)
	}
	port, err := strconv.ParseUint(cmp.Or(a.Port(), "1433"), 10, 16)
	if err != nil || port == 0 {
		return address{}, warehouse.Invalid(name, "its port must be a number from 1 to 65535")
	}
	host, ip := a.Hostname(), net.ParseIP(a.Hostname())
	if ip != nil {
		host = ip.String() // as the driver writes it
	}
	out := address{schema: cmp.Or(a.Get("schema"), "dbo"), hosts: []string{host}}
	if route := a.Get("route"); route != "" {
		out.hosts = append(out.hosts, strings.Split(route, ",")...)
	}
	out.config = msdsn.Config{
		Host: host, Port: port, Database: path[0], User: user, Password: password,
		AppName: "footnote", ReadOnlyIntent: true, DisableRetry: true, NoTraceID: true,
		Protocols: []string{"tcp"}, Parameters: map[string]string{}, DialTimeout: loginTime,
		TLSConfig: &tls.Config{
			ServerName: host, MinVersion: tls.VersionTLS12, DynamicRecordSizingDisabled: true,
		},
	}
	switch a.Get("encrypt") {
	case "", "true":
		out.config.Encryption = msdsn.EncryptionRequired
	case "strict":
		out.config.Encryption = msdsn.EncryptionStrict
	case "false":
		out.config.Encryption = msdsn.EncryptionDisabled
		if host != "localhost" && !ip.IsLoopback() {
			return address{}, warehouse.Invalid(name, "encrypt=false is only allowed for a server on this machine")
		}
	default:
		return address{}, warehouse.Invalid(name, "its parameter encrypt must be true, strict or false")
	}
	return out, nil
}

// settings are made before each use of a connection, right after the server has reset it, which ends what was open.
// They end with a transaction, which is never committed. Statements mean the same whatever the server's defaults are.
// A value that is cut at TEXTSIZE is longer than a cell may be.
const settings = `SET NOCOUNT ON; SET XACT_ABORT ON; SET IMPLICIT_TRANSACTIONS OFF; SET NUMERIC_ROUNDABORT OFF;
SET QUOTED_IDENTIFIER, ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET LANGUAGE us_english; SET DATEFIRST 7; SET DATEFORMAT ymd; SET DEADLOCK_PRIORITY LOW; SET LOCK_TIMEOUT 3000;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET TEXTSIZE %d; BEGIN TRANSACTION`

// service implements warehouse.Service.
type service struct {
	db       *sql.DB
	longest  int // bytes of a value that is cut
	password string
}

// connect returns a service whose cells have at most a number of bytes.
func connect(a address, cell int) *service {
	s := &service{longest: min(2*cell+2, math.MaxInt32), password: a.config.Password}
	s.db = sql.OpenDB(connector{a, fmt.Sprintf(settings, s.longest)})
	s.db.SetMaxOpenConns(child.Concurrency + 1) // one for the catalog
	s.db.SetMaxIdleConns(child.Concurrency)
	s.db.SetConnMaxIdleTime(idleTime)
	return s
}

// Close implements warehouse.Service.
func (s *service) Close() { _ = s.db.Close() }

// connector implements driver.Connector.
type connector struct {
	address
	settings string
}

// Connect implements driver.Connector. The driver does not watch ctx while it logs in, so the connection does.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	d := &dialer{login: ctx, hosts: c.hosts}
	login := mssql.NewConnectorConfig(c.config)
	login.Dialer, login.SessionInitSQL = d, c.settings
	conn, err := login.Connect(ctx)
	d.stop()
	if err != nil {
		d.close()
		return nil, err
	}
	return conn, d.conn.SetDeadline(time.Time{})
}

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return mssql.NewConnectorConfig(c.config).Driver() }

// dialer opens the connections of one login: to the server, and to the one that it may route to.
type dialer struct {
	login context.Context // of the whole login, which is longer than that of DialContext
	hosts []string
	conn  net.Conn
	watch func() bool
}

// errRoute is the error for a server that sends its clients to another host.
var errRoute = errors.New("the server sends connections to another host")

// HostName implements mssql.HostDialer, so that DialContext gets names.
func (d *dialer) HostName() string { return d.hosts[0] }

// DialContext implements mssql.Dialer.
func (d *dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || network != "tcp" || !slices.ContainsFunc(d.hosts, func(h string) bool {
		return strings.EqualFold(h, host)
	}) {
		return nil, fmt.Errorf("%w, %.100s; if you know it, add route=%.100s to the address", errRoute, addr, host)
	}
	d.stop()
	conn, err := (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	d.conn = conn
	d.watch = context.AfterFunc(d.login, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return conn, nil
}

// stop ends watching the context of the login.
func (d *dialer) stop() {
	if d.watch != nil {
		d.watch()
	}
}

func (d *dialer) close() {
	if d.conn != nil {
		_ = d.conn.Close()
	}
}
