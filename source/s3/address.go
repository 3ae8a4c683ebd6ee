package s3

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote/source"
)

const scheme = "s3"

// address is a parsed address.
type address struct {
	key, secret, token string   // empty: a public bucket
	endpoint           *url.URL // without a path
	inHost             bool     // the bucket is a part of the host's name
	region, bucket     string
	pattern            string   // of the keys; may have * and **, or end with /
	columns            []string // of Parquet objects; empty: all
	refresh            time.Duration
	maxBytes           int64
}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

var errForm = errors.New("it is s3://bucket/folder/*.parquet or s3://key:secret@bucket/folder/, with the special " +
	"characters of the secret, such as /, written as %XX")

// parseAddress reads s3://key:secret@bucket/prefix/*.parquet?endpoint=https://…. Without a key, it takes the one in the
// environment. Its errors never contain the secret.
func parseAddress(text string) (a address, err error) {
	place, query, _ := strings.Cut(text, "?") // a ? in a pattern is not supported
	u, err := url.Parse(place)
	if err != nil || u.Scheme != scheme || u.Fragment != "" || !bucketName.MatchString(u.Host) {
		return a, errForm
	}
	a = address{
		bucket: u.Host, pattern: strings.TrimPrefix(u.Path, "/"), region: "us-east-1", refresh: time.Minute,
		maxBytes: 4 << 30,
	}
	if a.key = u.User.Username(); a.key != "" {
		a.secret, _ = u.User.Password()
	} else {
		a.key, a.secret = os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
		a.token = os.Getenv("AWS_SESSION_TOKEN")
	}
	if (a.key == "") != (a.secret == "") {
		return a, errors.New("it has a key without a secret")
	}
	if strings.ContainsAny(a.pattern, "?[]\\\x00") {
		return a, errors.New("of patterns, only * and ** are supported")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return a, errors.New("its parameters cannot be read")
	}
	endpoint, insecure := "", false
	for name, list := range values {
		if len(list) != 1 || list[0] == "" {
			return a, errors.New("it has the parameter " + name + " twice, or without a value")
		}
		v, bad := list[0], error(nil)
		switch name {
		case "endpoint":
			endpoint = v
		case "region":
			a.region = v
		case "columns":
			a.columns = strings.Split(v, ",")
		case "refresh":
			a.refresh, bad = time.ParseDuration(v)
		case "max_bytes":
			a.maxBytes, bad = strconv.ParseInt(v, 10, 64)
		case "insecure":
			insecure, bad = strconv.ParseBool(v)
		default:
			return a, errors.New("it has the parameter " + name + " that is unknown; known are endpoint, region, " +
				"columns, refresh, max_bytes and insecure")
		}
		if bad != nil {
			return a, errors.New("its parameter " + name + " cannot be read")
		}
	}
	if a.refresh < time.Second || a.maxBytes < 1 {
		return a, errors.New("its parameters refresh and max_bytes must be at least 1s and 1")
	}
	return a, a.setEndpoint(endpoint, insecure)
}

// setEndpoint sets where requests go. Without an endpoint, they go to Amazon.
func (a *address) setEndpoint(endpoint string, insecure bool) error {
	if !regexp.MustCompile(`^[a-z0-9-]{1,40}$`).MatchString(a.region) {
		return errors.New("its region is not the name of one, such as eu-central-1")
	}
	if endpoint == "" {
		a.inHost = !strings.Contains(a.bucket, ".") // certificates have no names with dots in the bucket
		host := "s3." + a.region + ".amazonaws.com"
		if a.inHost {
			host = a.bucket + "." + host
		}
		a.endpoint = &url.URL{Scheme: "https", Host: host}
		return nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" ||
		u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("its endpoint must be an address such as https://minio.example.org:9000")
	}
	if u.Scheme == "http" && !insecure && !loopback(u.Hostname()) {
		return errors.New("its endpoint uses http, so everybody on the way can read the data: use https, or add " +
			"insecure=true")
	}
	a.endpoint = &url.URL{Scheme: u.Scheme, Host: u.Host}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// place names what the address refers to, without secrets. It decides where the copies are kept.
func (a *address) place() string {
	return strings.Join([]string{a.endpoint.String(), a.bucket, a.pattern, strings.Join(a.columns, ",")}, "\n")
}

// Hosts returns the hosts that opening an address may contact.
func Hosts(text string) []string {
	a, err := parseAddress(text)
	if err != nil {
		return []string{net.IPv4zero.String()}
	}
	return []string{a.endpoint.Hostname()}
}

// literalPrefix returns what the keys of all objects begin with.
func (a *address) literalPrefix() string {
	prefix, _, _ := strings.Cut(a.pattern, "*")
	return prefix
}

// table returns the table of an object, and the rest of its key. ok is false for objects that are not asked for.
// Objects that a pattern matches are in a table named after the last folder before the first *, which Parquet objects
// share. Objects in a folder are each a table, and so are its folders of Parquet objects.
func (a *address) table(key string) (table, rest string, ok bool) {
	prefix := a.literalPrefix()
	if prefix != a.pattern { // there is a *
		if !matches(strings.Split(a.pattern, "/"), strings.Split(key, "/")) {
			return "", "", false
		}
		folder := prefix[:strings.LastIndexByte(prefix, '/')+1]
		base := folder[strings.LastIndexByte(strings.TrimSuffix(folder, "/"), '/')+1:]
		if base == "" {
			base = a.bucket
		}
		return strings.TrimSuffix(base, "/"), key[len(folder):], true
	}
	if key == prefix && !strings.HasSuffix(key, "/") {
		return "", key[strings.LastIndexByte(key, '/')+1:], true
	}
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	rest, ok = strings.CutPrefix(key, prefix)
	if folder, _, deep := strings.Cut(rest, "/"); deep {
		table = folder
	}
	return table, rest, ok && rest != "" && !strings.HasSuffix(rest, "/")
}

// matches reports whether the segments of a key match those of a pattern. The segment ** matches any number of them.
func matches(pattern, key []string) bool {
	for i, p := range pattern {
		if p == "**" {
			for n := i; n <= len(key); n++ {
				if matches(pattern[i+1:], key[n:]) {
					return true
				}
			}
			return false
		}
		if i >= len(key) || !source.Like(p, key[i]) {
			return false
		}
	}
	return len(pattern) == len(key)
}
