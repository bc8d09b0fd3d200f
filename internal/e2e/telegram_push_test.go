package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/testkit/botapi"
)

// A pushTest is a gateway whose bot knows Anna, who is listened to, and Bob, who is
// not.
type pushTest struct {
	*gateway
	api       *botapi.Server
	anna, bob *botapi.User
	chat      *botapi.Chat // Anna's
}

func newPushTest(t *testing.T, settings ...string) *pushTest {
	t.Helper()
	api := botapi.New(t, botapi.WithoutRates())
	p := &pushTest{api: api, anna: api.User(7, "Anna", "Arden", "anna"), bob: api.User(8, "Bob", "", "")}
	p.chat = api.Private(p.anna)
	p.gateway = newMachine(t, append([]string{
		"BARECLAW_TELEGRAM_TOKEN=" + api.Token(), "BARECLAW_TELEGRAM_API=" + api.URL(), "BARECLAW_ALLOWED_USERS=7",
	}, settings...)...).start()
	return p
}

// file writes a file into the agent's directory, or elsewhere on the machine.
func (p *pushTest) file(name string, content []byte) string {
	p.t.Helper()
	path := name
	if !filepath.IsAbs(name) {
		path = p.path("work/" + name)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// send posts a push with a file.
func (p *pushTest) send(channel, path, kind, text string, status int) answer {
	p.t.Helper()
	return p.must("POST", "/send", obj{"channel": channel, "text": text, "media": obj{"filePath": path, "type": kind}}, status)
}

// newest returns the last n messages of the bot in a chat.
func (p *pushTest) newest(chat *botapi.Chat, n int) []botapi.Message {
	p.t.Helper()
	all := chat.FromBot()
	if len(all) < n {
		p.t.Fatalf("%d messages, want at least %d:\n%s", len(all), n, p.api.Dump())
	}
	return all[len(all)-n:]
}

// picture returns a PNG of a size.
func picture(t testing.TB, width, height int) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, width, height))
	img.Set(0, 0, color.White)
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPushText sends texts into chats and topics, as Markdown.
func TestPushText(t *testing.T) {
	t.Parallel()
	p := newPushTest(t)
	answer := p.must("POST", "/send", obj{"channel": "tg-7", "text": "**Done**: `make`"}, 200)
	if answer.json["status"] != "sent" || answer.json["channel"] != "tg-7" {
		t.Errorf("got %s", answer.body)
	}
	p.must("POST", "/send", obj{"channel": "tg-7", "text": strings.Repeat("word ", 2000)}, 200)
	topic := p.chat.CreateTopic(p.anna, "Builds")
	p.must("POST", "/send", obj{"channel": fmt.Sprintf("tg-7-%d", topic), "text": "into the topic"}, 200)
	last := p.newest(p.chat, 1)[0]
	if last.Text != "into the topic" || last.Thread != topic {
		t.Errorf("got %v", last)
	}
}

// TestPushKinds sends a file of every kind, by its name and by what was asked for.
func TestPushKinds(t *testing.T) {
	t.Parallel()
	p := newPushTest(t)
	topic := p.chat.CreateTopic(p.anna, "Files")
	ogg := []byte("OggS and more")
	for _, c := range []struct {
		name, kind, want string
		content          []byte
	}{
		{"a.png", "", "photo", picture(t, 20, 10)},
		{"a.png", "document", "document", picture(t, 20, 10)},
		{"B.PNG", "", "photo", picture(t, 20, 10)},
		{"wide.png", "", "document", picture(t, 2100, 100)}, // Telegram takes it as no photo
		{"a.gif", "", "animation", []byte("GIF89a")},
		{"a.mp4", "", "video", []byte("film")},
		{"a.mp4", "animation", "animation", []byte("film")},
		{"a.mp4", "video_note", "video_note", []byte("film")},
		{"a.ogg", "", "voice", ogg},
		{"a.oga", "audio", "audio", ogg},
		{"a.mp3", "", "audio", []byte("ID3")},
		{"a.mp3", "voice", "audio", []byte("ID3")},
		{"a.tgs", "", "sticker", []byte("sticker")},
		{"a.webp", "sticker", "sticker", []byte("RIFF0000WEBPVP8 ")},
		{"notes.md", "", "document", []byte("# notes")},
		{"no extension", "", "document", []byte("x")},
		{"Ünïcode „quoted\".txt", "", "document", []byte("x")},
	} {
		p.file(c.name, c.content)
		p.send(fmt.Sprintf("tg-7-%d", topic), c.name, c.kind, "", 200)
		m := p.newest(p.chat, 1)[0]
		if m.Media == nil || m.Media.Kind != c.want || m.Media.Name != c.name || !bytes.Equal(m.Media.Data, c.content) || m.Thread != topic || m.Text != "" {
			t.Errorf("%s as %q: got %v", c.name, c.kind, m)
		}
	}
}

