package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/internal/visible"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/schema"
)

// Limits on what the model reads of files.
const (
	maxLines     = 2_000
	maxLine      = 2_000
	maxShown     = 100_000 // bytes per Read
	diffForModel = 8_000   // bytes
	maxCall      = 20 * time.Second
)

type readInput struct {
	Path   string  `json:"file_path" jsonschema:"The file, relative to the workspace or beginning with /workspace/."`
	Offset float64 `json:"offset,omitempty" jsonschema:"Line to begin with, from 1. Left out: the first."`
	Limit  float64 `json:"limit,omitempty" jsonschema:"How many lines to read. Left out: 2000."`
}

var readSpec = tool.Spec{
	Name: "Read", Label: "Reading a file", Family: tool.FileRead,
	Description: "Read a text file of the workspace. Lines come with their numbers, which are not part of the file: " +
		"leave them out of old_string. At most 2000 lines and 100 KB are returned at once; use offset and limit for " +
		"more of a long file. Binary files are only said to be binary. Read a file before you change it with Edit or " +
		"Write.",
	InputSchema: schema.For[readInput](schema.Integer("offset", 1, 100_000_000), schema.Integer("limit", 1, 100_000)),
	Side:        tool.Server, ReadOnly: true,
}

func read(_ context.Context, s *space, _ tool.Call, in readInput) (tool.Output, error) {
	rel, err := locate(in.Path)
	if err != nil {
		return tool.Output{}, err
	}
	data, err := s.readAll(rel, maxRead, ", more than can be read. Use Grep, or a command such as head.")
	if err != nil {
		return tool.Output{}, err
	}
	out := tool.Output{Detail: reply.JSON(fileDetail{Kind: "read", Path: rel, Size: int64(len(data))})}
	if binary(data) {
		out.Content = fmt.Sprintf("%s is a binary file of %s; its content cannot be shown as text.", rel,
			bytesText(int64(len(data))))
		return out, nil
	}
	s.seen[rel] = footnote.DigestOf(data)
	if len(data) == 0 {
		out.Content = rel + " is empty."
		return out, nil
	}
	offset := max(int(in.Offset), 1)
	text, last, all := numbered(string(data), offset, int(in.Limit))
	if offset > last {
		return tool.Output{}, tool.Refusef("%s has %d lines; line %d is after its end.", rel, all, offset)
	}
	if last < all || offset > 1 {
		text += fmt.Sprintf("(lines %d to %d of %d)\n", offset, last, all)
	}
	out.Content = text
	return out, nil
}

// readAll returns the content of a file for the model, or a refusal with the reason. tooLarge ends the refusal of a
// file with more than maxBytes.
func (s *space) readAll(rel string, maxBytes int64, tooLarge string) ([]byte, error) {
	data, info, err := readFile(s.root, rel, maxBytes)
	switch {
	case err == nil:
		return data, nil
	case errors.Is(err, errLarge):
		return nil, tool.Refusef("%s has %s%s", rel, bytesText(info.Size()), tooLarge)
	case errors.Is(err, fs.ErrNotExist):
		return nil, tool.Refusef("There is no file %s.%s", rel, s.similar(rel))
	}
	if _, ok := errors.AsType[*tool.Refusal](err); ok {
		return nil, err
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return nil, tool.Refusef("%s cannot be opened: %v.", rel, err)
}

// numbered returns part of a text with line numbers, the last line it shows, and the number of all lines.
func numbered(text string, offset, limit int) (out string, last, all int) {
	if limit <= 0 {
		limit = maxLines
	}
	var b strings.Builder
	full := false
	for line := range strings.Lines(text) {
		all++
		if all < offset || all >= offset+limit || full {
			continue
		}
		line = strings.TrimRight(line, "\r\n")
		if c := clip(line, maxLine); c != line {
			line = c + "… (the line is longer)"
		}
		if full = b.Len()+len(line) > maxShown && last >= offset; !full {
			fmt.Fprintf(&b, "%6d\t%s\n", all, shown(line))
			last = all
		}
	}
	return b.String(), last, all
}

type writeInput struct {
	Path    string `json:"file_path" jsonschema:"The file, relative to the workspace or beginning with /workspace/. Folders are made where they are missing."`
	Content string `json:"content" jsonschema:"The whole content of the file."`
}

// toChange returns the path of a file that may be changed.
func (s *space) toChange(path string) (rel string, err error) {
	if rel, err = locate(path); err != nil {
		return "", err
	}
	return rel, s.writable(rel)
}

var writeSpec = tool.Spec{
	Name: "Write", Label: "Writing a file", Family: tool.FileWrite,
	Description: "Write a text file of the workspace, in full. An existing file is replaced and must have been read " +
		"before. Prefer Edit for a change of a part. The result shows what changed as a unified diff.",
	InputSchema: schema.For[writeInput](),
	Side:        tool.Server, Timeout: maxCall,
}

func write(ctx context.Context, s *space, call tool.Call, in writeInput) (tool.Output, error) {
	rel, err := s.toChange(in.Path)
	if err != nil {
		return tool.Output{}, err
	}
	data, err := s.content(rel)
	switch {
	case err == nil:
		if err := s.current(rel, data); err != nil {
			return tool.Output{}, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return tool.Output{}, writing(rel, err)
	}
	return s.change(ctx, call, rel, []byte(in.Content), err == nil)
}

// writable returns a refusal for files that no tool may write.
func (s *space) writable(rel string) error {
	if rel == "." {
		return tool.Refusef("The path names the workspace itself, not a file in it.")
	}
	if err := checkName(rel); err != nil {
		return err
	}
	// Through a link, a protected file would have an unprotected name, and a tracked file a second one.
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		if info, err := s.root.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return tool.Refusef("%s is a link. Use the name of the folder it leads to.", dir)
		}
	}
	info, err := s.root.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return writing(rel, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return tool.Refusef("%s is a link. Write the file it leads to, under its own name.", rel)
	}
	return checkFile(rel, info)
}

