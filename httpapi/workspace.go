package httpapi

import (
	"context"
	"net/http"
	"path"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/protocol"
)

// Workspaces gives access to the files that conversations work on.
type Workspaces interface {
	// Files lists the files in a conversation's workspace by name. A conversation without a workspace has no
	// files.
	Files(ctx context.Context, conversation string) ([]WorkspaceFile, error)
	// Changes returns its newest changes, at most limit, oldest first.
	Changes(ctx context.Context, conversation string, limit int) ([]footnote.Event, error)
	// File returns the current content of a file, or the content with a digest, which a change left. It returns
	// NotFound, InvalidRequest or TooLarge.
	File(ctx context.Context, conversation, path, digest string) ([]byte, error)
	// Revert restores the content of a file with a digest from its history; without a digest it removes the
	// file. It returns NotFound or InvalidRequest.
	Revert(ctx context.Context, p footnote.Principal, conversation, path, digest string) error
}

// WorkspaceFile is a file in a workspace.
type WorkspaceFile struct {
	Path    string    `json:"path"`
	Size    int64     `json:"size"`
	Changed time.Time `json:"changed"`
}

func (s *Server) workspaceRoutes() {
	const workspace = "/api/conversations/{id}/workspace"
	s.Handle(workspace, protocol.Native, get(s.inWorkspace(s.workspace)))
	s.Handle(workspace+"/file", protocol.Native, get(s.inWorkspace(s.workspaceFile)))
	s.Handle(workspace+"/revert", protocol.Native, Methods{http.MethodPost: s.inWorkspace(s.revertFile)})
}

// inWorkspace is inConversation for a route about the workspace of the conversation.
func (s *Server) inWorkspace(h conversationHandler) Handler {
	return s.inConversation(func(w http.ResponseWriter, r *http.Request, head footnote.Stream) error {
		if s.opts.Workspaces == nil {
			return footnote.Errorf(footnote.NotFound, "This server has no workspaces.")
		}
		return h(w, r, head)
	})
}

// maxChanges limits how many changes of a workspace are listed.
const maxChanges = 500

// workspace handles GET /api/conversations/{id}/workspace: its files and recent changes.
func (s *Server) workspace(w http.ResponseWriter, r *http.Request, head footnote.Stream) error {
	files, err := s.opts.Workspaces.Files(r.Context(), head.ID)
	if err != nil {
		return err
	}
	events, err := s.opts.Workspaces.Changes(r.Context(), head.ID, maxChanges)
	if err != nil {
		return err
	}
	type change struct {
		Seq  int64     `json:"seq"`
		Time time.Time `json:"time"`
		footnote.WorkspaceChanged
	}
	out := struct {
		Files   []WorkspaceFile `json:"files"`
		Changes []change        `json:"changes"`
	}{files, []change{}}
	for _, ev := range events {
		if b, ok := ev.Body.(footnote.WorkspaceChanged); ok {
			out.Changes = append(out.Changes, change{ev.Seq, ev.Time, b})
		}
	}
	return protocol.WriteValue(w, http.StatusOK, out)
}

// workspaceFile handles GET /api/conversations/{id}/workspace/file?path=…: it returns the file's content,
// never in a form that a browser renders as a page. With digest=… it returns the file as a change left it.
func (s *Server) workspaceFile(w http.ResponseWriter, r *http.Request, head footnote.Stream) error {
	name := r.URL.Query().Get("path")
	data, err := s.opts.Workspaces.File(r.Context(), head.ID, name, r.URL.Query().Get("digest"))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Disposition", `attachment; filename="`+protocol.FileName(path.Base(name))+`"`)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	media := "application/octet-stream"
	if utf8.Valid(data) {
		media = "text/plain; charset=utf-8"
	}
	return protocol.Write(w, http.StatusOK, media, data)
}

// revertFile handles POST /api/conversations/{id}/workspace/revert {path, digest}.
func (s *Server) revertFile(w http.ResponseWriter, r *http.Request, head footnote.Stream) error {
	var in struct {
		Path   string `json:"path"`
		Digest string `json:"digest"`
	}
	if err := s.Read(w, r, 1, &in); err != nil {
		return err
	}
	if in.Path == "" {
		return footnote.Invalidf("path is missing.")
	}
	return done(w, s.opts.Workspaces.Revert(r.Context(), PrincipalOf(r.Context()), head.ID, in.Path, in.Digest))
}
