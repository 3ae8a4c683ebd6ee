package claude

import "encoding/json"

// This file reads the two events that begin and end a message, with their counts, without reflection. The
// slow path handles anything unusual in them.

const (
	headStart = `{"type":"message_start",`
	headDelta = `{"type":"message_delta",`
)

// counted processes an event that begins or ends a message. It returns false for all other events and for
// those in an unusual form, and has then changed nothing.
func (m *message) counted(data []byte) (ok bool) {
	start, kind := hasPrefix(data, headStart), headStart
	if !start {
		kind = headDelta
	}
	if !hasPrefix(data, kind) || !json.Valid(data) {
		return false
	}
	var fields countedFields
	ok = members(data, func(name, value []byte) bool {
		switch string(name) {
		case "type":
			return string(value) == kind[len(`{"type":`):len(kind)-1]
		case "message":
			return start && fields.message(value)
		case "delta":
			return !start && fields.delta(value)
		case "usage":
			return !start && fields.usage.read(value)
		}
		return unknown(name)
	})
	switch {
	case !ok:
		return false
	case start:
		m.begun = true
		m.id, m.model = string(fields.id), string(fields.model)
	case fields.stop != nil:
		m.stop = string(fields.stop)
	}
	m.take(&fields.usage, !start)
	return true
}

func hasPrefix(data []byte, head string) bool {
	return len(data) >= len(head) && string(data[:len(head)]) == head
}

// countedFields holds the fields of such an event.
type countedFields struct {
	id, model, stop []byte
	usage           usageJSON
}

func (t *countedFields) message(value []byte) bool {
	return members(value, func(name, value []byte) (ok bool) {
		switch string(name) {
		case "id":
			t.id, ok = plainString(value)
		case "model":
			t.model, ok = plainString(value)
		case "usage":
			ok = t.usage.read(value)
		case "content":
			ok = string(value) == "[]"
		case "stop_reason":
			ok = string(value) == "null"
		default:
			ok = unknown(name)
		}
		return ok
	})
}

func (t *countedFields) delta(value []byte) bool {
	return members(value, func(name, value []byte) (ok bool) {
		switch string(name) {
		case "stop_reason":
			if string(value) == "null" {
				return true
			}
			t.stop, ok = plainString(value)
		case "stop_sequence", "stop_details", "container":
			ok = true
		}
		return ok
	})
}

func (u *usageJSON) read(value []byte) bool {
	return members(value, func(name, value []byte) bool {
		switch string(name) {
		case "input_tokens":
			return u.Input.read(value)
		case "output_tokens":
			return u.Output.read(value)
		case "cache_creation_input_tokens":
			return u.CacheWrite.read(value)
		case "cache_read_input_tokens":
			return u.CacheRead.read(value)
		case "cache_creation", "output_tokens_details", "server_tool_use":
			return u.part(value)
		}
		return unknown(name)
	})
}

// part reads an object within the usage. Its field names are distinct from those of the outer object.
func (u *usageJSON) part(value []byte) bool {
	return string(value) == "null" || members(value, func(name, value []byte) bool {
		switch string(name) {
		case "ephemeral_5m_input_tokens":
			return u.CacheSplit.Short.read(value)
		case "ephemeral_1h_input_tokens":
			return u.CacheSplit.Long.read(value)
		case "thinking_tokens":
			return u.Details.Thinking.read(value)
		case "web_search_requests":
			return u.Server.Searches.read(value)
		}
		return unknown(name)
	})
}

// read reads an integer; null leaves the count unset.
func (c *count) read(value []byte) bool {
	if string(value) == "null" {
		return true
	}
	n := int64(0)
	for _, d := range value {
		if d < '0' || d > '9' {
			return false
		}
		n = 10*n + int64(d-'0')
	}
	if len(value) > 12 {
		return false
	}
	c.n, c.set = n, true
	return true
}

// unknown reports whether an unexpected name is really a different name, and not another spelling of an
// expected one: encoding/json ignores letter case.
func unknown(name []byte) bool {
	for _, c := range name {
		if c == '\\' || c >= 0x80 || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// plainString returns the text of a JSON string without escapes.
func plainString(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	for _, c := range value {
		if c == '\\' || c >= 0x80 {
			return nil, false
		}
	}
	return value[1 : len(value)-1], true
}

// members calls f for the members of a JSON object until f returns false. It reports whether f never did; it
// returns false for anything but an object. The JSON must be valid.
func members(object []byte, f func(name, value []byte) bool) bool {
	i := blanks(object, 0)
	if object[i] != '{' {
		return false
	}
	i = blanks(object, i+1)
	for object[i] != '}' {
		end := valueEnd(object, i)
		name := object[i+1 : end-1]
		i = blanks(object, blanks(object, end)+1) // skip the colon
		end = valueEnd(object, i)
		if !f(name, object[i:end]) {
			return false
		}
		if i = blanks(object, end); object[i] == ',' {
			i = blanks(object, i+1)
		}
	}
	return true
}

func blanks(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r' {
		i++
	}
	return i
}

// valueEnd returns the end of the JSON value that begins at i.
func valueEnd(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // of a number or a literal
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r', ':':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}
