package telegram

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
)

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
	p := harness.NewPushTest(t)
	answer := p.Must("POST", "/send", harness.Obj{"channel": "tg-7", "text": "**Done**: `make`"}, 200)
	if answer.JSON["status"] != "sent" || answer.JSON["channel"] != "tg-7" {
		t.Errorf("got %s", answer.Body)
	}
	p.Must("POST", "/send", harness.Obj{"channel": "tg-7", "text": strings.Repeat("word ", 2000)}, 200)
	topic := p.Chat.CreateTopic(p.Anna, "Builds")
	p.Must("POST", "/send", harness.Obj{"channel": fmt.Sprintf("tg-7-%d", topic), "text": "into the topic"}, 200)
	last := p.Newest(p.Chat, 1)[0]
	if last.Text != "into the topic" || last.Thread != topic {
		t.Errorf("got %v", last)
	}
}

// TestPushKinds sends a file of every kind.
func TestPushKinds(t *testing.T) {
	t.Parallel()
	p := harness.NewPushTest(t)
	topic := p.Chat.CreateTopic(p.Anna, "Files")
	for _, c := range []struct {
		name, kind, want string
		content          []byte
	}{
		{"a.png", "", "photo", picture(t, 20, 10)},
		{"wide.png", "", "document", picture(t, 2100, 100)}, // Telegram takes it as no photo
		{"a.gif", "", "animation", []byte("GIF89a")},
		{"a.mp4", "", "video", []byte("film")},
		{"a.mp4", "video_note", "video_note", []byte("film")},
		{"a.ogg", "", "voice", []byte("OggS and more")},
		{"a.mp3", "", "audio", []byte("ID3")},
		{"a.tgs", "", "sticker", []byte("sticker")},
		{"Ünïcode „quoted\".txt", "", "document", []byte("x")},
	} {
		p.File(c.name, c.content)
		p.Send(fmt.Sprintf("tg-7-%d", topic), c.name, c.kind, "", 200)
		m := p.Newest(p.Chat, 1)[0]
		if m.Media == nil || m.Media.Kind != c.want || m.Media.Name != c.name || !bytes.Equal(m.Media.Data, c.content) || m.Thread != topic || m.Text != "" {
			t.Errorf("%s as %q: got %v", c.name, c.kind, m)
		}
	}
}

