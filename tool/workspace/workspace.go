// Package workspace provides the tools of an assistant that works with files: Read, Write, Edit, Glob, Grep and,
// where commands can be confined, Bash. Each conversation has its own folder, and no tool can reach outside it.
//
// Changes to files are written to a log. A workspace is a document stream whose events record which call changed
// what, with the contents before and after as blobs. Changes made by something else, such as a command, are found
// by comparing the folder with the last state in the stream.
package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/sandbox"
	"github.com/footnotehq/footnote/tool"
)

// Root is the path of a conversation's folder, both for tools and inside commands.
const Root = sandbox.Folder

// Template is the name of a folder, next to those of the conversations, whose files are copied into every new
// workspace.
const Template = "template"

// Log is the part of a store that a workspace needs. Errors are those of store.Store.
type Log interface {
	Get(ctx context.Context, id string) (footnote.Stream, error)
	CreateAppend(ctx context.Context, s footnote.Stream, a footnote.Append) ([]footnote.Event, error)
	Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error)
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
	Blob(ctx context.Context, stream string, d footnote.Digest) ([]byte, error)
	Blobs(ctx context.Context, stream string) (map[footnote.Digest]int64, error)
	DropBlobs(ctx context.Context, stream string, digests []footnote.Digest) error
	Holdings(ctx context.Context, org, kind string) ([]footnote.Holding, error)
	Delete(ctx context.Context, id string) error
}

// Options configure workspaces. Folder and Log are required; zero fields take the defaults.
type Options struct {
	Folder string // the parent of the conversations' folders
	Log    Log
	// Shared means that other servers use the log, with this folder or their own. A workspace in another server's
	// folder is StorageUnavailable here.
	Shared bool
	// Commands offers Bash. Call Confine first to check that commands can be confined.
	Commands bool
	Time     time.Duration // per command; default 2 min
	Memory   int64         // per command, in bytes; default 512 MB
	Size     int64         // per workspace, in bytes; default 256 MB
	Places   int           // concurrent commands; default 4
	// Reserve, when set, reserves a command's memory (see Need) from the process's budget for everything it starts.
	// It waits until ctx ends. The command returns the memory with release.
	Reserve func(ctx context.Context, bytes int64) (release func(), err error)
	// History limits the kept contents of a workspace's files, earlier contents included, in bytes; default 64 MB.
	History int64
	// OrgHistory limits those of all workspaces of an organisation; default 1 GB.
	OrgHistory int64
	Logger     *slog.Logger
}

// Workspaces holds the workspaces of all conversations. Several goroutines may use it at once.
type Workspaces struct {
	opts     Options
	root     *os.Root
	commands chan struct{} // places for commands
	home     home          // set when the log is shared

	mu     sync.Mutex // guards below
	spaces map[string]*space
	orgs   map[string]*orgHistory
}

// Fixed limits, which no setting changes.
const (
	maxSpaces   = 256      // workspaces whose state is in memory
	maxCommands = 4        // default for concurrent commands of all conversations
	maxFiles    = 5_000    // tracked files per workspace
	maxKept     = 1 << 20  // bytes of a file whose contents are kept in the log
	maxText     = 4 << 20  // bytes of a file that Edit and Write change
	maxRead     = 64 << 20 // bytes of a file that Read opens
	maxDiffed   = 512 << 10
)

// Open opens the workspaces below a folder, which it creates if necessary.
func Open(o Options) (*Workspaces, error) {
	if o.Folder == "" || o.Log == nil {
		return nil, errors.New("workspace: Folder and Log are required")
	}
	o.Time = cmp.Or(max(o.Time, 0), 2*time.Minute)
	o.Memory = cmp.Or(max(o.Memory, 0), 512<<20)
	o.Size = cmp.Or(max(o.Size, 0), 256<<20)
	o.Places = cmp.Or(max(o.Places, 0), maxCommands)
	o.History = cmp.Or(max(o.History, 0), 64<<20)
	o.OrgHistory = cmp.Or(max(o.OrgHistory, 0), 1<<30)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	folder, err := filepath.Abs(o.Folder)
	if err == nil {
		// Nobody else on the host may read the workspaces or run what is in them.
		err = os.MkdirAll(folder, 0o700)
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(folder)
	}
	if err != nil {
		return nil, fmt.Errorf("workspace folder: %w", err)
	}
	o.Folder = folder
	w := &Workspaces{
		opts: o, root: root, commands: make(chan struct{}, o.Places), spaces: map[string]*space{},
		orgs: map[string]*orgHistory{},
	}
	if o.Shared {
		if err := w.loadHome(); err != nil {
			return nil, errors.Join(err, root.Close())
		}
	}
	return w, nil
}

// Need returns the memory a command takes: memory for its processes, and size for its workspace, which is in memory
// while the command runs.
func Need(memory, size int64) int64 { return memory + size + sandbox.Scratch }

