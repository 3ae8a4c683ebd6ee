package warehouse

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
)

// text returns the text of a cell. ok is false for NULL.
func text(c any) (s string, ok bool) {
	switch c := c.(type) {
	case string:
		return c, true
	case json.RawMessage:
		switch {
		case len(c) == 0 || string(c) == "null":
			return "", false
		case c[0] == '"':
			err := json.Unmarshal(c, &s)
			return s, err == nil
		}
		return string(c), true
	}
	return "", false
}

// cell returns a value of a database as a cell. Numbers stay exact: they are never read as floats first.
func cell(kind string, c any) any {
	switch c.(type) {
	case int64, float64, bool:
		return c
	}
	s, ok := text(c)
	if !ok {
		return nil
	}
	switch kind {
	case footnote.KindInteger:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
	case footnote.KindNumber:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil
		}
		return f
	case footnote.KindBoolean:
		if b, err := strconv.ParseBool(strings.ToLower(s)); err == nil {
			return b
		}
	case footnote.KindTimestamp:
		s = moment(s)
	case footnote.KindBlob:
		return "blob, " + strconv.Itoa(base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(s, "=")))) + " bytes"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// moment returns a time as its cell has it: 2024-05-17T18:45:00.5Z.
func moment(s string) string {
	if len(s) > 10 && s[10] == ' ' {
		s = s[:10] + "T" + s[11:]
	}
	if before, ok := strings.CutSuffix(s, " UTC"); ok {
		s = before + "Z"
	}
	if i := strings.IndexByte(s, '.'); i > 0 { // a fraction of zeros
		end := i + 1
		for end < len(s) && '0' <= s[end] && s[end] <= '9' {
			end++
		}
		fraction := strings.TrimRight(s[i:end], "0")
		s = s[:i] + strings.TrimSuffix(fraction, ".") + s[end:]
	}
	return s
}

// KindOf returns the kind of a type by its first word, without its parameters and in lower case. A type that is not in
// kinds is a text.
func KindOf(kinds map[string]string, typ string) string {
	typ = strings.ToLower(typ)
	if i := strings.IndexAny(typ, "(< "); i > 0 {
		if kind, ok := kinds[typ]; ok {
			return kind
		}
		typ = typ[:i]
	}
	if kind, ok := kinds[typ]; ok {
		return kind
	}
	return footnote.KindText
}
