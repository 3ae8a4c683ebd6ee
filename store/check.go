package store

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
)

// The kinds of streams.
const (
	Conversation = "conversation"
	Document     = "document"
)

// Limits on what a store accepts.
const (
	MaxID     = 512            // bytes of an id, an org, a user, a run
	MaxPage   = 200            // streams returned by one List
	MaxBlob   = 64 << 20       // bytes of one blob
	MaxBody   = 64 << 20       // bytes of one encoded body
	MaxBodies = 10_000         // events of one Append
	MaxTTL    = 24 * time.Hour // of a lease
	maxQuery  = 1_000          // bytes of a search
	maxTitle  = 300            // runes of the title that a head keeps
	maxCursor = 2*MaxID + 64   // bytes of a page cursor
)

// CheckStream returns an error if a stream cannot be created. Every store calls it, so that all of them accept the same
// streams.
func CheckStream(s Stream) error {
	err := checkIDs("id", s.ID, "kind", s.Kind, "org", s.Org, "user", s.User, "client id", s.ClientID,
		"assistant", s.Assistant)
	if err != nil {
		return err
	}
	if s.ID == "" || s.Kind == "" {
		return footnote.Invalidf("A stream needs an id and a kind.")
	}
	return nil
}

// CheckAppend returns an error if an append is invalid regardless of the stream's contents. Call it before the
// transaction: it hashes the blobs.
func CheckAppend(a Append) error {
	if err := checkIDs("stream", a.Stream, "run", a.Run); err != nil {
		return err
	}
	if a.After < 0 || a.Lease < 0 {
		return footnote.Invalidf("The sequence and the lease must not be negative.")
	}
	if len(a.Bodies) > MaxBodies {
		return footnote.Errorf(footnote.TooLarge, "At most %d events can be written at once; there are %d.", MaxBodies,
			len(a.Bodies))
	}
	for _, b := range a.Bodies {
		if b == nil {
			return footnote.Invalidf("An event needs a body.")
		}
		if _, ok := b.(footnote.Unreadable); ok {
			return footnote.Invalidf("An event that cannot be read cannot be appended.")
		}
		if _, _, ok := runChange(a.Run, b); ok && a.Run == "" {
			return footnote.Invalidf("An event of kind %s needs a run.", footnote.KindOf(b))
		}
	}
	if err := checkTake(a); err != nil {
		return err
	}
	if err := checkSettle(a.Settle); err != nil {
		return err
	}
	return checkBlobs(a.Blobs)
}

// FirstAppend checks a CreateAppend and returns the append with its stream.
func FirstAppend(s Stream, a Append) (Append, error) {
	if err := CheckStream(s); err != nil {
		return a, err
	}
	if a.Stream == "" {
		a.Stream = s.ID
	}
	if a.Stream != s.ID || a.After != 0 || a.Lease != 0 {
		return a, footnote.Invalidf("The first append belongs to the new stream, after 0 and without a lease.")
	}
	return a, CheckAppend(a)
}

// CheckCursor returns an error if a projection cannot store a position.
func CheckCursor(name string, position int64) error {
	if name == "" || position < 0 {
		return footnote.Invalidf("A projection needs a name and a position.")
	}
	return checkIDs("projection's name", name)
}

func checkTake(a Append) error {
	if a.Take == nil {
		return nil
	}
	if a.Lease != 0 || len(a.Bodies) == 0 {
		return footnote.Invalidf("Only an append with events and without a lease can take one.")
	}
	if a.Take.Owner == "" {
		return footnote.Invalidf("A lease needs an owner.")
	}
	if err := checkIDs("owner", a.Take.Owner); err != nil {
		return err
	}
	return CheckTTL(a.Take.TTL)
}

// CheckTTL returns an error if a lease cannot last for ttl.
func CheckTTL(ttl time.Duration) error {
	if ttl <= 0 || ttl > MaxTTL {
		return footnote.Invalidf("A lease can last up to %v, not %v.", MaxTTL, ttl)
	}
	return nil
}

func checkBlobs(blobs map[footnote.Digest][]byte) error {
	for d, data := range blobs {
		if len(data) > MaxBlob {
			return footnote.Errorf(footnote.TooLarge, "A blob of %d bytes is too large; the limit is %d.", len(data),
				MaxBlob)
		}
		if d != footnote.DigestOf(data) {
			return footnote.Invalidf("The content of the blob does not match its digest %.80q.", d)
		}
	}
	return nil
}

// EncodeBodies returns the kind and JSON of each body, as stores keep them.
func EncodeBodies(bodies []footnote.Body) (kinds []string, data [][]byte, err error) {
	kinds, data = make([]string, len(bodies)), make([][]byte, len(bodies))
	for i, b := range bodies {
		if kinds[i], data[i], err = footnote.EncodeBody(b); err != nil {
			return nil, nil, footnote.Wrapf(footnote.InvalidRequest, err, "The event cannot be encoded as JSON.")
		}
		if len(data[i]) > MaxBody {
			return nil, nil, footnote.Errorf(footnote.TooLarge, "An event of %d bytes is too large; the limit is %d.",
				len(data[i]), MaxBody)
		}
	}
	return kinds, data, nil
}

// checkIDs rejects text that some database could not store or compare unchanged. The arguments are the name and the
// value of each text in turn.
func checkIDs(texts ...string) error {
	for pair := range slices.Chunk(texts, 2) {
		switch name, value := pair[0], pair[1]; {
		case len(value) > MaxID:
			return footnote.Invalidf("The %s is longer than %d bytes.", name, MaxID)
		case !validText(value):
			return footnote.Invalidf("The %s is not valid text.", name)
		}
	}
	return nil
}

