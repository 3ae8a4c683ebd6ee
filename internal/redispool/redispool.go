// Package redispool keeps connections to a Redis server.
package redispool

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	idleConns  = 16                    // unused connections to keep
	idleTime   = 5 * time.Minute       // how long to keep an unused connection
	recentlyOK = 10 * time.Millisecond // how long a used connection counts as open
)

// Script is a Lua script that the server runs.
type Script = redis.Script

// Options configure a pool.
type Options struct {
	// Time limits connecting, and a command whose context has no deadline.
	Time time.Duration
	// Conns limits the connections; more commands than that wait for one. 0: no limit.
	Conns int
}

// Pool keeps connections to one server. It is safe for concurrent use.
type Pool struct {
	pool redis.Pool
	time time.Duration
}

// Open returns a pool for the server at a URL: redis://, rediss:// or unix://. It does not connect. Errors do not
// contain the URL, which may hold a password.
func Open(address string, o Options) (*Pool, error) {
	s, err := parse(address)
	if err != nil {
		return nil, err
	}
	dial := append(s.options,
		redis.DialConnectTimeout(o.Time), redis.DialTLSHandshakeTimeout(o.Time), redis.DialWriteTimeout(o.Time))
	p := &Pool{time: o.Time}
	p.pool = redis.Pool{
		MaxIdle: max(idleConns, o.Conns), MaxActive: o.Conns, Wait: o.Conns > 0, IdleTimeout: idleTime,
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, o.Time)
			defer cancel()
			return redis.DialContext(ctx, s.network, s.address, dial...)
		},
		// The server may have closed a connection that was not used for a while.
		TestOnBorrowContext: func(ctx context.Context, c redis.Conn, lastUsed time.Time) error {
			if time.Since(lastUsed) < recentlyOK {
				return nil
			}
			ctx, cancel := context.WithTimeout(ctx, o.Time)
			defer cancel()
			_, err := redis.DoContext(c, ctx, "PING")
			return err
		},
	}
	return p, nil
}

// server holds the parts of a URL.
type server struct {
	network, address string
	options          []redis.DialOption
}

var errAddress = errors.New(
	"the address of Redis is not a URL such as redis://user:password@host:6379/0 or unix:///path/of/its/socket")

func parse(address string) (server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || u.Fragment != "" {
		return server{}, errAddress
	}
	s, database := server{network: "tcp"}, ""
	switch u.Scheme {
	case "unix":
		s.network, s.address = "unix", u.Path
		if u.Path == "" || u.Host != "" {
			return server{}, errAddress
		}
	case "redis", "rediss":
		host, port := u.Hostname(), u.Port()
		if host == "" {
			host = "localhost"
		}
		if port == "" {
			port = "6379"
		}
		s.address, database = net.JoinHostPort(host, port), strings.TrimPrefix(u.Path, "/")
		if u.Scheme == "rediss" {
			s.options = append(s.options, redis.DialUseTLS(true),
				redis.DialTLSConfig(&tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}))
		}
	default:
		return server{}, errAddress
	}
	for name, values := range u.Query() {
		if name != "db" || database != "" || len(values) != 1 {
			return server{}, fmt.Errorf(
				"the address of Redis has the option %q; it may have only db, the number of a database", name)
		}
		database = values[0]
	}
	if database != "" {
		n, err := strconv.ParseUint(database, 10, 31)
		if err != nil {
			return server{}, errors.New("the database in the address of Redis is not a number")
		}
		s.options = append(s.options, redis.DialDatabase(int(n)))
	}
	if password, ok := u.User.Password(); ok {
		s.options = append(s.options, redis.DialUsername(u.User.Username()), redis.DialPassword(password))
	}
	return s, nil
}

// Host returns the host of the server at a URL. It returns "" for a socket on this machine and for any other text.
func Host(address string) string {
	s, err := parse(address)
	if err != nil || s.network == "unix" {
		return ""
	}
	host, _, _ := net.SplitHostPort(s.address) // parse joined it
	return host
}

// Close closes the connections.
func (p *Pool) Close() error { return p.pool.Close() }

// Do runs a command and returns its reply. The functions of package redis, such as redis.Bytes, convert it. An error
// that the server replies is a redis.Error.
func (p *Pool) Do(ctx context.Context, command string, args ...any) (reply any, err error) {
	err = p.use(ctx, func(ctx context.Context, c redis.Conn) error {
		reply, err = redis.DoContext(c, ctx, command, args...)
		return err
	})
	return reply, err
}

// Run runs a script.
func (p *Pool) Run(ctx context.Context, s *Script, keysAndArgs ...any) (reply any, err error) {
	err = p.use(ctx, func(ctx context.Context, c redis.Conn) error {
		reply, err = s.DoContext(ctx, c, keysAndArgs...)
		return err
	})
	return reply, err
}

// Command is a command with its arguments.
type Command []any

// Together runs commands in one transaction and one round trip.
func (p *Pool) Together(ctx context.Context, commands ...Command) error {
	return p.use(ctx, func(ctx context.Context, c redis.Conn) error {
		if err := c.Send("MULTI"); err != nil {
			return err
		}
		for _, command := range commands {
			name, _ := command[0].(string)
			if err := c.Send(name, command[1:]...); err != nil {
				return err
			}
		}
		replies, err := redis.Values(redis.DoContext(c, ctx, "EXEC"))
		for _, reply := range replies {
			if refused, ok := reply.(redis.Error); ok {
				err = errors.Join(err, refused)
			}
		}
		return err
	})
}

// use calls f with a connection. It returns the cause when ctx ends.
func (p *Pool) use(ctx context.Context, f func(ctx context.Context, c redis.Conn) error) error {
	limited := ctx
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, p.time)
		defer cancel()
	}
	c, err := p.pool.GetContext(limited)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := f(limited, c); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	return nil
}
