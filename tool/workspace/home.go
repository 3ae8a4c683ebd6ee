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
	"github.com/footnotehq/footnote/internal/reply"
)

// home identifies a folder of workspaces when several servers share a log. It is stored in a file in the folder, so
// servers that also share the folder have the same home. The stream of a workspace names the home it was created
// in.
type home struct {
	ID     string `json:"id"`
	Server string `json:"server"` // the server that created the folder; for people
}

// homeFile is next to the folders of conversations. Its name cannot be that of a conversation's folder.
const homeFile = ".home"

// maxHome limits the size of the file in bytes.
const maxHome = 4 << 10

// loadHome reads the home of the folder, or creates it.
func (w *Workspaces) loadHome() error {
	for {
		f, err := w.root.Open(homeFile)
		if errors.Is(err, fs.ErrNotExist) {
			if err = w.createHome(); err == nil || errors.Is(err, fs.ErrExist) {
				continue // read ours, or the one of a server that was faster
			}
		}
		if err != nil {
			return fmt.Errorf("home of workspaces: %w", err)
		}
		data, err := io.ReadAll(io.LimitReader(f, maxHome))
		f.Close()
		if err == nil {
			err = json.Unmarshal(data, &w.home)
		}
		if err == nil && w.home.ID == "" {
			err = errors.New("it has no id")
		}
		if err != nil {
			return fmt.Errorf("home of workspaces: %s in the folder for workspaces is damaged; remove it, and "+
				"workspaces that were made before are not found here: %w", homeFile, err)
		}
		return nil
	}
}

// createHome creates the home file atomically.
func (w *Workspaces) createHome() error {
	server, err := os.Hostname()
	if err != nil {
		server = "another server"
	}
	h := home{ID: rand.Text(), Server: server}
	temp := homeFile + "-" + h.ID
	defer func() { _ = w.root.Remove(temp) }()
	if err := w.root.WriteFile(temp, reply.JSON(h), 0o600); err != nil {
		return err
	}
	return w.root.Link(temp, homeFile)
}

// checkHome returns an error if a conversation's workspace is in another server's folder. Its code is
// StorageUnavailable, and it names the server.
func (w *Workspaces) checkHome(ctx context.Context, conversation string) error {
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
	return w.checkStream(head)
}

func (w *Workspaces) checkStream(head footnote.Stream) error {
	var h home
	if head.Assistant == "" || json.Unmarshal([]byte(head.Assistant), &h) != nil || h.ID == w.home.ID {
		return nil
	}
	return footnote.Errorf(footnote.StorageUnavailable,
		"The workspace of this conversation is on the server %.100q. Ask that one, or give all servers one folder "+
			"for workspaces.", h.Server)
}

// address encodes the home for the stream of a workspace.
func (w *Workspaces) address() string {
	if !w.opts.Shared {
		return ""
	}
	return string(reply.JSON(w.home))
}
