package telegram

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"image"
	"image/png"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/core"
	fakeapi "bareclaw/internal/testkit/botapi"

	"github.com/go-telegram/bot/models"
)

// loose returns an adapter without a core, to receive files with.
func loose(t *testing.T, api *fakeapi.Server) *Adapter {
	t.Helper()
	a, err := New(Options{Push: &core.PushRegistry{}, Log: slog.New(slog.DiscardHandler), Token: api.Token(), API: api.URL(), StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// sentFile has somebody send a file, and returns it as the bot is told of it.
func sentFile(t *testing.T, a *Adapter, api *fakeapi.Server, m fakeapi.Media) media {
	t.Helper()
	anna := api.User(7, "Anna", "", "anna")
	api.Private(anna).Send(anna, "", fakeapi.WithMedia(m))
	ctx, cancel := context.WithTimeout(t.Context(), fakeapi.Patience)
	defer cancel()
	raw, err := a.client.Updates(ctx, 0, 0)
	if err != nil || len(raw) == 0 {
		t.Fatalf("poll: %v", err)
	}
	u, err := botapi.DecodeUpdate(raw[len(raw)-1])
	if err != nil {
		t.Fatal(err)
	}
	f, ok := mediaOf(u.Message)
	if !ok {
		t.Fatalf("no file in %s", raw)
	}
	return f
}

// TestFetchGoesOn holds that a file arrives whole over a connection that breaks, and
// that nobody else can read it. It is not fetched again while it is here.
func TestFetchGoesOn(t *testing.T) {
	t.Parallel()
	api := fakeapi.New(t)
	a := loose(t, api)
	data := bytes.Repeat([]byte("0123456789"), 20_000)
	f := sentFile(t, a, api, fakeapi.Document("../../evil name.bin", "application/octet-stream", data))
	to := a.mediaPath("tg-7", &f)
	api.Script("getFile", 0, fakeapi.InternalError())
	api.Script("file", 0, fakeapi.ResetMidBody())
	n, err := a.fetch(t.Context(), &f, to)
	if err != nil || n != int64(len(data)) {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the file is another one: %d bytes, %v", len(got), err)
	}
	if !strings.HasSuffix(to, "-evil_name.bin") || filepath.Dir(to) != filepath.Join(a.o.StateDir, "media", "tg-7") {
		t.Errorf("it is at %s", to)
	}
	for path, want := range map[string]os.FileMode{to: 0o600, filepath.Dir(to): 0o700 | os.ModeDir} {
		if st, err := os.Stat(path); err != nil || st.Mode() != want {
			t.Errorf("%s has mode %v, want %v", path, st.Mode(), want)
		}
	}
	before := len(api.Calls("getFile"))
	if _, err := a.fetch(t.Context(), &f, to); err != nil || len(api.Calls("getFile")) != before {
		t.Errorf("it is here, and was asked for again (%v)", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(to), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestFetchGivesUpInWords holds what is told of a file that cannot be had.
func TestFetchGivesUpInWords(t *testing.T) {
	t.Parallel()
	api := fakeapi.New(t)
	a := loose(t, api)
	f := sentFile(t, a, api, fakeapi.Document("a.txt", "text/plain", []byte("a")))
	for why, change := range map[string]func(*media){
		"20 MB": func(f *media) { f.bytes = maxFileBytes + 1 }, "no more": func(f *media) { f.id = "unknown" },
	} {
		g := f
		change(&g)
		_, err := a.fetch(t.Context(), &g, a.mediaPath("tg-7", &g))
		if known := (*fileError)(nil); !errors.As(err, &known) || !strings.Contains(known.why, why) {
			t.Errorf("got %v, want %q", err, why)
		}
	}
	api.Script("getFile", 0, fakeapi.Refuse(400, "Bad Request: file is too big"))
	if _, err := a.fetch(t.Context(), &f, a.mediaPath("tg-7", &f)); !errors.Is(err, errTooLarge) {
		t.Errorf("got %v", err)
	}
	a.o.StateDir = filepath.Join(a.o.StateDir, "file")
	if err := os.WriteFile(a.o.StateDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.fetch(t.Context(), &f, a.mediaPath("tg-7", &f)); err == nil || !strings.Contains(err.Error(), "kept here") {
		t.Errorf("got %v", err)
	}
}

// TestPollThatHangsIsReplaced holds that a poll which is never answered, on a
// connection that looks alive, is given up, and that the next one has another.
func TestPollThatHangsIsReplaced(t *testing.T) {
	t.Parallel()
	api := fakeapi.New(t)
	a := loose(t, api)
	a.introduced, a.client.Grace = true, 50*time.Millisecond
	held := api.Hold("getUpdates", 0)
	defer held.Release()
	for !held.Reached() { // on a busy machine a poll may be given up before it gets there
		_, err := a.pollOnce(t.Context(), 0, 0)
		late := err == nil && held.Reached() // the one before got there after it was given up
		if !errors.Is(err, botapi.ErrPollHung) && !late {
			t.Fatalf("a poll that hangs ended with %v", err)
		}
	}
	a.client.Grace = fakeapi.Patience
	if _, err := a.pollOnce(t.Context(), 0, 0); err != nil {
		t.Errorf("the next one: %v", err)
	}
	if h := a.Health(); !h.Ready {
		t.Errorf("health is %+v", h)
	}
}

// TestImagesThatAreShown holds that the agent is only shown what its provider takes:
// anything else would be refused again with each turn of the conversation.
func TestImagesThatAreShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	show := func(data []byte, left int64) (string, string) {
		path := filepath.Join(dir, "x")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		block, why := showImage(path, left)
		return string(block), why
	}
	picture := func(w, h int) []byte {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	small := picture(2, 2)
	if got, why := show(small, maxImagesBytes); why != "" || got != `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+base64.StdEncoding.EncodeToString(small)+`"}}` {
		t.Errorf("got %s, %q", got, why)
	}
	if _, why := show([]byte("RIFF\x10\x00\x00\x00WEBPVP8 "), maxImagesBytes); why != "" {
		t.Errorf("a WebP is not shown: %s", why)
	}
	for want, data := range map[string][]byte{
		"too large": append(picture(2, 2), make([]byte, maxImageBytes)...), "damaged": small[:20], "pixels": picture(maxImageSide+1, 1),
		"no JPEG": []byte("<svg/>"),
	} {
		if got, why := show(data, maxImagesBytes); got != "" || !strings.Contains(why, want) {
			t.Errorf("want %q, got %q", want, why)
		}
	}
	if _, why := show(small, int64(len(small))-1); !strings.Contains(why, "too large") {
		t.Errorf("more than a message may have is shown (%q)", why)
	}
}

// TestTranscripts runs commands that make texts of files.
func TestTranscripts(t *testing.T) {
	t.Setenv("BARECLAW_TELEGRAM_TOKEN", "secret")
	for command, want := range map[string]string{
		`read path && echo "text of $path"`: "text of /a b.ogg", `env | grep -c BARECLAW || true`: "0", `head -c 400000 /dev/zero | tr '\0' x`: strings.Repeat("x", maxTranscript),
	} {
		if got, err := transcribe(t.Context(), command, "/a b.ogg"); err != nil || got != want {
			t.Errorf("%s: %.50q, %v", command, got, err)
		}
	}
	for command, want := range map[string]string{`echo no model >&2; exit 3`: "no model", `exit 3`: "exit status 3", `true`: "no words"} {
		if got, err := transcribe(t.Context(), command, "/a"); got != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", command, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	begun := time.Now()
	if _, err := transcribe(ctx, `sleep 100 & sleep 100; wait`, "/a"); err == nil || time.Since(begun) > fakeapi.Patience {
		t.Errorf("given up, it ended with %v after %v", err, time.Since(begun))
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	if err := sweep(filepath.Join(dir, "none"), time.Hour, now); err != nil {
		t.Errorf("where nothing is: %v", err)
	}
	ages := map[string]time.Duration{
		"tg-1/old": 3 * time.Hour, "tg-1/new": time.Minute, "tg-1/.x" + unfinished: 90 * time.Minute, "tg-1/.y" + unfinished: time.Minute, "tg-2/old": 3 * time.Hour,
	}
	write := func() {
		for name, age := range ages {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600), os.Chtimes(path, now, now.Add(-age))); err != nil {
				t.Fatal(err)
			}
		}
	}
	left := func() string {
		files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range files {
			files[i], _ = filepath.Rel(dir, files[i])
		}
		return strings.Join(files, " ")
	}
	write()
	if err := sweep(dir, 2*time.Hour, now); err != nil || left() != "tg-1/.y"+unfinished+" tg-1/new" {
		t.Errorf("%v; left is %s", err, left())
	}
	write()
	if err := sweep(dir, 0, now); err != nil || left() != "tg-1/.y"+unfinished+" tg-1/new tg-1/old tg-2/old" {
		t.Errorf("kept for ever: %v; left is %s", err, left())
	}
	if err := sweep(dir, time.Second, now.Add(5*time.Hour)); err != nil || left() != "" {
		t.Errorf("%v; left is %s", err, left())
	}
	if dirs, _ := os.ReadDir(dir); len(dirs) > 0 {
		t.Errorf("empty directories are left: %v", dirs)
	}
}

// TestNamesOfFiles holds that two files do not become one, and that one file is
// where it was when it is received again.
func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	name := func(id int) string {
		f, _ := mediaOf(&models.Message{ID: id, Date: 1700000000, Document: &models.Document{FileName: "a.txt"}})
		return f.name
	}
	if name(12) != "1700000000012-a.txt" || name(12) == name(13) || name(1012) != name(12) {
		t.Errorf("%s, %s, %s", name(12), name(13), name(1012))
	}
}

// TestSweepOfLinks holds that the directory may be a link to another disk, which stays,
// and that nothing elsewhere is removed.
func TestSweepOfLinks(t *testing.T) {
	t.Parallel()
	disk, state := t.TempDir(), t.TempDir()
	link, elsewhere := filepath.Join(state, "media"), filepath.Join(state, "elsewhere")
	for _, err := range []error{
		os.Symlink(disk, link), os.WriteFile(elsewhere, nil, 0o600), os.Mkdir(filepath.Join(disk, "tg-1"), 0o700),
		os.WriteFile(filepath.Join(disk, "tg-1", "old"), nil, 0o600), os.Symlink(elsewhere, filepath.Join(disk, "tg-1", "link")),
		os.Symlink(state, filepath.Join(disk, "dir")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := sweep(link, time.Hour, time.Now().Add(24*time.Hour)); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]bool{link: true, elsewhere: true, filepath.Join(disk, "tg-1", "old"): false, filepath.Join(disk, "tg-1", "link"): false} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", path, err == nil, want)
		}
	}
}
