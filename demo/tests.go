package demo

import _ "embed"

// tests is a suite of questions about the shop.
//
//go:embed tests.yaml
var tests []byte

// Tests returns a suite of questions about the shop, in YAML.
func Tests() []byte { return tests }