// current returns a refusal unless the model has seen the present content of the file.
func (s *space) current(rel string, data []byte) error {
	now := footnote.DigestOf(data)
	seen, ok := s.seen[rel]
	if k, known := s.files[rel]; !ok && s.continued && known && !k.outside {
		seen, ok = k.digest, true // this conversation wrote it before the server restarted
	}
	switch {
	case !ok:
		return tool.Refusef("%s has not been read yet. Read it before you change it.", rel)
	case seen != now:
		return tool.Refusef("%s has changed since it was read. Read it again before you change it.", rel)
	}
	return nil
}

// change writes new content to a file and records the change.
func (s *space) change(ctx context.Context, call tool.Call, rel string, data []byte, exists bool) (tool.Output, error) {
	if len(data) > maxText {
		return tool.Output{}, tool.Refusef("The content has %s; at most %s can be written at once.",
			bytesText(int64(len(data))), bytesText(maxText))
	}
	// First record changes made by others, so that they are not attributed to this call.
	if _, err := s.record(ctx, byOutside, "", []string{rel}); err != nil {
		return tool.Output{}, err
	}
	if s.total()-s.files[rel].size+int64(len(data)) > s.w.opts.Size {
		return tool.Output{}, tool.Refusef("The workspace is full: its files may have %s together. Delete some first.",
			bytesText(s.w.opts.Size))
	}
	if _, had := s.files[rel]; !had && len(s.files) >= maxFiles {
		return tool.Output{}, tool.Refusef(
			"The workspace has %d files, the most it may have. Delete some first.", maxFiles)
	}
	if err := s.put(rel, data); err != nil {
		return tool.Output{}, err
	}
	rctx, stop := withRecordTime(ctx)
	defer stop()
	changes, err := s.record(rctx, call.Name, call.ID, []string{rel})
	if err != nil {
		return tool.Output{}, err
	}
	s.seen[rel] = footnote.DigestOf(data)
	if len(changes) == 0 {
		return tool.Output{
			Content: fmt.Sprintf("%s already had this content; nothing changed.", rel),
			Detail:  reply.JSON(fileDetail{Kind: "file", Path: rel, Op: opWrite, Size: int64(len(data))}),
		}, nil
	}
	d := changes[0].detail()
	verb := "Created"
	if exists {
		verb = "Changed"
	}
	content := fmt.Sprintf("%s %s (+%d −%d lines, %s).", verb, rel, d.Added, d.Removed, bytesText(d.Size))
	if diff := changes[0].Diff; diff != "" && exists {
		content += "\n\n" + shortened(shown(diff), diffForModel)
	}
	return tool.Output{Content: content, Detail: reply.JSON(d)}, nil
}

