package toolhost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"bareclaw/internal/atomicfile"
	"bareclaw/toolhost/api"
)

// goodFiles keep, beside the tools directory, the last version of each file whose tool could be loaded. A tool
// host serves it while the file is broken, however often tool hosts and gateways are replaced meanwhile. All
// methods are safe for concurrent use.
type goodFiles struct {
	tools string // the tools directory
	dir   string // of the kept versions
	log   *slog.Logger

	changing sync.Mutex        // held while files change; guards kept
	kept     map[string]string // the sums of the kept versions by file; nil: not read yet
	failed   bool              // the log says that a version is not kept
}

func newGoodFiles(tools string, log *slog.Logger) *goodFiles {
	return &goodFiles{tools: tools, dir: api.GoodDir(tools), log: log}
}

// make makes the directory, which a tool host must find when it starts.
func (g *goodFiles) make() error { return os.MkdirAll(g.dir, 0o700) }

// keep keeps the versions that the tools are made of, until ctx ends, and removes those of files that are gone.
func (g *goodFiles) keep(ctx context.Context, offered map[string]api.Tool) {
	g.changing.Lock()
	defer g.changing.Unlock()
	if g.kept == nil {
		g.kept = g.read()
	}
	var failure error
	for _, t := range offered {
		if t.File == "" || g.kept[t.File] == t.Sum || ctx.Err() != nil {
			continue
		}
		contents, sum, err := readWithSum(g.tools, filepath.Base(t.File))
		if err != nil || sum != t.Sum {
			continue // the file has changed meanwhile, and the next list tells
		}
		if err := errors.Join(g.make(), atomicfile.Write(filepath.Join(g.dir, filepath.Base(t.File)), contents, 0o600)); err != nil {
			failure = err
			continue
		}
		g.kept[t.File] = sum
	}
	if failure != nil && !g.failed {
		g.log.Warn("good versions of files are not kept: if such a file breaks, its tool ends with the tool host", "err", failure)
	}
	g.failed = failure != nil
	for name := range g.kept {
		if _, err := os.Lstat(filepath.Join(g.tools, name)); errors.Is(err, fs.ErrNotExist) && isThere(g.tools) {
			_ = os.Remove(filepath.Join(g.dir, name)) // what stays serves nobody without the file
			delete(g.kept, name)
		}
	}
}

// read returns the sums of the versions that an earlier process has kept.
func (g *goodFiles) read() map[string]string {
	kept := map[string]string{}
	entries, _ := os.ReadDir(g.dir) // without the directory there are none
	for _, e := range entries {
		if _, sum, err := readWithSum(g.dir, e.Name()); err == nil {
			kept[e.Name()] = sum
		}
	}
	return kept
}

// clear forgets all versions: after a rollback they are those of other files.
func (g *goodFiles) clear() error {
	g.changing.Lock()
	defer g.changing.Unlock()
	g.kept = map[string]string{}
	return errors.Join(removeTree(g.dir), g.make())
}

// readWithSum reads a file of a directory that may be a tool.
func readWithSum(dir, name string) (contents []byte, sum string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = root.Close() }()
	contents, err = api.ReadSource(root, name)
	hash := sha256.Sum256(contents)
	return contents, hex.EncodeToString(hash[:]), err
}
