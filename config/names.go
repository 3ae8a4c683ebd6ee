package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// foreign maps environment variables of other programs to the settings they set. Our own variables take precedence.
var foreign = map[string]foreignName{
	"ANTHROPIC_API_KEY": {"model_key", asItIs}, "ANTHROPIC_BASE_URL": {"base_url", asItIs},
	"REDIS_URL":              {"redis", asItIs},
	"MAX_HISTORY_LENGTH":     {"max_history_length", messages},
	"TOOL_EXECUTION_TIMEOUT": {"tool_timeout", inUnits("milliseconds", time.Millisecond, 1)},
	"CACHE_TTL_CONVERSATION": {"conversation_cache_ttl", inUnits("seconds", time.Second, 0)},
	"CACHE_TTL_TOOL_RESULTS": {"cache_ttl", inUnits("seconds", time.Second, 0)},
	"LOG_LEVEL":              {"log_level", level},
	"ENABLE_DEBUG_LOGS":      {"log_level", debug},
}

// foreignName is a setting, and the conversion of another program's value to ours. It ignores an empty value.
type foreignName struct {
	setting string
	value   func(string) (string, error)
}

// inOrder returns those names in an order that lets later ones override earlier ones.
func inOrder() []string {
	var names []string
	for name := range foreign {
		if name != "ENABLE_DEBUG_LOGS" {
			names = append(names, name)
		}
	}
	return append(names, "ENABLE_DEBUG_LOGS") // sets debug, whatever LOG_LEVEL is
}

// readForeign reads the variables of other programs. It skips settings that our own variables set.
func (c *Config) readForeign(env map[string]string) error {
	for _, name := range inOrder() {
		f, value := foreign[name], env[name]
		if value == "" || env["FOOTNOTE_"+strings.ToUpper(f.setting)] != "" {
			continue
		}
		converted, err := f.value(value)
		if err != nil {
			return fmt.Errorf("%s is %q: %w", name, value, err)
		}
		if converted == "" {
			continue
		}
		if err := c.Set(f.setting, converted); err != nil {
			return fmt.Errorf("%s: %w", name, err)
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
