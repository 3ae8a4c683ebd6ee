package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/footnotehq/footnote/internal/sparse"
)

// A command works on a copy of its folder, in a memory file system of size Limits.Disk. The kernel therefore
// enforces the limit, whatever names the files have or no longer have. The server fills the file system
// before the command starts. It keeps it open through a descriptor that the first stage sent, so it can copy
// the changes back once the command's last process has exited and nobody else can reach it.
//
// The command itself never sees the host's folder or its path.

// Limits of the copy.
const (
	maxEmptied   = 1_000_000 // entries in a folder that can only be emptied
	maxDepth     = 100       // nested folders
	copyChunk    = 128 << 10
	copyBackTime = 2 * time.Minute // to copy the changes back, in case the disk hangs
)

// errOver is returned when a folder has more than its copy may have.
var errOver = errors.New("the folder is over its limit")

// box is the file system of one command, as the server sees it.
type box struct {
	root       *os.Root          // of the file system
	dir        *os.File          // the same, for what must not depend on its mode
	host       *os.Root          // the folder that it is a copy of
	files      int               // largest number of files
	over       bool              // the folder does not fit: the copy holds what fits, and can only be emptied
	before     map[string]uint64 // the inodes of regular files at the time of the copy
	stamps     map[uint64]stamp  // of these inodes
	links      map[uint64]string // copied path of a file with several names, by inode
	newest     int64             // the newest time of the stamps, in nanoseconds
	buf, other []byte
	deeper     int // entries that were too deep to copy back
	lost       lost
}

// lost lists what could not be copied back.
type lost struct {
	some []FileError // the first maxLost
	n    int
}

const maxLost = 10

func (l *lost) add(e *FileError) {
	if l.n++; l.n <= maxLost {
		l.some = append(l.some, *e)
	}
}

// stamp changes with every change to a file, except one made through a memory mapping.
type stamp struct {
	ino          uint64
	size, blocks int64
	mode         uint32
	nlink        uint64
	ctime        unix.Timespec
}

func stampOf(info fs.FileInfo) stamp {
	st := info.Sys().(*syscall.Stat_t)
	return stamp{st.Ino, st.Size, st.Blocks, st.Mode, uint64(st.Nlink), unix.Timespec(st.Ctim)}
}

// openBox opens the file system behind a descriptor and closes the descriptor.
func openBox(fd int, c Command, over bool) (*box, error) {
	defer unix.Close(fd)
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return nil, err
	}
	if st.Type != unix.TMPFS_MAGIC || int64(st.Blocks)*st.Bsize > c.Limits.Disk+st.Bsize {
		return nil, fmt.Errorf("%w: the size of the workspace is not limited", ErrUnavailable)
	}
	root, err := os.OpenRoot("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return nil, fmt.Errorf("open the copy: %w", err)
	}
	host, err := os.OpenRoot(c.Dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the folder: %w", err), root.Close())
	}
	return newBox(root, host, c.Limits.Files, over)
}

func newBox(root, host *os.Root, files int, over bool) (*box, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the copy: %w", err), root.Close(), host.Close())
	}
	return &box{
		root: root, dir: dir, host: host, files: files, over: over,
		before: map[string]uint64{}, stamps: map[uint64]stamp{}, links: map[uint64]string{},
		buf: make([]byte, copyChunk), other: make([]byte, copyChunk),
	}, nil
}

func (b *box) close() {
	b.dir.Close()
	b.root.Close()
	b.host.Close()
}

// full reports whether the copy has no room left.
func (b *box) full() bool {
	var st unix.Statfs_t
	return b.over || unix.Fstatfs(int(b.dir.Fd()), &st) != nil || isFull(st)
}

func isFull(st unix.Statfs_t) bool { return st.Bfree == 0 || st.Files > 0 && st.Ffree == 0 }

// fill copies the folder into the box. It returns errOver if the folder does not fit, and ctx's cause if ctx
// ends first.
func (b *box) fill(ctx context.Context) error {
	n := 0
	err := b.fillFolder(ctx, b.host, b.root, "", &n)
	if errors.Is(err, unix.ENOSPC) {
		return errOver
	}
	b.links = map[uint64]string{}
	return err
}