// TestPushCaption: a text that fits is the caption, another one comes after the file.
func TestPushCaption(t *testing.T) {
	t.Parallel()
	p := newPushTest(t)
	p.file("a.txt", []byte("x"))
	p.file("a.tgs", []byte("x"))
	for name, c := range map[string]struct {
		file, text string
		captions   bool
	}{
		"plain":                    {"a.txt", "**so** it is", true},
		"1024":                     {"a.txt", strings.Repeat("x", 1024), true},
		"1025":                     {"a.txt", strings.Repeat("x", 1025), false},
		"1024 with surrogates":     {"a.txt", strings.Repeat("😀", 512), true},
		"1026 with surrogates":     {"a.txt", strings.Repeat("😀", 513), false},
		"1024 without the markers": {"a.txt", "**" + strings.Repeat("x", 1000) + "** `" + strings.Repeat("y", 23) + "`", true},
		"1025 without the markers": {"a.txt", "**" + strings.Repeat("x", 1000) + "** `" + strings.Repeat("y", 24) + "`", false},
		"sticker":                  {"a.tgs", "hello", false},
		"too long for a message":   {"a.txt", strings.Repeat("word ", 2000), false},
	} {
		before := len(p.chat.FromBot())
		p.send("tg-7", c.file, "", c.text, 200)
		got := p.chat.FromBot()[before:]
		if got[0].Media == nil || c.captions != (len(got) == 1) || c.captions != (got[0].Text != "") {
			t.Errorf("%s: got %v", name, got)
		}
		if name == "plain" && (got[0].Text != "so it is" || len(got[0].Entities) != 1) {
			t.Errorf("%s: got %v", name, got)
		}
		for _, m := range got[1:] {
			if m.Media != nil || m.Text == "" {
				t.Errorf("%s: got %v", name, m)
			}
		}
	}
}

