package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/sparse"
	"github.com/footnotehq/footnote/internal/udiff"
)

// space is the workspace of one conversation. Its fields but the first are used by
// whoever holds busy.
type space struct {
	w            *Workspaces
	conversation string
	principal    footnote.Principal
	folder       string
	busy         chan struct{} // has one value while somebody works in it
	users        int           // guarded by w.mu, as is used
	used         time.Time

	root   *os.Root // while it is open
	loaded bool
	exists bool  // the stream does
	last   int64 // sequence of its last event
	files  map[string]known
	kept   history
	seen   map[string]footnote.Digest // what the model has read or written
	// continued says that the stream had events when it was loaded: what the model
	// had seen before is not known, but what it did is.
	continued bool
}

// known is a file as the stream last told it.
type known struct {
	digest  footnote.Digest
	size    int64
	kept    bool
	outside bool // as something left it that the model does not know of
	changed time.Time
	inode   uint64
}

// is reports whether a file is, as far as can be told without reading it, as it was.
func (k known) is(info fs.FileInfo) bool {
	return k.size == info.Size() && k.inode == inode(info) && k.changed.Equal(stamp(info))
}

// open makes the folder where it is missing, reads the stream the first time, and
// opens the folder. close must be called.
func (s *space) open(ctx context.Context) error {
	if err := s.refresh(ctx); err != nil {
		return err
	}
	err := s.w.root.Mkdir(s.folder, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return &footnote.Error{Code: footnote.StorageUnavailable, Message: "The workspace cannot be made.", Err: err}
	}
	fresh := err == nil
	if s.root, err = s.w.root.OpenRoot(s.folder); err != nil {
		return &footnote.Error{Code: footnote.StorageUnavailable, Message: "The workspace cannot be opened.", Err: err}
	}
	if !fresh {
		return nil
	}
	if s.exists {
		err = s.restore(ctx)
	} else {
		err = s.furnish(ctx)
	}
	if err != nil {
		s.close()
	}
	return err
}

func (s *space) close() { s.root.Close() }

// refresh reads the stream the first time, and again when another server that shares
// the folder has written to it.
func (s *space) refresh(ctx context.Context) error {
	if s.w.opts.Shared {
		head, err := s.w.opts.Log.Get(ctx, s.stream())
		if err != nil && footnote.CodeOf(err) != footnote.NotFound {
			return err
		}
		if err := s.w.mine(head); err != nil {
			return err
		}
		s.loaded = s.loaded && head.Last == s.last
	}
	if s.loaded {
		return nil
	}
	return s.load(ctx)
}

// load reads the stream.
func (s *space) load(ctx context.Context) error {
	s.files, s.seen, s.last, s.exists = map[string]known{}, map[string]footnote.Digest{}, 0, false
	s.kept = history{order: map[footnote.Digest]int64{}}
	for ev, err := range s.w.opts.Log.Events(ctx, s.stream(), 0) {
		if footnote.CodeOf(err) == footnote.NotFound {
			break
		}
		if err != nil {
			return err
		}
		s.exists, s.last = true, ev.Seq
		if b, ok := ev.Body.(footnote.WorkspaceChanged); ok {
			s.apply(b, ev.Seq)
		}
	}
	s.loaded, s.continued = true, s.exists
	return nil
}

func (s *space) stream() string { return StreamOf(s.conversation) }

func (s *space) apply(b footnote.WorkspaceChanged, seq int64) {
	s.kept.diffs += int64(len(b.Diff))
	if b.Kept {
		s.kept.order[b.After] = seq
	}
	if b.Op == opDelete {
		delete(s.files, b.Path)
		return
	}
	s.files[b.Path] = known{digest: b.After, size: b.Size, kept: b.Kept, outside: unseen(b.Tool)}
}

// unseen reports whether what made a change is something that the model does not
// know of.
func unseen(tool string) bool { return tool == byOutside || tool == byPerson }

