package httpapi

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestParts checks that a protocol can add to the OpenAPI document, and cannot replace what is there.
func TestParts(t *testing.T) {
	for part, want := range map[string]string{
		"": "",
		"paths: {/b: {get: {}}}\ncomponents: {schemas: {B: {}}, headers: {H: {}}}": "",
		"paths: {/a: {post: {}}}":             "/a is described already",
		"components: {schemas: {A: {}}}":      "A is described already",
		"info: {title: Mine}":                 "it has the key info; a protocol describes paths and components",
		"paths: {/b: {get: {}}}\n  /c: {x: }": "yaml: ",
	} {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte("paths: {/a: {get: {}}}\ncomponents: {schemas: {A: {}}}"), &doc); err != nil {
			t.Fatal(err)
		}
		err := addPart(doc.Content[0], []byte(part))
		if err == nil && want != "" || err != nil && (want == "" || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", part, err, want)
		}
		got, _ := yaml.Marshal(&doc)
		if added := strings.Contains(string(got), "/b") && strings.Contains(string(got), "H: {}") &&
			strings.Contains(string(got), "B: {}"); added != (strings.Contains(part, "headers")) {
			t.Errorf("%q: the document is %s", part, got)
		}
	}
}