// TestPushRefusedFiles: only files that may be sent are, and those that cannot be are
// told.
func TestPushRefusedFiles(t *testing.T) {
	t.Parallel()
	shared := t.TempDir()
	p := newPushTest(t, "BARECLAW_SEND_ROOTS="+shared)
	p.file(filepath.Join(shared, "ok.txt"), []byte("x"))
	p.file(p.path("state/media/tg-7/voice.ogg"), []byte("OggS"))
	for _, path := range []string{filepath.Join(shared, "ok.txt"), p.path("state/media/tg-7/voice.ogg"), p.file("ok.txt", []byte("x"))} {
		p.send("tg-7", path, "", "", 200)
	}
	p.file(".env", []byte("x"))
	p.file("sub/.git/config", []byte("x"))
	p.file("empty.txt", nil)
	p.file(p.path("home/.ssh/id"), []byte("x"))
	for _, err := range []error{
		os.Symlink(p.path("home/.ssh/id"), p.path("work/escape")), os.Symlink(".env", p.path("work/shown")),
		syscall.Mkfifo(p.path("work/pipe"), 0o600), os.Mkdir(p.path("work/dir"), 0o700),
		os.WriteFile(p.path("work/huge.bin"), nil, 0o600), os.Truncate(p.path("work/huge.bin"), 50<<20+1),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := len(p.chat.FromBot())
	for path, want := range map[string]string{
		"escape": "sent only from", "shown": "hidden", ".env": "hidden", "sub/.git/config": "hidden", p.path("home/.ssh/id"): "sent only from",
		"../state/ledger.db": "sent only from", p.path("state/ledger.db"): "sent only from", "/etc/passwd": "sent only from",
		"/dev/zero": "sent only from", "pipe": "only regular files", "dir": "only regular files", "missing.txt": "no such file", "empty.txt": "empty",
		"huge.bin": "at most 50 MB",
	} {
		a := p.send("tg-7", path, "", "", 400)
		if text := fmt.Sprint(a.json["error"]); a.json["code"] != "bad_media" || !strings.Contains(text, want) {
			t.Errorf("%s: got %s", path, a.body)
		}
	}
	p.send("tg-7", "ok.txt", "film", "", 400).refused(t, "an unknown type", 400, "bad_media")
	p.must("POST", "/send", obj{"channel": "tg-7", "text": "\u200b"}, 400).refused(t, "an invisible text", 400, "bad_text")
	if after := len(p.chat.FromBot()); after != before {
		t.Errorf("%d messages were sent", after-before)
	}
}

// TestPushRootAround: the state directory is not sent from even where a root holds it.
func TestPushRootAround(t *testing.T) {
	t.Parallel()
	p := newPushTest(t)
	p.signal(syscall.SIGTERM)
	p.env = append(p.env, "BARECLAW_SEND_ROOTS="+p.dir)
	p.gateway = p.machine.start()
	for _, path := range []string{"state/ledger.db", "run/api.sock"} {
		if a := p.send("tg-7", p.path(path), "", "", 400); !strings.Contains(fmt.Sprint(a.json["error"]), "the gateway's own") {
			t.Errorf("%s: got %s", path, a.body)
		}
	}
	p.file(p.path("journal2"), []byte("x"))
	p.send("tg-7", p.path("journal2"), "", "", 200)
}

// TestPushLargeFiles: a photo beyond the limit of photos goes as a document, and a
// file as large as may be is not held in memory.
func TestPushLargeFiles(t *testing.T) {
	t.Parallel()
	p := newPushTest(t)
	noise := make([]byte, 11<<20)
	rand.New(rand.NewSource(1)).Read(noise)
	p.file("large.png", append(picture(t, 20, 10), noise...))
	p.send("tg-7", "large.png", "", "large", 200)
	if m := p.newest(p.chat, 1)[0]; m.Media == nil || m.Media.Kind != "document" || m.Text != "large" {
		t.Errorf("got %v", m)
	}
	p.eventually("the log says why", func() bool { return strings.Contains(p.log.String(), "larger than photos may be") })
}

// TestPushRecipients: only chats of people who are listened to are sent to.
func TestPushRecipients(t *testing.T) {
	t.Parallel()
	p := newPushTest(t)
	p.api.Private(p.bob)
	group := p.api.Supergroup(-1001, "Team", p.anna, p.bob)
	for _, channel := range []string{"tg-8", "tg--1001", "tg-0", "tg-x", "tg-7-x", "tg-07", "tg-"} {
		p.must("POST", "/send", obj{"channel": channel, "text": "hi"}, 403).refused(t, channel, 403, "channel_refused")
	}
	seed(t, p.gateway, -1001)
	p.must("POST", "/send", obj{"channel": "tg--1001", "text": "hi all"}, 200)
	if m := p.newest(group, 1)[0]; m.Text != "hi all" {
		t.Errorf("got %v", m)
	}
	p.must("POST", "/send", obj{"channel": "http", "text": "hi"}, 404).refused(t, "no adapter", 404, "no_adapter")
}

// seed notes in the ledger that somebody who is listened to has spoken in a chat.
func seed(t *testing.T, g *gateway, chat int64) {
	t.Helper()
	db := g.ledgerFile()
	defer func() { _ = db.Close() }()
	_, err := db.Exec(`INSERT INTO records(owner, key, at, doc) VALUES('telegram', ?, 0, '{"spoke":true}')`, fmt.Sprintf("chat:%d", chat))
	if err != nil {
		t.Fatal(err)
	}
}

// ledgerFile opens the ledger beside the daemon.
func (m *machine) ledgerFile() *sql.DB {
	m.t.Helper()
	db, err := sql.Open("sqlite", m.path("state/ledger.db")+"?_pragma=busy_timeout(60000)")
	if err != nil {
		m.t.Fatal(err)
	}
	return db
}

// pushes returns how many pushes are in a state.
func (p *pushTest) pushes(state string) (n int) {
	p.t.Helper()
	db := p.ledgerFile()
	defer func() { _ = db.Close() }()
	if err := db.QueryRow(`SELECT count(*) FROM deliveries WHERE id LIKE 'push:%' AND state=?`, state).Scan(&n); err != nil {
		p.t.Fatal(err)
	}
	return n
}

// post sends a push from a caller who may leave.
func (p *pushTest) post(ctx context.Context, body obj) <-chan answer {
	answered := make(chan answer, 1)
	b, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/send", bytes.NewReader(b))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	go func() { // ends with the answer, or with ctx
		a, _ := p.gateway.send(req) // without an answer its status is 0
		answered <- a
	}()
	return answered
}

// wantStatus waits for an answer.
func (p *pushTest) wantStatus(answered <-chan answer, status int) answer {
	p.t.Helper()
	select {
	case a := <-answered:
		if a.status != status {
			p.t.Errorf("got %d, want %d: %s", a.status, status, a.body)
		}
		return a
	case <-time.After(patience):
		p.t.Fatal("no answer")
		return answer{}
	}
}

