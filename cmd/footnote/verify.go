package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/cite"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/store"
)

type verifyCmd struct {
	Conversation string `arg:"" optional:"" help:"Id of the conversation; default: the terminal's last one."`
	JSON         bool   `name:"json" help:"Print one JSON object."`
}

// verdict is the result of verify for one answer.
type verdict struct {
	Seq        int64                     `json:"seq"`
	Answer     string                    `json:"answer"`
	Footnotes  []footnote.Cite           `json:"footnotes"`
	Unresolved []footnote.Unresolved     `json:"unresolved"`
	Verified   []footnote.VerifiedResult `json:"verified,omitempty"`
	Problems   []problem                 `json:"problems"`
}

type problem struct {
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Text   string `json:"text"`
	Reason string `json:"reason"`
}

type verdicts struct {
	Conversation string    `json:"conversation_id"`
	Unreadable   []int64   `json:"unreadable_events,omitempty"`
	Answers      []verdict `json:"answers"`
}

// Run executes the command.
func (cmd *verifyCmd) Run(ctx context.Context, c config.Config, std streams) (err error) {
	log, id, err := findConversation(ctx, c, cmd.Conversation)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	found, err := verify(ctx, log, id)
	if err != nil {
		return err
	}
	if cmd.JSON {
		err = printJSON(std.out, found)
	} else {
		printVerdicts(std, found)
	}
	for _, v := range found.Answers {
		if len(v.Problems) > 0 {
			return errors.Join(err, &exit{exitFailed, errors.New("some footnotes are wrong")})
		}
	}
	return err
}

// findConversation opens the log that contains a conversation: the server's or the terminal's. An empty id selects
// the terminal's last one.
func findConversation(ctx context.Context, c config.Config, id string) (store.Store, string, error) {
	folders := []string{"", app.TerminalFolder}
	if id == "" {
		folders = []string{app.TerminalFolder}
	}
	for _, folder := range folders {
		log, err := app.OpenToRead(ctx, c, folder)
		if footnote.CodeOf(err) == footnote.NotFound {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		found, err := locate(ctx, log, id)
		if err == nil {
			return log, found, nil
		}
		if cerr := log.Close(); cerr != nil || footnote.CodeOf(err) != footnote.NotFound {
			return nil, "", errors.Join(err, cerr)
		}
	}
	return nil, "", &exit{exitFailed, fmt.Errorf("there is no conversation %q in %s", id, c.Data)}
}

func locate(ctx context.Context, log store.Store, id string) (string, error) {
	if id != "" {
		_, err := log.Get(ctx, id)
		return id, err
	}
	id, err := lastConversation(ctx, log)
	if err == nil && id == "" {
		err = footnote.Errorf(footnote.NotFound, "There is no conversation yet.")
	}
	return id, err
}

// verify checks the footnotes of all answers of a conversation.
func verify(ctx context.Context, log store.Store, id string) (verdicts, error) {
	out := verdicts{Conversation: id, Answers: []verdict{}}
	var tables []cite.Table
	results := map[string]footnote.StoredResult{}
	for ev, err := range log.Events(ctx, id, 0) {
		if err != nil {
			return out, err
		}
		var stored *footnote.StoredResult
		switch b := ev.Body.(type) {
		case footnote.Unreadable:
			out.Unreadable = append(out.Unreadable, ev.Seq)
		case footnote.ToolResult:
			stored = b.Result
		case footnote.QueryRun:
			stored = &b.Result
		case footnote.Answered:
			v := verdict{
				Seq: ev.Seq, Answer: b.Text, Footnotes: b.Cites, Unresolved: b.Unresolved, Verified: b.Verified,
				Problems: []problem{},
			}
			if v.Unresolved == nil {
				v.Unresolved = []footnote.Unresolved{}
			}
			for _, p := range cite.Verify(b.Text, b.Cites, tables) {
				v.Problems = append(v.Problems, problem{
					Start: p.Cite.Start, End: p.Cite.End, Text: p.Cite.Text, Reason: p.Reason,
				})
			}
			v.Problems = append(v.Problems, unproven(b.Verified, results)...)
			out.Answers = append(out.Answers, v)
		}
		if stored == nil {
			continue
		}
		results[stored.ID] = *stored
		res, err := readResult(ctx, log, id, *stored)
		if footnote.CodeOf(err) == footnote.StorageDamaged {
			continue // footnotes that refer to it are reported as problems
		}
		if err != nil {
			return out, err
		}
		tables = append(tables, cite.Table{ID: stored.ID, SQL: stored.SQL, Result: res, RowCount: stored.RowCount})
	}
	return out, nil
}

// unproven returns a problem for each badge of an answer whose result did not come from the text that was verified.
func unproven(badges []footnote.VerifiedResult, results map[string]footnote.StoredResult) (problems []problem) {
	for _, b := range badges {
		if r := results[b.Result]; r.Verified == nil || *r.Verified != b.Verified || !r.RanVerified() {
			problems = append(problems, problem{
				Text: b.String(), Reason: "the statement of " + b.Result + " is not the one that was verified",
			})
		}
	}
	return problems
}

func printVerdicts(std streams, found verdicts) {
	for _, seq := range found.Unreadable {
		fmt.Fprintf(std.out, "event %d of this conversation cannot be read\n", seq)
	}
	for _, v := range found.Answers {
		fmt.Fprintf(std.out, "%s\n\n", strings.TrimSpace(safeText(v.Answer)))
		wrong := map[[2]int]bool{}
		for _, p := range v.Problems {
			wrong[[2]int{p.Start, p.End}] = true
		}
		for _, c := range v.Footnotes {
			if wrong[[2]int{c.Start, c.End}] {
				continue // reported below
			}
			how := "found"
			if c.Marked {
				how = "marked by the model"
			}
			fmt.Fprintf(std.out, "  ok  %s = %s (%s)\n", safeText(c.Text), safeText(evidence(c)), how)
		}
		for _, b := range v.Verified {
			fmt.Fprintf(std.out, "  %s: %s\n", safeText(b.Question), safeText(b.String()))
		}
		for _, u := range v.Unresolved {
			fmt.Fprintf(std.out, "  ??  %s: %s\n", safeText(u.Text), safeText(u.Reason))
		}
		for _, p := range v.Problems {
			fmt.Fprintf(std.out, "  NO  %s: %s\n", safeText(p.Text), safeText(p.Reason))
		}
		fmt.Fprintln(std.out)
	}
}
