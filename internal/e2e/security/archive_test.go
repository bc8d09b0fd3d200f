package security

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestHostileArchives gives archives that no backup is to the real `bareclaw restore`, which agrees
// to whatever they decide: each is refused, and nothing is put in place or left behind.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	file := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
	many := make([]tar.Header, 200_001)
	for i := range many {
		many[i] = file(fmt.Sprintf("media/%d", i))
	}
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
		"too many files":            {many, "more than 200000 files"},
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

// pack writes an archive of empty files. It ends behind the header of a file with a size, which
// must be the last.
func pack(t *testing.T, path string, files []tar.Header) {
	t.Helper()
	f, err := os.Create(path)
	check.OK(t, err)
	defer func() { check.OK(t, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	check.OK(t, err)
	defer func() { check.OK(t, z.Close()) }()
	w := tar.NewWriter(z)
	const about = `{"format": 2, "version": "1", "schema": 7}`
	check.OK(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "about.json", Size: int64(len(about))}))
	_, err = w.Write([]byte(about))
	check.OK(t, err)
	for i := range files {
		check.OK(t, w.WriteHeader(&files[i]))
		if files[i].Size > 0 {
			return
		}
	}
	check.OK(t, w.Close())
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
