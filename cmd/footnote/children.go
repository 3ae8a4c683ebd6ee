package main

import (
	"log/slog"
	"math"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/postgres"
	"github.com/footnotehq/footnote/tool/workspace"
)

const (
	configuredChildren = 8 // of configured sources
	uploadChildren     = 4 // of uploads: these never wait for the configured ones, nor those for them
	loadChildren       = 2 // that read files, of both
	// uploadWait is how long an upload waits to be read. Somebody waits for it; whoever
	// starts a server waits as long as it takes.
	uploadWait = time.Minute
)

// children are the child processes of this one: databases, loaders, the parser of
// Postgres and the coder's commands. They share one budget of memory.
type children struct {
	budget  *child.Budget
	loads   *child.Pool
	grammar *postgres.Grammar // of all Postgres sources; it starts with the first statement
}

// processes are where the engines of a source run.
type processes struct {
	serve, load *child.Pool
	loadWait    time.Duration // 0: as long as loading may take
	grammar     *postgres.Grammar
}

func newChildren(c config.Config, log *slog.Logger) children {
	budget := child.NewBudget(childMemory(c, machineMemory()))
	return children{budget: budget, loads: budget.Pool(loadChildren), grammar: postgres.NewGrammar(budget.Pool(1), log)}
}

func (c children) configured() processes {
	return processes{serve: c.budget.Pool(configuredChildren), load: c.loads, grammar: c.grammar}
}

func (c children) uploads() processes {
	return processes{serve: c.budget.Pool(uploadChildren), load: c.loads, loadWait: uploadWait, grammar: c.grammar}
}

// close ends what belongs to no source.
func (c children) close() error { return c.grammar.Close() }

// childMemory returns what all child processes may use together: what is configured, or
// half of the machine's memory, but enough for one. 0 is no limit.
func childMemory(c config.Config, machine int64) int64 {
	if c.Limits.ChildMemory > 0 || machine == 0 {
		return c.Limits.ChildMemory
	}
	return max(machine/2, largestChild(c))
}

// largestChild returns what the largest of the child processes reserves.
func largestChild(c config.Config) int64 {
	most := child.Need(max(c.Limits.QueryMemory, c.Limits.LoadMemory, postgres.GrammarMemory))
	if c.Workspace != "" {
		most = max(most, workspace.Need(c.Coder.CommandMemory, c.Coder.Size))
	}
	return most
}

// commandPlaces returns how many commands of the coder may run at a time, so that a
// child that answers queries fits beside them; at least one.
func commandPlaces(c config.Config, machine int64) int {
	const most = 4
	budget := childMemory(c, machine)
	if budget == 0 {
		return most
	}
	rest := budget - child.Need(c.Limits.QueryMemory)
	return int(max(1, min(most, rest/workspace.Need(c.Coder.CommandMemory, c.Coder.Size))))
}

// machineMemory is what the process and its children may use of the machine: the limit
// of its control group, or all there is; 0 when neither is known.
func machineMemory() int64 {
	least := uint64(math.MaxInt64)
	for _, of := range []func() (uint64, error){memlimit.FromCgroup, memlimit.FromSystem} {
		if n, err := of(); err == nil && n > 0 {
			least = min(least, n)
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return int64(least)
}
