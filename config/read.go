package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
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
		return checkSettings(n, t, name)
	case kind == reflect.Slice && n.Kind != yaml.SequenceNode:
		return wrong("a list")
	case kind == reflect.Slice:
		for _, item := range n.Content {
			if err := checkNode(item, t.Elem(), name); err != nil {
				return err
			}
		}
		return nil
	case kind == reflect.Map && n.Kind != yaml.MappingNode:
		return wrong("a list of names and values")
	case kind == reflect.Map:
		return checkMapping(n, name, func(string) reflect.Type { return t.Elem() })
	}
	if n.Kind != yaml.ScalarNode {
		return wrong("one value")
	}
	if err := assign(reflect.New(t).Elem(), n.Value); err != nil {
		return fmt.Errorf("line %d: %s is %q: %w", n.Line, name, printableValue(name, n.Value), err)
	}
	return nil
}

// checkSettings does the work of checkNode for settings with nested settings.
func checkSettings(n *yaml.Node, t reflect.Type, name string) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %s must be a list of settings and their values", n.Line,
			strings.TrimSpace("the file "+name))
	}
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		fields[f.Tag.Get("yaml")] = f.Type
	}
	return checkMapping(n, name, func(key string) reflect.Type { return fields[key] })
}

// checkMapping checks names and their values. typeOf returns the type of a value, or nil if there is no such name.
func checkMapping(n *yaml.Node, name string, typeOf func(key string) reflect.Type) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		full := strings.TrimPrefix(name+"."+key.Value, ".")
		t := typeOf(key.Value)
		if t == nil {
			return fmt.Errorf("line %d: %w", key.Line, noSetting(full, shortValue(value)))
		}
		if err := checkUnique(n, i, full); err != nil {
			return err
		}
		if err := checkNode(value, t, full); err != nil {
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

// foreign lists environment variables of other programs, and the settings they set. Our own variables take precedence,
// and later entries override earlier ones. A value that converts to an empty one is ignored.
var foreign = []struct {
	variable, setting string
	convert           func(string) (string, error) // to our value
}{
	{"ANTHROPIC_API_KEY", "model_key", asItIs},
	{"ANTHROPIC_BASE_URL", "base_url", asItIs},
	{"REDIS_URL", "redis", asItIs},
	{"MAX_HISTORY_LENGTH", "max_history_length", messages},
	{"TOOL_EXECUTION_TIMEOUT", "tool_timeout", inUnits("milliseconds", time.Millisecond, 1)},
	{"CACHE_TTL_CONVERSATION", "conversation_cache_ttl", inUnits("seconds", time.Second, 0)},
	{"CACHE_TTL_TOOL_RESULTS", "cache_ttl", inUnits("seconds", time.Second, 0)},
	{"LOG_LEVEL", "log_level", level},
	{"ENABLE_DEBUG_LOGS", "log_level", debug}, // whatever LOG_LEVEL is
}

// readForeign reads the variables of other programs. It skips settings that our own variables set.
func (c *Config) readForeign(env map[string]string) error {
	for _, f := range foreign {
		value := env[f.variable]
		if value == "" || env["FOOTNOTE_"+strings.ToUpper(f.setting)] != "" {
			continue
		}
		converted, err := f.convert(value)
		if err != nil {
			return fmt.Errorf("%s is %q: %w", f.variable, value, err)
		}
		if converted == "" {
			continue
		}
		if err := c.Set(f.setting, converted); err != nil {
			return fmt.Errorf("%s: %w", f.variable, err)
		}
		if f.setting == "tool_timeout" { // it also limits queries; the other program has no such setting
			c.Limits.QueryTime = min(c.Limits.QueryTime, c.ToolTimeout)
		}
	}
	return nil
}

func asItIs(value string) (string, error) { return value, nil }

func messages(value string) (string, error) {
	if n, err := strconv.Atoi(value); err != nil || n < 4 || n > 10_000 {
		return "", errors.New("it must be a number of messages from 4 to 10000")
	}
	return value, nil
}

// inUnits converts a number of units, from minimum up to one day.
func inUnits(name string, unit time.Duration, minimum int64) func(string) (string, error) {
	return func(value string) (string, error) {
		n, err := strconv.ParseInt(value, 10, 64)
		if maximum := int64(24 * time.Hour / unit); err != nil || n < minimum || n > maximum {
			return "", fmt.Errorf("it must be a number of %s from %d to %d", name, minimum, maximum)
		}
		return (time.Duration(n) * unit).String(), nil
	}
}

func level(value string) (string, error) {
	if v := strings.ToLower(value); slices.Contains([]string{"debug", "info", "warn", "error"}, v) {
		return v, nil
	}
	return "", errors.New("it must be debug, info, warn or error")
}

func debug(value string) (string, error) {
	on, err := strconv.ParseBool(value)
	switch {
	case err != nil:
		return "", errors.New("it must be true or false")
	case on:
		return "debug", nil
	}
	return "", nil
}
