package s3

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

const (
	maxListing = 16 << 20         // bytes of one page of a listing, and of an error
	silence    = 60 * time.Second // the longest wait for more of an answer
	tries      = 4
)

// client reads one bucket. It only sends GET requests, signed with AWS Signature Version 4.
type client struct {
	address
	http *http.Client
}

func newClient(a address) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	transport.ResponseHeaderTimeout = silence
	return &client{address: a, http: &http.Client{
		Transport: transport,
		// The endpoint is configured; a store must not send us elsewhere in the network.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// object is one object of a listing.
type object struct {
	Key  string `xml:"Key"`
	ETag string `xml:"ETag"`
	Size int64  `xml:"Size"`
}

// errChanged means that an object is not the listed one any more.
var errChanged = errors.New("the object has changed")

// list calls each with the objects whose keys begin with prefix.
func (c *client) list(ctx context.Context, prefix string, each func(object) error) error {
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}, "encoding-type": {"url"}}
	for {
		var page struct {
			Contents  []object `xml:"Contents"`
			Truncated bool     `xml:"IsTruncated"`
			Next      string   `xml:"NextContinuationToken"`
			Encoding  string   `xml:"EncodingType"`
		}
		if err := c.page(ctx, query, &page); err != nil {
			return err
		}
		for _, o := range page.Contents {
			var err error
			if page.Encoding == "url" {
				o.Key, err = url.QueryUnescape(o.Key)
			}
			if err != nil || o.Size < 0 || o.ETag == "" {
				return unavailable("The object store sent a listing that cannot be read.")
			}
			if err := each(o); err != nil {
				return err
			}
		}
		if !page.Truncated {
			return nil
		}
		if page.Next == "" || page.Next == query.Get("continuation-token") {
			return unavailable("The object store sent a listing without an end.")
		}
		query.Set("continuation-token", page.Next)
	}
}

func (c *client) page(ctx context.Context, query url.Values, page any) error {
	answer, err := c.get(ctx, "", query, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxListing+1))
	switch {
	case err != nil:
		return lost(ctx, err)
	case len(text) > maxListing:
		return unavailable("The object store sent a listing that is too long.")
	case xml.Unmarshal(text, page) != nil:
		return unavailable("The object store sent a listing that cannot be read.")
	}
	return nil
}