func (b *box) fillFolder(ctx context.Context, from, to *os.Root, dir string, n *int) error {
	names, err := namesIn(from)
	if err != nil {
		return fileError(dir, err)
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if *n++; *n > maxEmptied || !b.over && *n > b.files {
			return errOver
		}
		if err := b.fillOne(ctx, from, to, dir, name, n); err != nil {
			return fileError(path.Join(dir, name), err)
		}
	}
	return nil
}

func (b *box) fillOne(ctx context.Context, from, to *os.Root, dir, name string, n *int) error {
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	if isLeftover(name, info.Mode()) {
		return from.Remove(name)
	}
	full := path.Join(dir, name)
	switch mode := info.Mode(); {
	case mode.IsDir():
		if depthOf(full) > maxDepth {
			return nil // it stays in the host's folder only
		}
		sub, err := enterFolder(from, name, mode)
		if err != nil {
			return err
		}
		defer sub.Close()
		into, err := enterCopy(to, name, mode, nil)
		if err != nil {
			return err
		}
		defer into.Close()
		return b.fillFolder(ctx, sub, into, full, n)
	case mode.IsRegular():
		return b.fillFile(ctx, from, to, name, full, info)
	case mode&fs.ModeSymlink != 0:
		target, err := from.Readlink(name)
		if err != nil {
			return err
		}
		return to.Symlink(target, name)
	}
	return nil // a pipe or socket without another end
}

func (b *box) fillFile(ctx context.Context, from, to *os.Root, name, full string, info fs.FileInfo) error {
	was := stampOf(info)
	if first, ok := b.links[was.ino]; ok && was.nlink > 1 {
		if err := b.root.Link(first, full); err != nil {
			return err
		}
		return b.note(to, name, full)
	}
	err := b.copyFile(ctx, from, to, name, name, info)
	if errors.Is(err, unix.ENOSPC) && b.over {
		err = b.stub(to, name, info.Size())
	}
	if err != nil {
		return err
	}
	if was.nlink > 1 {
		b.links[was.ino] = full
	}
	return b.note(to, name, full)
}