// Confine checks that commands can be confined on this system. No command may see the files and folders in hidden.
// The error tells people what is missing.
func Confine(ctx context.Context, folder string, hidden ...string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("workspace folder: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return sandbox.Probe(ctx, folder, hidden...)
}

// Close closes the folder.
func (w *Workspaces) Close() error { return w.root.Close() }

// fileTool is a tool that works in the workspace of a call.
type fileTool[In any] struct {
	w    *Workspaces
	spec tool.Spec
	run  func(ctx context.Context, s *space, call tool.Call, in In) (tool.Output, error)
}

// Spec implements tool.Tool.
func (t fileTool[In]) Spec() tool.Spec { return t.spec }

// Call implements tool.Tool.
func (t fileTool[In]) Call(ctx context.Context, call tool.Call) (tool.Output, error) {
	return t.w.use(ctx, call, func(s *space) (tool.Output, error) {
		var in In
		if err := json.Unmarshal(call.Input, &in); err != nil {
			return tool.Output{}, tool.Refusef("The input does not fit %s: %v", call.Name, err)
		}
		return t.run(ctx, s, call, in)
	})
}

// Tools returns the tools, with Bash only if commands are offered.
func (w *Workspaces) Tools() []tool.Tool {
	tools := []tool.Tool{
		fileTool[readInput]{w, readSpec, read}, fileTool[writeInput]{w, writeSpec, write},
		fileTool[editInput]{w, editSpec, edit}, fileTool[globInput]{w, globSpec, glob},
		fileTool[grepInput]{w, grepSpec, grep},
	}
	if w.opts.Commands {
		tools = append(tools, fileTool[bashInput]{w, bashSpec(w.opts.Time), bash})
	}
	return tools
}

// Names returns the names of the tools, also of those that need commands.
func Names() []string {
	var names []string
	for _, s := range []tool.Spec{readSpec, writeSpec, editSpec, bashSpec(0), globSpec, grepSpec} {
		names = append(names, s.Name)
	}
	return names
}

// plainID matches a conversation ID that can be the name of a folder.
var plainID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

// folderOf returns the name of a conversation's folder.
func folderOf(conversation string) string {
	if plainID.MatchString(conversation) && conversation != Template {
		return conversation
	}
	return "x-" + footnote.DigestOf([]byte(conversation))[len("sha256:"):]
}

// path returns the path of a conversation's folder.
func (w *Workspaces) path(folder string) string { return filepath.Join(w.opts.Folder, folder) }

// StreamOf returns the stream of a conversation's workspace.
func StreamOf(conversation string) string { return streamPrefix + folderOf(conversation) }

const streamPrefix = "workspace_"

// use calls f with the workspace of a call. Each workspace is used by one call at a time.
func (w *Workspaces) use(ctx context.Context, call tool.Call,
	f func(*space) (tool.Output, error)) (tool.Output, error) {
	s := w.space(call)
	defer w.release(s)
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return tool.Output{}, context.Cause(ctx)
	}
	if err := s.open(ctx); err != nil {
		return tool.Output{}, err
	}
	defer s.close()
	out, err := f(s)
	if r, ok := errors.AsType[*tool.Refusal](err); ok {
		return r.Output(), nil
	}
	return out, err
}

// space returns the state of a workspace. The caller must call release.
func (w *Workspaces) space(call tool.Call) *space {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.spaces[call.Conversation]
	if s == nil {
		if len(w.spaces) >= maxSpaces {
			w.forget()
		}
		s = &space{
			w: w, conversation: call.Conversation, principal: call.Principal, folder: folderOf(call.Conversation),
			busy: make(chan struct{}, 1),
		}
		w.spaces[call.Conversation] = s
	}
	s.users++
	s.used = time.Now()
	return s
}

func (w *Workspaces) release(s *space) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.users--
}

// forget drops the state of the least recently used workspaces; w.mu must be held.
func (w *Workspaces) forget() {
	var oldest *space
	for _, s := range w.spaces {
		if s.users == 0 && (oldest == nil || s.used.Before(oldest.used)) {
			oldest = s
		}
	}
	if oldest != nil {
		delete(w.spaces, oldest.conversation)
	}
}

// Remove deletes the folder and the history of a conversation's workspace.
func (w *Workspaces) Remove(ctx context.Context, conversation string) error {
	if err := w.checkHome(ctx, conversation); err != nil {
		return err
	}
	w.mu.Lock()
	delete(w.spaces, conversation)
	w.mu.Unlock()
	folder := folderOf(conversation)
	if err := errors.Join(w.root.RemoveAll(folder), w.root.RemoveAll(newPrefix+folder)); err != nil {
		return fmt.Errorf("remove the workspace of %s: %w", conversation, err)
	}
	if err := w.opts.Log.Delete(ctx, StreamOf(conversation)); err != nil && footnote.CodeOf(err) != footnote.NotFound {
		return err
	}
	return nil
}
