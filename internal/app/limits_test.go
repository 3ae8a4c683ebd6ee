package app

import (
	"testing"

	"github.com/footnotehq/footnote/config"
)

// TestLimitsOfFiles checks that streams and connections leave files for the rest.
func TestLimitsOfFiles(t *testing.T) {
	for _, test := range []struct {
		files uint64
		l     config.Limits
		want  openLimits
	}{
		{20_000, config.Limits{}, openLimits{connections: 12_992, streams: 9744, perUser: 2000}},
		{1024, config.Limits{}, openLimits{connections: 512, streams: 384, perUser: 96}},
		{64, config.Limits{}, openLimits{connections: 32, streams: 24, perUser: 6}},
		{1 << 40, config.Limits{}, openLimits{connections: 43_349, streams: 32_511, perUser: 2000}},
		{
			1024, config.Limits{
				Streams:        600,
				StreamsPerUser: 500,
			}, openLimits{connections: 800, streams: 600, perUser: 500},
		},
	} {
		if got := limitsOfFiles(test.files, test.l); got != test.want {
			t.Errorf("%d files, %+v: %+v, want %+v", test.files, test.l, got, test.want)
		}
	}
}
