package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/cli/backup"
	"bareclaw/internal/testkit/check"
)

// packed returns an archive of the entries, which need not be a good one.
func packed(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range entries {
		text := h.Uname // carries the text
		h.Uname, h.Size = "", int64(len(text))
		check.OK(t, w.WriteHeader(&h))
		_, err := w.Write([]byte(text))
		check.OK(t, err)
	}
	check.OK(t, w.Close())
	check.OK(t, z.Close())
	return b.Bytes()
}

var about = tar.Header{Typeflag: tar.TypeReg, Name: "about.json", Uname: `{"format":1,"version":"v1"}`}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	check.OK(t, os.MkdirAll(filepath.Join(from, "tg-1", "deep"), 0o700))
	check.OK(t, os.WriteFile(filepath.Join(from, "tg-1", "deep", "ä b.jpg"), []byte("picture"), 0o600))
	check.OK(t, os.Symlink("/etc/passwd", filepath.Join(from, "tg-1", "link")))
	check.OK(t, os.WriteFile(filepath.Join(from, "notes"), []byte("remember"), 0o600))
	var b bytes.Buffer
	check.OK(t, os.MkdirAll(filepath.Join(from, "tools", "lib"), 0o700))
	for _, name := range []string{"a.ts", "lib/b.ts", "other"} {
		check.OK(t, os.WriteFile(filepath.Join(from, "tools", name), []byte(name), 0o600))
	}
	parts := []backup.Part{
		{Name: backup.Notes, Path: filepath.Join(from, "notes"), What: "notes"},
		{Name: backup.Ledger, Path: filepath.Join(from, "none"), What: "what is not there"},
		{Name: backup.Media, Path: filepath.Join(from, "tg-1"), What: "received"},
		{Name: backup.Tools, Path: filepath.Join(from, "tools"), What: "of tools", Only: []string{"a.ts", "lib"}},
		{Name: backup.Snapshots, Path: filepath.Join(from, "none"), What: "of snapshots"},
	}
	saved, err := backup.Write(t.Context(), &b, backup.About{Version: "v1", Schema: 5, MadeAt: time.Now()}, parts)
	if want := []string{"notes", "1 file received", "2 files of tools", "0 files of snapshots"}; err != nil || !slices.Equal(saved, want) { // a link is none
		t.Errorf("saved %q, %v, want %q", saved, err, want)
	}
	a, err := backup.Unpack(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), to)
	if err != nil || a.Version != "v1" || a.Schema != 5 {
		t.Fatalf("it is %+v, %v", a, err)
	}
	for name, want := range map[string]string{"notes.md": "remember", "media/deep/ä b.jpg": "picture", "tools/a.ts": "a.ts", "tools/lib/b.ts": "lib/b.ts"} {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	file := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name, Uname: "x"} }
	whole := packed(t, about, file("notes.md"))
	for name, c := range map[string]struct {
		archive []byte
		says    string
	}{
		"nothing":       {nil, "not a backup"},
		"rubbish":       {[]byte("rubbish"), "not a backup"},
		"cut short":     {whole[:len(whole)-20], "unexpected EOF"},
		"empty":         {packed(t), "unexpected EOF"},
		"not said":      {packed(t, file("notes.md")), "does not say what it is"},
		"newer":         {packed(t, tar.Header{Typeflag: tar.TypeReg, Name: "about.json", Uname: `{"format":4}`}), "newer bareclaw"},
		"above":         {packed(t, about, file("../evil")), "nothing that a backup holds"},
		"absolute":      {packed(t, about, file("/tmp/evil")), "nothing that a backup holds"},
		"above media":   {packed(t, about, file("media/../../evil")), "nothing that a backup holds"},
		"above tools":   {packed(t, about, file("tools/../evil")), "nothing that a backup holds"},
		"media itself":  {packed(t, about, file("media/.")), "nothing that a backup holds"},
		"something":     {packed(t, about, file("daemon.lock")), "nothing that a backup holds"},
		"twice":         {packed(t, about, file("notes.md"), file("notes.md")), "exists"},
		"file and dir":  {packed(t, about, file("media/a"), file("media/a/b")), "media/a"},
		"a link":        {packed(t, about, tar.Header{Typeflag: tar.TypeSymlink, Name: "media/a", Linkname: "/etc"}), "not a plain file"},
		"a hard link":   {packed(t, about, tar.Header{Typeflag: tar.TypeLink, Name: "notes.md", Linkname: "/etc/passwd"}), "not a plain file"},
		"a directory":   {packed(t, about, tar.Header{Typeflag: tar.TypeDir, Name: "media/a/"}), "not a plain file"},
		"damaged later": {append(whole[:len(whole)-8:len(whole)-8], 1, 2, 3, 4, 5, 6, 7, 8), "checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := backup.Unpack(t.Context(), bytes.NewReader(c.archive), int64(len(c.archive)), t.TempDir()); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want one that says %q", err, c.says)
			}
		})
	}
}

// TestUnpackIsBounded: a small archive does not fill the disk. Of a file nothing is written, of a
// pipe nothing of what is too large.
func TestUnpackIsBounded(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	put := func(name, text string, size int64) {
		check.OK(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size}))
		_, err := w.Write([]byte(text))
		check.OK(t, err)
	}
	put("about.json", about.Uname, int64(len(about.Uname)))
	put("media/first", "x", 1)
	put("media/bomb", "", 5<<30)
	check.OK(t, z.Flush())
	for want, in := range []io.Reader{bytes.NewReader(b.Bytes()), io.MultiReader(bytes.NewReader(b.Bytes()))} {
		dir := t.TempDir()
		_, err := backup.Unpack(t.Context(), in, int64(b.Len()), dir)
		if err == nil || !strings.Contains(err.Error(), "more than 4 GiB and 100 times its size") {
			t.Errorf("error is %v", err)
		}
		if written, err := filepath.Glob(filepath.Join(dir, "media/*")); err != nil || len(written) != want {
			t.Errorf("written are %v, %v", written, err)
		}
	}
}

// FuzzUnpack unpacks anything: nothing outside its directory is touched, and what is in
// it are plain private files.
func FuzzUnpack(f *testing.F) {
	f.Add("media/../../evil", byte(tar.TypeReg), "", "text")
	f.Add("media/a/b", byte(tar.TypeSymlink), "/etc", "")
	f.Add("ledger.db", byte(tar.TypeReg), "", "SQLite")
	f.Fuzz(func(t *testing.T, name string, kind byte, link, text string) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for _, h := range []tar.Header{about, {Typeflag: kind, Name: name, Linkname: link, Uname: text}, {Typeflag: tar.TypeReg, Name: name + "/x", Uname: text}} {
			text := h.Uname
			h.Uname = ""
			if h.Typeflag == tar.TypeReg {
				h.Size = int64(len(text))
			}
			if w.WriteHeader(&h) == nil && h.Size > 0 {
				_, _ = w.Write([]byte(text))
			}
		}
		_, _ = w.Close(), z.Close()
		outer := t.TempDir()
		inner := filepath.Join(outer, "in")
		check.OK(t, os.Mkdir(inner, 0o700))
		_, _ = backup.Unpack(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), inner)
		entries, err := os.ReadDir(outer)
		if err != nil || len(entries) != 1 {
			t.Fatalf("beside its directory there is %v, %v", entries, err)
		}
		check.OK(t, filepath.WalkDir(inner, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !e.Type().IsRegular() {
				t.Errorf("%s is a %s", path, e.Type())
			}
			return err
		}))
	})
}
