package child

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/source"
)

// A frame is a length (4 bytes, not counting itself), a kind (1 byte), the number of its request (4 bytes) and a
// payload.
const (
	frameHead = 4 + 1 + 4
	maxRow    = 16 << 20         // bytes of one encoded row
	maxFrame  = maxRow + 128<<10 // a batch is sent once it exceeds batchSize
	batchSize = 64 << 10
	window    = 8 // batches a child may have sent and not yet acknowledged by the server
	maxWidth  = 4096
	partSize  = 1 << 20   // bytes per part of a result
	maxResult = 128 << 20 // bytes per result
)

// The kinds of frames.
const (
	frameOpen   = 'O' // to the child, first: launch as JSON
	frameQuery  = 'Q' // query as JSON
	frameCall   = 'C' // another method: request as JSON
	frameCancel = 'X'
	frameAck    = 'A' // acknowledges one batch
	frameHello  = 'H' // from the child, first: hello as JSON
	frameRows   = 'R' // a batch of rows; the server acknowledges it
	frameTail   = 'T' // the last batch; not acknowledged
	frameEnd    = 'E' // reply as JSON
	framePart   = 'P' // part of a result too large for a reply; the server acknowledges it
)

type frame struct {
	kind    byte
	id      uint32
	payload []byte
}

var errFrame = errors.New("malformed frame")

// beginFrame appends a frame head; endFrame fills in its length.
func beginFrame(dst []byte, kind byte, id uint32) []byte {
	dst = append(dst, 0, 0, 0, 0, kind)
	return binary.BigEndian.AppendUint32(dst, id)
}

// endFrame completes the frame that begins at start.
func endFrame(dst []byte, start int) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

func appendFrame(dst []byte, kind byte, id uint32, payload []byte) []byte {
	start := len(dst)
	return endFrame(append(beginFrame(dst, kind, id), payload...), start)
}

// readFrame reads one frame. The caller may keep its payload.
func readFrame(r *bufio.Reader) (frame, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	n := int(binary.BigEndian.Uint32(head[:])) - (frameHead - 4)
	if n < 0 || n > maxFrame {
		return frame{}, fmt.Errorf("%w: %d bytes", errFrame, n)
	}
	f := frame{kind: head[4], id: binary.BigEndian.Uint32(head[5:]), payload: make([]byte, n)}
	_, err := io.ReadFull(r, f.payload)
	return f, err
}

// A cell is a tag and its value. Integers and floats have different tags, and both are exact.
const (
	cellNull   = 0
	cellFalse  = 1
	cellTrue   = 2
	cellInt    = 3 // zigzag varint
	cellFloat  = 4 // 8 bytes
	cellString = 5 // length and bytes
)

func appendRow(dst []byte, row []any) ([]byte, error) {
	dst = binary.AppendUvarint(dst, uint64(len(row)))
	for _, cell := range row {
		switch v := cell.(type) {
		case nil:
			dst = append(dst, cellNull)
		case bool:
			if v {
				dst = append(dst, cellTrue)
			} else {
				dst = append(dst, cellFalse)
			}
		case int64:
			dst = binary.AppendVarint(append(dst, cellInt), v)
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				dst = append(dst, cellNull)
				continue
			}
			dst = binary.BigEndian.AppendUint64(append(dst, cellFloat), math.Float64bits(v))
		case string:
			dst = binary.AppendUvarint(append(dst, cellString), uint64(len(v)))
			dst = append(dst, v...)
		default:
			return dst, fmt.Errorf("a cell cannot be a %T", cell)
		}
	}
	return dst, nil
}

// takeRow reads a row from the front of b and returns the rest. It copies text and makes it valid UTF-8.
func takeRow(b []byte) (row []any, rest []byte, err error) {
	width, b, err := takeUvarint(b)
	if err != nil || width > maxWidth {
		return nil, nil, errFrame
	}
	row = make([]any, width)
	for i := range row {
		if len(b) == 0 {
			return nil, nil, errFrame
		}
		if row[i], b, err = takeCell(b[0], b[1:]); err != nil {
			return nil, nil, err
		}
	}
	return row, b, nil
}

func takeCell(tag byte, b []byte) (cell any, rest []byte, err error) {
	switch tag {
	case cellNull:
		return nil, b, nil
	case cellFalse, cellTrue:
		return tag == cellTrue, b, nil
	case cellInt:
		v, n := binary.Varint(b)
		if n <= 0 {
			return nil, nil, errFrame
		}
		return v, b[n:], nil
	case cellFloat:
		if len(b) < 8 {
			return nil, nil, errFrame
		}
		v := math.Float64frombits(binary.BigEndian.Uint64(b))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, b[8:], nil
		}
		return v, b[8:], nil
	case cellString:
		n, b, err := takeUvarint(b)
		if err != nil || n > uint64(len(b)) {
			return nil, nil, errFrame
		}
		return strings.ToValidUTF8(string(b[:n]), "\uFFFD"), b[n:], nil
	default:
		return nil, nil, errFrame
	}
}

