package realclaude

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeClaude is a CLI of the right version.
const fakeClaude = "#!/bin/sh\necho '" + Version + " (Claude Code)'\n"

func tarball(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range entries {
		data := h.PAXRecords["TEST.data"]
		h.PAXRecords, h.Size = nil, int64(len(data))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(name, data string, mode int64) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, PAXRecords: map[string]string{"TEST.data": data}}
}

// goodPackage is a package as the real one, but small.
func goodPackage(t *testing.T) []byte {
	t.Helper()
	return tarball(t, file("package/claude", fakeClaude, 0o755), file("package/doc/README.md", "read me", 0o600))
}

// newStore is a store whose npm is a shell script that delivers archive and
// writes one line per call to the file that calls reads.
func newStore(t *testing.T, archive []byte) (s store, calls func() string) {
	t.Helper()
	dir := t.TempDir()
	published, script, log := filepath.Join(dir, "published"), filepath.Join(dir, "npm.sh"), filepath.Join(dir, "calls")
	text := fmt.Sprintf(`echo "$1" >>'%s'; if [ "$1" = pack ]; then cp '%s' "$5/claude.tgz"; fi`, log, published)
	for name, data := range map[string]string{published: string(archive), script: text, log: ""} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sum := sha512.Sum512(archive)
	rel := release{version: Version, platform: "test-x64", integrity: "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
	calls = func() string {
		t.Helper()
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(b)), " ")
	}
	return store{dir: filepath.Join(dir, "cache"), rel: rel, npm: []string{"sh", script}}, calls
}

// leftOver lists the cache without the lock.
func leftOver(t *testing.T, s store) []string {
	t.Helper()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".lock") {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestFetchOnce(t *testing.T) {
	t.Parallel()
	s, calls := newStore(t, goodPackage(t))
	if err := os.MkdirAll(s.path(".tmp-killed/x"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		path, err := s.fetch(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(s.dir, "claude-"+Version+"-test-x64", "claude"); path != want {
			t.Errorf("path %s, want %s", path, want)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o111 == 0 {
			t.Errorf("not an executable: %v, %v", info, err)
		}
	}
	if got := calls(); got != "view pack" {
		t.Errorf("npm was called %q, want one view and one pack", got)
	}
	if b, err := os.ReadFile(filepath.Join(s.path(""), "doc", "README.md")); string(b) != "read me" {
		t.Errorf("README.md: %q, %v", b, err)
	}
	if got := leftOver(t, s); len(got) != 1 {
		t.Errorf("cache holds %q, want the package only", got)
	}
}

func TestFetchInParallel(t *testing.T) {
	t.Parallel()
	s, calls := newStore(t, goodPackage(t))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := s.fetch(t.Context(), 0); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := calls(); got != "view pack" {
		t.Errorf("npm was called %q, want one view and one pack", got)
	}
}

func TestFetchRefuses(t *testing.T) {
	t.Parallel()
	link := tar.Header{Typeflag: tar.TypeSymlink, Name: "package/claude", Linkname: "/bin/true"}
	for name, tc := range map[string]struct {
		archive []byte
		want    string
	}{
		"escape":        {tarball(t, file("package/../../evil", "", 0o644)), "leads out"},
		"absolute":      {tarball(t, file("/package/evil", "", 0o644)), "leads out"},
		"link":          {tarball(t, link), "entry of type"},
		"bare file":     {tarball(t, file("claude", fakeClaude, 0o755)), "outside the package"},
		"same name":     {tarball(t, file("package/claude", "", 0o755), file("package/claude", "", 0o755)), "exists"},
		"no archive":    {[]byte("this is no archive at all"), "gzip"},
		"no program":    {tarball(t, file("package/README.md", "", 0o644)), "no such file"},
		"wrong version": {tarball(t, file("package/claude", "#!/bin/sh\necho 1.0.0\n", 0o755)), `"1.0.0"`},
		"fails":         {tarball(t, file("package/claude", "#!/bin/sh\necho no >&2; exit 3\n", 0o755)), "no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newStore(t, tc.archive)
			_, err := s.fetch(t.Context(), 0)
			if err == nil || errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if got := leftOver(t, s); len(got) != 0 {
				t.Errorf("cache holds %q, want nothing", got)
			}
		})
	}
}

func TestFetchRefusesAnotherArchive(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t, goodPackage(t))
	s.rel.integrity = integrity("linux-x64")
	if _, err := s.fetch(t.Context(), 0); err == nil || errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("error %v, want one about the checksum", err)
	}
}

func TestUnavailableIsRememberedForAWhile(t *testing.T) {
	t.Parallel()
	s, calls := newStore(t, goodPackage(t))
	broken := s
	broken.npm = []string{"sh", "-c", "echo unreachable >&2; exit 1"}
	if _, err := broken.fetch(t.Context(), time.Hour); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "unreachable") {
		t.Fatalf("error %v, want ErrUnavailable with npm's words", err)
	}
	if _, err := s.fetch(t.Context(), time.Hour); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "unreachable") {
		t.Errorf("error %v, want the remembered one", err)
	}
	if got := calls(); got != "" {
		t.Errorf("npm was called %q, want no call", got)
	}
	if _, err := s.fetch(t.Context(), 0); err != nil {
		t.Errorf("a new try: %v", err)
	}
}

func TestMissingNpmIsUnavailable(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t, nil)
	s.npm = []string{filepath.Join(s.dir, "no-npm")}
	if _, err := s.fetch(t.Context(), 0); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error %v, want ErrUnavailable", err)
	}
}

func TestCancelledFetchSaysNothingAboutNpm(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t, goodPackage(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.fetch(ctx, 0); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
		t.Errorf("error %v, want context.Canceled alone", err)
	}
	if _, err := s.fetch(t.Context(), time.Hour); err != nil {
		t.Errorf("the next fetch: %v", err)
	}
}
