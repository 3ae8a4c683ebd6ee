package currency

import (
	"encoding/json"
	"os"
	"testing"
)

func TestInName(t *testing.T) {
	data, err := os.ReadFile("testdata/names.json") // which the web app's tests also read
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string]string
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for name, want := range cases {
		if got := InName(name); got != want {
			t.Errorf("InName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestInText(t *testing.T) {
	for text, want := range map[string]string{
		"net, in euros":              "EUR",
		"what one costs, in euro":    "EUR",
		"in US dollars":              "USD",
		"gross; in €":                "EUR",
		"in INR":                     "INR",
		"Japanese yen, without tax":  "JPY",
		"in euros or US dollars":     "",
		"in thousands of euros":      "",
		"in euro cents":              "",
		"in dollars":                 "",
		"price in ¥":                 "",
		"European orders only":       "",
		"ALL orders of TOP products": "",
	} {
		if got := InText(text); got != want {
			t.Errorf("InText(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestSign(t *testing.T) {
	for _, c := range [][3]string{
		{"1,200.50", "EUR", "€1,200.50"}, {"-3", "usd", "-$3"}, {"-3", "CHF", "-CHF\u00a03"}, {"3", "XXX", "3"},
		{"5", "INR", "₹5"}, {"−5", "EUR", "−€5"},
	} {
		if got := Sign(c[0], c[1]); got != c[2] {
			t.Errorf("Sign(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