// The operations of a change, and what makes changes beside the tools.
const (
	opCreate = "create"
	opWrite  = "write"
	opDelete = "delete"

	byTemplate = "template"
	byOutside  = "outside"
	byPerson   = "revert"
)

// restore brings back the files of a folder that is gone, as far as the log has
// their contents.
func (s *space) restore(ctx context.Context) error {
	for name, k := range s.files {
		if !k.kept {
			continue
		}
		data, err := s.w.opts.Log.Blob(ctx, s.stream(), k.digest)
		if footnote.CodeOf(err) == footnote.NotFound {
			continue // it was dropped
		}
		if err != nil {
			return err
		}
		if err := s.put(name, data); err != nil {
			return err
		}
	}
	return nil
}

// furnish copies the template into a new workspace.
func (s *space) furnish(ctx context.Context) error {
	if info, err := s.w.root.Stat(Template); err != nil || !info.IsDir() {
		return nil
	}
	template, err := s.w.root.OpenRoot(Template)
	if err != nil {
		return fmt.Errorf("template of workspaces: %w", err)
	}
	defer template.Close()
	var names []string
	err = walk(template, func(name string, info fs.FileInfo) error {
		names = append(names, name)
		return nil
	})
	if err != nil {
		return fmt.Errorf("template of workspaces: %w", err)
	}
	for _, name := range names {
		f, info, err := openFile(template, name)
		if err != nil {
			continue // a link, say
		}
		data, err := io.ReadAll(io.LimitReader(f, mostRead))
		f.Close()
		if err != nil {
			return fmt.Errorf("template of workspaces: %w", err)
		}
		if err := s.put(name, data); err != nil {
			return err
		}
		if err := s.root.Chmod(name, info.Mode().Perm()&0o755|0o600); err != nil {
			return err
		}
	}
	rctx, stop := lasting(ctx)
	defer stop()
	_, err = s.sync(rctx, byTemplate, "")
	return err
}

// put writes a file beside itself and moves it into its place, so that it is there
// in full or not at all.
func (s *space) put(name string, data []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := s.root.Lstat(name); err == nil {
		mode = info.Mode().Perm()
	}
	if dir := path.Dir(name); dir != "." {
		if err := s.root.MkdirAll(dir, 0o755); err != nil {
			return writing(name, err)
		}
	}
	temp := path.Join(path.Dir(name), fmt.Sprintf(".footnote-%d", time.Now().UnixNano()))
	f, err := s.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|0o600)
	if err != nil {
		return writing(name, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = s.root.Rename(temp, name)
	}
	if err != nil {
		_ = s.root.Remove(temp)
		return writing(name, err)
	}
	return nil
}

func writing(name string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return refuse("%s cannot be written: %v.", name, err)
}

// walk calls f for the regular files of a folder, by name, as many as are followed.
func walk(root *os.Root, f func(name string, info fs.FileInfo) error) error {
	n := 0
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if d != nil && d.IsDir() {
				return fs.SkipDir // it may not be read, or has gone
			}
			return nil
		}
		if strings.Count(name, "/") > mostDepth {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if n++; n > mostFiles {
			return fs.SkipAll
		}
		return f(name, info)
	})
}

// change is what became of a file.
type change struct {
	footnote.WorkspaceChanged
	hunks []udiff.Hunk
}

