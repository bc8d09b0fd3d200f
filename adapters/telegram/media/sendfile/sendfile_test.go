package sendfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A tree is a home with a directory to send from, a state directory with media,
// and what must stay where it is.
type tree struct {
	t   testing.TB
	dir string
	p   Policy
}

func newTree(t testing.TB) *tree {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tr := &tree{t: t, dir: dir}
	tr.p = Policy{
		Base: tr.path("home/work"), Media: tr.path("home/work/.state/media"), Roots: []string{tr.path("home/work"), tr.path("common"), tr.path("missing")},
		Withheld: []string{tr.path("home/work/.state"), tr.path("home/work/config"), tr.path("common/run")},
	}
	for _, file := range []string{
		"home/work/a.txt", "home/work/deep/er/b.txt", "home/work/.env", "home/work/.ssh/id", "home/work/deep/.git/config",
		"home/work/.state/ledger.db", "home/work/.state/media/tg-1/photo.jpg", "home/work/.state/media/.part", "home/work/config/c.json",
		"common/s.txt", "common/run/api.sock", "home/other.txt", "secret.txt", "home/work/two  dots..txt",
	} {
		tr.write(file)
	}
	return tr
}

func (tr *tree) path(name string) string { return filepath.Join(tr.dir, name) }

func (tr *tree) must(err error) {
	tr.t.Helper()
	if err != nil {
		tr.t.Fatal(err)
	}
}

// write makes a file that holds its own name.
func (tr *tree) write(name string) {
	tr.t.Helper()
	tr.must(os.MkdirAll(filepath.Dir(tr.path(name)), 0o700))
	tr.must(os.WriteFile(tr.path(name), []byte(name), 0o600))
}

func (tr *tree) link(name, to string) {
	tr.t.Helper()
	tr.must(os.Symlink(to, tr.path(name)))
}

// open returns what a file holds, or why it is refused.
func (tr *tree) open(path string) (content, why string) {
	tr.t.Helper()
	f, err := tr.p.Open(path)
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		if refusal.Path != path || !strings.HasSuffix(refusal.Why, ".") {
			tr.t.Errorf("open %q: refusal %+v", path, refusal)
		}
		return "", refusal.Why
	}
	tr.must(err)
	defer f.Close()
	b, err := io.ReadAll(f)
	tr.must(err)
	return string(b), ""
}

func TestFilesThatAreSent(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.link("home/work/inside", tr.path("home/work/deep/er"))
	tr.link("home/work/tocommon.txt", "../../common/s.txt")
	tr.link("entry", tr.path("home/work"))
	tr.link("home/work/tomedia", tr.path("home/work/.state/media"))
	for path, want := range map[string]string{
		"a.txt":                            "home/work/a.txt",
		"./deep//er/../er/b.txt":           "home/work/deep/er/b.txt",
		"two  dots..txt":                   "home/work/two  dots..txt",
		tr.path("home/work/a.txt"):         "home/work/a.txt",
		tr.path("common/s.txt"):            "common/s.txt",
		"inside/b.txt":                     "home/work/deep/er/b.txt",
		"tocommon.txt":                     "common/s.txt",
		tr.path("entry/a.txt"):             "home/work/a.txt",
		".state/media/tg-1/photo.jpg":      "home/work/.state/media/tg-1/photo.jpg",
		"tomedia/tg-1/photo.jpg":           "home/work/.state/media/tg-1/photo.jpg",
		"../../common/../common/./s.txt":   "common/s.txt",
		"nowhere/../a.txt":                 "home/work/a.txt",
		tr.path("home/../home/work/a.txt"): "home/work/a.txt",
	} {
		if got, why := tr.open(path); got != want {
			t.Errorf("%s: got %q, refused: %q", path, got, why)
		}
	}
}

