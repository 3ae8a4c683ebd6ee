package mysql

import (
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// schemes are the schemes of addresses.
var schemes = []string{"mysql", "mariadb"}

// parameters are the parameters that an address may have. Any other one is an error: a misspelled parameter must not
// be ignored silently.
var parameters = []string{"tls", "socket"}

// parseAddress reads mysql://user:password@host:3306/database?tls=true. Its errors never contain the password.
func parseAddress(address string) (*mysql.Config, error) {
	u, err := url.Parse(address)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Opaque != "" || u.Fragment != "" {
		return nil, errors.New("it is mysql://user:password@host:3306/database, with the special characters of the " +
			"password written as %XX")
	}
	database := strings.TrimPrefix(u.Path, "/")
	if database == "" || strings.Contains(database, "/") {
		return nil, errors.New("it must end with the name of one database: mysql://user:password@host:3306/database")
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("its parameters cannot be read")
	}
	for key, list := range values {
		if !slices.Contains(parameters, key) || len(list) != 1 {
			return nil, errors.New("it has the parameter " + key + " that is unknown, or given twice; known are " +
				strings.Join(parameters, " and "))
		}
	}
	c := mysql.NewConfig()
	c.User, c.DBName = u.User.Username(), database
	c.Passwd, _ = u.User.Password()
	c.Net, c.Addr = "tcp", net.JoinHostPort(u.Hostname(), portOf(u))
	switch socket := values.Get("socket"); {
	case socket != "" && u.Host != "":
		return nil, errors.New("it names a host and a socket; leave one out")
	case socket != "":
		c.Net, c.Addr = "unix", socket
	case u.Hostname() == "":
		return nil, errors.New("it names no host")
	}
	return c, setTLS(c, values.Get("tls"))
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return "3306"
}

// setTLS sets how the connection is encrypted. By default, it is if the server offers that, and nobody checks the
// server's certificate.
func setTLS(c *mysql.Config, mode string) error {
	switch mode {
	case "":
		if c.Net == "tcp" {
			c.TLSConfig = "preferred"
		}
	case "true", "skip-verify":
		c.TLSConfig = mode
	case "false":
	default:
		return errors.New("its parameter tls must be true, false or skip-verify")
	}
	return nil
}

// Hosts returns the hosts that opening an address may contact.
func Hosts(address string) []string {
	c, err := parseAddress(address)
	if err != nil || c.Net == "unix" {
		return nil
	}
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return nil
	}
	return []string{host}
}
