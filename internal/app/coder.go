package app

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/prompt"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/workspace"
)

// coderName is the assistant that works with files.
const coderName = "coder"

// coder returns the assistant that works in a folder of its conversation. Without a folder for workspaces, the
// assistant reports what is missing.
func (a *App) coder(ctx context.Context) (*agent.Assistant, error) {
	const refusal = "The assistant coder works in its workspace and has no sources."
	as := &agent.Assistant{
		Name: coderName, Title: "Coder", Description: "Reads, writes and runs files in a workspace of its own.",
		Tiers: a.tiers(), Opening: a.fixed("", refusal),
	}
	if a.cfg.Workspace == "" {
		as.Unavailable = "The coder needs a folder for its workspaces: set FOOTNOTE_WORKSPACE."
		return as, nil
	}
	a.unconfined = workspace.Confine(ctx, a.cfg.Workspace, a.private()...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	spaces, err := workspace.Open(workspace.Options{
		Folder: a.cfg.Workspace, Log: a.store, Shared: shared(a.store) != nil, Commands: a.unconfined == nil,
		Logger: a.log, Time: min(a.cfg.Coder.CommandTime, a.cfg.RunTimeout), Memory: a.cfg.Coder.CommandMemory,
		Size: a.cfg.Coder.Size, History: a.cfg.Coder.History, OrgHistory: a.cfg.Coder.OrgHistory,
		Places: commandPlaces(a.cfg, machineMemory()), Reserve: a.children.budget.Reserve,
	})
	if err != nil {
		return nil, err
	}
	a.workspaces = spaces
	a.onClose(spaces.Close)
	as.Tools = spaces.Tools()
	if as.Policy, err = coderPolicy(a.cfg.Coder, as.Tools); err != nil {
		return nil, err
	}
	commands := a.unconfined == nil
	for _, t := range as.Tools {
		if s := t.Spec(); s.Family == tool.Command {
			commands = as.Policy.Verdict(s) != agent.Deny
		}
	}
	if a.unconfined != nil {
		as.Description = "Reads and writes files in a workspace of its own. Commands are not run here: " +
			a.unconfined.Error() + "."
	}
	as.Opening = a.fixed(prompt.Coder(commands), refusal)
	as.Examples = coderExamples(commands)
	if a.cfg.Upstream == config.Offline {
		as.Model = offline.Coder{}
		as.Examples = offlineExamples(a.cfg.Workspace, commands)
	}
	return as, nil
}

const maxExamples = 4

// coderExamples returns requests that make sense in an empty workspace, too.
func coderExamples(commands bool) []string {
	examples := []string{
		"List the files and say what each one is for",
		"Write a web page with a loan calculator",
	}
	if commands {
		examples = append(examples,
			"Write a script that finds the largest files, and run it",
			"Make a CSV file with a year of sample sales, and add them up by month")
	}
	return examples
}

// offlineExamples returns requests that the planner carries out, some of them about the template's files.
func offlineExamples(folder string, commands bool) []string {
	examples := []string{"List files", "Write hello to notes.txt"}
	files, _ := os.ReadDir(filepath.Join(folder, workspace.Template)) // most folders have no template
	for _, f := range files {
		name := f.Name()
		switch {
		case path.Ext(name) == ".md":
			examples = append(examples, "Read "+name)
		case path.Ext(name) == ".sh" && commands:
			examples = append(examples, "Run sh "+name)
		}
	}
	return examples[:min(len(examples), maxExamples)]
}

// private returns the files and folders of the server that no command may see.
func (a *App) private() []string {
	paths := []string{a.cfg.Data, a.cfg.Workspace, a.cfg.AuditFile()}
	for _, address := range a.cfg.Sources {
		if path := a.children.databases.Path(address); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// coderPolicy returns the policy for the coder's tools. It rejects an entry that matches none of them, because the
// operator would believe it to be in force.
func coderPolicy(c config.Coder, tools []tool.Tool) (agent.Policy, error) {
	known := workspace.Names()
	matches := func(glob, name string) bool { ok, _ := path.Match(glob, name); return ok }
	for setting, list := range map[string][]string{"allow": c.Allow, "ask": c.Ask, "deny": c.Deny} {
		for _, glob := range list {
			if !slices.ContainsFunc(known, func(name string) bool { return matches(glob, name) }) {
				return agent.Policy{}, &config.Invalid{Err: fmt.Errorf(
					"coder.%s has %q, which is not a tool of the coder; its tools are %s",
					setting, glob, strings.Join(known, ", "))}
			}
		}
	}
	listed := func(list []string, name string) bool {
		return slices.ContainsFunc(list, func(glob string) bool { return matches(glob, name) })
	}
	p := agent.Policy{Deny: c.Deny}
	for _, t := range tools {
		s := t.Spec()
		if !listed(c.Ask, s.Name) && (s.ReadOnly || listed(c.Allow, s.Name)) {
			p.Approve = append(p.Approve, s.Name)
		}
	}
	if len(p.Approve) == 0 {
		p.Approve = []string{"-"} // matches none: an empty list would approve all read-only tools
	}
	return p, nil
}

// Policies returns tables of the tools that the analyst and the coder may use.
func (a *App) Policies() string {
	text := a.assistant.Policy.Table(a.assistant.Tools)
	for _, as := range a.assistants {
		if as.Name == coderName && as.Unavailable == "" {
			text += fmt.Sprintf("\ncoder, in %s\n%s", a.cfg.Workspace, as.Policy.Table(as.Tools))
		}
	}
	return text
}

// checkCoder checks that commands can be confined, and reports their limits.
func checkCoder(ctx context.Context, c config.Config, r *doctor.Report) {
	if c.Workspace == "" {
		return
	}
	a := &App{cfg: c, children: children{databases: Databases()}}
	if err := workspace.Confine(ctx, c.Workspace, a.private()...); err != nil {
		r.Warn("coder", "it has no Bash: "+OneLine(err))
		return
	}
	r.OK("coder", fmt.Sprintf(
		"commands run in a sandbox, %d at a time; the kernel keeps a workspace (in memory) at %d MB",
		commandPlaces(c, machineMemory()), c.Coder.Size>>20))
}

// withWorkspaces is a log that also deletes a conversation's workspace when it deletes the conversation.
type withWorkspaces struct {
	store.Store
	spaces *workspace.Workspaces
}

// Delete removes the workspace first: if that fails, the conversation still exists and can be deleted again.
func (s withWorkspaces) Delete(ctx context.Context, id string) error {
	if s.spaces != nil {
		if err := s.spaces.Remove(ctx, id); footnote.CodeOf(err) == footnote.StorageUnavailable {
			return err // another server has it, or the store is unavailable
		} else if err != nil {
			return &footnote.Error{
				Code:    footnote.StorageUnavailable,
				Message: "The workspace of the conversation cannot be deleted.",
				Err:     err,
			}
		}
	}
	return s.Store.Delete(ctx, id)
}

// shown implements httpapi.Workspaces: the workspaces as people see them.
type shown struct{ *workspace.Workspaces }

// Files lists the files of a conversation's workspace.
func (s shown) Files(ctx context.Context, conversation string) ([]httpapi.WorkspaceFile, error) {
	files, err := s.Workspaces.Files(ctx, conversation)
	list := make([]httpapi.WorkspaceFile, len(files))
	for i, f := range files {
		list[i] = httpapi.WorkspaceFile(f)
	}
	return list, err
}
