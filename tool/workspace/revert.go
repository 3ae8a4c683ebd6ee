package workspace

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool"
)

// Revert restores the content that a file had before or after one of its changes, given by digest. Without a
// digest, it removes the file, which undoes its creation. Revert follows the rules of Write and is recorded as a
// change, so it can be reverted, too. The model must read the file again before it changes it.
//
// The error's code is NotFound when the file's history never had the content or no longer keeps it, InvalidRequest
// when the file cannot be written, and Conflict while a command is running in the workspace.
func (w *Workspaces) Revert(ctx context.Context, p footnote.Principal, conversation, path, digest string) error {
	rel, err := locate(path)
	if err == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, busyWait, errBusy)
		defer cancel()
		err = w.revert(ctx, tool.Call{Name: byPerson, Conversation: conversation, Principal: p}, rel, digest)
	}
	if r, ok := errors.AsType[*tool.Refusal](err); ok {
		return footnote.Invalidf("%s", r.Text)
	}
	return err
}

// busyWait limits how long a person waits for a busy workspace.
const busyWait = 5 * time.Second

var errBusy = footnote.Errorf(footnote.Conflict,
	"The assistant is working in the workspace. Try again when it has ended.")

func (w *Workspaces) revert(ctx context.Context, call tool.Call, rel, digest string) error {
	data, err := w.earlierContent(ctx, call.Conversation, rel, digest)
	if err != nil {
		return err
	}
	out, err := w.use(ctx, call, func(s *space) (tool.Output, error) {
		if err := s.writable(rel); err != nil {
			return tool.Output{}, err
		}
		defer delete(s.seen, rel) // the model has not seen the new content
		if digest != "" {
			return s.change(ctx, call, rel, data, true)
		}
		if _, err := s.record(ctx, byOutside, "", []string{rel}); err != nil {
			return tool.Output{}, err
		}
		if err := s.root.Remove(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return tool.Output{}, writing(rel, err)
		}
		rctx, stop := withRecordTime(ctx)
		defer stop()
		_, err := s.record(rctx, call.Name, "", []string{rel})
		return tool.Output{}, err
	})
	if err == nil && out.IsError {
		return tool.Refusef("%s", out.Content)
	}
	return err
}

// earlierContent returns the content that a file had before or after a change.
func (w *Workspaces) earlierContent(ctx context.Context, conversation, rel, digest string) ([]byte, error) {
	stream := StreamOf(conversation)
	for ev, err := range w.opts.Log.Events(ctx, stream, 0) {
		if footnote.CodeOf(err) == footnote.NotFound {
			break
		}
		if err != nil {
			return nil, err
		}
		b, ok := ev.Body.(footnote.WorkspaceChanged)
		if !ok || b.Path != rel || digest != "" && digest != b.Before && digest != b.After {
			continue
		}
		if digest == "" {
			return nil, nil
		}
		data, err := w.opts.Log.Blob(ctx, stream, digest)
		if footnote.CodeOf(err) == footnote.NotFound {
			return nil, errNotKept
		}
		return data, err
	}
	return nil, footnote.Errorf(footnote.NotFound, "The file's history has no version with this digest.")
}
