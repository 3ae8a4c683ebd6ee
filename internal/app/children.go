package app

import (
	"math"
	"os"
	"runtime/debug"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/tool/workspace"
)

const (
	configuredChildren = 8 // for configured sources
	uploadChildren     = 4 // for uploads: separate, so that neither group waits for the other
	loadChildren       = 2 // that load files, for both groups
	calculations       = 4 // at once
	// uploadWait limits how long an upload waits for a loader. An upload has a person waiting; loads at server start
	// wait as long as needed.
	uploadWait = time.Minute
)

// children manages the child processes: databases, loaders, the Postgres parser and the coder's commands. They share
// one memory budget.
type children struct {
	budget    *child.Budget
	loads     *child.Pool
	databases engines.List
}

// processes holds the pools in which the engines of a source run.
type processes struct {
	children
	serve    *child.Pool
	loadWait time.Duration // 0: up to the load timeout
	// hiding returns what is hidden of a source; nil hides nothing.
	hiding func(source string) source.Hiding
}

func newChildren(c config.Config) children {
	budget := child.NewBudget(childMemory(c, machineMemory()))
	return children{budget: budget, loads: budget.Pool(loadChildren), databases: Databases()}
}

func (c children) configured() processes {
	return processes{children: c, serve: c.budget.Pool(configuredChildren)}
}

func (c children) uploads() processes {
	return processes{children: c, serve: c.budget.Pool(uploadChildren), loadWait: uploadWait}
}

// close closes what belongs to no single source.
func (c children) close() error { return c.databases.Close() }

// childMemory returns the memory limit for all child processes together: the configured limit, or half of the
// machine's memory, but always enough for one child. 0 means unlimited.
func childMemory(c config.Config, machine int64) int64 {
	if c.Limits.ChildMemory > 0 || machine == 0 {
		return c.Limits.ChildMemory
	}
	return max(machine/2, largestChild(c))
}

// limitHeap makes Go collect garbage sooner when the server's memory comes near to what its control group leaves it.
// The environment's GOMEMLIMIT takes precedence.
func limitHeap(c config.Config) {
	group, err := memlimit.FromCgroup()
	if err != nil || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(heapLimit(int64(min(group, math.MaxInt64)), childMemory(c, machineMemory())))
}

// heapLimit returns the limit for Go's own memory: nine tenths of what the group has besides child processes, but
// always enough to work with.
func heapLimit(group, children int64) int64 {
	const least = 256 << 20
	return max(least, (group-children)/10*9)
}

// largestChild returns the largest reservation of any child process.
func largestChild(c config.Config) int64 {
	largest := child.Need(max(c.Limits.QueryMemory, c.Limits.LoadMemory, Databases().ChildMemory()))
	if c.Workspace != "" {
		largest = max(largest, workspace.Need(c.Coder.CommandMemory, c.Coder.Size))
	}
	return largest
}

// commandPlaces returns how many coder commands may run at a time, so that a child for queries still fits. It is at
// least one.
func commandPlaces(c config.Config, machine int64) int {
	const maxCommands = 4
	budget := childMemory(c, machine)
	if budget == 0 {
		return maxCommands
	}
	rest := budget - child.Need(c.Limits.QueryMemory)
	return int(max(1, min(maxCommands, rest/workspace.Need(c.Coder.CommandMemory, c.Coder.Size))))
}

// machineMemory returns the memory available to the process and its children: the limit of its control group, or all
// memory of the machine; 0 when neither is known.
func machineMemory() int64 {
	memory := uint64(math.MaxInt64)
	for _, of := range []func() (uint64, error){memlimit.FromCgroup, memlimit.FromSystem} {
		if n, err := of(); err == nil && n > 0 {
			memory = min(memory, n)
		}
	}
	if memory == math.MaxInt64 {
		return 0
	}
	return int64(memory)
}
