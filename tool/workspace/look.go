package workspace

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool"
)

// File describes a file of a workspace for people.
type File struct {
	Path    string
	Size    int64
	Changed time.Time
}

// Files lists the files of a conversation's workspace by name. A workspace that does not exist yet has none.
func (w *Workspaces) Files(ctx context.Context, conversation string) ([]File, error) {
	if err := w.checkHome(ctx, conversation); err != nil {
		return nil, err
	}
	root, err := w.root.OpenRoot(folderOf(conversation))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unavailable(err)
	}
	defer root.Close()
	var files []File
	err = walk(root, func(name string, info fs.FileInfo) error {
		files = append(files, File{name, info.Size(), info.ModTime().UTC()})
		return ctx.Err()
	})
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, err
}

func unavailable(err error) error {
	return footnote.Wrapf(footnote.StorageUnavailable, err, "The workspace cannot be opened.")
}

// Changes returns up to limit of the newest events of a conversation's workspace, oldest first.
func (w *Workspaces) Changes(ctx context.Context, conversation string, limit int) ([]footnote.Event, error) {
	var events []footnote.Event
	for ev, err := range w.opts.Log.Events(ctx, StreamOf(conversation), 0) {
		if footnote.CodeOf(err) == footnote.NotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if events = append(events, ev); len(events) > 2*limit {
			events = slices.Delete(events, 0, len(events)-limit)
		}
	}
	return events[max(0, len(events)-limit):], nil
}

// maxServed limits the bytes of a file that are sent to a person.
const maxServed = 16 << 20

// File returns the current content of a file or, given a digest, its content after a change.
func (w *Workspaces) File(ctx context.Context, conversation, path, digest string) ([]byte, error) {
	missing := footnote.Errorf(footnote.NotFound, "There is no such file.")
	if digest != "" {
		data, err := w.opts.Log.Blob(ctx, StreamOf(conversation), digest)
		if footnote.CodeOf(err) == footnote.NotFound {
			return nil, w.missingVersion(ctx, conversation, digest)
		}
		return data, err
	}
	rel, err := locate(path)
	if r, ok := errors.AsType[*tool.Refusal](err); ok {
		return nil, footnote.Invalidf("%s", r.Text)
	}
	if err := w.checkHome(ctx, conversation); err != nil {
		return nil, err
	}
	root, err := w.root.OpenRoot(folderOf(conversation))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	}
	if err != nil {
		return nil, unavailable(err)
	}
	defer root.Close()
	data, info, err := readFile(root, rel, maxServed)
	if r, ok := errors.AsType[*tool.Refusal](err); ok {
		return nil, footnote.Invalidf("%s", r.Text)
	}
	switch {
	case info == nil:
		return nil, missing // it does not exist, or it is a link that leads outside
	case errors.Is(err, errLarge):
		return nil, footnote.Errorf(footnote.TooLarge, "The file has %s; at most %s are sent.", bytesText(info.Size()),
			bytesText(maxServed))
	case err != nil:
		return nil, unavailable(err)
	}
	return data, nil
}
