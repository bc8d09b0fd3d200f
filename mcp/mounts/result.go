package mounts

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/core/tools"
	"bareclaw/internal/mdtext"
)

const (
	// maxText bounds the text of a result, in bytes: claude reads as much at once.
	maxText = 49_000
	// maxBlocks bounds what follows the text, in bytes of JSON.
	maxBlocks = 8 << 20
	// previewed is how much of a long text the result shows, in bytes.
	previewed = 2000
	// filesKept is how long files with long results are kept.
	filesKept = 7 * 24 * time.Hour
	// maxKept bounds the files with long results, in bytes: the oldest ones make room.
	maxKept = 256 << 20
)

// A resultStore makes results of what servers answer. Long ones become files.
type resultStore struct {
	dir string
	log *slog.Logger
	max int64 // bytes of all files

	sweeping sync.Mutex // held while files are removed
}

// resultOf returns what a tool has answered.
func (s *resultStore) resultOf(tool string, answer *sdk.CallToolResult) (tools.Result, error) {
	r := tools.Result{IsError: answer.IsError}
	var texts []string
	size := 0
	leftOut := 0
	for _, content := range answer.Content {
		if text, ok := textOf(content); ok {
			texts = append(texts, text)
			continue
		}
		block, err := json.Marshal(content)
		if err != nil {
			return tools.Result{}, fmt.Errorf("read the result of %s: %w", tool, err)
		}
		if size += len(block); size > maxBlocks {
			leftOut++
			continue
		}
		r.Blocks = append(r.Blocks, block)
	}
	if leftOut > 0 {
		texts = append(texts, fmt.Sprintf("[%s left out: more than %d MiB]", mdtext.Count(leftOut, "part is", "parts are"), maxBlocks>>20))
	}
	r.Text = strings.Join(texts, "\n")
	if answer.StructuredContent != nil {
		structured, err := json.Marshal(answer.StructuredContent)
		if err != nil {
			return tools.Result{}, fmt.Errorf("read the result of %s: %w", tool, err)
		}
		if len(structured) > maxText {
			r.Text = s.shorten(tool, ".json", structured)
			return r, nil
		}
		if structured[0] == '{' { // else it is of no version of the protocol
			r.Structured = structured
			r.Text = "" // the protocol wants it to say the same
		}
	}
	if len(r.Text) > maxText {
		r.Text = s.shorten(tool, ".txt", []byte(r.Text))
	}
	return r, nil
}

// textOf returns the text of a block, if the block is one.
func textOf(c sdk.Content) (text string, ok bool) {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text, true
	case *sdk.EmbeddedResource:
		if c.Resource != nil && c.Resource.Blob == nil {
			return fmt.Sprintf("[%s]\n%s", c.Resource.URI, c.Resource.Text), true
		}
	}
	return "", false
}

// shorten keeps a long text in a file, and returns its beginning with the path.
func (s *resultStore) shorten(tool, ext string, text []byte) string {
	begin := strings.ToValidUTF8(string(text[:previewed]), "")
	path, err := s.keep(tool, ext, text)
	if err != nil {
		s.log.Error("a long result is not kept", "tool", tool, "err", err)
		return fmt.Sprintf("The result has %d bytes, and could not be kept: %v. Its beginning:\n\n%s", len(text), err, begin)
	}
	return fmt.Sprintf("The result has %d bytes, which are in the file %s. Its beginning:\n\n%s", len(text), path, begin)
}

// keep writes a file, and returns its path.
func (s *resultStore) keep(tool, ext string, text []byte) (path string, err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(s.dir, fileName(tool)+"-"+uuid.NewString()[:8]+ext)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", err
	}
	s.sweep()
	return path, nil
}

// fileName returns the name of a tool without characters that a path should not have.
func fileName(tool string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
			return c
		}
		return '_'
	}, tool)
}

// sweep removes old files, and the oldest ones of those that are too many. The newest one stays.
func (s *resultStore) sweep() {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return // there are none
	}
	var files []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // else it has just gone
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	size := int64(0)
	for i, f := range files {
		size += f.Size()
		isTooMuch := size > s.max && i > 0
		if isTooMuch || time.Since(f.ModTime()) > filesKept {
			_ = os.Remove(filepath.Join(s.dir, f.Name())) // else the next sweep does
		}
	}
}