// fetch writes a part of an object. It begins anew when the connection breaks.
func (c *client) fetch(ctx context.Context, o object, from, size int64, to io.WriterAt) error {
	for try := 1; ; try++ {
		n, err := c.fetchOnce(ctx, o, from, size, to)
		if from, size = from+n, size-n; err == nil || try == tries {
			return err
		}
		if _, ok := errors.AsType[final](err); ok {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

func (c *client) fetchOnce(ctx context.Context, o object, from, size int64, to io.WriterAt) (int64, error) {
	if size == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answer, err := c.get(ctx, o.Key, nil, http.Header{
		"If-Match": {o.ETag}, "Range": {fmt.Sprintf("bytes=%d-%d", from, from+size-1)},
	})
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	part := fmt.Sprintf("bytes %d-%d/%d", from, from+size-1, o.Size)
	whole := answer.StatusCode == http.StatusOK && from == 0 && size == o.Size
	if answer.ContentLength != size || !whole && answer.Header.Get("Content-Range") != part ||
		answer.Header.Get("ETag") != o.ETag {
		return 0, final{errChanged}
	}
	watch := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer watch.Stop()
	n, err := io.Copy(io.NewOffsetWriter(to, from), &watched{answer.Body, watch})
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		err = lost(ctx, err)
	}
	return n, err
}

var errSilent = errors.New("the object store stopped sending")

// watched is a body that is cancelled when it sends nothing for a while.
type watched struct {
	io.Reader
	watch *time.Timer
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	w.watch.Reset(silence)
	return n, err
}

// final is an error that no second try changes.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// get sends a request, again while the store is busy. The caller closes the body.
func (c *client) get(ctx context.Context, key string, query url.Values, header http.Header) (*http.Response, error) {
	for try := 1; ; try++ {
		answer, err := c.http.Do(c.request(ctx, key, query, header))
		again := err != nil && ctx.Err() == nil
		if err == nil {
			if answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusPartialContent {
				return answer, nil
			}
			again = answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests
			err = c.refusal(answer)
			answer.Body.Close()
		} else {
			err = lost(ctx, err)
		}
		if !again || try == tries {
			return nil, err
		}
		if err := pause(ctx, try); err != nil {
			return nil, err
		}
	}
}

// pause waits before the next try.
func pause(ctx context.Context, try int) error {
	select {
	case <-time.After(time.Duration(try*try) * 200 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// refusal describes an answer that is no success, without repeating what a hostile store says.
func (c *client) refusal(answer *http.Response) error {
	var e struct {
		Code string `xml:"Code"`
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	_ = xml.Unmarshal(text, &e) // e stays empty
	if len(e.Code) > 60 || strings.ContainsFunc(e.Code, func(r rune) bool { return r|0x20 < 'a' || r|0x20 > 'z' }) {
		e.Code = ""
	}
	why := strings.TrimSpace(fmt.Sprintf("%d %s", answer.StatusCode, e.Code))
	switch code := answer.StatusCode; {
	case code == http.StatusPreconditionFailed, code == http.StatusRequestedRangeNotSatisfiable:
		return final{errChanged}
	case code == http.StatusNotFound:
		return final{unavailable("The object store has no bucket %s, or an object in it is gone (%s).",
			c.bucket, why)}
	case code >= 300 && code < 400, e.Code == "AuthorizationHeaderMalformed":
		return final{unavailable("The bucket %s is in another region or at another address (%s): set "+
			"region or endpoint in the source's address.", c.bucket, why)}
	case code == http.StatusForbidden, code == http.StatusUnauthorized:
		return final{unavailable("The object store refuses the access to the bucket %s (%s): check the "+
			"key, and that it may list the bucket and get its objects.", c.bucket, why)}
	}
	return unavailable("The object store cannot serve the bucket %s now (%s).", c.bucket, why)
}

// lost describes a broken connection. The cause is for the log; it has the address, but no key.
func lost(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errSilent) {
		return cause
	}
	return footnote.Wrapf(footnote.DatabaseUnavailable, err, "The object store cannot be reached.")
}

func unavailable(format string, args ...any) error {
	return footnote.Errorf(footnote.DatabaseUnavailable, format, args...)
}

// request returns a signed request for an object, or for the bucket if key is empty.
func (c *client) request(ctx context.Context, key string, query url.Values, header http.Header) *http.Request {
	path := "/" + escape(key, true)
	if !c.inHost {
		path = "/" + c.bucket + path
	}
	u := *c.endpoint
	u.Path, _ = url.PathUnescape(path)
	u.RawPath, u.RawQuery = path, canonicalQuery(query)
	r := (&http.Request{Method: http.MethodGet, URL: &u, Host: u.Host, Header: http.Header{}}).WithContext(ctx)
	for name, values := range header {
		r.Header[name] = values
	}
	if c.key != "" {
		c.sign(r, path, time.Now().UTC())
	}
	return r
}

// emptyBody is the SHA-256 of an empty body.
const emptyBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// sign adds the headers of AWS Signature Version 4.
func (c *client) sign(r *http.Request, path string, now time.Time) {
	r.Header.Set("X-Amz-Date", now.Format("20060102T150405Z"))
	r.Header.Set("X-Amz-Content-Sha256", emptyBody)
	if c.token != "" {
		r.Header.Set("X-Amz-Security-Token", c.token)
	}
	names := []string{"host"}
	for name := range r.Header {
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	var canonical bytes.Buffer
	fmt.Fprintf(&canonical, "GET\n%s\n%s\n", path, r.URL.RawQuery)
	for _, name := range names {
		value := r.Host
		if name != "host" {
			value = r.Header.Get(name)
		}
		fmt.Fprintf(&canonical, "%s:%s\n", name, value)
	}
	signed := strings.Join(names, ";")
	fmt.Fprintf(&canonical, "\n%s\n%s", signed, emptyBody)
	scope := now.Format("20060102") + "/" + c.region + "/s3/aws4_request"
	digest := sha256.Sum256(canonical.Bytes())
	key := []byte("AWS4" + c.secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	signature := mac(key, "AWS4-HMAC-SHA256\n"+now.Format("20060102T150405Z")+"\n"+scope+"\n"+
		hex.EncodeToString(digest[:]))
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x",
		c.key, scope, signed, signature))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// escape escapes all bytes that signatures want escaped. Slashes stay in paths.
func escape(text string, path bool) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0 ||
			path && c == '/' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func canonicalQuery(query url.Values) string {
	var pairs []string
	for name, values := range query {
		pairs = append(pairs, escape(name, false)+"="+escape(values[0], false))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}