func takeUvarint(b []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, errFrame
	}
	return v, b[n:], nil
}

// query is a source.Query on the wire. JSON would not keep the bytes of its texts, nor the types of its arguments.
type query struct {
	SQL        []byte               `json:"sql"`
	Args       []byte               `json:"args"` // a row
	Limits     source.Limits        `json:"limits"`
	Conditions rowfilter.Conditions `json:"conditions,omitempty"`
	Hidden     source.Hidden        `json:"hidden,omitempty"`
	Export     bool                 `json:"export,omitempty"`
}

func encodeQuery(q source.Query, conditions rowfilter.Conditions, hidden source.Hidden) ([]byte, error) {
	args, err := appendRow(nil, q.Args)
	if err != nil {
		return nil, err
	}
	return json.Marshal(query{SQL: []byte(q.SQL), Args: args, Limits: q.Limits, Conditions: conditions,
		Hidden: hidden, Export: q.Export})
}

// decodeQuery returns a query, and what limits its rows and columns.
func decodeQuery(b []byte) (source.Query, query, error) {
	var q query
	if err := json.Unmarshal(b, &q); err != nil {
		return source.Query{}, q, err
	}
	args, rest, err := takeRow(q.Args)
	if err != nil || len(rest) != 0 {
		return source.Query{}, q, errFrame
	}
	return source.Query{SQL: string(q.SQL), Args: args, Limits: q.Limits, Export: q.Export}, q, nil
}

// launch is the configuration a child receives before it gives up its privileges.
type launch struct {
	Kind    string          `json:"kind"`
	Config  json.RawMessage `json:"config"`
	Profile Profile         `json:"profile"`
	Read    []string        `json:"read"`
	Write   []string        `json:"write"`
	Temp    string          `json:"temp"`
	Memory  int64           `json:"memory"`
	MaxFile int64           `json:"max_file"`
}

// hello is sent by a child once it serves, or with the reason why it cannot.
type hello struct {
	Confinement Confinement     `json:"confinement"`
	Info        json.RawMessage `json:"info,omitempty"`
	Error       *wireError      `json:"error,omitempty"`
}

// request is a call of a method other than Query.
type request struct {
	Method string          `json:"method"` // "schema", "version", "probe" or "call:" and a name
	Params json.RawMessage `json:"params,omitempty"`
	Hidden source.Hidden   `json:"hidden,omitempty"` // from a schema
}

// reply ends a request.
type reply struct {
	Columns   []footnote.Column `json:"columns,omitempty"`
	Tables    []string          `json:"tables,omitempty"`
	Rows      int               `json:"rows,omitempty"`
	Limit     string            `json:"limit,omitempty"`
	Elapsed   int64             `json:"elapsed,omitempty"` // nanoseconds
	Result    json.RawMessage   `json:"result,omitempty"`
	Error     *wireError        `json:"error,omitempty"`
	Cancelled bool              `json:"cancelled,omitempty"`
	TimedOut  bool              `json:"timed_out,omitempty"`
}

// wireError carries a classified error over the pipe.
type wireError struct {
	Kind     string        `json:"kind,omitempty"` // for a source.Error
	Code     footnote.Code `json:"code,omitempty"` // for a footnote.Error
	Text     string        `json:"text"`
	Cause    string        `json:"cause,omitempty"`
	Writable bool          `json:"writable,omitempty"` // for source.ErrWritable
}

func toWire(err error) *wireError {
	if errors.Is(err, source.ErrWritable) {
		return &wireError{Writable: true, Text: err.Error()}
	}
	if e, ok := errors.AsType[*source.Error](err); ok {
		return &wireError{Kind: e.Kind, Text: e.Reason}
	}
	if e, ok := errors.AsType[*footnote.Error](err); ok {
		w := &wireError{Code: e.Code, Text: e.Message}
		if e.Err != nil {
			w.Cause = e.Err.Error()
		}
		return w
	}
	return &wireError{Text: err.Error()}
}

// err returns the error that a wireError encodes. Its text comes from the child and must not be trusted: err makes
// it valid UTF-8 and cuts it to a readable length.
func (w *wireError) err() error {
	text := clean(w.Text)
	switch {
	case w.Writable:
		return fmt.Errorf("%w (%s)", source.ErrWritable, text)
	case w.Kind == source.Refused || w.Kind == source.Failed || w.Kind == source.Limited:
		return &source.Error{Kind: w.Kind, Reason: text}
	case w.Code != "":
		e := footnote.Errorf(w.Code, "%s", text)
		if w.Cause != "" {
			e.Err = errors.New(clean(w.Cause))
		}
		return e
	default:
		return errors.New(text)
	}
}

func clean(s string) string {
	const maxBytes = 4096
	if len(s) > maxBytes {
		s = s[:maxBytes] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
