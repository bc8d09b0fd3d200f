package media

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"image"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bareclaw/adapters/telegram/base"
	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/outbox"
	fakeapi "bareclaw/internal/testkit/botapi"

	"github.com/go-telegram/bot/models"
)

// loose returns a downloader on a Bot API of its own.
func loose(t *testing.T, api *fakeapi.Server) *Downloader {
	t.Helper()
	c, err := botapi.New(botapi.Options{Token: api.Token(), API: api.URL(), PollTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	sender := outbox.NewSender(c, &base.Base{Work: base.NewGroup(log), Log: log})
	return &Downloader{Client: c, Cooldowns: sender.Cooldowns, Dir: filepath.Join(t.TempDir(), "media"), Log: log}
}

// sentFile has somebody send a file, and returns it as the bot is told of it.
func sentFile(t *testing.T, a *Downloader, api *fakeapi.Server, m fakeapi.Media) File {
	t.Helper()
	anna := api.User(7, "Anna", "", "anna")
	api.Private(anna).Send(anna, "", fakeapi.WithMedia(m))
	ctx, cancel := context.WithTimeout(t.Context(), fakeapi.Patience)
	defer cancel()
	raw, err := a.Client.Updates(ctx, 0, 0)
	if err != nil || len(raw) == 0 {
		t.Fatalf("poll: %v", err)
	}
	u, err := botapi.DecodeUpdate(raw[len(raw)-1])
	if err != nil {
		t.Fatal(err)
	}
	f, ok := FileOf(u.Message)
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
	to := filepath.Join(a.Dir, "tg-7", f.Name)
	api.Script("getFile", 0, fakeapi.InternalError())
	api.Script("file", 0, fakeapi.ResetMidBody())
	n, err := a.Download(t.Context(), &f, to)
	if err != nil || n != int64(len(data)) {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the file is another one: %d bytes, %v", len(got), err)
	}
	if !strings.HasSuffix(to, "-evil_name.bin") || filepath.Dir(to) != filepath.Join(a.Dir, "tg-7") {
		t.Errorf("it is at %s", to)
	}
	for path, want := range map[string]os.FileMode{to: 0o600, filepath.Dir(to): 0o700 | os.ModeDir} {
		if st, err := os.Stat(path); err != nil || st.Mode() != want {
			t.Errorf("%s has mode %v, want %v", path, st.Mode(), want)
		}
	}
	before := len(api.Calls("getFile"))
	if _, err := a.Download(t.Context(), &f, to); err != nil || len(api.Calls("getFile")) != before {
		t.Errorf("it is here, and was asked for again (%v)", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(to), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestFetchTriesAgain holds that a file that is "temporarily unavailable" is asked for again, and
// that Telegram no longer has it only after the last attempt.
func TestFetchTriesAgain(t *testing.T) {
	t.Parallel()
	api := fakeapi.New(t)
	a := loose(t, api)
	f := sentFile(t, a, api, fakeapi.Document("a.txt", "text/plain", []byte("a")))
	away := fakeapi.Refuse(http.StatusBadRequest, "Bad Request: wrong file_id or the file is temporarily unavailable")
	api.Script("getFile", 0, away)
	if n, err := a.Download(t.Context(), &f, filepath.Join(a.Dir, "tg-7", f.Name)); err != nil || n != 1 {
		t.Errorf("%d bytes, %v", n, err)
	}
	before := len(api.Calls("getFile"))
	f.Name = "gone"
	api.Script("getFile", 0, slices.Repeat([]fakeapi.Step{away}, maxAttempts)...)
	_, err := a.Download(t.Context(), &f, filepath.Join(a.Dir, "tg-7", f.Name))
	if known := (*Error)(nil); !errors.As(err, &known) || known.Why != "Telegram no longer has it" {
		t.Errorf("got %v", err)
	}
	if n := len(api.Calls("getFile")) - before; n != maxAttempts {
		t.Errorf("it was asked for %d times", n)
	}
}

// TestFetchGivesUpInWords holds what is told of a file that cannot be had.
func TestFetchGivesUpInWords(t *testing.T) {
	t.Parallel()
	api := fakeapi.New(t)
	a := loose(t, api)
	f := sentFile(t, a, api, fakeapi.Document("a.txt", "text/plain", []byte("a")))
	for why, change := range map[string]func(*File){
		"20 MB": func(f *File) { f.Bytes = MaxFileBytes + 1 }, "no longer": func(f *File) { f.ID = "unknown" },
	} {
		g := f
		change(&g)
		_, err := a.Download(t.Context(), &g, filepath.Join(a.Dir, "tg-7", g.Name))
		if known := (*Error)(nil); !errors.As(err, &known) || !strings.Contains(known.Why, why) {
			t.Errorf("got %v, want %q", err, why)
		}
	}
	api.Script("getFile", 0, fakeapi.Refuse(400, "Bad Request: file is too big"))
	if _, err := a.Download(t.Context(), &f, filepath.Join(a.Dir, "tg-7", f.Name)); !errors.Is(err, errTooLarge) {
		t.Errorf("got %v", err)
	}
	a.Dir = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(a.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Download(t.Context(), &f, filepath.Join(a.Dir, "tg-7", f.Name)); err == nil || !strings.Contains(err.Error(), "cannot make a directory") {
		t.Errorf("got %v", err)
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
		block, why := ShowImage(path, left)
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
	if got, why := show(small, MaxImagesBytes); why != "" || got != `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+base64.StdEncoding.EncodeToString(small)+`"}}` {
		t.Errorf("got %s, %q", got, why)
	}
	if _, why := show([]byte("RIFF\x10\x00\x00\x00WEBPVP8 "), MaxImagesBytes); why != "" {
		t.Errorf("a WebP is not shown: %s", why)
	}
	for want, data := range map[string][]byte{
		"too large": append(picture(2, 2), make([]byte, maxImageBytes)...), "damaged": small[:20], "pixels": picture(maxImageSide+1, 1),
		"not a JPEG": []byte("<svg/>"),
	} {
		if got, why := show(data, MaxImagesBytes); got != "" || !strings.Contains(why, want) {
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
		if got, err := Transcribe(t.Context(), command, "/a b.ogg"); err != nil || got != want {
			t.Errorf("%s: %.50q, %v", command, got, err)
		}
	}
	for command, want := range map[string]string{`echo no model >&2; exit 3`: "no model", `exit 3`: "exit status 3", `true`: "no words"} {
		if got, err := Transcribe(t.Context(), command, "/a"); got != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", command, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	begun := time.Now()
	if _, err := Transcribe(ctx, `sleep 100 & sleep 100; wait`, "/a"); err == nil || time.Since(begun) > fakeapi.Patience {
		t.Errorf("given up, it ended with %v after %v", err, time.Since(begun))
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	if err := prune(filepath.Join(dir, "none"), time.Hour, now); err != nil {
		t.Errorf("where nothing is: %v", err)
	}
	ages := map[string]time.Duration{
		"tg-1/old": 3 * time.Hour, "tg-1/new": time.Minute, "tg-1/.x1234567890": 90 * time.Minute, "tg-1/.y1234567890": time.Minute, "tg-1/.nomedia": 90 * time.Minute, "tg-2/old": 3 * time.Hour,
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
	if err := prune(dir, 2*time.Hour, now); err != nil || left() != "tg-1/.nomedia tg-1/.y1234567890 tg-1/new" {
		t.Errorf("%v; left is %s", err, left())
	}
	write()
	if err := prune(dir, 0, now); err != nil || left() != "tg-1/.nomedia tg-1/.y1234567890 tg-1/new tg-1/old tg-2/old" {
		t.Errorf("kept for ever: %v; left is %s", err, left())
	}
	if err := prune(dir, time.Second, now.Add(5*time.Hour)); err != nil || left() != "" {
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
		f, _ := FileOf(&models.Message{ID: id, Date: 1700000000, Document: &models.Document{FileName: "a.txt"}})
		return f.Name
	}
	if name(12) != "1700000000012-a.txt" || name(12) == name(13) || name(1012) != name(12) {
		t.Errorf("%s, %s, %s", name(12), name(13), name(1012))
	}
}

// TestPruneOfLinks holds that the directory may be a link to another disk, which stays,
// and that nothing elsewhere is removed.
func TestPruneOfLinks(t *testing.T) {
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
	if err := prune(link, time.Hour, time.Now().Add(24*time.Hour)); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]bool{link: true, elsewhere: true, filepath.Join(disk, "tg-1", "old"): false, filepath.Join(disk, "tg-1", "link"): false} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", path, err == nil, want)
		}
	}
}

// TestDownloadKeepsTheToken: no other server is asked, and no error shows the token, which
// is part of the URL.
func TestDownloadKeepsTheToken(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
		},
		"cut": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/getFile") {
				_, _ = io.WriteString(w, `{"ok":true,"result":{"file_id":"id","file_path":"photos/1.jpg"}}`)
				return
			}
			answer(w, r)
		}))
		defer s.Close()
		c, err := botapi.New(botapi.Options{Token: "5:SECRET", API: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		to, err := os.Create(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		d := &Downloader{Client: c}
		if _, err := d.loadMore(t.Context(), "id", to, 0); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the other server was asked %d times", n)
	}
}
