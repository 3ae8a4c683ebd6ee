package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/footnotehq/footnote/internal/plainfile"
)

// maxFile is the maximum size of a configuration file, in bytes.
const maxFile = 1 << 20

func (c *Config) readFile(path string) error {
	optional := path == ""
	if optional {
		path = "footnote.yaml"
	}
	data, err := plainfile.Read(path, maxFile)
	if optional && errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("configuration file: %w", err)
	}
	if err := c.readYAML(data); err != nil {
		return fmt.Errorf("configuration file %s: %w", path, err)
	}
	return nil
}

// readYAML reads settings. It checks the nodes itself before decoding, because the decoder's errors name Go types and
// print values that may be secret.
func (c *Config) readYAML(data []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return fmt.Errorf("it is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("it holds more than one document")
	}
	if err := checkNode(doc.Content[0], reflect.TypeFor[Config](), ""); err != nil {
		return err
	}
	if err := doc.Decode(c); err != nil {
		return err
	}
	if c.Sources == nil {
		c.Sources = map[string]string{}
	}
	return nil
}

// checkNode returns an error if a node does not fit a setting of type t. name is the setting, or "" for the whole
// file.
func checkNode(n *yaml.Node, t reflect.Type, name string) error {
	wrong := func(want string) error {
		return fmt.Errorf("line %d: %s is %q: it must be %s", n.Line, name, printableValue(name, n.Value), want)
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Kind == yaml.AliasNode:
		return fmt.Errorf("line %d: references (*%s) are not supported", n.Line, n.Value)
	case n.Tag == "!!null":
		return nil // empty counts as unset
	case t == reflect.TypeFor[Key]() && n.Kind == yaml.ScalarNode:
		return nil // parsed by Key
	case t == reflect.TypeFor[time.Duration]():
		if _, err := time.ParseDuration(n.Value); n.Kind != yaml.ScalarNode || err != nil {
			return wrong("a duration such as 30s or 4m")
		}
		return nil
	}
	switch kind := t.Kind(); {
	case kind == reflect.Struct:
		return checkMapping(n, t, name)
	case kind == reflect.Slice && n.Kind != yaml.SequenceNode:
		return wrong("a list")
	case kind == reflect.Map && n.Kind != yaml.MappingNode:
		return wrong("a list of names and values")
	case kind == reflect.Slice || kind == reflect.Map:
		return checkItems(n, t, name)
	}
	if n.Kind != yaml.ScalarNode {
		return wrong("one value")
	}
	if err := assign(reflect.New(t).Elem(), n.Value); err != nil {
		return fmt.Errorf("line %d: %s is %q: %w", n.Line, name, printableValue(name, n.Value), err)
	}
	return nil
}

// checkItems checks the items of a list, or the values of a list of names and values.
func checkItems(n *yaml.Node, t reflect.Type, name string) error {
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			if err := checkNode(item, t.Elem(), name); err != nil {
				return err
			}
		}
		return nil
	}
	for i := 1; i < len(n.Content); i += 2 {
		of := name + "." + n.Content[i-1].Value
		if err := checkUnique(n, i-1, of); err != nil {
			return err
		}
		if err := checkNode(n.Content[i], t.Elem(), of); err != nil {
			return err
		}
	}
	return nil
}

// checkMapping does the work of checkNode for settings with nested settings.
func checkMapping(n *yaml.Node, t reflect.Type, name string) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %s must be a list of settings and their values", n.Line,
			strings.TrimSpace("the file "+name))
	}
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		fields[f.Tag.Get("yaml")] = f.Type
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		full := strings.TrimPrefix(name+"."+key.Value, ".")
		field, ok := fields[key.Value]
		if !ok {
			return fmt.Errorf("line %d: %w", key.Line, noSetting(full, shortValue(value)))
		}
		if err := checkUnique(n, i, full); err != nil {
			return err
		}
		if err := checkNode(value, field, full); err != nil {
			return err
		}
	}
	return nil
}

// checkUnique returns an error if the key at i of a mapping repeats an earlier key. name is the setting of the mapping.
func checkUnique(n *yaml.Node, i int, name string) error {
	for j := 0; j < i; j += 2 {
		if n.Content[j].Value == n.Content[i].Value {
			return fmt.Errorf("line %d: %s is set a second time; the first is in line %d", n.Content[i].Line, name,
				n.Content[j].Line)
		}
	}
	return nil
}

// shortValue returns a short form of the value of an unknown setting. It hides nested values, which may be secret under
// names that nothing checks.
func shortValue(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "[…]"
	case yaml.MappingNode:
		return "{…}"
	}
	return n.Value
}

// UnmarshalYAML parses a key from key[=org/user], or from its parts.
func (k *Key) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		read, err := parseKey(n.Value)
		if err != nil {
			return fmt.Errorf("line %d: api_keys: an entry %w", n.Line, err)
		}
		*k = read
		return nil
	}
	type parts Key
	return n.Decode((*parts)(k))
}