func TestFilesThatAreNotSent(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.link("home/work/escape", tr.path("home/other.txt"))
	tr.link("home/work/out", tr.dir)
	tr.link("home/work/shown.txt", ".env")
	tr.link("home/work/shown", ".ssh")
	tr.link("home/work/settings", "config")
	tr.link("home/work/loop", "loop")
	tr.link("home/work/dangling", "nothing")
	tr.link("home/work/null", "/dev/null")
	tr.must(syscall.Mkfifo(tr.path("home/work/pipe"), 0o600))
	outside, hidden, own, none, kind, bad := "files are sent only from", "hidden files", "of the gateway's own", "there is no such file", "only regular files", "not the path of a file"
	for path, want := range map[string]string{
		"":                             bad,
		"a\x00.txt":                    bad,
		strings.Repeat("a/", 3000):     bad,
		"../other.txt":                 outside,
		"/etc/passwd":                  outside,
		"/etc/nothing-like-this":       outside,
		"/dev/zero":                    outside,
		"null":                         outside,
		tr.path("secret.txt"):          outside,
		tr.path("home/workers.txt"):    outside,
		"escape":                       outside,
		"out/secret.txt":               outside,
		"out/home/other.txt":           outside,
		".env":                         hidden,
		".ssh/id":                      hidden,
		"deep/.git/config":             hidden,
		"shown.txt":                    hidden,
		"shown/id":                     hidden,
		".state/media/.part":           hidden,
		".state/ledger.db":             hidden,
		"config/c.json":                own,
		"settings/c.json":              own,
		tr.path("common/run/api.sock"): own,
		"out/common/run/api.sock":      own,
		"nothing.txt":                  none,
		"a.txt/b":                      none,
		"dangling":                     none,
		"loop":                         "cannot be opened",
		strings.Repeat("n", 300):       "cannot be opened",
		"deep":                         kind,
		".":                            kind,
		"pipe":                         kind,
	} {
		if got, why := tr.open(path); !strings.Contains(why, want) {
			t.Errorf("%.60q: got %q, refused: %q, want %q", path, got, why, want)
		}
	}
	if _, why := tr.open("/etc/passwd"); !strings.Contains(why, tr.path("home/work")) || !strings.Contains(why, tr.path("common")) {
		t.Errorf("a refusal does not say what is allowed: %q", why)
	}
}

// TestRootBelowWithheld: a directory that holds what is withheld does not have it
// sent, nor does one below it.
func TestRootBelowWithheld(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.p.Roots = []string{tr.path("home/work/config"), tr.dir}
	for _, path := range []string{tr.path("home/work/config/c.json"), tr.path("common/run/api.sock")} {
		if got, why := tr.open(path); !strings.Contains(why, "of the gateway's own") {
			t.Errorf("%s: got %q, refused: %q", path, got, why)
		}
	}
	if got, why := tr.open(tr.path("secret.txt")); got != "secret.txt" {
		t.Errorf("refused: %q", why)
	}
}

// TestMovedMeanwhile has a name be a directory, a link to a hidden one and a link to
// the outside in turn: what is opened is only ever the first.
func TestMovedMeanwhile(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.write("home/work/plain/id")
	tr.write("outside/id")
	tr.link("home/work/to-hidden", ".ssh")
	tr.link("home/work/to-outside", tr.path("outside"))
	stop := make(chan struct{})
	var moving sync.WaitGroup
	moving.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, name := range []string{"plain", "to-hidden", "to-outside"} {
				there, now := tr.path("home/work/"+name), tr.path("home/work/now")
				if err := errors.Join(os.Rename(there, now), os.Rename(now, there)); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for range 500 {
		switch got, _ := tr.open("now/id"); got {
		case "", "home/work/plain/id":
		default:
			t.Errorf("opened %s", got)
		}
	}
	close(stop)
	moving.Wait()
}

func FuzzOpen(f *testing.F) {
	tr := newTree(f)
	tr.link("home/work/out", tr.dir)
	tr.link("home/work/shown", ".ssh")
	for _, seed := range []string{
		"a.txt", "../other.txt", "out/secret.txt", "shown/id", ".env", "deep/.git/config", "./.state/media/../ledger.db",
		"out/home/work/deep/../../other.txt", "config/./c.json", "out/../out/common/run/api.sock", "a.txt\x00", "//etc/passwd", tr.path("common/s.txt"),
	} {
		f.Add(seed)
	}
	fine := map[string]bool{
		"home/work/a.txt": true, "home/work/deep/er/b.txt": true, "home/work/.state/media/tg-1/photo.jpg": true, "common/s.txt": true,
		"home/work/two  dots..txt": true,
	}
	f.Fuzz(func(t *testing.T, path string) {
		file, err := tr.p.Open(path)
		if err != nil {
			if refusal := (*Refusal)(nil); !errors.As(err, &refusal) {
				t.Fatalf("open %q: %v", path, err)
			}
			return
		}
		defer file.Close()
		if b, err := io.ReadAll(file); err != nil || !fine[string(b)] {
			t.Fatalf("opened %q: %s, %v", path, b, err)
		}
	})
}
