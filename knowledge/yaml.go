package knowledge

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// decodeYAML reads a file with one document into a struct, strictly: an unknown key, a key that comes twice, a
// reference and a value of another kind are faults with their lines. A field of type Line gets the line of its struct.
// An empty file leaves the struct as it is.
func decodeYAML(file string, data []byte, into any, faults *Faults) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if !errors.Is(err, io.EOF) {
			line, problem := syntaxFault(err)
			faults.add(file, line, "it is not YAML: %s", problem)
		}
		return
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		faults.add(file, 0, "it has more than one document; keep one")
		return
	}
	d := decoder{file: file, faults: faults}
	d.value(doc.Content[0], reflect.ValueOf(into).Elem(), "the file", 0)
}

var lineOf = regexp.MustCompile(`^line (\d+): `)

// syntaxFault splits an error of the parser into its line and what is wrong.
func syntaxFault(err error) (line int, problem string) {
	problem = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := lineOf.FindStringSubmatch(problem); m != nil {
		line, _ = strconv.Atoi(m[1])
		problem = problem[len(m[0]):]
	}
	return line, problem
}

// Line is the line of a file at which a value begins, from 1.
type Line int

// alternative is a type that YAML may also write in another form than a mapping.
type alternative interface {
	// fromScalar takes a value that is written as one text.
	fromScalar(text string)
}

// decoder assigns nodes to values.
type decoder struct {
	file   string
	faults *Faults
}

func (d decoder) fault(n *yaml.Node, format string, args ...any) {
	d.faults.add(d.file, n.Line, format, args...)
}

// maxNesting is the depth of values in values.
const maxNesting = 20

// value assigns a node to v. name says what it is, for faults.
func (d decoder) value(n *yaml.Node, v reflect.Value, name string, depth int) {
	switch {
	case n.Kind == yaml.AliasNode:
		d.fault(n, "references (*%s) are not supported; write the value out", n.Value)
		return
	case depth > maxNesting:
		d.fault(n, "values are nested too deeply")
		return
	case n.Tag == "!!null":
		return
	}
	if alt, ok := v.Addr().Interface().(alternative); ok && n.Kind == yaml.ScalarNode {
		alt.fromScalar(n.Value)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(n, v, name, depth)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			d.fault(n, "%s must be a list", name)
			return
		}
		items := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
		for i, item := range n.Content {
			d.value(item, items.Index(i), "an entry of "+name, depth+1)
		}
		v.Set(items)
	case reflect.Interface: // any form; it is not used
	default:
		d.scalar(n, v, name)
	}
}

func (d decoder) scalar(n *yaml.Node, v reflect.Value, name string) {
	if n.Kind != yaml.ScalarNode {
		d.fault(n, "%s must be one value", name)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(n.Value)
	case reflect.Bool:
		b, err := strconv.ParseBool(n.Value)
		if err != nil {
			d.fault(n, "%s is %.40q; it must be true or false", name, n.Value)
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil {
			d.fault(n, "%s is %.40q; it must be a whole number", name, n.Value)
		}
		v.SetInt(i)
	case reflect.Float64:
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil {
			d.fault(n, "%s is %.40q; it must be a number", name, n.Value)
		}
		v.SetFloat(f)
	default:
		panic("knowledge: no value of this type can be read from YAML: " + v.Type().String())
	}
}

func (d decoder) structure(n *yaml.Node, v reflect.Value, name string, depth int) {
	if n.Kind != yaml.MappingNode {
		d.fault(n, "%s must have keys and values", name)
		return
	}
	fields := map[string]reflect.Value{}
	keysOf(v, n.Line, fields)
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		field, ok := fields[key.Value]
		if first := seen[key.Value]; first > 0 {
			d.fault(key, "%.80q is here a second time; the first is in line %d", key.Value, first)
			continue
		}
		seen[key.Value] = key.Line
		if !ok {
			d.fault(key, "the key %.80q is not known here; remove it, or correct its spelling", key.Value)
			continue
		}
		d.value(n.Content[i+1], field, key.Value, depth+1)
	}
}

// keysOf adds the fields of a struct to fields, by their keys, and sets its line. The fields of an inline struct belong
// to the one that has it.
func keysOf(v reflect.Value, line int, fields map[string]reflect.Value) {
	for f, value := range v.Fields() {
		switch tag := f.Tag.Get("yaml"); {
		case f.Type == reflect.TypeFor[Line]():
			value.SetInt(int64(line))
		case tag == ",inline":
			keysOf(value, line, fields)
		case tag != "":
			fields[tag] = value
		}
	}
}
