// Package access implements the rules for what an organisation, a role or a user may use. Without rules
// everybody may use everything. With rules, a user may use only what at least one matching rule lists; a list
// that is missing or empty allows nothing.
package access

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/footnotehq/footnote"
)

// Rule applies to users who match all of Orgs, Roles and Users; an empty list matches everybody. The other
// lists say what these users may use. Their entries are names or globs; entries of Orgs, Roles and Users are
// names.
type Rule struct {
	Orgs  []string `yaml:"orgs"`
	Roles []string `yaml:"roles"` // the user has at least one of them
	Users []string `yaml:"users"`

	Assistants []string `yaml:"assistants"`
	Sources    []string `yaml:"sources"` // configured sources; users can always use their own uploads
	Tools      []string `yaml:"tools"`
	Tiers      []string `yaml:"tiers"`
	Models     []string `yaml:"models"`
}

// Check validates a rule.
func (r Rule) Check() error {
	for _, list := range [][]string{r.Assistants, r.Sources, r.Tools, r.Tiers, r.Models} {
		for _, glob := range list {
			if _, err := path.Match(glob, "x"); err != nil || glob == "" {
				return fmt.Errorf("the entry %q is not a name or glob", glob)
			}
		}
	}
	for _, list := range [][]string{r.Orgs, r.Roles, r.Users} {
		if list != nil && len(list) == 0 {
			return errors.New("a list of organisations, roles or users is empty; leave it out to mean everybody")
		}
		if slices.Contains(list, "") {
			return errors.New("an organisation, role or user is empty")
		}
	}
	return nil
}

func (r Rule) about(p footnote.Principal) bool {
	return (len(r.Orgs) == 0 || slices.Contains(r.Orgs, p.Org)) &&
		(len(r.Users) == 0 || slices.Contains(r.Users, p.User)) &&
		(len(r.Roles) == 0 || slices.ContainsFunc(r.Roles, p.Has))
}

// Rules are the rules of a server. Nil rules allow everything.
type Rules struct {
	rules   []Rule
	sources map[string]bool // configured sources
}

// New returns rules about the configured sources, or nil if there are no rules.
func New(rules []Rule, sources []string) (*Rules, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	a := &Rules{rules: rules, sources: map[string]bool{}}
	for i, r := range rules {
		if err := r.Check(); err != nil {
			return nil, fmt.Errorf("access rule %d: %w", i+1, err)
		}
	}
	for _, name := range sources {
		a.sources[name] = true
	}
	return a, nil
}

// allows reports whether a rule that applies to p has name in the list that of returns.
func (a *Rules) allows(p footnote.Principal, name string, of func(Rule) []string) bool {
	if a == nil {
		return true
	}
	return slices.ContainsFunc(a.rules, func(r Rule) bool {
		return r.about(p) && slices.ContainsFunc(of(r), func(glob string) bool {
			ok, err := path.Match(glob, name)
			return (ok || glob == "*") && err == nil // model names may contain slashes
		})
	})
}

// Assistant reports whether p may use an assistant.
func (a *Rules) Assistant(p footnote.Principal, name string) bool {
	return a.allows(p, name, func(r Rule) []string { return r.Assistants })
}

// Source reports whether p may use a source. A source that is not configured is an upload, which only its
// owner can reach.
func (a *Rules) Source(p footnote.Principal, name string) bool {
	return a == nil || !a.sources[name] || a.allows(p, name, func(r Rule) []string { return r.Sources })
}

// EverySource reports whether p may use all configured sources.
func (a *Rules) EverySource(p footnote.Principal) bool {
	if a == nil {
		return true
	}
	for name := range a.sources {
		if !a.Source(p, name) {
			return false
		}
	}
	return true
}

// Tool reports whether the model may use a tool for p.
func (a *Rules) Tool(p footnote.Principal, name string) bool {
	return a.allows(p, name, func(r Rule) []string { return r.Tools })
}

// Tier reports whether p may choose a tier.
func (a *Rules) Tier(p footnote.Principal, name string) bool {
	return a.allows(p, name, func(r Rule) []string { return r.Tiers })
}

// Model reports whether p may get answers from a model.
func (a *Rules) Model(p footnote.Principal, name string) bool {
	return a.allows(p, name, func(r Rule) []string { return r.Models })
}