// stub creates a file with the name and size of another, which cannot be read.
func (b *box) stub(to *os.Root, name string, size int64) error {
	_ = to.Remove(name) // the part that did fit
	f, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// note records the stamp of a copied file.
func (b *box) note(to *os.Root, name, full string) error {
	info, err := to.Lstat(name)
	if err != nil {
		return err
	}
	s := stampOf(info)
	b.before[full], b.stamps[s.ino] = s.ino, s
	b.newest = max(b.newest, s.ctime.Nano())
	return nil
}

// settle waits until the file clock has advanced: from then on every change gives a different stamp. That
// takes at most one tick of the kernel's clock, unless the clock was set back.
func (b *box) settle(ctx context.Context) error {
	for {
		var now unix.Timespec
		if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) != nil || now.Nano() > b.newest {
			return nil
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

var errCopyBack = fmt.Errorf("the changes could not be kept within %v", copyBackTime)

// copyBack copies the changes back to the folder. Nobody else may use either side. What cannot be copied is lost, and
// the rest is kept, unless there is no space or no time.
func (b *box) copyBack() error {
	ctx, stop := context.WithTimeoutCause(context.Background(), copyBackTime, errCopyBack)
	defer stop()
	// The command may have closed the folder even to its owner, which the server is, too.
	err := b.dir.Chmod(0o700)
	if err == nil {
		err = b.copyFolderBack(ctx, b.root, b.host, "")
	}
	switch {
	case err == nil:
		return nil
	case isNoSpace(err):
		err = fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return fmt.Errorf("%w: %w", ErrNotKept, err)
}

func isNoSpace(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

func (b *box) copyFolderBack(ctx context.Context, from, to *os.Root, dir string) error {
	names, err := namesIn(from)
	if err != nil {
		return fileError(dir, err)
	}
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
	}
	old, err := namesIn(to)
	if err != nil {
		return fileError(dir, err)
	}
	for _, name := range old { // delete first: it makes room
		full := path.Join(dir, name)
		if there[name] || depthOf(full) > maxDepth && isFolder(to, name) {
			continue
		}
		if err := b.recordLoss(ctx, full, remove(to, name)); err != nil {
			return err
		}
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		full := path.Join(dir, name)
		if err := b.recordLoss(ctx, full, b.copyEntryBack(ctx, from, to, name, full)); err != nil {
			return err
		}
	}
	return nil
}

// recordLoss adds the error of one file or folder to what is lost. It returns the error if the rest would fail, too.
func (b *box) recordLoss(ctx context.Context, full string, err error) error {
	if err == nil {
		return nil
	}
	err = fileError(full, err)
	if e, ok := errors.AsType[*FileError](err); ok && ctx.Err() == nil && !isNoSpace(err) {
		b.lost.add(e)
		return nil
	}
	return err
}

// fileError names the file or folder that an error is about, unless the error does so already.
func fileError(full string, err error) error {
	if _, ok := errors.AsType[*FileError](err); ok {
		return err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	return &FileError{Path: path.Join(".", full), Err: err}
}

func (b *box) copyEntryBack(ctx context.Context, from, to *os.Root, name, full string) error {
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	is, err := to.Lstat(name) // nil: there is none
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	mode := info.Mode()
	switch {
	case mode.IsDir() && depthOf(full) > maxDepth:
		b.deeper++
		return nil
	case b.over && !mode.IsDir():
		return nil // nothing in it could be changed
	case is != nil && is.IsDir() != mode.IsDir():
		if err := remove(to, name); err != nil {
			return err
		}
		is = nil
	}
	switch {
	case mode.IsDir():
		return b.copySubfolderBack(ctx, from, to, name, full, mode, is)
	case mode.IsRegular():
		return b.copyFileBack(ctx, from, to, name, full, info, is)
	case mode&fs.ModeSymlink != 0:
		target, err := from.Readlink(name)
		if err != nil {
			return err
		}
		if now, err := to.Readlink(name); err == nil && now == target {
			return nil
		}
		if err := remove(to, name); err != nil {
			return err
		}
		return to.Symlink(target, name)
	}
	return remove(to, name) // pipes and sockets end with the command
}

// copySubfolderBack copies back a subfolder.
func (b *box) copySubfolderBack(
	ctx context.Context, from, to *os.Root, name, full string, mode fs.FileMode, is fs.FileInfo,
) error {
	sub, err := enterFolder(from, name, mode)
	if err != nil {
		return err
	}
	defer sub.Close()
	into, err := enterCopy(to, name, mode, is)
	if err != nil {
		return err
	}
	defer into.Close()
	return b.copyFolderBack(ctx, sub, into, full)
}

// enterCopy opens the copy of a folder with the given mode, and makes it unless it is there.
func enterCopy(to *os.Root, name string, mode fs.FileMode, is fs.FileInfo) (*os.Root, error) {
	if is == nil {
		if err := to.Mkdir(name, 0o700); err != nil {
			return nil, err
		}
	}
	if perm := mode.Perm() | 0o700; is == nil || is.Mode().Perm() != perm {
		if err := to.Chmod(name, perm); err != nil {
			return nil, err
		}
	}
	return to.OpenRoot(name)
}

// A file that replaces another is first copied next to it, under a name that starts with tempPrefix and ends
// at random. The name is chosen after the command has ended, so no command can have used it. Until the copy
// is complete its owner may not read it. Files of commands always come back readable, so this mode identifies
// an incomplete copy.
const (
	tempPrefix = ".footnote-copy-"
	tempMode   = 0o200
)

// isLeftover reports whether a file on the host is an incomplete copy by a server that was killed.
func isLeftover(name string, mode fs.FileMode) bool {
	return mode.IsRegular() && mode.Perm() == tempMode && strings.HasPrefix(name, tempPrefix)
}

// copyFileBack copies back a changed file, replacing the old one atomically.
func (b *box) copyFileBack(ctx context.Context, from, to *os.Root, name, full string, info, is fs.FileInfo) error {
	now := stampOf(info)
	if ino, ok := b.before[full]; ok && ino == now.ino && b.stamps[ino] == now && is != nil && is.Mode().IsRegular() {
		same, err := b.sameFile(from, to, name)
		if err != nil || same {
			return err
		}
	}
	if first, ok := b.links[now.ino]; ok && now.nlink > 1 {
		if is != nil {
			if err := remove(to, name); err != nil {
				return err
			}
		}
		return b.host.Link(first, full)
	}
	as := name
	if is != nil {
		as = tempPrefix + rand.Text()
	}
	err := b.copyFile(ctx, from, to, name, as, info)
	if err == nil && as != name {
		err = to.Rename(as, name)
	}
	if err != nil {
		_ = to.Remove(as)
		return err
	}
	if now.nlink > 1 {
		b.links[now.ino] = full
	}
	return nil
}

// sameFile compares a file with its original. Stamps are not enough: writing through a memory mapping does not
// change the stamp of a file in memory.
func (b *box) sameFile(from, to *os.Root, name string) (bool, error) {
	f, err := openRegular(from, name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	g, err := openRegular(to, name)
	if err != nil {
		return false, nil // copy it again
	}
	defer g.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if with, err := g.Stat(); err != nil || with.Size() != info.Size() {
		return false, nil
	}
	equal := true
	err = sparse.EachData(f, info.Size(), func(off, end int64) error {
		for equal && off < end {
			n := int(min(end-off, copyChunk))
			if _, err := f.ReadAt(b.buf[:n], off); err != nil {
				return err
			}
			if _, err := g.ReadAt(b.other[:n], off); err != nil {
				return err
			}
			equal = bytes.Equal(b.buf[:n], b.other[:n])
			off += int64(n)
		}
		return nil
	})
	return equal, err
}

// copyFile copies a file with its holes, mode and modification time.
func (b *box) copyFile(ctx context.Context, from, to *os.Root, name, as string, info fs.FileInfo) error {
	perm := info.Mode().Perm() | 0o400
	begun := perm & 0o700
	if as != name {
		begun = tempMode
	}
	dst, err := to.OpenFile(as, os.O_WRONLY|os.O_CREATE|os.O_EXCL, begun)
	if err != nil {
		return err
	}
	defer dst.Close()
	if info.Size() > 0 {
		if err := b.copyData(ctx, from, dst, name, info.Size()); err != nil {
			return err
		}
	}
	at := unix.NsecToTimeval(info.ModTime().UnixNano())
	if err := unix.Futimes(int(dst.Fd()), []unix.Timeval{at, at}); err != nil || perm == begun {
		return err
	}
	return dst.Chmod(perm)
}

func (b *box) copyData(ctx context.Context, from *os.Root, dst *os.File, name string, size int64) error {
	src, err := openRegular(from, name)
	if err != nil {
		return err
	}
	defer src.Close()
	last := int64(0)
	err = sparse.EachData(src, size, func(off, end int64) error {
		for off < end {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			n, err := src.ReadAt(b.buf[:min(end-off, copyChunk)], off)
			if n == 0 {
				if err == io.EOF {
					return nil // the file has become shorter
				}
				return err
			}
			if _, err := dst.WriteAt(b.buf[:n], off); err != nil {
				return err
			}
			off += int64(n)
			last = off
		}
		return nil
	})
	if err != nil || last == size {
		return err
	}
	return dst.Truncate(size)
}

// openRegular opens a file for reading, even one that its owner may not read.
func openRegular(root *os.Root, name string) (*os.File, error) {
	const flags = os.O_RDONLY | unix.O_NONBLOCK
	f, err := root.OpenFile(name, flags, 0)
	if errors.Is(err, fs.ErrPermission) && root.Chmod(name, 0o600) == nil {
		f, err = root.OpenFile(name, flags, 0)
	}
	return f, err
}

// enterFolder opens a folder, even one that its owner may not open.
func enterFolder(root *os.Root, name string, mode fs.FileMode) (*os.Root, error) {
	if mode.Perm()&0o700 != 0o700 {
		if err := root.Chmod(name, mode.Perm()|0o700); err != nil {
			return nil, err
		}
	}
	return root.OpenRoot(name)
}

// remove removes a file, or a folder with its contents, whatever their modes.
func remove(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err := open(root, name, 0); err != nil {
		return err
	}
	return root.RemoveAll(name)
}

// open restores the owner's rights on folders.
func open(root *os.Root, name string, depth int) error {
	info, err := root.Lstat(name)
	if err != nil || !info.IsDir() || depth > maxDepth {
		return err
	}
	sub, err := enterFolder(root, name, info.Mode())
	if err != nil {
		return err
	}
	defer sub.Close()
	names, err := namesIn(sub)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := open(sub, n, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func isFolder(root *os.Root, name string) bool {
	info, err := root.Lstat(name)
	return err == nil && info.IsDir()
}

func namesIn(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Readdirnames(-1)
}

// depthOf returns the number of elements in a path.
func depthOf(full string) int { return strings.Count(full, "/") + 1 }