// TestPushRefusedByTelegram: the caller is told why Telegram does not take it.
func TestPushRefusedByTelegram(t *testing.T) {
	t.Parallel()
	p := newPushTest(t)
	p.file("a.txt", []byte("x"))
	p.chat.Block()
	for _, body := range []obj{{"channel": "tg-7", "text": "hi"}, {"channel": "tg-7", "media": obj{"filePath": "a.txt"}}} {
		a := p.must("POST", "/send", body, 502)
		if text := fmt.Sprint(a.json["error"]); a.json["code"] != "delivery_failed" || !strings.Contains(text, "bot was blocked by the user") {
			t.Errorf("got %s", a.body)
		}
	}
	p.chat.Unblock()
	a := p.must("POST", "/send", obj{"channel": "tg-7-99", "text": "hi"}, 502)
	if text := fmt.Sprint(a.json["error"]); !strings.Contains(text, "message thread not found") {
		t.Errorf("got %s", a.body)
	}
	p.must("POST", "/send", obj{"channel": "tg-7", "text": "hi"}, 200)
}

// TestPushOverRestart: a push that waits for Telegram is sent once, and its caller
// answered, by the process that takes over.
func TestPushOverRestart(t *testing.T) {
	t.Parallel()
	p := newPushTest(t)
	p.file("a.txt", []byte("x"))
	held := p.api.Hold("sendDocument", 7)
	answered := p.post(t.Context(), obj{"channel": "tg-7", "text": "with it", "media": obj{"filePath": "a.txt"}})
	p.api.Await(t, "the upload", held.Reached)
	p.must("POST", "/restart", nil, 200)
	p.wantStatus(answered, 200)
	if n := p.pushes("sent"); n != 1 {
		t.Errorf("%d pushes on record as sent", n)
	}
	if got := p.chat.FromBot(); len(got) != 1 || got[0].Media == nil || got[0].Text != "with it" {
		t.Errorf("got %v", got)
	}
}

// TestPushWithdrawn: a push whose caller leaves before anything was sent is not sent
// later.
func TestPushWithdrawn(t *testing.T) {
	t.Parallel()
	p := newPushTest(t)
	held := p.api.Hold("sendMessage", 7)
	first := p.post(t.Context(), obj{"channel": "tg-7", "text": "first"})
	p.api.Await(t, "the first", held.Reached)
	ctx, leave := context.WithCancel(t.Context())
	second := p.post(ctx, obj{"channel": "tg-7", "text": "second"})
	p.eventually("the second is on record", func() bool { return p.pushes("pending") == 2 })
	leave()
	p.wantStatus(second, 0)
	p.eventually("the second is withdrawn", func() bool { return p.pushes("failed") == 1 })
	held.Release()
	p.wantStatus(first, 200)
	p.must("POST", "/send", obj{"channel": "tg-7", "text": "third"}, 200)
	if got := p.chat.FromBot(); len(got) != 2 || got[0].Text != "first" || got[1].Text != "third" {
		t.Errorf("got %v", got)
	}
}

// TestPushAtTheEnd: at the end of the gateway what waits is withdrawn and told so,
// and what may have been sent is not said to be lost.
func TestPushAtTheEnd(t *testing.T) {
	t.Parallel()
	p := newPushTest(t)
	held := p.api.HoldAnswer("sendMessage", 7)
	defer held.Release()
	first := p.post(t.Context(), obj{"channel": "tg-7", "text": "first"})
	p.api.Await(t, "the first", held.Reached)
	second := p.post(t.Context(), obj{"channel": "tg-7", "text": "second"})
	p.eventually("the second is on record", func() bool { return p.pushes("pending") == 2 })
	p.signal(syscall.SIGTERM)
	p.wantStatus(first, 502).refused(t, "the one under way", 502, "delivery_unconfirmed")
	p.wantStatus(second, 503).refused(t, "the one that waits", 503, "shutting_down")
	p.gateway = p.machine.start()
	p.must("POST", "/send", obj{"channel": "tg-7", "text": "third"}, 200)
	if got := p.chat.FromBot(); strings.Contains(fmt.Sprint(got), "second") || got[0].Text != "first" || got[len(got)-1].Text != "third" {
		t.Errorf("got %v", got)
	}
}

// TestPushWithoutNetwork: while Telegram cannot be reached a push fails, and what
// failed is not sent when it can be again.
func TestPushWithoutNetwork(t *testing.T) {
	t.Parallel()
	p := newPushTest(t)
	p.api.DropNetwork()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	lost := p.post(ctx, obj{"channel": "tg-7", "text": "lost"})
	p.eventually("it is on record", func() bool { return p.pushes("pending")+p.pushes("failed") == 1 })
	leave()
	<-lost
	p.eventually("it has failed", func() bool { return p.pushes("failed") == 1 })
	p.api.RestoreNetwork()
	p.must("POST", "/send", obj{"channel": "tg-7", "text": "after"}, 200)
	if got := p.chat.FromBot(); len(got) != 1 || got[0].Text != "after" {
		t.Errorf("got %v", got)
	}
}