// Change is the effect of an append on the head of its stream, apart from Last and Updated.
type Change struct {
	SetRun   bool // Run, RunState and Deadline replace the head's
	Run      string
	RunState string // "", "running" or "parked"
	Deadline time.Time
	SetTitle bool // Title replaces the head's
	Title    string
}

// ChangeOf combines the effects of bodies into one change of the head.
func ChangeOf(run string, bodies []footnote.Body) Change {
	var c Change
	for _, b := range bodies {
		if t, ok := b.(footnote.Titled); ok {
			c.SetTitle, c.Title = true, CleanTitle(t.Title)
			continue
		}
		if state, deadline, ok := runChange(run, b); ok {
			c.SetRun, c.Run, c.RunState, c.Deadline = true, run, state, deadline
			if state == "" {
				c.Run = ""
			}
		}
	}
	return c
}

func runChange(run string, b footnote.Body) (state string, deadline time.Time, ok bool) {
	switch b := b.(type) {
	case footnote.RunStarted, footnote.RunResumed:
		return "running", time.Time{}, true
	case footnote.RunParked:
		return "parked", Micros(b.Deadline), true
	}
	return "", time.Time{}, footnote.Terminal(b)
}

// Micros returns t as every store keeps it: UTC, in whole microseconds.
func Micros(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// CleanTitle returns a title as a head keeps it: short, valid text without NUL. The event keeps the full title.
func CleanTitle(title string) string {
	title = CleanText(title)
	n := 0
	for i := range title {
		if n++; n > maxTitle {
			return title[:i]
		}
	}
	return title
}

// Fold returns the form in which titles and searches are compared without regard to case. The databases themselves
// would fold only ASCII.
func Fold(s string) string { return strings.ToLower(s) }

// From checks p and decodes its cursor. The page begins after the stream with this Updated, in microseconds since 1970,
// and id; pages list larger pairs first. Without a cursor the pair is larger than that of any stream.
func From(p Page) (updated int64, id string, err error) {
	if err := checkIDs("org", p.Org, "user", p.User, "kind", p.Kind); err != nil {
		return 0, "", err
	}
	if p.Limit < 1 || p.Limit > MaxPage {
		return 0, "", footnote.Invalidf("A page can have 1 to %d entries, not %d.", MaxPage, p.Limit)
	}
	if len(p.Query) > maxQuery || !utf8.ValidString(p.Query) {
		return 0, "", footnote.Invalidf("The search must be valid text of at most %d bytes.", maxQuery)
	}
	if p.Before == "" {
		return 1<<63 - 1, "", nil
	}
	return decodeCursor(p.Before)
}

func decodeCursor(cursor string) (updated int64, id string, err error) {
	bad := footnote.Invalidf("The page cursor is invalid. Use one that a listing returned.")
	if len(cursor) > maxCursor {
		return 0, "", bad
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return 0, "", bad
	}
	micros, id, ok := strings.Cut(string(raw), " ")
	if !ok || id == "" || checkIDs("id", id) != nil {
		return 0, "", bad
	}
	if updated, err = strconv.ParseInt(micros, 10, 64); err != nil {
		return 0, "", bad
	}
	return updated, id, nil
}

// CursorOf returns the cursor of the page that begins after s.
func CursorOf(s Stream) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(s.Updated.UnixMicro(), 10) + " " + s.ID))
}

// ErrNoStream returns the error of every store for a stream that does not exist.
func ErrNoStream(id string) error {
	return footnote.Errorf(footnote.NotFound, "There is no conversation or document %.80q.", id)
}

// ErrNoBlob returns the error for a blob that the stream does not have.
func ErrNoBlob(d footnote.Digest) error {
	return footnote.Errorf(footnote.NotFound, "There is no blob %.80q here.", d)
}

// ErrTaken returns the error for creating something whose id is taken.
func ErrTaken(id string) error {
	return footnote.Errorf(footnote.Conflict, "The id %.80q is taken.", id)
}

// ErrMoved returns the error for an append whose writer has not seen the last event of the stream.
func ErrMoved(id string, after, last int64) error {
	return footnote.Errorf(footnote.Conflict, "%.80q has moved on: its last event is %d, not %d.", id, last, after)
}

// ErrHeld returns the error for a writer without the current lease of the stream.
func ErrHeld(id string) error {
	return footnote.Errorf(footnote.Conflict, "Another writer is using %.80q.", id)
}

// Classify returns the error of an operation with a code and a message for users. An error that has a code keeps it.
// doing names the operation. message returns the user's message for a storage error, and how long to wait if the error
// may be temporary, or "" for any other error.
func Classify(ctx context.Context, doing string, err error, message func(error) (string, time.Duration)) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*footnote.Error](err); ok {
		return err
	}
	if ctx.Err() != nil { // the driver's words say less than the cause
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	}
	err = fmt.Errorf("%s: %w", doing, err)
	msg, retry := message(err)
	if msg == "" {
		return err
	}
	return &footnote.Error{Code: footnote.StorageUnavailable, Message: msg, RetryAfter: retry, Err: err}
}

// ErrClosed returns the error for a store after Close.
func ErrClosed() error {
	return footnote.Errorf(footnote.StorageUnavailable, "The store is closed.")
}
