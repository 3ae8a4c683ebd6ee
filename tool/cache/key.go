package cache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/tool"
)

// key identifies a result. Backends store it under the hash.
type key struct {
	material []byte
	hash     string
}

// material is a list of texts with length prefixes, so that two different lists never have the same bytes.
type material []byte

func (m *material) add(texts ...string) {
	for _, t := range texts {
		*m = binary.AppendUvarint(*m, uint64(len(t)))
		*m = append(*m, t...)
	}
}

// list adds a variable number of texts.
func (m *material) list(texts []string) {
	*m = binary.AppendUvarint(*m, uint64(len(texts)))
	m.add(texts...)
}

// key returns the key of a call. It returns false for a call that must not be cached: JSON readers disagree about its
// input, or a source is unavailable.
func (c *Cache) key(ctx context.Context, spec tool.Spec, r Rule, call tool.Call) (key, bool) {
	if len(call.Input) > maxInput {
		return key{}, false
	}
	input, source, err := canonical(call.Input, r.Remarks)
	if err != nil {
		return key{}, false
	}
	m := material{format}
	m.add(spec.Name, string(spec.InputSchema), r.Config, call.Principal.Org)
	m.list(c.opts.Scope(call.Principal))
	if r.Source != "" {
		source = r.Source
	}
	names := call.Sources
	if source != "" && slices.Contains(names, source) {
		names = []string{source}
	}
	// A call that names no source may use any or all of them.
	m.add(string(binary.AppendUvarint(nil, uint64(len(names)))))
	for _, name := range names {
		s, err := c.opts.Sources(ctx, name)
		if err != nil {
			return key{}, false
		}
		m.add(s.Name, s.Address, s.Version)
	}
	m.add(input)
	sum := sha256.Sum256(m)
	return key{material: m, hash: hex.EncodeToString(sum[:])}, true
}

// wholePrincipal returns everything about a principal except its org.
func wholePrincipal(p footnote.Principal) []string {
	return append([]string{p.User}, RolesAndAttributes(p)...)
}

// RolesAndAttributes is a scope for sources whose policies depend on these, but not on the user.
func RolesAndAttributes(p footnote.Principal) []string {
	var m material
	m.list(slices.Sorted(slices.Values(p.Roles)))
	texts := []string{string(m)}
	for _, name := range slices.Sorted(maps.Keys(p.Attributes)) {
		texts = append(texts, name, p.Attributes[name])
	}
	return texts
}

var errNames = errors.New("two names of an object differ only in case")

// canonical returns the input, without the remarks, in a form that is the same for all texts with its
// meaning: sorted members, one way of escaping strings, no whitespace. Numbers stay as written: 1 and
// 1.0 may differ to a tool, and two keys for one result only cost a query. source is the input's field
// of that name. Input that JSON readers disagree about has no canonical form.
func canonical(input []byte, remarks []string) (text, source string, err error) {
	v, err := strictjson.Parse(input)
	if err != nil {
		return "", "", err
	}
	if v.Kind() != strictjson.Object {
		return "", "", errors.New("the input is not an object")
	}
	source, _ = v.Get("source").Text()
	dst, err := appendCanonical(nil, v, remarks)
	return string(dst), source, err
}

func appendCanonical(dst []byte, v strictjson.Value, without []string) ([]byte, error) {
	var err error
	switch v.Kind() {
	case strictjson.String:
		text, _ := v.Text()
		return strictjson.AppendString(dst, text), nil
	case strictjson.Array:
		dst = append(dst, '[')
		for i, item := range v.Items() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendCanonical(dst, item, nil); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case strictjson.Object:
		return appendObject(dst, v, without)
	}
	return append(dst, v.Raw()...), nil // a number, true, false or null
}

func appendObject(dst []byte, v strictjson.Value, without []string) ([]byte, error) {
	members := slices.Clone(v.Members())
	slices.SortFunc(members, func(a, b strictjson.Member) int { return strings.Compare(a.Name, b.Name) })
	// encoding/json accepts "SQL" for the field "sql", and if both occur, the last one wins. Sorting loses their
	// order, which would matter.
	seen := map[string]bool{}
	dst = append(dst, '{')
	comma := false
	for _, m := range members {
		folded := strings.Map(fold, m.Name)
		if seen[folded] {
			return nil, errNames
		}
		seen[folded] = true
		if slices.Contains(without, m.Name) {
			continue
		}
		if comma {
			dst = append(dst, ',')
		}
		comma = true
		dst = append(strictjson.AppendString(dst, m.Name), ':')
		var err error
		if dst, err = appendCanonical(dst, m.Value, nil); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// fold returns the smallest of the letters that are equal under case folding.
func fold(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
