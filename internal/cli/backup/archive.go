// Package backup reads and writes backups: a compressed tar file with a fixed set of
// names, whose first entry describes the archive. Reading trusts nothing, because an
// archive may come from anywhere.
package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bareclaw/internal/humanize"
)

// The names of what an archive may hold. A name that ends in / is a directory.
const (
	about      = "about.json"
	Ledger     = "ledger.db"
	Sessions   = "sessions.json"
	Notes      = "notes.md"
	Mounts     = "mcp.json"    // mounted servers
	ConfigEnv  = "config.env"  // of the configuration directory
	WorkingEnv = "working.env" // of the directory in which the command was run
	Media      = "media/"
	Tools      = "tools/"
	Snapshots  = "snapshots/" // of the tools
)

// format is raised when an older program would refuse or misread the archive. 2 has tools, 3
// mounted servers.
const format = 3

// maxSmall bounds each file but the ledger and those in directories, in bytes.
const maxSmall = 64 << 20

// What an archive may unpack to: a backup of texts and pictures takes a good part of its contents,
// and a small file that becomes a huge one is none.
const (
	maxFiles   = 200_000
	maxDepth   = 16      // directories on the way to a file
	freeBytes  = 4 << 30 // of any archive
	maxPerByte = 100     // further bytes, for each byte of the archive
)

// A bound is what an archive may still unpack to.
type bound struct {
	bytes int64
	files int
}

func boundOf(packed int64) *bound {
	return &bound{bytes: freeBytes + maxPerByte*packed, files: maxFiles}
}

// take counts a file, and returns an error if the archive has more than it may.
func (b *bound) take(h *tar.Header) error {
	b.files--
	b.bytes -= h.Size
	switch {
	case b.files < 0:
		return fmt.Errorf("it has more than %d files, which no backup has", maxFiles)
	case b.bytes < 0:
		return fmt.Errorf("it unpacks to more than %d GiB and %d times its size, which no backup does", freeBytes>>30, maxPerByte)
	}
	return nil
}

// An About describes an archive.
type About struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of the program
	Schema  int       `json:"schema"`  // of its ledger
	MadeAt  time.Time `json:"made_at"`
}

// A Part is a file or directory of a backup, with words for people: those of a directory follow the
// number of its files, as "of tools" does.
type Part struct {
	Name, Path, What string
	Only             []string // the saved entries of a directory; nil: all
}

// Write writes an archive of the parts that exist. It returns what was saved, and fails when ctx
// ends.
func Write(ctx context.Context, out io.Writer, a About, parts []Part) (saved []string, err error) {
	z := gzip.NewWriter(out)
	w := &writer{ctx, tar.NewWriter(z), a.MadeAt}
	a.Format = format
	b, err := json.Marshal(a)
	if err == nil {
		err = w.add(about, int64(len(b)), bytes.NewReader(b))
	}
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		what, err := w.addPart(p)
		if err != nil {
			return nil, err
		}
		if what != "" {
			saved = append(saved, what)
		}
	}
	return saved, errors.Join(w.tar.Close(), z.Close())
}

type writer struct {
	ctx context.Context
	tar *tar.Writer
	at  time.Time
}

// addPart adds a part and returns what was saved; empty: nothing is there.
func (w *writer) addPart(p Part) (what string, err error) {
	if !strings.HasSuffix(p.Name, "/") {
		added, err := w.addFile(p.Name, p.Path)
		if !added {
			return "", err
		}
		return p.What, err
	}
	files, entries := 0, p.Only
	if entries == nil {
		entries = []string{""}
	}
	for _, entry := range entries {
		n, err := w.addTree(p, entry)
		if err != nil {
			return "", fmt.Errorf("save %s: %w", p.Path, err)
		}
		files += n
	}
	return humanize.Count(files, "file") + " " + p.What, nil
}

// addFile adds a file under a name, and reports whether the file exists.
func (w *writer) addFile(name, path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("save %s: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("save %s: %w", path, err)
	}
	return true, w.add(name, info.Size(), f)
}

// add writes an entry. Of a growing file the size at the beginning is saved.
func (w *writer) add(name string, size int64, r io.Reader) error {
	err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: w.at, Format: tar.FormatPAX})
	if err == nil {
		_, err = io.CopyN(w.tar, Until(w.ctx, r), size)
	}
	if err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return nil
}

