package workspace

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/footnotehq/footnote"
)

// home is what tells one folder for workspaces from another, when several servers
// share a log: a file in the folder, so that servers which share the folder, too, have
// the same one. The stream of a workspace keeps the home it was made in.
type home struct {
	ID     string `json:"id"`
	Server string `json:"server"` // whose folder it was first; for people
}

// homeFile is beside the folders of conversations, none of which has such a name.
const homeFile = ".home"

// mostHome bounds the file, in bytes.
const mostHome = 4 << 10

// settleIn reads the home of the folder, or makes it.
func (w *Workspaces) settleIn() error {
	for {
		f, err := w.root.Open(homeFile)
		if errors.Is(err, fs.ErrNotExist) {
			if err = w.found(); err == nil || errors.Is(err, fs.ErrExist) {
				continue // ours, or that of who was quicker
			}
		}
		if err != nil {
			return fmt.Errorf("home of workspaces: %w", err)
		}
		data, err := io.ReadAll(io.LimitReader(f, mostHome))
		f.Close()
		if err == nil {
			err = json.Unmarshal(data, &w.home)
		}
		if err == nil && w.home.ID == "" {
			err = errors.New("it has no id")
		}
		if err != nil {
			return fmt.Errorf("home of workspaces: %s in the folder for workspaces is damaged; remove it, and workspaces that were made before are not found here: %w", homeFile, err)
		}
		return nil
	}
}

// found makes the home: whole, or not at all.
func (w *Workspaces) found() error {
	server, err := os.Hostname()
	if err != nil {
		server = "another server"
	}
	h := home{ID: rand.Text(), Server: server}
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	temp := homeFile + "-" + h.ID
	defer func() { _ = w.root.Remove(temp) }()
	if err := w.root.WriteFile(temp, data, 0o600); err != nil {
		return err
	}
	return w.root.Link(temp, homeFile)
}

// here reports that the workspace of a conversation is in another server's folder, as
// an error with code StorageUnavailable that names the server.
func (w *Workspaces) here(ctx context.Context, conversation string) error {
	if !w.opts.Shared {
		return nil
	}
	head, err := w.opts.Log.Get(ctx, StreamOf(conversation))
	if footnote.CodeOf(err) == footnote.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	return w.mine(head)
}

func (w *Workspaces) mine(head footnote.Stream) error {
	var h home
	if head.Assistant == "" || json.Unmarshal([]byte(head.Assistant), &h) != nil || h.ID == w.home.ID {
		return nil
	}
	return footnote.Errorf(footnote.StorageUnavailable,
		"The workspace of this conversation is on the server %.100q. Ask that one, or give all servers one folder for workspaces.", h.Server)
}

// address is the home as the stream of a workspace keeps it.
func (w *Workspaces) address() string {
	if !w.opts.Shared {
		return ""
	}
	data, err := json.Marshal(w.home)
	if err != nil {
		return "" // strings always encode
	}
	return string(data)
}
