package agent

import (
	"bytes"
	"encoding/json"
	"sync/atomic"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/internal/visible"
)

// marshal encodes without HTML escaping.
func marshal(v any) json.RawMessage { return strictjson.MustEncode(v) }

func textContent(s string) json.RawMessage {
	return marshal([]map[string]string{{"type": "text", "text": visible.Text(s)}})
}

// lastDigest computes digests, and remembers the newest one: most conversations open with the same prompt and tools,
// which need not be hashed again. Its methods may be called concurrently. Callers must not change the bytes afterwards.
type lastDigest struct{ last atomic.Pointer[named] }

type named struct {
	data   []byte
	digest footnote.Digest
}

func (l *lastDigest) of(data []byte) footnote.Digest {
	if n := l.last.Load(); n != nil && bytes.Equal(n.data, data) {
		return n.digest
	}
	n := &named{data, footnote.DigestOf(data)}
	l.last.Store(n)
	return n.digest
}

func encodeRows(rows [][]any) json.RawMessage {
	out := []byte{'['}
	for i, row := range rows {
		if i > 0 {
			out = append(out, ',')
		}
		out = footnote.AppendRow(out, row)
	}
	return append(out, ']')
}

// storeRows splits the rows of a query into chunks, and returns the StoredResult that refers to them.
func storeRows(id, source, sql string, res footnote.Result) (*footnote.StoredResult, map[footnote.Digest][]byte) {
	stored := &footnote.StoredResult{
		ID: id, Source: source, SQL: sql, Columns: append([]footnote.Column{}, res.Columns...),
		RowCount: len(res.Rows), Truncated: res.Truncated,
	}
	blobs := map[footnote.Digest][]byte{}
	buf, rows := []byte{'['}, 0
	cut := func() {
		if rows == 0 {
			return
		}
		data := append(buf, ']')
		d := footnote.DigestOf(data)
		blobs[d] = data
		stored.Chunks = append(stored.Chunks, footnote.Chunk{Digest: d, Rows: rows})
		buf, rows = []byte{'['}, 0
	}
	for _, row := range res.Rows {
		if rows > 0 {
			buf = append(buf, ',')
		}
		buf = footnote.AppendRow(buf, row)
		rows++
		if rows == chunkRows || len(buf) > chunkBytes {
			cut()
		}
	}
	cut()
	return stored, blobs
}

const (
	chunkRows  = 10_000
	chunkBytes = 4 << 20
)

func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