// addTree adds the files below an entry of a directory. Files that disappear meanwhile are left
// out.
func (w *writer) addTree(p Part, entry string) (files int, err error) {
	err = filepath.WalkDir(filepath.Join(p.Path, entry), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !e.Type().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		added, err := w.addFile(p.Name+strings.TrimPrefix(filepath.ToSlash(path[len(p.Path):]), "/"), path)
		if added {
			files++
		}
		return err
	})
	return files, err
}

// Unpack writes the contents of an archive of a size into an existing directory, which should
// be empty and private, until ctx ends. An archive with other contents, or with far more than its
// size, is refused: before anything is written if it can be read twice, as a file can. Of a pipe,
// files written before stay.
func Unpack(ctx context.Context, r io.Reader, size int64, dir string) (About, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return About{}, fmt.Errorf("unpack the backup: %w", err)
	}
	defer func() { _ = root.Close() }()
	if rewind(r) == nil {
		if _, err := read(ctx, r, size, func(*tar.Header, io.Reader) error { return nil }); err != nil {
			return About{}, err
		}
		if err := rewind(r); err != nil {
			return About{}, fmt.Errorf("read the backup again: %w", err)
		}
	}
	return read(ctx, r, size, func(h *tar.Header, in io.Reader) error { return write(root, h, in) })
}

func rewind(r io.Reader) error {
	s, ok := r.(io.Seeker)
	if !ok {
		return errors.ErrUnsupported
	}
	_, err := s.Seek(0, io.SeekStart)
	return err
}

// read reads a whole archive of a size, and calls visit for each file that a backup may hold.
func read(ctx context.Context, r io.Reader, size int64, visit func(*tar.Header, io.Reader) error) (About, error) {
	z, err := gzip.NewReader(Until(ctx, r))
	if err != nil {
		return About{}, fmt.Errorf("it is not a backup: %w", err)
	}
	in := tar.NewReader(z)
	a, err := readAbout(in)
	room := boundOf(size)
	for err == nil {
		var h *tar.Header
		if h, err = in.Next(); err == nil {
			err = room.take(h)
		}
		if err == nil {
			err = examine(h)
		}
		if err == nil {
			err = visit(h, Until(ctx, in))
		}
	}
	if errors.Is(err, io.EOF) {
		_, err = io.Copy(io.Discard, Until(ctx, z)) // to its checksum
	}
	if err != nil {
		return About{}, fmt.Errorf("unpack the backup: %w", err)
	}
	return a, nil
}

func readAbout(in *tar.Reader) (a About, err error) {
	h, err := in.Next()
	if err != nil {
		return a, noEOF(err)
	}
	if h.Name != about || h.Size > maxSmall {
		return a, errors.New("it does not say what it is")
	}
	if err := json.NewDecoder(in).Decode(&a); err != nil {
		return a, fmt.Errorf("it does not say what it is: %w", noEOF(err))
	}
	if a.Format < 1 || a.Format > format {
		return a, fmt.Errorf("it has format %d, and this program reads up to %d; use the newer bareclaw that wrote it", a.Format, format)
	}
	return a, nil
}

// Until returns a reader that fails after the end of ctx, because the size of a packed
// file is unknown.
func Until(ctx context.Context, r io.Reader) io.Reader { return until{ctx, r} }

type until struct {
	ctx context.Context
	io.Reader
}

func (u until) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(b)
}

// noEOF turns an early end into an error.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// examine returns an error unless a backup may hold the file.
func examine(h *tar.Header) error {
	small := h.Name == Sessions || h.Name == Notes || h.Name == Mounts || h.Name == ConfigEnv || h.Name == WorkingEnv
	below := func(dir string) bool { return strings.HasPrefix(h.Name, dir) && h.Name != dir }
	inTree := (below(Media) || below(Tools) || below(Snapshots)) && filepath.IsLocal(h.Name) && filepath.Clean(h.Name) == h.Name
	switch {
	case h.Typeflag != tar.TypeReg:
		return fmt.Errorf("%q is not a plain file", h.Name)
	case strings.Count(h.Name, "/") > maxDepth:
		return fmt.Errorf("%.60q… lies below more than %d directories", h.Name, maxDepth)
	case !small && !inTree && h.Name != Ledger:
		return fmt.Errorf("%q is nothing that a backup holds", h.Name)
	case small && h.Size > maxSmall:
		return fmt.Errorf("%q is too large", h.Name)
	}
	return nil
}

func write(root *os.Root, h *tar.Header, in io.Reader) error {
	if dir := filepath.Dir(h.Name); dir != "." {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // none comes twice
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	return noEOF(errors.Join(err, f.Sync(), f.Close()))
}
