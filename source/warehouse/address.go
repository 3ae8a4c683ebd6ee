package warehouse

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
)

// Address is the address of a source: scheme://user:password@host/path?parameters.
type Address struct {
	*url.URL
	values url.Values
}

// ParseAddress reads an address. It may have the given parameters only: a misspelled one must not be ignored silently.
// The error never contains the password.
func ParseAddress(name, address, example string, parameters ...string) (Address, error) {
	wrong := func(format string, args ...any) (Address, error) {
		return Address{}, footnote.Invalidf("source %s: the address %s. It is written like %s.", name,
			fmt.Sprintf(format, args...), example)
	}
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || u.Fragment != "" || u.Hostname() == "" {
		return wrong("cannot be read; special characters of a password are written as %%XX")
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return wrong("has parameters that cannot be read")
	}
	for key, list := range values {
		if !slices.Contains(parameters, key) || len(list) != 1 {
			return wrong("has the parameter %q, which is unknown or given twice; known are %s", key,
				strings.Join(parameters, ", "))
		}
	}
	return Address{URL: u, values: values}, nil
}

// Get returns a parameter, or "".
func (a Address) Get(key string) string { return a.values.Get(key) }

// Parts returns the parts of the path, of which there must be n.
func (a Address) Parts(n int) ([]string, bool) {
	parts := strings.Split(strings.Trim(a.Path, "/"), "/")
	return parts, len(parts) == n && !slices.Contains(parts, "") && !strings.ContainsAny(a.Path, "`\"'\\\n")
}

// Endpoint returns where requests go: the parameter endpoint, or else https at a host.
func (a Address) Endpoint(host string) string {
	if e := a.Get("endpoint"); e != "" {
		return e
	}
	return "https://" + host
}

// Invalid returns an error for an address with a value that cannot be used.
func Invalid(name, format string, args ...any) error {
	return footnote.Invalidf("source %s: the address: %s.", name, fmt.Sprintf(format, args...))
}

// Contacts returns the host that requests go to: that of the parameter endpoint, or the given one.
func (a Address) Contacts(host string) []string {
	if u, err := url.Parse(a.Endpoint(host)); err == nil {
		return []string{u.Hostname()}
	}
	return nil
}
