// Package workspace has the tools of an assistant that works with files: Read,
// Write, Edit, Glob, Grep and, where commands can be confined, Bash. Each
// conversation has a folder of its own, and nothing reaches out of it.
//
// What changes a file is written to a log: a workspace is a document stream whose
// events say which call changed what, with the contents before and after as blobs.
// Files that were changed by something else, a command for instance, are found by
// comparing the folder with what the stream last said.
package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/sandbox"
)

// Root is how tools name the folder of a conversation, and where commands find it.
const Root = sandbox.Folder

// Template is the folder, beside those of the conversations, whose files every new
// workspace begins with.
const Template = "template"

// Log is what a workspace needs of a store. The errors are as store.Store says.
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

// Options configure workspaces. Folder and Log are required; zero fields take the
// defaults.
type Options struct {
	Folder string // where the folders of conversations are
	Log    Log
	// Shared says that other servers use the log, with folders of their own or with
	// this one. What is in another's folder is StorageUnavailable here.
	Shared bool
	// Commands offers Bash. Confine has said that commands can be confined.
	Commands bool
	Time     time.Duration // of a command; default 2 min
	Memory   int64         // of a command, in bytes; default 512 MB
	Size     int64         // of a workspace, in bytes; default 256 MB
	Places   int           // for commands, at a time; default 4
	// Reserve, when set, takes the memory of a command (see Need) of what the process
	// gives to all it starts, and waits for it until ctx ends. The command gives it back
	// with release.
	Reserve func(ctx context.Context, bytes int64) (release func(), err error)
	// History bounds the contents that are kept of a workspace's files, in bytes, those
	// that they had before included; default 64 MB.
	History int64
	// OrgHistory bounds those of all workspaces of an organisation; default 1 GB.
	OrgHistory int64
	Logger     *slog.Logger
}

// Workspaces are the workspaces of all conversations. They may be used by several
// goroutines.
type Workspaces struct {
	opts     Options
	root     *os.Root
	commands chan struct{} // places for commands
	home     home          // when the log is shared

	mu     sync.Mutex // guards below
	spaces map[string]*space
	orgs   map[string]*orgHistory
}

// Bounds that no setting changes.
const (
	mostSpaces   = 256      // workspaces whose state is in memory
	mostCommands = 4        // commands at a time, of all conversations, by default
	mostFiles    = 5_000    // files of a workspace that are followed
	mostKept     = 1 << 20  // bytes of a file whose contents are kept in the log
	mostText     = 4 << 20  // bytes of a file that Edit and Write change
	mostRead     = 64 << 20 // bytes of a file that Read opens
	mostDiffed   = 512 << 10
)

// Open opens the workspaces below a folder, which is made where it is missing.
func Open(o Options) (*Workspaces, error) {
	if o.Folder == "" || o.Log == nil {
		return nil, errors.New("workspace: Folder and Log are required")
	}
	if o.Time <= 0 {
		o.Time = 2 * time.Minute
	}
	if o.Memory <= 0 {
		o.Memory = 512 << 20
	}
	if o.Size <= 0 {
		o.Size = 256 << 20
	}
	if o.Places <= 0 {
		o.Places = mostCommands
	}
	if o.History <= 0 {
		o.History = 64 << 20
	}
	if o.OrgHistory <= 0 {
		o.OrgHistory = 1 << 30
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	folder, err := filepath.Abs(o.Folder)
	if err != nil {
		return nil, fmt.Errorf("workspace folder: %w", err)
	}
	o.Folder = folder
	// Nobody else on the host looks into it, or runs what lies in it.
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("workspace folder: %w", err)
	}
	root, err := os.OpenRoot(o.Folder)
	if err != nil {
		return nil, fmt.Errorf("workspace folder: %w", err)
	}
	w := &Workspaces{opts: o, root: root, commands: make(chan struct{}, o.Places), spaces: map[string]*space{}, orgs: map[string]*orgHistory{}}
	if o.Shared {
		if err := w.settleIn(); err != nil {
			return nil, errors.Join(err, root.Close())
		}
	}
	return w, nil
}

// Need returns the memory that a command takes, when its processes may have so much and
// its workspace, which lies in memory meanwhile, that size.
func Need(memory, size int64) int64 { return memory + size + sandbox.Scratch }

// Confine proves that commands can be confined on this system; hidden are files and
// folders that no command may see. The error says for people what is missing.
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

// Tools are the tools, without Bash where commands are not offered.
func (w *Workspaces) Tools() []agent.Tool {
	tools := []agent.Tool{read{w}, write{w}, edit{w}, glob{w}, grep{w}}
	if w.opts.Commands {
		tools = append(tools, bash{w})
	}
	return tools
}

// plainID is a conversation's id that can be the name of a folder.
var plainID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

// folderOf is the name of a conversation's folder.
func folderOf(conversation string) string {
	if plainID.MatchString(conversation) && conversation != Template {
		return conversation
	}
	return "x-" + digestOf([]byte(conversation))[len("sha256:"):]
}

// path is the path of a conversation's folder.
func (w *Workspaces) path(folder string) string { return filepath.Join(w.opts.Folder, folder) }

// StreamOf is the stream of a conversation's workspace.
func StreamOf(conversation string) string { return streamPrefix + folderOf(conversation) }

const streamPrefix = "workspace_"

func digestOf(data []byte) footnote.Digest {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// use calls f with the workspace of a call, one call at a time.
func (w *Workspaces) use(ctx context.Context, call agent.Call, f func(*space) (agent.Output, error)) (agent.Output, error) {
	s := w.space(call)
	defer w.release(s)
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return agent.Output{}, context.Cause(ctx)
	}
	if err := s.open(ctx); err != nil {
		return agent.Output{}, err
	}
	defer s.close()
	out, err := f(s)
	if r, ok := errors.AsType[*refusal](err); ok {
		return agent.Fail(r.words), nil
	}
	return out, err
}

// refusal is a failure for the model to read.
type refusal struct{ words string }

func (r *refusal) Error() string { return r.words }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

// space returns the state of a workspace; release gives it back.
func (w *Workspaces) space(call agent.Call) *space {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.spaces[call.Conversation]
	if s == nil {
		if len(w.spaces) >= mostSpaces {
			w.forget()
		}
		s = &space{w: w, conversation: call.Conversation, principal: call.Principal, folder: folderOf(call.Conversation), busy: make(chan struct{}, 1)}
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

// forget drops the state that was not used for longest; w.mu must be held.
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
	if err := w.here(ctx, conversation); err != nil {
		return err
	}
	w.mu.Lock()
	delete(w.spaces, conversation)
	w.mu.Unlock()
	if err := w.root.RemoveAll(folderOf(conversation)); err != nil {
		return fmt.Errorf("remove the workspace of %s: %w", conversation, err)
	}
	if err := w.opts.Log.Delete(ctx, StreamOf(conversation)); err != nil && footnote.CodeOf(err) != footnote.NotFound {
		return err
	}
	return nil
}
