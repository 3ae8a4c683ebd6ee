package app

import (
	"math"
	"testing"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/postgres"
)

// TestMemoryOfChildren checks the shared memory limit of all child processes.
func TestMemoryOfChildren(t *testing.T) {
	const mb = 1 << 20
	c := config.Default()
	for _, test := range []struct{ configured, machine, want int64 }{
		{0, 16 << 30, 8 << 30},
		{0, 1 << 30, child.Need(max(1<<30, postgres.GrammarMemory))}, // one child must be able to start
		{0, 0, 0}, // memory unknown: no limit
		{3 << 30, 16 << 30, 3 << 30},
	} {
		c.Limits.ChildMemory = test.configured
		if got := childMemory(c, test.machine); got != test.want {
			t.Errorf("%d MB configured, %d MB there: %d MB, want %d MB", test.configured/mb, test.machine/mb, got/mb,
				test.want/mb)
		}
	}
	c.Workspace, c.Limits.ChildMemory, c.Limits.LoadMemory, c.Coder.CommandMemory = "w", 0, 128*mb, 700*mb
	if got, want := childMemory(c, 1<<30),
		max((700+256+80)*int64(mb), child.Need(postgres.GrammarMemory)); got != want {
		t.Errorf("with a coder: %d MB, want %d MB", got/mb, want/mb)
	}
	for machine, want := range map[int64]int{0: 4, 1 << 30: 1, 4 << 30: 1, 6 << 30: 2, 32 << 30: 4} {
		if got := commandPlaces(c, machine); got != want {
			t.Errorf("%d MB there: %d commands at a time, want %d", machine/mb, got, want)
		}
	}
	for _, test := range []struct{ group, children, want int64 }{
		{20000 * mb, 10000 * mb, 9000 * mb},
		{700 * mb, 704 * mb, 256 * mb}, // children may reserve more than there is
		{math.MaxInt64, 8 << 30, (math.MaxInt64 - 8<<30) / 10 * 9},
	} {
		if got := heapLimit(test.group, test.children); got != test.want {
			t.Errorf("group of %d MB, %d MB for children: %d MB, want %d MB", test.group/mb, test.children/mb, got/mb,
				test.want/mb)
		}
	}
	if machineMemory() <= 0 {
		t.Error("the memory of this machine is not known")
	}
}
