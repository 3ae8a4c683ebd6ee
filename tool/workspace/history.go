package workspace

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
)

// The log keeps what files contained before and after each change, as far as there is
// room: Options.History for a workspace, Options.OrgHistory for all of an organisation.
// Beyond it the oldest contents are dropped, those that files still have at the very
// last. The changes themselves stay in the log.

// history is what the log keeps of a workspace.
type history struct {
	sizes map[footnote.Digest]int64 // nil: not read yet
	bytes int64
	diffs int64                     // bytes of the differences in its events, which stay
	order map[footnote.Digest]int64 // the last event that made a file have the content
}

// spareHistory is the part of a bound that is made free at once, so that not every change
// must make room.
const spareHistory = 8

// bound makes room in the history for what was just added to it.
func (s *space) bound(ctx context.Context, added map[footnote.Digest][]byte) error {
	if len(added) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // the record of a change does not depend on who waits
	h := &s.kept
	if h.sizes == nil {
		sizes, err := s.w.opts.Log.Blobs(ctx, s.stream())
		if err != nil {
			return fmt.Errorf("bound the history of the workspace: %w", err)
		}
		h.sizes = sizes
		for _, n := range sizes {
			h.bytes += n
		}
	}
	size := int64(0)
	for d, data := range added {
		if _, had := h.sizes[d]; !had {
			h.sizes[d] = int64(len(data))
			h.bytes += int64(len(data))
		}
		h.order[d] = s.last
		size += int64(len(data))
	}
	if h.bytes > s.w.opts.History {
		if err := s.drop(ctx, s.w.opts.History-s.w.opts.History/spareHistory); err != nil {
			return err
		}
	}
	return s.w.boundOrg(ctx, s, size)
}

// drop drops contents until at most so many bytes are kept.
func (s *space) drop(ctx context.Context, most int64) error {
	h := &s.kept
	current := map[footnote.Digest]bool{}
	for _, k := range s.files {
		current[k.digest] = true
	}
	oldest := slices.SortedFunc(maps.Keys(h.sizes), func(a, b footnote.Digest) int {
		if current[a] != current[b] {
			if current[a] {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(h.order[a], h.order[b]), cmp.Compare(a, b))
	})
	var gone []footnote.Digest
	left := h.bytes
	for _, d := range oldest {
		if left <= most {
			break
		}
		left -= h.sizes[d]
		gone = append(gone, d)
	}
	if err := dropBlobs(ctx, s.w.opts.Log, s.stream(), gone); err != nil {
		return err
	}
	for _, d := range gone {
		delete(h.sizes, d)
		delete(h.order, d)
	}
	h.bytes = left
	return nil
}

// mostDropped is how many contents are dropped in one step, so that others who write to
// the log are not kept waiting.
const mostDropped = 16

func dropBlobs(ctx context.Context, log Log, stream string, gone []footnote.Digest) error {
	for part := range slices.Chunk(gone, mostDropped) {
		if err := log.DropBlobs(ctx, stream, part); err != nil && footnote.CodeOf(err) != footnote.NotFound {
			return fmt.Errorf("bound the history of %s: %w", stream, err)
		}
	}
	return nil
}

// orgHistory is what the workspaces of an organisation keep together.
type orgHistory struct {
	bytes int64 // when it was last added up
	added int64 // since then, by this server
}

// boundOrg makes room in the history of an organisation after size bytes were added to
// that of a workspace. Workspaces that nobody has worked in for longest give up theirs.
func (w *Workspaces) boundOrg(ctx context.Context, s *space, size int64) error {
	org, most := s.principal.Org, w.opts.OrgHistory
	w.mu.Lock()
	h := w.orgs[org]
	if h == nil {
		h = &orgHistory{bytes: most} // nobody has added it up: that is done now
		w.orgs[org] = h
	}
	h.added += size
	fine := h.bytes+h.added <= most && h.added <= most/spareHistory // others may add, too
	w.mu.Unlock()
	if fine {
		return nil
	}
	list, err := w.opts.Log.Holdings(ctx, org, "document")
	if err != nil {
		return fmt.Errorf("bound the histories of workspaces: %w", err)
	}
	total := int64(0)
	for _, o := range list {
		if strings.HasPrefix(o.Stream, streamPrefix) {
			total += o.Bytes
		}
	}
	goal := most - most/spareHistory
	if total <= most {
		goal = total
	}
	for _, o := range list {
		if total <= goal {
			break
		}
		if !strings.HasPrefix(o.Stream, streamPrefix) || o.Stream == s.stream() {
			continue
		}
		sizes, err := w.opts.Log.Blobs(ctx, o.Stream)
		if footnote.CodeOf(err) == footnote.NotFound {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return fmt.Errorf("bound the history of %s: %w", o.Stream, err)
		}
		if err := dropBlobs(ctx, w.opts.Log, o.Stream, slices.Collect(maps.Keys(sizes))); err != nil {
			return err
		}
		total -= o.Bytes
	}
	if total > goal { // what is left is its own
		before := s.kept.bytes
		if err := s.drop(ctx, goal); err != nil {
			return err
		}
		total -= before - s.kept.bytes
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	h.bytes, h.added = total, 0
	return nil
}

// notKept says of a digest that the history of a conversation's workspace knows, but not
// its content, that this is so; of any other, that there is none.
func (w *Workspaces) notKept(ctx context.Context, conversation, digest string) error {
	for ev, err := range w.opts.Log.Events(ctx, StreamOf(conversation), 0) {
		if err != nil {
			break
		}
		if b, ok := ev.Body.(footnote.WorkspaceChanged); ok && (b.Before == digest || b.After == digest) {
			return errNotKept
		}
	}
	return footnote.Errorf(footnote.NotFound, "There is no such file.")
}

var errNotKept = footnote.Errorf(footnote.NotFound,
	"This version of the file is no longer kept: it was too large, or was dropped to make room for newer ones.")
