package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/internal/sandbox"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/schema"
)

// Limits on the length of a command and on the part of its output that the model reads.
const (
	maxOutput  = 30_000
	maxCommand = 100_000
	scanTime   = time.Minute // limits copying the files and finding changes
	memoryWait = 30 * time.Second
)

type bashInput struct {
	Command     string  `json:"command" jsonschema:"The command, for bash. It starts in the workspace."`
	Timeout     float64 `json:"timeout,omitempty" jsonschema:"Milliseconds after which it is ended. Left out: as long as is allowed."`
	Description string  `json:"description,omitempty" jsonschema:"What it does, in five to ten words. The user sees it when asked for approval."`
}

// bashSpec returns the description of Bash. limit is the time limit of a command.
func bashSpec(limit time.Duration) tool.Spec {
	return tool.Spec{
		Name: "Bash", Label: "Running a command", Family: tool.Command,
		Description: "Run a command in the workspace, in a sandbox: it has no network, sees no files but those of " +
			"the workspace and the programs of the system, and everything it starts ends with it. Each call starts " +
			"fresh, in the workspace and without variables of the call before. Anonymous shared memory of 1 MB or " +
			"more (MAP_SHARED|MAP_ANONYMOUS, in Python mmap.mmap(-1, n)) is refused: map a file in /dev/shm or /tmp. " +
			"Output beyond 30,000 bytes loses its middle. Prefer Read, Edit, Glob and Grep to cat, sed, ls and grep.",
		InputSchema: bashSchema,
		Side:        tool.Server,
		Timeout:     memoryWait + limit + scanTime, // a backstop: the sandbox enforces the time limit
	}
}

var bashSchema = schema.For[bashInput](schema.Integer("timeout", 1, 3_600_000))

func bash(ctx context.Context, s *space, call tool.Call, in bashInput) (tool.Output, error) {
	if strings.TrimSpace(in.Command) == "" || len(in.Command) > maxCommand || strings.ContainsRune(in.Command, 0) {
		return tool.Output{}, tool.Refusef("A command must have 1 to %d bytes of text.", maxCommand)
	}
	if _, err := s.sync(ctx, byOutside, ""); err != nil {
		return tool.Output{}, err
	}
	limits := sandbox.Limits{Time: s.w.opts.Time, Memory: s.w.opts.Memory, Disk: s.w.opts.Size, Output: maxOutput}
	if timeout := time.Duration(in.Timeout) * time.Millisecond; timeout > 0 {
		limits.Time = min(limits.Time, timeout)
	}
	res, err := s.w.command(ctx, sandbox.Command{Dir: s.w.path(s.folder), Script: in.Command, Limits: limits})
	// Record what the command did to the files, however it ended.
	rctx, stop := withRecordTime(ctx)
	defer stop()
	changes, syncErr := s.sync(rctx, call.Name, call.ID)
	if err = errors.Join(err, syncErr); err != nil {
		return s.notRun(ctx, err)
	}
	if res.Lost > 0 {
		s.w.opts.Logger.ErrorContext(ctx, "files that a command changed were not kept", "files", res.Lost,
			"err", &res.LostFirst[0])
	}
	return tool.Output{
		Content: modelText(res, limits, changes),
		IsError: res.Exit != 0 || res.Ended != "" || res.Lost > 0,
		Detail:  commandDetail(in, res, changes),
	}, nil
}

// notRun returns the result of a command that could not run, or whose changes could not be kept, for reasons outside
// the command.
func (s *space) notRun(ctx context.Context, err error) (tool.Output, error) {
	refused, isRefused := errors.AsType[*noMemory](err)
	file, isFile := errors.AsType[*sandbox.FileError](err)
	switch {
	case ctx.Err() == nil && isRefused:
		return tool.Fail("The command was not run: " + refused.Error()), nil
	case ctx.Err() == nil && errors.Is(err, sandbox.ErrUnavailable):
		s.w.opts.Logger.ErrorContext(ctx, "a command could not be confined and was not run", "err", err)
		return tool.Fail("The command was not run: the sandbox could not be set up. This is a fault of the server; " +
			"do not try again."), nil
	case errors.Is(err, sandbox.ErrNoSpace):
		return tool.Output{}, &footnote.Error{
			Code:    footnote.StorageUnavailable,
			Message: "The disk is full: not all that the command changed could be kept.", Err: err,
		}
	case errors.Is(err, sandbox.ErrNotKept):
		return tool.Output{}, &footnote.Error{
			Code: footnote.StorageUnavailable, Message: "Some of the command's changes could not be stored.", Err: err,
		}
	case ctx.Err() == nil && isFile:
		s.w.opts.Logger.ErrorContext(ctx, "a workspace cannot be copied for commands", "err", err)
		return tool.Fail(fmt.Sprintf("The command was not run: %s cannot be copied: %v.", shown(file.Path), file.Err)),
			nil
	}
	return tool.Output{}, err
}

// noMemory is returned when there is no memory for a command.
type noMemory struct{ err error }

func (e *noMemory) Unwrap() error { return e.err }

func (e *noMemory) Error() string {
	if footnote.CodeOf(e.err) == footnote.InvalidRequest { // waiting will not help
		return footnote.MessageOf(e.err)
	}
	return "the server has no memory left for it, because other commands, files and queries use it. Try again in a " +
		"moment."
}

