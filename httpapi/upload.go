package httpapi

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/protocol"
)

const (
	uploadWindow = 30 * time.Second // for each paceBytes
	uploadTime   = 6 * time.Hour    // limit for a whole upload
	formOverhead = 64 << 10         // bytes of an upload besides the file
)

// upload handles POST /api/sources: one data file, sent as a form.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) error {
	return s.takeFile(w, r, http.StatusCreated, s.opts.Data.Add)
}

// replaceSource handles PUT /api/sources/{name}, whose body is that of an upload.
func (s *Server) replaceSource(w http.ResponseWriter, r *http.Request) error {
	return s.takeFile(w, r, http.StatusOK, func(ctx context.Context, p footnote.Principal, filename string,
		content io.Reader) (SourceInfo, error) {
		return s.opts.Data.Replace(ctx, p, r.PathValue("name"), filename, content)
	})
}

// appendSource handles POST /api/sources/{name}/append, whose body is that of an upload.
func (s *Server) appendSource(w http.ResponseWriter, r *http.Request) error {
	return s.takeFile(w, r, http.StatusOK, func(ctx context.Context, p footnote.Principal, filename string,
		content io.Reader) (SourceInfo, error) {
		return s.opts.Data.Append(ctx, p, r.PathValue("name"), filename, content)
	})
}

// takeFile passes the file in the body of a request to take.
func (s *Server) takeFile(w http.ResponseWriter, r *http.Request, status int, take func(ctx context.Context,
	p footnote.Principal, filename string, content io.Reader) (SourceInfo, error)) error {
	limit, ok := s.opts.Data.Uploads()
	if !ok {
		return footnote.Errorf(footnote.Forbidden, "Uploads are turned off on this server.")
	}
	tooLarge := footnote.Errorf(footnote.TooLarge, "The file may have at most %d bytes.", limit)
	if r.ContentLength > limit+formOverhead {
		return tooLarge
	}
	r.Body = &paced{
		ReadCloser: http.MaxBytesReader(w, r.Body, limit+formOverhead), rc: http.NewResponseController(w),
		window: uploadWindow, end: time.Now().Add(uploadTime),
	}
	part, err := filePart(r)
	if err != nil {
		return uploadError(err, tooLarge)
	}
	info, err := take(r.Context(), PrincipalOf(r.Context()), part.FileName(), formReader{part})
	if err != nil {
		return uploadError(err, tooLarge)
	}
	return protocol.WriteValue(w, status, info)
}

// filePart returns the first part of a form, which must be the file.
func filePart(r *http.Request) (*multipart.Part, error) {
	form, err := r.MultipartReader()
	if err != nil {
		return nil, footnote.Wrapf(footnote.InvalidRequest, err, "The Content-Type must be multipart/form-data.")
	}
	part, err := form.NextPart()
	if errors.Is(err, io.EOF) || err == nil && (part.FormName() != "file" || part.FileName() == "") {
		return nil, footnote.Invalidf("The form's first field must be the file, and be called file.")
	}
	if err != nil {
		return nil, &formError{err}
	}
	return part, nil
}

// formError is an error in the client's form, not in this server.
type formError struct{ err error }

func (e *formError) Error() string { return "read the form: " + e.err.Error() }
func (e *formError) Unwrap() error { return e.err }

// formReader wraps read errors in formError.
type formReader struct{ io.Reader }

func (r formReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &formError{err}
	}
	return n, err
}

// uploadError classifies the errors of reading a body.
func uploadError(err error, tooLarge error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge
	}
	if _, ok := errors.AsType[*footnote.Error](err); ok {
		return err
	}
	_, form := errors.AsType[*formError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return footnote.Wrapf(footnote.InvalidRequest, err,
			"The file came too slowly: each %d KB of it must come within %s, and all of it within %s.",
			paceBytes>>10, uploadWindow, uploadTime)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, multipart.ErrMessageTooLarge):
		return footnote.Wrapf(footnote.InvalidRequest, err, "The form is incomplete.")
	case form:
		return footnote.Wrapf(footnote.InvalidRequest, err,
			"The form cannot be read. A name in it may hold control characters: rename the file.")
	default:
		return err
	}
}

// removeSource handles DELETE /api/sources/{name}, for uploads.
func (s *Server) removeSource(w http.ResponseWriter, r *http.Request) error {
	return done(w, s.opts.Data.Remove(r.Context(), PrincipalOf(r.Context()), r.PathValue("name")))
}
