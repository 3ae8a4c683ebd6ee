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

// The log keeps the contents of files before and after each change, within Options.History per workspace and
// Options.OrgHistory for a whole organisation. Beyond that, the oldest contents are dropped, and the current
// contents of files last of all. The changes themselves stay in the log.

// history describes what the log keeps of a workspace.
type history struct {
	sizes map[footnote.Digest]int64 // nil: not read yet
	bytes int64
	diffs int64                     // bytes of the diffs in its events, which are never dropped
	order map[footnote.Digest]int64 // the last event after which a file had the content
}

// spareHistory is the part of a limit that is freed at once, as a divisor (1/8), so that not every change has to
// free some.
const spareHistory = 8

// limitHistory frees space in the history after contents were added to it.
func (s *space) limitHistory(ctx context.Context, added map[footnote.Digest][]byte) error {
	if len(added) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // the change must be recorded even if the caller is gone
	h := &s.kept
	if h.sizes == nil {
		sizes, err := s.w.opts.Log.Blobs(ctx, s.stream())
		if err != nil {
			return fmt.Errorf("limit the history of the workspace: %w", err)
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
	return s.w.limitOrgHistory(ctx, s, size)
}

// drop deletes the oldest blobs until at most maxBytes remain.
func (s *space) drop(ctx context.Context, maxBytes int64) error {
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
		if left <= maxBytes {
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

// maxDropped limits how many blobs are dropped per transaction, so that other writers wait only briefly.
const maxDropped = 16

func dropBlobs(ctx context.Context, log Log, stream string, gone []footnote.Digest) error {
	for part := range slices.Chunk(gone, maxDropped) {
		if err := log.DropBlobs(ctx, stream, part); err != nil && footnote.CodeOf(err) != footnote.NotFound {
			return fmt.Errorf("limit the history of %s: %w", stream, err)
		}
	}
	return nil
}

// orgHistory is the size of what all workspaces of an organisation keep.
type orgHistory struct {
	bytes int64 // at the last count
	added int64 // by this server since then
}

// limitOrgHistory frees space in an organisation's history after size bytes were added to that of one workspace. The
// workspaces that have been unused for longest lose theirs first.
func (w *Workspaces) limitOrgHistory(ctx context.Context, s *space, size int64) error {
	org, maxBytes := s.principal.Org, w.opts.OrgHistory
	w.mu.Lock()
	h := w.orgs[org]
	if h == nil {
		h = &orgHistory{bytes: maxBytes} // not counted yet: force a count
		w.orgs[org] = h
	}
	h.added += size
	withinLimit := h.bytes+h.added <= maxBytes && h.added <= maxBytes/spareHistory // other servers add, too
	w.mu.Unlock()
	if withinLimit {
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
	goal := maxBytes - maxBytes/spareHistory
	if total <= maxBytes {
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
			continue // it has been deleted meanwhile
		}
		if err != nil {
			return fmt.Errorf("limit the history of %s: %w", o.Stream, err)
		}
		if err := dropBlobs(ctx, w.opts.Log, o.Stream, slices.Collect(maps.Keys(sizes))); err != nil {
			return err
		}
		total -= o.Bytes
	}
	if total > goal { // only this workspace's own history is left to drop
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

// missingVersion returns the error for a digest whose content the log does not have: errNotKept if the history of the
// conversation's workspace mentions the digest, otherwise "no such file".
func (w *Workspaces) missingVersion(ctx context.Context, conversation, digest string) error {
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
