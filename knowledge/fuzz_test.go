package knowledge_test

import (
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/knowledge"
)

// FuzzModel checks that every model.yaml gives a model or faults, and that a model that was read can be written and
// read again with the same content.
func FuzzModel(f *testing.F) {
	f.Add([]byte(ossie))
	f.Add([]byte(described))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := knowledge.Read(folder("model.yaml", string(data)))
		if err != nil {
			if _, ok := knowledge.IsFault(err); !ok {
				t.Fatal(err)
			}
			return
		}
		c.Prompt(footnote.Principal{})
		c.Hidden("shop", []string{"shop"}, footnote.Principal{})
		text, err := knowledge.Write(c.Model)
		if err != nil {
			t.Fatal(err)
		}
		again, err := knowledge.Read(folder("model.yaml", string(text)))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if len(again.Model.Datasets) != len(c.Model.Datasets) || len(again.Model.Metrics) != len(c.Model.Metrics) {
			t.Errorf("it is read as\n%+v\nand again as\n%+v", c.Model, again.Model)
		}
	})
}