type editInput struct {
	Path string `json:"file_path" jsonschema:"The file, relative to the workspace or beginning with /workspace/."`
	Old  string `json:"old_string" jsonschema:"The text to replace, exactly as in the file, with its indentation and without line numbers. It must occur exactly once, unless replace_all is set."`
	New  string `json:"new_string" jsonschema:"The text to put in its place."`
	All  bool   `json:"replace_all,omitempty" jsonschema:"Replace every occurrence."`
}

var editSpec = tool.Spec{
	Name: "Edit", Label: "Editing a file", Family: tool.FileEdit,
	Description: "Replace a piece of text in a file of the workspace. old_string must match exactly and occur once; " +
		"give more of the lines around it when it does not, " +
		"or set replace_all. The file must have been read before. The result shows what changed as a unified diff.",
	InputSchema: schema.For[editInput](),
	Side:        tool.Server, Timeout: maxCall,
}

func edit(ctx context.Context, s *space, call tool.Call, in editInput) (tool.Output, error) {
	rel, err := s.toChange(in.Path)
	if err != nil {
		return tool.Output{}, err
	}
	data, err := s.readAll(rel, maxText, "; files up to "+bytesText(maxText)+" can be edited.")
	if err != nil {
		return tool.Output{}, err
	}
	if binary(data) {
		return tool.Output{}, tool.Refusef("%s is a binary file and cannot be edited as text.", rel)
	}
	if err := s.current(rel, data); err != nil {
		return tool.Output{}, err
	}
	changed, err := in.apply(rel, string(data))
	if err != nil {
		return tool.Output{}, err
	}
	return s.change(ctx, call, rel, []byte(changed), true)
}

// apply returns the text after the replacement.
func (in editInput) apply(rel, text string) (string, error) {
	old, new := in.Old, in.New
	switch {
	case old == "":
		return "", tool.Refusef("old_string is empty. Use Write to make a file or to replace all of it.")
	case old == new:
		return "", tool.Refusef("old_string and new_string are the same; there is nothing to change.")
	}
	if strings.Contains(text, "\r\n") && !strings.Contains(old, "\r") {
		// The file has Windows line ends, and the model gave text without carriage returns.
		old, new = strings.ReplaceAll(old, "\n", "\r\n"), strings.ReplaceAll(new, "\n", "\r\n")
	}
	switch n := strings.Count(text, old); {
	case n == 0 && strings.Contains(collapseSpace(text), collapseSpace(old)):
		return "", tool.Refusef("old_string does not occur exactly in %s: spaces or line breaks differ. Read the file "+
			"and copy the text exactly.", rel)
	case n == 0:
		return "", tool.Refusef("old_string is not in %s. Read the file and copy the text exactly.", rel)
	case n > 1 && !in.All:
		return "", tool.Refusef(
			"old_string is in %s %d times. Give more of the text around the place, or set replace_all.", rel, n)
	}
	if len(text)+strings.Count(text, old)*(len(new)-len(old)) > maxText {
		return "", tool.Refusef("The file would be longer than %s.", bytesText(maxText))
	}
	return strings.ReplaceAll(text, old, new), nil // without replace_all there is only one
}

// collapseSpace returns a text with its runs of white space collapsed.
func collapseSpace(s string) string { return strings.Join(strings.Fields(s), "") }

// fileDetail describes a change to a file for a page.
type fileDetail struct {
	Kind    string          `json:"kind"` // "file", or "read" when nothing changed
	Path    string          `json:"path"`
	Op      string          `json:"op,omitempty"`
	Before  footnote.Digest `json:"before,omitempty"`
	After   footnote.Digest `json:"after,omitempty"`
	Size    int64           `json:"size"`
	Added   int             `json:"added"`
	Removed int             `json:"removed"`
	Diff    string          `json:"diff,omitempty"` // unified
	Hunks   []hunk          `json:"hunks,omitempty"`
}

// maxHunks limits the bytes of a diff whose hunks a page gets in addition to it.
const maxHunks = 96 << 10

func (c change) detail() fileDetail {
	d := fileDetail{Kind: "file", Path: c.Path, Op: c.Op, Before: c.Before, After: c.After, Size: c.Size, Diff: c.Diff}
	var hunks []hunk
	if hunks, d.Added, d.Removed = parseDiff(c.diff); len(c.diff) <= maxHunks {
		d.Hunks = hunks
	}
	return d
}

// bytesText formats a size for people.
func bytesText(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n == 1:
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// shown returns a text in which characters that hide or reorder text, or move a terminal's cursor, are replaced by
// their code points.
func shown(s string) string { return strings.ReplaceAll(visible.Text(s), "\r", "<U+000D>") }
