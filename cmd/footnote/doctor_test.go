package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/footnotehq/footnote/model/modeltest"
)

// TestDoctorAsksNobodyUnlessOnline checks that doctor, without --online, sends nothing to the model's server, the
// token issuer or a trace collector, and reports that.
func TestDoctorAsksNobodyUnlessOnline(t *testing.T) {
	t.Chdir(t.TempDir())
	var asked atomic.Int64
	model := modeltest.New(modeltest.Options{}).Start(t)
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"keys":[]}`))
	}))
	defer issuer.Close()
	counted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, model+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer counted.Close()
	set := []string{"--set", "model_key=k", "--set", "base_url=" + counted.URL, "--set", "auth.jwt.issuer=https://issuer.example",
		"--set", "auth.jwt.audience=a", "--set", "auth.jwt.keys=" + issuer.URL, "--set", "traces.endpoint=" + counted.URL}
	for _, upstream := range []string{"compatible", "anthropic"} {
		args := append([]string{"doctor", "--set", "upstream=" + upstream}, set...)
		text := command(t, 0, args...)
		if n := asked.Load(); n != 0 {
			t.Errorf("%s: %d requests without --online:\n%s", upstream, n, text)
		}
		for _, want := range []string{"model ", counted.URL, "tokens ", issuer.URL, "traces ", "not asked", "--online"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: it does not say %q:\n%s", upstream, want, text)
			}
		}
	}
	if text := command(t, 1, append([]string{"doctor", "--online"}, set...)...); asked.Load() < 2 || strings.Contains(text, "not asked") {
		t.Errorf("with --online %d requests:\n%s", asked.Load(), text)
	}
}

// TestDoctorNamesTheVendor checks that doctor reports a key without an address with the vendor's address, which is
// the default, and does not use the key.
func TestDoctorNamesTheVendor(t *testing.T) {
	t.Chdir(t.TempDir())
	text := command(t, 0, "doctor", "--set", "model_key=k")
	if !strings.Contains(text, "https://api.anthropic.com") || !strings.Contains(text, "not asked") {
		t.Errorf("doctor:\n%s", text)
	}
}