// command waits for a place and memory and then runs a command. It holds them only while the command runs; finding
// its changes comes afterwards.
func (w *Workspaces) command(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	select {
	case w.commands <- struct{}{}:
		defer func() { <-w.commands }()
	case <-ctx.Done():
		return sandbox.Result{}, context.Cause(ctx)
	}
	if w.opts.Reserve != nil {
		wctx, stop := context.WithTimeout(ctx, memoryWait)
		defer stop()
		release, err := w.opts.Reserve(wctx, Need(c.Limits.Memory, c.Limits.Disk))
		if err != nil {
			return sandbox.Result{}, &noMemory{err}
		}
		defer release()
	}
	return sandbox.Run(ctx, c)
}

// modelText returns what the model reads about a command.
func modelText(res sandbox.Result, l sandbox.Limits, changes []change) string {
	var b strings.Builder
	b.WriteString(output(res))
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
		b.WriteByte('\n')
	}
	switch {
	case res.Ended != "":
		fmt.Fprintf(&b, "(ended: %s)\n", limitText(res.Ended, l))
	case res.Exit != 0:
		fmt.Fprintf(&b, "(exit code %d)\n", res.Exit)
	case b.Len() == 0:
		b.WriteString("(no output)\n")
	}
	switch {
	case res.Full:
		b.WriteString("(the workspace is full: the command could read its files and remove them, and nothing else)\n")
	case res.Filled && res.Ended != sandbox.ByDisk:
		fmt.Fprintf(&b, "(the workspace is full: its files may have %s together; delete some)\n", bytesText(l.Disk))
	}
	if res.TooDeep > 0 {
		fmt.Fprintf(&b, "(%d folders were not kept: they lie too deep)\n", res.TooDeep)
	}
	if res.Lost > 0 {
		b.WriteString("(could not be kept: " + lostText(res) + ")\n")
	}
	if len(changes) > 0 {
		b.WriteString("(" + summary(changes) + ")\n")
	}
	return b.String()
}

// lostText lists the files that could not be kept.
func lostText(res sandbox.Result) string {
	var parts []string
	for _, e := range res.LostFirst {
		parts = append(parts, fmt.Sprintf("%s (%v)", clip(shown(e.Path), 500), e.Err))
	}
	if more := res.Lost - len(res.LostFirst); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// output returns a command's output, with a mark where the middle was cut out.
func output(res sandbox.Result) string {
	text := func(b []byte) string {
		s := strings.ToValidUTF8(string(b), "\uFFFD")
		return shown(strings.ReplaceAll(s, "\r\n", "\n"))
	}
	if res.Dropped == 0 {
		return text(res.Output)
	}
	return text(res.Output[:res.Cut]) + fmt.Sprintf("\n… (%s left out) …\n", bytesText(res.Dropped)) +
		text(res.Output[res.Cut:])
}

// limitText names, for the model, the limit that ended a command.
func limitText(limit string, l sandbox.Limits) string {
	switch limit {
	case sandbox.ByTime:
		return fmt.Sprintf("it took longer than %s", l.Time)
	case sandbox.ByMemory:
		return fmt.Sprintf("its processes used more than %s of memory", bytesText(l.Memory))
	case sandbox.ByProcesses:
		return "it started too many processes"
	case sandbox.ByDisk:
		return "the workspace is full; delete files that are not needed"
	case sandbox.ByOutput:
		return "it printed without end"
	}
	return "its sandbox broke"
}

// summary lists the files that a command changed.
func summary(changes []change) string {
	names := map[string][]string{}
	for _, c := range changes {
		names[c.Op] = append(names[c.Op], c.Path)
	}
	var parts []string
	for _, op := range []struct{ op, word string }{{opCreate, "created"}, {opWrite, "changed"}, {opDelete, "deleted"}} {
		list := names[op.op]
		if n := len(list); n > 10 {
			list = append(list[:10:10], fmt.Sprintf("%d more", n-10))
		}
		if len(list) > 0 {
			parts = append(parts, op.word+" "+shown(strings.Join(list, ", ")))
		}
	}
	return strings.Join(parts, "; ")
}

// maxDetailed limits the bytes of one command's diffs that a page gets.
const maxDetailed = 96 << 10

// commandDetail returns what a page shows about a command.
func commandDetail(in bashInput, res sandbox.Result, changes []change) json.RawMessage {
	d := struct {
		Kind        string       `json:"kind"`
		Command     string       `json:"command"`
		Description string       `json:"description,omitempty"`
		Output      string       `json:"output"`
		Exit        int          `json:"exit"`
		Ended       string       `json:"ended,omitempty"`
		Millis      int64        `json:"ms"`
		Changes     []fileDetail `json:"changes,omitempty"`
		More        int          `json:"more_changes,omitempty"`
	}{
		Kind: "command", Command: clip(in.Command, 10_000), Description: clip(in.Description, 500), Output: output(res),
		Exit: res.Exit, Ended: res.Ended, Millis: res.Elapsed.Milliseconds(),
	}
	size := 0
	for i, c := range changes {
		if size += len(c.Path) + len(c.Diff) + 300; size > maxDetailed {
			d.More = len(changes) - i
			break
		}
		f := c.detail()
		f.Hunks = nil // they repeat the diff, and there may be many
		d.Changes = append(d.Changes, f)
	}
	return reply.JSON(d)
}
