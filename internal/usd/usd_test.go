package usd

import "testing"

func TestString(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.00 USD", 0.003: "0.003 USD", 0.015: "0.015 USD", 0.5: "0.50 USD", 12: "12.00 USD",
		0.000001: "0.000001 USD", 1.25: "1.25 USD",
	} {
		if got := String(v); got != want {
			t.Errorf("String(%v) = %q, want %q", v, got, want)
		}
	}
}
