package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMarketImport imports good and bad files with the command.
func TestMarketImport(t *testing.T) {
	folder := t.TempDir()
	good, bad := filepath.Join(folder, "good.csv"), filepath.Join(folder, "bad.csv")
	for path, text := range map[string]string{
		good: "time,open,high,low,close\n2026-11-19 10:00,1,1,1,1\n",
		bad:  "time,open,high,low,close\n2026-11-19 10:01,1,1,1,1\nx,1,1,1,1\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := []string{"--set", "market.store=" + filepath.Join(folder, "market.db"), "--data", folder}
	for _, c := range []struct {
		args               []string
		code               int
		stdout, stderrPart string
	}{
		{
			[]string{
				"candles", good, "--symbol", "EURUSD", "--timeframe", "1m",
			}, 0, "1 rows loaded, 0 bad rows left out\n", "",
		},
		{
			[]string{
				"candles", bad, "--symbol", "EURUSD", "--timeframe", "1m",
			}, 1, "", "line 3: time is \"x\", which is not a time such as 2026-11-19 15:00\nfootnote: 1 of 2 rows " +
				"cannot be loaded; nothing was loaded\n",
		},
		{
			[]string{
				"candles", bad, "--symbol", "EURUSD", "--timeframe", "1m", "--skip-bad",
			}, 0, "1 rows loaded, 1 bad rows left out\n", "line 3:",
		},
		{[]string{"candles", good, "--symbol", "EURUSD"}, 2, "", "time frame of the candles"},
		{[]string{"trades", good, "--zone", "Nowhere"}, 2, "", "--zone is"},
		{[]string{"candles", filepath.Join(folder, "none.csv")}, 1, "", "none.csv"},
	} {
		var stdout, stderr strings.Builder
		code := run(t.Context(), append(append([]string{"market", "import"}, c.args...), set...), streams{
			strings.NewReader(""), &stdout, &stderr,
		}, nil)
		if code != c.code || stdout.String() != c.stdout || !strings.Contains(stderr.String(), c.stderrPart) {
			t.Errorf("%v: %d\n%s\n%s", c.args, code, stdout.String(), stderr.String())
		}
	}
	var stderr strings.Builder
	if code := run(t.Context(), []string{
		"market", "import", "candles", good,
	}, streams{strings.NewReader(""), &stderr, &stderr}, nil); code != exitUsage ||
		!strings.Contains(stderr.String(), "market.store is not set") {
		t.Errorf("without a database: %d, %s", code, stderr.String())
	}
}