// TestPushCaption: a text that fits is the caption, another one comes after the file.
func TestPushCaption(t *testing.T) {
	t.Parallel()
	p := harness.NewPushTest(t)
	p.File("a.txt", []byte("x"))
	p.File("a.tgs", []byte("x"))
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
		before := len(p.Chat.FromBot())
		p.Send("tg-7", c.file, "", c.text, 200)
		got := p.Chat.FromBot()[before:]
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
	p := harness.NewPushTest(t, "BARECLAW_SEND_ROOTS="+shared)
	p.File(filepath.Join(shared, "ok.txt"), []byte("x"))
	p.File(p.Path("state/media/tg-7/voice.ogg"), []byte("OggS"))
	for _, path := range []string{filepath.Join(shared, "ok.txt"), p.Path("state/media/tg-7/voice.ogg"), p.File("ok.txt", []byte("x"))} {
		p.Send("tg-7", path, "", "", 200)
	}
	p.File(".env", []byte("x"))
	p.File(p.Path("home/.ssh/id"), []byte("x"))
	for _, err := range []error{
		os.Symlink(p.Path("home/.ssh/id"), p.Path("work/escape")), os.WriteFile(p.Path("work/huge.bin"), nil, 0o600), os.Truncate(p.Path("work/huge.bin"), 50<<20+1),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := len(p.Chat.FromBot())
	for path, want := range map[string]string{
		"escape": "sent only from", ".env": "hidden", p.Path("state/ledger.db"): "sent only from", "missing.txt": "no such file", "huge.bin": "at most 50 MB",
	} {
		a := p.Send("tg-7", path, "", "", 400)
		if text := fmt.Sprint(a.JSON["error"]); a.JSON["code"] != "bad_media" || !strings.Contains(text, want) {
			t.Errorf("%s: got %s", path, a.Body)
		}
	}
	p.Send("tg-7", "ok.txt", "film", "", 400).Refused(t, "an unknown type", 400, "bad_media")
	p.Must("POST", "/send", harness.Obj{"channel": "tg-7", "text": "\u200b"}, 400).Refused(t, "an invisible text", 400, "bad_text")
	if after := len(p.Chat.FromBot()); after != before {
		t.Errorf("%d messages were sent", after-before)
	}
}

// TestPushRootAround: the state directory is not sent from even where a root holds it.
func TestPushRootAround(t *testing.T) {
	t.Parallel()
	p := harness.NewPushTest(t)
	p.Signal(syscall.SIGTERM)
	p.Env = append(p.Env, "BARECLAW_SEND_ROOTS="+p.Dir)
	p.Gateway = p.Machine.Start()
	for _, path := range []string{"state/ledger.db", "run/api.sock"} {
		if a := p.Send("tg-7", p.Path(path), "", "", 400); !strings.Contains(fmt.Sprint(a.JSON["error"]), "the gateway's own") {
			t.Errorf("%s: got %s", path, a.Body)
		}
	}
	p.File(p.Path("journal2"), []byte("x"))
	p.Send("tg-7", p.Path("journal2"), "", "", 200)
}

// TestPushLargeFiles: a photo beyond the limit of photos goes as a document, and a
// file as large as may be is not held in memory.
func TestPushLargeFiles(t *testing.T) {
	t.Parallel()
	p := harness.NewPushTest(t)
	noise := make([]byte, 11<<20)
	rand.New(rand.NewSource(1)).Read(noise)
	p.File("large.png", append(picture(t, 20, 10), noise...))
	p.Send("tg-7", "large.png", "", "large", 200)
	if m := p.Newest(p.Chat, 1)[0]; m.Media == nil || m.Media.Kind != "document" || m.Text != "large" {
		t.Errorf("got %v", m)
	}
	p.Eventually("the log says why", func() bool { return strings.Contains(p.Log.String(), "a photo is too large") })
}

// TestPushRecipients: only chats of people who are listened to are sent to.
func TestPushRecipients(t *testing.T) {
	t.Parallel()
	p := harness.NewPushTest(t)
	p.API.Private(p.Bob)
	group := p.API.Supergroup(-1001, "Team", p.Anna, p.Bob)
	for _, channel := range []string{"tg-8", "tg--1001", "tg-0", "tg-x", "tg-7-x", "tg-07", "tg-"} {
		p.Must("POST", "/send", harness.Obj{"channel": channel, "text": "hi"}, 403).Refused(t, channel, 403, "channel_refused")
	}
	seed(t, p.Gateway, -1001)
	p.Must("POST", "/send", harness.Obj{"channel": "tg--1001", "text": "hi all"}, 200)
	if m := p.Newest(group, 1)[0]; m.Text != "hi all" {
		t.Errorf("got %v", m)
	}
	p.Must("POST", "/send", harness.Obj{"channel": "http", "text": "hi"}, 404).Refused(t, "no adapter", 404, "no_adapter")
}

// seed notes in the ledger that somebody who is listened to has spoken in a chat.
func seed(t *testing.T, g *harness.Gateway, chat int64) {
	t.Helper()
	db := g.LedgerFile()
	defer func() { _ = db.Close() }()
	_, err := db.Exec(`INSERT INTO records(owner, key, at, doc) VALUES('telegram', ?, 0, '{"spoke":true}')`, fmt.Sprintf("chat:%d", chat))
	if err != nil {
		t.Fatal(err)
	}
}

// TestPushRefusedByTelegram: the caller is told why Telegram does not take it.
func TestPushRefusedByTelegram(t *testing.T) {
	t.Parallel()
	p := harness.NewPushTest(t)
	p.File("a.txt", []byte("x"))
	p.Chat.Block()
	for _, body := range []harness.Obj{{"channel": "tg-7", "text": "hi"}, {"channel": "tg-7", "media": harness.Obj{"filePath": "a.txt"}}} {
		a := p.Must("POST", "/send", body, 502)
		if text := fmt.Sprint(a.JSON["error"]); a.JSON["code"] != "delivery_failed" || !strings.Contains(text, "bot was blocked by the user") {
			t.Errorf("got %s", a.Body)
		}
	}
	p.Chat.Unblock()
	a := p.Must("POST", "/send", harness.Obj{"channel": "tg-7-99", "text": "hi"}, 502)
	if text := fmt.Sprint(a.JSON["error"]); !strings.Contains(text, "message thread not found") {
		t.Errorf("got %s", a.Body)
	}
	p.Must("POST", "/send", harness.Obj{"channel": "tg-7", "text": "hi"}, 200)
}

// TestPushOverRestart: a push that waits for Telegram is sent once, and its caller
// answered, by the process that takes over.
func TestPushOverRestart(t *testing.T) {
	t.Parallel()
	p := harness.NewPushTest(t)
	p.File("a.txt", []byte("x"))
	held := p.API.Hold("sendDocument", 7)
	answered := p.Post(t.Context(), harness.Obj{"channel": "tg-7", "text": "with it", "media": harness.Obj{"filePath": "a.txt"}})
	p.API.Await(t, "the upload", held.Reached)
	p.Must("POST", "/restart", nil, 200)
	answered.Answer(200)
	if n := p.Pushes("sent"); n != 1 {
		t.Errorf("%d pushes on record as sent", n)
	}
	if got := p.Chat.FromBot(); len(got) != 1 || got[0].Media == nil || got[0].Text != "with it" {
		t.Errorf("got %v", got)
	}
}

// TestPushWithdrawn: a push whose caller leaves before anything was sent is not sent
// later.
func TestPushWithdrawn(t *testing.T) {
	t.Parallel()
	p := harness.NewPushTest(t)
	held := p.API.Hold("sendMessage", 7)
	first := p.Post(t.Context(), harness.Obj{"channel": "tg-7", "text": "first"})
	p.API.Await(t, "the first", held.Reached)
	ctx, leave := context.WithCancel(t.Context())
	second := p.Post(ctx, harness.Obj{"channel": "tg-7", "text": "second"})
	p.Eventually("the second is on record", func() bool { return p.Pushes("pending") == 2 })
	leave()
	if <-second.Done; second.Err == nil {
		t.Errorf("a caller who has left is answered %s", second.A.Body)
	}
	p.Eventually("the second is withdrawn", func() bool { return p.Pushes("failed") == 1 })
	held.Release()
	first.Answer(200)
	p.Must("POST", "/send", harness.Obj{"channel": "tg-7", "text": "third"}, 200)
	if got := p.Chat.FromBot(); len(got) != 2 || got[0].Text != "first" || got[1].Text != "third" {
		t.Errorf("got %v", got)
	}
}

// TestPushAtTheEnd: a gateway that ends withdraws the pushes that wait, and says so to their
// callers; a push that may have been sent is answered as unconfirmed.
func TestPushAtTheEnd(t *testing.T) {
	t.Parallel()
	p := harness.NewPushTest(t)
	held := p.API.HoldAnswer("sendMessage", 7)
	defer held.Release()
	first := p.Post(t.Context(), harness.Obj{"channel": "tg-7", "text": "first"})
	p.API.Await(t, "the first", held.Reached)
	second := p.Post(t.Context(), harness.Obj{"channel": "tg-7", "text": "second"})
	p.Eventually("the second is on record", func() bool { return p.Pushes("pending") == 2 })
	p.Signal(syscall.SIGTERM)
	first.Answer(502).Refused(t, "the one under way", 502, "delivery_unconfirmed")
	second.Answer(503).Refused(t, "the one that waits", 503, "shutting_down")
	p.Gateway = p.Machine.Start()
	p.Must("POST", "/send", harness.Obj{"channel": "tg-7", "text": "third"}, 200)
	if got := p.Chat.FromBot(); strings.Contains(fmt.Sprint(got), "second") || got[0].Text != "first" || got[len(got)-1].Text != "third" {
		t.Errorf("got %v", got)
	}
}

// TestPushByTool has a session push by a tool while the gateway is killed, ended and started, or
// restarted: the push is sent once, and the session has the result.
func TestPushByTool(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(p *harness.PushTest){
		"killed": func(p *harness.PushTest) {
			p.Kill()
			p.Gateway = p.Machine.Start()
		},
		"ended": func(p *harness.PushTest) {
			p.Signal(syscall.SIGTERM)
			p.Gateway = p.Machine.Start()
		},
		"restarted": func(p *harness.PushTest) { p.Restart() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := harness.NewPushTest(t)
			held := p.API.Hold("sendMessage", 7)
			id := p.Tell("http", `mcp - push_send {"channel":"tg-7","text":"by tool"}`)
			p.API.Await(t, "the push", held.Reached)
			again(p)
			if text := p.Outcome(id).Str("text"); !strings.Contains(text, `"status":"sent"`) {
				t.Errorf("the session is told %q", text)
			}
			if got := p.Chat.FromBot(); len(got) != 1 || got[0].Text != "by tool" {
				t.Errorf("got %v", got)
			}
			p.Balanced()
		})
	}
}
