package security

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestHostileArchives gives archives that no backup is to the real `bareclaw restore`, which agrees
// to whatever they decide: each is refused, and nothing is put in place or left behind.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	file := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
	for name, row := range map[string]struct {
		files []tar.Header
		says  string
	}{
		"path out of the tree":      {[]tar.Header{file("tools/../../evil")}, "nothing that a backup holds"},
		"path from the root":        {[]tar.Header{file("/tmp/evil")}, "nothing that a backup holds"},
		"program among the parts":   {[]tar.Header{file("bareclaw")}, "nothing that a backup holds"},
		"symbolic link":             {[]tar.Header{{Typeflag: tar.TypeSymlink, Name: "tools", Linkname: "/etc"}, file("tools/evil.ts")}, "not a plain file"},
		"hard link":                 {[]tar.Header{{Typeflag: tar.TypeLink, Name: "notes.md", Linkname: "/etc/passwd"}}, "not a plain file"},
		"device":                    {[]tar.Header{{Typeflag: tar.TypeBlock, Name: "media/disk", Devmajor: 8}}, "not a plain file"},
		"named pipe":                {[]tar.Header{{Typeflag: tar.TypeFifo, Name: "notes.md"}}, "not a plain file"},
		"bomb":                      {[]tar.Header{{Typeflag: tar.TypeReg, Name: "media/bomb", Size: 5 << 30}}, "unpacks to more than 4 GiB"},
		"bomb in place of settings": {[]tar.Header{{Typeflag: tar.TypeReg, Name: "config.env", Size: 1 << 30}}, "too large"},
		"directories of no end":     {[]tar.Header{file("media/" + strings.Repeat("d/", 17) + "a")}, "more than 16 directories"},
		"too many files":            {slices.Repeat([]tar.Header{file("media/a")}, 1000), "more than 200000 files"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			check.OK(t, os.Mkdir(m.Path("tmp"), 0o700))
			m.Set("TMPDIR=" + m.Path("tmp"))
			pack(t, m.Path("evil.tar.gz"), row.files)
			before := everything(t, m)
			m.Command(harness.ExitFailure, "restore", "--force", "--yes", m.Path("evil.tar.gz")).Tells(row.says)
			if after := everything(t, m); after != before {
				t.Errorf("something is left:\n%s\nwas\n%s", after, before)
			}
		})
	}
}

// pack writes an archive with files again and again: of a thousand files it has 201,000.
func pack(t *testing.T, path string, files []tar.Header) {
	t.Helper()
	const about = `{"format": 2, "version": "1", "schema": 7}`
	archive := packed(t, about, tar.Header{Typeflag: tar.TypeReg, Name: "about.json", Size: int64(len(about))})
	check.OK(t, os.WriteFile(path, append(archive, bytes.Repeat(packed(t, "", files...), 201)...), 0o600))
}

// packed compresses files, of which the last has a text. It leaves out the end of the archive, so
// that others can follow: gzip files one after the other are one.
func packed(t *testing.T, text string, files ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := range files {
		check.OK(t, w.WriteHeader(&files[i]))
	}
	_, err := w.Write([]byte(text))
	check.OK(t, err)
	if text != "" {
		check.OK(t, w.Flush()) // to the end of a block
	}
	check.OK(t, z.Close())
	return b.Bytes()
}

// everything lists all files of a machine.
func everything(t *testing.T, m *harness.Machine) (all string) {
	t.Helper()
	check.OK(t, filepath.WalkDir(m.Dir, func(path string, _ os.DirEntry, err error) error {
		all += path + "\n"
		return err
	}))
	return all
}
