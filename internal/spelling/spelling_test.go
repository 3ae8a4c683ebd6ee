package spelling_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/internal/spelling"
)

func TestNearest(t *testing.T) {
	names := []string{"orders", "order_items", "customers", "products", "Größe", "", "name"}
	for _, c := range []struct {
		word string
		want []string
	}{
		{"order", []string{"orders"}},
		{"customer_name", []string{"name"}},
		{"ORDRES", []string{"orders"}},
		{"custmers", []string{"customers"}},
		{"grösse", []string{"Größe"}},
		{"invoices", nil},
		{"", nil},
		{strings.Repeat("orders", 10_000), []string{"orders"}},
	} {
		if got := spelling.Nearest(c.word, names, 2); !slices.Equal(got, c.want) {
			t.Errorf("Nearest(%.20q) = %q, want %q", c.word, got, c.want)
		}
	}
}