// sync compares the folder with what the stream last said, and records the
// differences as those of a tool's call.
func (s *space) sync(ctx context.Context, tool, callID string) ([]change, error) {
	var names []string
	there := map[string]bool{}
	err := walk(s.root, func(name string, info fs.FileInfo) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		there[name] = true
		if k, ok := s.files[name]; !ok || !k.is(info) {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the workspace: %w", err)
	}
	if len(there) < mostFiles {
		for name := range s.files {
			if !there[name] {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return s.record(ctx, tool, callID, names)
}

// recordTime is how long recording what was done may go on after its run has ended.
const recordTime = 10 * time.Second

// lasting returns a context that ends recordTime after ctx: what a call has done to files
// is recorded as its doing also when nobody waits for it any more. stop must be called.
func lasting(ctx context.Context) (_ context.Context, stop func()) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unlink := context.AfterFunc(ctx, func() {
		late := time.NewTimer(recordTime)
		defer late.Stop()
		select {
		case <-late.C:
			cancel(context.Cause(ctx))
		case <-out.Done():
		}
	})
	return out, func() { unlink(); cancel(nil) }
}

// batchBytes is how much content one append carries.
const batchBytes = 16 << 20

// record writes what has become of files to the stream. Files that are as the
// stream said are left out. When ctx ends, what was found so far is written, the rest is
// found the next time, and the error is ctx's cause.
func (s *space) record(ctx context.Context, tool, callID string, names []string) ([]change, error) {
	var changes []change
	var batch []footnote.Body
	blobs, size := map[footnote.Digest][]byte{}, 0
	room := s.newRoom()
	flush := func() error {
		if err := s.append(ctx, batch, blobs); err != nil {
			return err
		}
		if err := s.bound(ctx, blobs); err != nil {
			return err
		}
		batch, blobs, size = nil, map[footnote.Digest][]byte{}, 0
		return nil
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, errors.Join(context.Cause(ctx), flush())
		}
		c, data, err := s.compare(ctx, name, room)
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue
		}
		c.Tool, c.Conversation, c.CallID = tool, s.conversation, callID
		if k, there := s.files[name]; there {
			k.outside = unseen(tool)
			s.files[name] = k
		}
		s.kept.diffs += int64(len(c.Diff))
		changes = append(changes, *c)
		batch = append(batch, c.WorkspaceChanged)
		if c.Kept {
			blobs[c.After] = data
			size += len(data)
		}
		if size > batchBytes || len(batch) >= 500 {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	return changes, flush()
}

// compare tells what has become of one file; nil when it is as the stream said.
func (s *space) compare(ctx context.Context, name string, room *room) (*change, []byte, error) {
	k, had := s.files[name]
	now, data, err := s.look(name)
	if errors.Is(err, fs.ErrNotExist) {
		if !had {
			return nil, nil, nil
		}
		delete(s.files, name)
		c := &change{WorkspaceChanged: footnote.WorkspaceChanged{Path: name, Op: opDelete, Before: k.digest}}
		if before, ok := s.before(ctx, k, room, k.size); ok {
			c.diff(string(before), "", true, false, room)
		}
		return c, nil, nil
	}
	if err != nil {
		return nil, nil, nil // not a file that is followed: a link, or one with a second name
	}
	if had && k.digest == now.digest {
		k.changed, k.inode = now.changed, now.inode
		s.files[name] = k
		return nil, nil, nil
	}
	now.kept = data != nil && room.keep(len(data))
	s.files[name] = now
	c := &change{WorkspaceChanged: footnote.WorkspaceChanged{Path: name, Op: opCreate, After: now.digest, Size: now.size, Kept: now.kept}}
	if had {
		c.Op, c.Before = opWrite, k.digest
	}
	if data == nil {
		return c, nil, nil
	}
	if before, ok := s.before(ctx, k, room, k.size+now.size); ok || !had {
		c.diff(string(before), string(data), had, false, room)
	}
	return c, data, nil
}

// look reads a file that is followed. Of one that can be kept the content comes, too;
// that of a larger one, or of one that is mostly holes, is never in memory.
func (s *space) look(name string) (known, []byte, error) {
	f, info, err := openFile(s.root, name)
	if err != nil {
		return known{}, nil, err
	}
	defer f.Close()
	now := known{size: info.Size(), changed: stamp(info), inode: inode(info)}
	holes := now.size > mostHole && sparse.HasHoles(f, now.size)
	if now.size <= mostKept && !holes {
		data, err := io.ReadAll(io.LimitReader(f, mostKept))
		if data == nil {
			data = []byte{}
		}
		now.digest, now.size = digestOf(data), int64(len(data))
		return now, data, err
	}
	if holes {
		now.digest, err = digestOfData(f, now.size)
		return now, nil, err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, io.LimitReader(f, min(now.size, mostRead)))
	now.digest = digestText(sum)
	return now, nil, err
}

// content is the content of a file that is followed, up to a size.
func (s *space) content(name string) ([]byte, fs.FileInfo, error) {
	f, info, err := openFile(s.root, name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostRead))
	return data, info, err
}

// What the changes of one call may cost together. Beyond it a change is recorded with
// its digests, and without its content or its difference.
const (
	mostDiffing = 8 << 20 // bytes that differences are made of
	mostDiffs   = 1 << 20 // bytes of differences, while those of all calls are within Options.History
	leastDiffs  = mostDiff
	longestDiff = 2 * time.Second
)

// room is what is left of it.
type room struct {
	content, diffing, diffs int
	until                   time.Time
}

func (s *space) newRoom() *room {
	diffs := max(leastDiffs, min(mostDiffs, s.w.opts.History-s.kept.diffs))
	return &room{content: int(s.w.opts.History / 4), diffing: mostDiffing, diffs: int(diffs), until: time.Now().Add(longestDiff)}
}

func (r *room) keep(n int) bool {
	if n > r.content {
		return false
	}
	r.content -= n
	return true
}

// diff reports whether a difference of so many bytes can still be made.
func (r *room) diff(n int64) bool {
	if n > mostDiffed || n > int64(r.diffing) || r.diffs <= 0 || time.Now().After(r.until) {
		return false
	}
	r.diffing -= int(n)
	return true
}

// before is what a file held, when a difference of so many bytes can be made.
func (s *space) before(ctx context.Context, k known, room *room, n int64) ([]byte, bool) {
	if !room.diff(n) || !k.kept {
		return nil, false
	}
	data, err := s.w.opts.Log.Blob(ctx, s.stream(), k.digest)
	return data, err == nil
}

// mostDiff is how much of a diff the log keeps, in bytes.
const mostDiff = 64 << 10

// diff notes how the text changed, where both sides are text and not too long.
func (c *change) diff(old, new string, had, deleted bool, room *room) {
	if len(old)+len(new) > mostDiffed || binary([]byte(old)) || binary([]byte(new)) {
		return
	}
	c.hunks = udiff.Hunks(old, new)
	text := udiff.Unified(c.Path, !had, deleted, c.hunks)
	if most := min(mostDiff, room.diffs); len(text) > most {
		text = clip(text, most) + "\n… (the diff goes on)\n"
	}
	room.diffs -= len(text)
	c.Diff = text
}

// append writes to the stream, which is made where it is missing.
func (s *space) append(ctx context.Context, bodies []footnote.Body, blobs map[footnote.Digest][]byte) error {
	if len(bodies) == 0 {
		return nil
	}
	// The file has changed already: its record does not depend on who waits for it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	a := footnote.Append{Stream: s.stream(), After: s.last, Bodies: bodies, Blobs: blobs}
	var events []footnote.Event
	var err error
	if s.exists {
		events, err = s.w.opts.Log.Append(ctx, a)
	} else {
		events, err = s.w.opts.Log.CreateAppend(ctx, footnote.Stream{
			ID: s.stream(), Kind: "document", Org: s.principal.Org, User: s.principal.User, Title: "Workspace", Assistant: s.w.address(),
		}, a)
	}
	if err != nil {
		s.loaded = false // what was noted of the files is not in the log
		return fmt.Errorf("record a change of the workspace: %w", err)
	}
	s.exists, s.last = true, events[len(events)-1].Seq
	return nil
}

// binary reports whether content is not text.
func binary(data []byte) bool {
	return bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data)
}

// clip is the first n bytes of valid UTF-8.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// total is the size of the files as the stream last said.
func (s *space) total() (size int64) {
	for _, k := range s.files {
		size += k.size
	}
	return size
}
