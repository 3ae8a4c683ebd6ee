package knowledge

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Watcher keeps the newest faultless version of a folder. Several goroutines may call its methods at once.
type Watcher struct {
	dir     string
	opts    WatchOptions
	current atomic.Pointer[Context]
	fault   atomic.Pointer[error]
	looking sync.Mutex
	looked  string // the state of the folder when it was last read; looking guards it
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

// WatchOptions configures Watch.
type WatchOptions struct {
	Every time.Duration // how often to look at the folder; default 2 s
	// Check finds further faults of a new version, such as tables that no source has; nil: none.
	Check func(context.Context, *Context) error
	// Changed is called, by one goroutine at a time, after each change with the version in use and what is wrong with
	// the folder, which is nil if the version is that of the folder. It is not called for the first version. It may be
	// nil.
	Changed func(c *Context, fault error)
}

// Watch reads a folder and looks for changes until Close. A folder that is faulty or cannot be read is an error now;
// when it becomes so later, the last good version stays in use.
func Watch(ctx context.Context, dir string, o WatchOptions) (*Watcher, error) {
	if o.Every <= 0 {
		o.Every = 2 * time.Second
	}
	w := &Watcher{dir: dir, opts: o, looked: stamp(dir)}
	first, err := w.load(ctx)
	if err != nil {
		return nil, err
	}
	w.current.Store(first)
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.ended.Go(func() { w.watch(ctx) })
	return w, nil
}

// Current returns the version in use.
func (w *Watcher) Current() *Context { return w.current.Load() }

// Fault returns what is wrong with the folder, or nil.
func (w *Watcher) Fault() error {
	if err := w.fault.Load(); err != nil {
		return *err
	}
	return nil
}

// Look reads the folder at once if it has changed.
func (w *Watcher) Look(ctx context.Context) { w.look(ctx) }

// Close ends the watching and waits for it.
func (w *Watcher) Close() error {
	w.stop()
	w.ended.Wait()
	return nil
}

func (w *Watcher) watch(ctx context.Context) {
	tick := time.NewTicker(w.opts.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.look(ctx)
		}
	}
}

// look reads the folder if a file has another size or time than before. A folder that changes meanwhile is left to the
// next look. A folder that was faulty because of something outside of it is read again, too.
func (w *Watcher) look(ctx context.Context) {
	w.looking.Lock()
	defer w.looking.Unlock()
	now := stamp(w.dir)
	if now == w.looked && w.Fault() == nil {
		return
	}
	fresh, err := w.load(ctx)
	if ctx.Err() != nil || stamp(w.dir) != now { // files that are being written may hide less than they will
		return
	}
	w.looked = now
	if err == nil && w.Current().protected != nil && !fresh.hasModel() {
		err = Faults{{File: ModelFile, Problem: "the file is gone, and it hides tables or columns; put it back, or " +
			"restart the server to show them"}}
	}
	if old := w.Fault(); err != nil {
		if old == nil || old.Error() != err.Error() {
			w.fault.Store(&err)
			w.changed(err)
		}
		return
	}
	repaired := w.fault.Swap(nil) != nil
	if fresh.Digest != w.Current().Digest {
		w.current.Store(fresh)
		repaired = true
	}
	if repaired {
		w.changed(nil)
	}
}

func (w *Watcher) changed(fault error) {
	if w.opts.Changed != nil {
		w.opts.Changed(w.Current(), fault)
	}
}

// checkTime limits how long the check of a new version may take.
const checkTime = 30 * time.Second

func (w *Watcher) load(ctx context.Context) (*Context, error) {
	c, err := Load(w.dir)
	if err != nil || w.opts.Check == nil {
		return c, err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return c, w.opts.Check(ctx, c)
}

// stamp returns a text that changes with the names, sizes and times of the files. It follows links, as deployments swap
// them. It reads no file.
func stamp(dir string) string {
	var s []byte
	n := 0
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			s = append(s, err.Error()...)
			return nil
		}
		if n++; n > 4*MaxFiles {
			return fs.SkipAll
		}
		info, err := os.Stat(path)
		if err != nil {
			s = append(s, err.Error()...)
			return nil
		}
		s = info.ModTime().AppendFormat(append(append(s, path...), 0), time.RFC3339Nano)
		s = append(s, byte(info.Size()), byte(info.Size()>>8), byte(info.Size()>>16), 0)
		return nil
	})
	return string(s)
}
