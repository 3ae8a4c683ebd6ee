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
	"github.com/footnotehq/footnote/tool"
)

// space is the workspace of one conversation. Only the holder of busy may use the fields, except the first few.
type space struct {
	w            *Workspaces
	conversation string
	principal    footnote.Principal
	folder       string
	busy         chan struct{} // holds one value while the workspace is in use
	users        int           // guarded by w.mu, like used
	used         time.Time

	root   *os.Root // nil unless open
	loaded bool
	exists bool  // whether the stream exists
	last   int64 // sequence number of its last event
	files  map[string]known
	kept   history
	seen   map[string]footnote.Digest // what the model has read or written
	// continued means that the stream had events when it was loaded. What the model had read before is then
	// unknown, but what it wrote is in the stream.
	continued bool
}

// known is a file as last recorded in the stream.
type known struct {
	digest  footnote.Digest
	size    int64
	kept    bool
	outside bool // left in this state by something the model does not know about
	changed time.Time
	inode   uint64
}

// unchanged reports whether a file is unchanged, as far as that can be determined without reading it.
func (k known) unchanged(info fs.FileInfo) bool {
	return k.size == info.Size() && k.inode == inode(info) && k.changed.Equal(stamp(info))
}

// open creates the folder if necessary, reads the stream the first time, and opens the folder. The caller must call
// close.
func (s *space) open(ctx context.Context) error {
	if err := s.refresh(ctx); err != nil {
		return err
	}
	var err error
	if s.root, err = s.w.root.OpenRoot(s.folder); errors.Is(err, fs.ErrNotExist) {
		return s.create(ctx)
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}

// newPrefix begins the name of a folder that is not filled yet. No conversation's folder has such a name.
const newPrefix = ".new-"

// create makes the folder and opens it. It fills the folder under another name first: a file that is missing from
// the folder counts as deleted, so a folder must be complete or absent, whatever ends the server meanwhile.
func (s *space) create(ctx context.Context) (err error) {
	failed := func(err error) error {
		return footnote.Wrapf(footnote.StorageUnavailable, err, "The workspace cannot be created.")
	}
	temp := newPrefix + s.folder
	if err := s.w.root.RemoveAll(temp); err != nil { // left by a server that was killed
		return failed(err)
	}
	if err := s.w.root.Mkdir(temp, 0o700); err != nil {
		return failed(err)
	}
	if s.root, err = s.w.root.OpenRoot(temp); err != nil {
		return failed(err)
	}
	done := false
	defer func() {
		if !done {
			s.close()
			_ = s.w.root.RemoveAll(temp)
		}
	}()
	fill := s.copyTemplate
	if s.exists {
		fill = s.restore
	}
	if err := fill(ctx); err != nil {
		return err
	}
	if err := s.w.root.Rename(temp, s.folder); err != nil {
		return failed(err)
	}
	if !s.exists {
		rctx, stop := withRecordTime(ctx)
		defer stop()
		if _, err := s.sync(rctx, byTemplate, ""); err != nil {
			return err
		}
	}
	done = true
	return nil
}

func (s *space) close() { s.root.Close() }

// refresh reads the stream the first time, and again when another server that shares the folder has written to it.
func (s *space) refresh(ctx context.Context) error {
	if s.w.opts.Shared {
		head, err := s.w.opts.Log.Get(ctx, s.stream())
		if err != nil && footnote.CodeOf(err) != footnote.NotFound {
			return err
		}
		if err := s.w.checkStream(head); err != nil {
			return err
		}
		s.loaded = s.loaded && head.Last == s.last
	}
	if s.loaded {
		return nil
	}
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

// unseen reports whether a change was made by something that the model does not know about.
func unseen(tool string) bool { return tool == byOutside || tool == byPerson }

// The operations of a change, and the sources of changes other than tools.
const (
	opCreate = "create"
	opWrite  = "write"
	opDelete = "delete"

	byTemplate = "template"
	byOutside  = "outside"
	byPerson   = "revert"
)

// restore recreates the files of a lost folder whose contents are in the log.
func (s *space) restore(ctx context.Context) error {
	for name, k := range s.files {
		if !k.kept {
			continue
		}
		data, err := s.w.opts.Log.Blob(ctx, s.stream(), k.digest)
		if footnote.CodeOf(err) == footnote.NotFound {
			continue // its content was dropped
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

// copyTemplate copies the template into a new workspace.
func (s *space) copyTemplate(context.Context) error {
	if info, err := s.w.root.Stat(Template); err != nil || !info.IsDir() {
		return nil
	}
	template, err := s.w.root.OpenRoot(Template)
	if err != nil {
		return fmt.Errorf("template of workspaces: %w", err)
	}
	defer template.Close()
	return walk(template, func(name string, _ fs.FileInfo) error {
		data, info, err := readFile(template, name, maxRead)
		if err != nil {
			s.w.opts.Logger.Warn("a file of the template of workspaces cannot be read; leaving it out", "err", err)
			return nil
		}
		if err := s.put(name, data); err != nil {
			return err
		}
		return s.root.Chmod(name, info.Mode().Perm()&0o755|0o600)
	})
}

// put writes a temporary file next to the target and renames it, so that the file is complete or absent.
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
	return tool.Refusef("%s cannot be written: %v.", name, err)
}

// walk calls f for the regular files of a folder, in order of name, up to the number of tracked files.
func walk(root *os.Root, f func(name string, info fs.FileInfo) error) error {
	n := 0
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if d != nil && d.IsDir() {
				return fs.SkipDir // it may not be read, or it has gone
			}
			return nil
		}
		if strings.Count(name, "/") > maxDepth {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if n++; n > maxFiles {
			return fs.SkipAll
		}
		return f(name, info)
	})
}

// change is a change of one file.
type change struct {
	footnote.WorkspaceChanged
	diff string // the whole of it; Diff may be shortened
	now  known  // the file after the change, unless it was deleted
}

// sync compares the folder with the stream and records the differences as changes made by a tool's call.
func (s *space) sync(ctx context.Context, tool, callID string) ([]change, error) {
	var names []string
	there := map[string]bool{}
	err := walk(s.root, func(name string, info fs.FileInfo) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		there[name] = true
		if k, ok := s.files[name]; !ok || !k.unchanged(info) {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the workspace: %w", err)
	}
	if len(there) < maxFiles {
		for name := range s.files {
			if !there[name] { // or in a folder that may not be read; compare tells them apart
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return s.record(ctx, tool, callID, names)
}

// recordTime limits how long changes may be recorded after their run has ended.
const recordTime = 10 * time.Second

// withRecordTime returns a context that ends recordTime after ctx, so that a call's changes are attributed to it even
// if its run has ended. The caller must call stop.
func withRecordTime(ctx context.Context) (_ context.Context, stop func()) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unlink := context.AfterFunc(ctx, func() {
		time.AfterFunc(recordTime, func() { cancel(context.Cause(ctx)) })
	})
	return out, func() { unlink(); cancel(nil) }
}

// batchBytes limits the content in one append.
const batchBytes = 16 << 20

// record writes the changes of files to the stream and skips unchanged files. When ctx ends, it writes what it has
// found so far and returns ctx's cause; the next call finds the rest.
func (s *space) record(ctx context.Context, tool, callID string, names []string) ([]change, error) {
	var changes []change
	written := 0 // how many of them are in the stream
	blobs, size := map[footnote.Digest][]byte{}, 0
	room := s.newRoom()
	flush := func() error {
		if err := s.append(ctx, changes[written:], blobs); err != nil {
			return err
		}
		written, blobs, size = len(changes), map[footnote.Digest][]byte{}, 0
		return nil
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, errors.Join(context.Cause(ctx), flush())
		}
		c, data := s.compare(ctx, name, room)
		if c == nil {
			continue
		}
		c.Tool, c.Conversation, c.CallID = tool, s.conversation, callID
		c.now.outside = unseen(tool)
		changes = append(changes, *c)
		if c.Kept {
			blobs[c.After] = data
			size += len(data)
		}
		if size > batchBytes || len(changes)-written >= 500 {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	return changes, flush()
}

// compare returns the change of one file, or nil if it is unchanged.
func (s *space) compare(ctx context.Context, name string, room *room) (*change, []byte) {
	k, had := s.files[name]
	now, data, err := s.readTracked(name)
	if errors.Is(err, fs.ErrNotExist) {
		if !had {
			return nil, nil
		}
		c := &change{WorkspaceChanged: footnote.WorkspaceChanged{Path: name, Op: opDelete, Before: k.digest}}
		s.diff(ctx, c, k, nil, room)
		return c, nil
	}
	if err != nil {
		return nil, nil // not tracked: a link, or a file with a second hard link
	}
	if had && k.digest == now.digest {
		k.changed, k.inode = now.changed, now.inode
		s.files[name] = k
		return nil, nil
	}
	now.kept = data != nil && room.keep(int64(len(data)))
	c := &change{
		WorkspaceChanged: footnote.WorkspaceChanged{
			Path: name, Op: opCreate, After: now.digest, Size: now.size, Kept: now.kept,
		},
		now: now,
	}
	if had {
		c.Op, c.Before = opWrite, k.digest
	}
	if data != nil {
		s.diff(ctx, c, k, data, room)
	}
	return c, data
}

// readTracked reads a tracked file. It returns the content only if the log can keep it. A larger file, or one that is
// mostly holes, is never loaded into memory.
func (s *space) readTracked(name string) (known, []byte, error) {
	f, info, err := openFile(s.root, name)
	if err != nil {
		return known{}, nil, err
	}
	defer f.Close()
	now := known{size: info.Size(), changed: stamp(info), inode: inode(info)}
	holes := now.size > maxHole && sparse.HasHoles(f, now.size)
	if now.size <= maxKept && !holes {
		data, err := io.ReadAll(io.LimitReader(f, maxKept))
		if data == nil {
			data = []byte{}
		}
		now.digest, now.size = footnote.DigestOf(data), int64(len(data))
		return now, data, err
	}
	if holes {
		now.digest, err = digestOfData(f, now.size)
		return now, nil, err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, io.LimitReader(f, min(now.size, maxRead)))
	now.digest = digestText(sum)
	return now, nil, err
}

// content returns the content of a tracked file up to a maximum size.
func (s *space) content(name string) ([]byte, error) {
	data, _, err := readFile(s.root, name, maxRead)
	return data, err
}

// Budget for the changes of one call. Beyond it, a change is recorded with its digests, but without its content or
// its diff.
const (
	maxDiffing  = 8 << 20 // bytes compared to make diffs
	maxDiffs    = 1 << 20 // bytes of diffs, as long as those of all calls fit in Options.History
	leastDiffs  = maxDiff
	longestDiff = 2 * time.Second
)

// room is the rest of that budget, in bytes. None of it is ever negative.
type room struct {
	content, diffing, diffs int64
	until                   time.Time
}

func (s *space) newRoom() *room {
	history := s.w.opts.History
	return &room{
		content: history / 4,
		diffing: maxDiffing,
		diffs:   max(leastDiffs, min(maxDiffs, history-s.kept.diffs)),
		until:   time.Now().Add(longestDiff),
	}
}

// keep reports whether the budget allows content of n bytes.
func (r *room) keep(n int64) bool {
	if n > r.content {
		return false
	}
	r.content -= n
	return true
}

// diff reports whether the budget allows comparing n bytes.
func (r *room) diff(n int64) bool {
	if n > maxDiffed || n > r.diffing || r.diffs <= 0 || time.Now().After(r.until) {
		return false
	}
	r.diffing -= n
	return true
}

// fit shortens a diff to what the budget allows, and takes it from the budget.
func (r *room) fit(diff string) string {
	diff = shortened(diff, int(min(maxDiff, r.diffs)))
	r.diffs -= int64(len(diff))
	return diff
}

// diff records how the text of a file changed, if the log has its earlier content and the budget allows it.
func (s *space) diff(ctx context.Context, c *change, k known, data []byte, room *room) {
	if c.Op != opCreate && !k.kept || !room.diff(k.size+c.Size) {
		return
	}
	var before []byte
	if c.Op != opCreate {
		var err error
		if before, err = s.w.opts.Log.Blob(ctx, s.stream(), k.digest); err != nil {
			return
		}
	}
	c.compareTexts(string(before), string(data), room)
}

// maxDiff limits the bytes of a diff that the log keeps.
const maxDiff = 64 << 10

// compareTexts records how the text changed, if both sides are text and not too long.
func (c *change) compareTexts(old, new string, room *room) {
	if len(old)+len(new) > maxDiffed || binary([]byte(old)) || binary([]byte(new)) {
		return
	}
	c.diff = unified(c.Path, old, new, c.Op)
	c.Diff = room.fit(c.diff)
}

// append writes changes to the stream, which it creates if necessary. The state in memory follows the stream: it moves
// once the changes are written, and is read again if it may differ from the stream.
func (s *space) append(ctx context.Context, changes []change, blobs map[footnote.Digest][]byte) error {
	if len(changes) == 0 {
		return nil
	}
	s.loaded = false // until the end: nothing is known about the stream if this fails or panics
	// The file has already changed, so its record must be written even if the caller is gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	a := footnote.Append{Stream: s.stream(), After: s.last, Blobs: blobs}
	for _, c := range changes {
		a.Bodies = append(a.Bodies, c.WorkspaceChanged)
	}
	var events []footnote.Event
	var err error
	if s.exists {
		events, err = s.w.opts.Log.Append(ctx, a)
	} else {
		events, err = s.w.opts.Log.CreateAppend(ctx, footnote.Stream{
			ID: s.stream(), Kind: "document", Org: s.principal.Org, User: s.principal.User, Title: "Workspace",
			Assistant: s.w.address(),
		}, a)
	}
	if err != nil {
		return fmt.Errorf("record a change of the workspace: %w", err)
	}
	s.exists, s.last = true, events[len(events)-1].Seq
	for _, c := range changes {
		s.kept.diffs += int64(len(c.Diff))
		if c.Op == opDelete {
			delete(s.files, c.Path)
		} else {
			s.files[c.Path] = c.now
		}
	}
	if err := s.limitHistory(ctx, blobs); err != nil {
		return err
	}
	s.loaded = true
	return nil
}

// binary reports whether content is not text.
func binary(data []byte) bool { return bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) }

// clip returns at most n bytes of s, as valid UTF-8.
func clip(s string, n int) string {
	if n = max(n, 0); len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// truncated ends a diff that was shortened.
const truncated = "\n… (diff truncated)\n"

// shortened returns a diff if it has at most n bytes. Otherwise it returns the part that fits, followed by
// truncated, or nothing if not even that fits.
func shortened(diff string, n int) string {
	if len(diff) <= n {
		return diff
	}
	if n <= len(truncated) {
		return ""
	}
	return clip(diff, n-len(truncated)) + truncated
}

// total returns the total size of the files recorded in the stream.
func (s *space) total() (size int64) {
	for _, k := range s.files {
		size += k.size
	}
	return size
}
