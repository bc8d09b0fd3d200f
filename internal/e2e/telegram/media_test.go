package telegram

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

var savedAt = regexp.MustCompile(`(?i)saved to:? ([^ )\n]+)`)

// lastRead returns the text of the newest turn.
func lastRead(m *harness.Machine) string {
	m.T.Helper()
	text := ""
	for _, l := range m.Journal() {
		if l.Event == "begun" {
			text = l.Text
		}
	}
	return text
}

// TestTelegramMedia sends every kind of file. The agent is told where it is, and can
// read it there; nobody else can.
func TestTelegramMedia(t *testing.T) {
	t.Parallel()
	m, _, anna, chat := harness.NewChat(t, "BARECLAW_TRANSCRIBE=read path; echo heard $(wc -c < \"$path\") bytes; env | grep -c BARECLAW || true")
	g := m.Start()
	data := []byte("some bytes")
	for _, c := range []struct {
		media botapi.Media
		want  string
	}{
		{botapi.Photo(harness.SomePicture(t)), "(saved to"},
		{botapi.Document("notes.txt", "text/plain", data), "File received: notes.txt (0.0 KB, text/plain)"},
		{botapi.Document("pic.png", "image/png", harness.SomePicture(t)), "(saved to"},
		{botapi.File("voice", "voice.oga", data), "Voice message received (3s, 0.0 KB)"},
		{botapi.File("audio", "song.mp3", data), "Audio file (3s, 0.0 KB"},
		{botapi.File("video", "clip.mp4", data), "Video received (3s"},
		{botapi.File("video_note", "note.mp4", data), "Video note received (3s, 0.0 KB)"},
		{botapi.File("animation", "cat.mp4", data), "GIF/animation received ("},
	} {
		name := c.media.Kind + c.media.Name
		chat.Send(anna, "echo got-"+name, botapi.WithMedia(c.media))
		if c.media.Kind == "video_note" { // it has no caption
			g.Eventually(name, func() bool { return strings.Contains(lastRead(m), c.want) })
		} else {
			chat.AwaitText("got-" + name)
		}
		text := lastRead(m)
		at := savedAt.FindStringSubmatch(text)
		if !strings.Contains(text, c.want) || at == nil {
			t.Errorf("%s reads as %q, want %q", name, text, c.want)
			continue
		}
		if filepath.Dir(at[1]) != m.Path("state/media/tg-7") {
			t.Errorf("%s is at %s", name, at[1])
		}
		if got, err := os.ReadFile(at[1]); err != nil || !bytes.Equal(got, c.media.Data) {
			t.Errorf("%s holds %q, %v", at[1], got, err)
		}
		if st, err := os.Stat(at[1]); err == nil && st.Mode() != 0o600 {
			t.Errorf("%s has mode %v", at[1], st.Mode())
		}
		if heard := strings.Contains(text, "Transcript: heard 10 bytes\n0"); heard != (c.media.Kind == "voice" || c.media.Kind == "audio") {
			t.Errorf("%s was transcribed: %v\n%s", name, heard, text)
		}
	}
	g.Balanced()
}

// TestTelegramMediaTakesTime shows that something happens while a file is received, and
// what is said in it is made out.
func TestTelegramMediaTakesTime(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	m.Env = append(m.Env, "BARECLAW_TRANSCRIBE=while [ ! -e "+m.Path("go")+" ]; do sleep 0.05; done; echo words")
	m.Start()
	chat.Send(anna, "echo speech", botapi.WithMedia(botapi.File("voice", "voice.oga", []byte("x"))))
	api.Await(t, "typing is shown again", func() bool { return len(api.Calls("sendChatAction")) >= 2 })
	if n := m.Begun(""); n != 0 {
		t.Errorf("%d turns were begun", n)
	}
	m.Touch("go")
	chat.AwaitText("speech")
}

// TestTelegramAlbum holds that an album is one message, also when the daemon is killed
// between its parts.
func TestTelegramAlbum(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t)
	album := func(id string, from, to int) {
		c.api.DropNetwork() // so that all of it is received at once, however busy the machine is
		defer c.api.RestoreNetwork()
		for i := from; i < to; i++ {
			text := ""
			if i == 1 {
				text = "echo album-" + id
			}
			c.send(text, botapi.WithMedia(botapi.Photo(append(harness.SomePicture(t), byte(i)))), botapi.InAlbum(id))
		}
	}
	album("one", 0, 4)
	c.chat.AwaitText("album-one")
	if n := strings.Count(lastRead(c.Machine), "(saved to"); n != 4 || c.Begun("album-one") != 1 {
		t.Errorf("an album of 4 was read as %q", lastRead(c.Machine))
	}
	album("two", 0, 2)
	c.api.Await(t, "acknowledgement", func() bool { return len(c.api.Pending()) == 0 })
	c.Kill()
	album("two", 2, 3)
	c.Gateway = c.Machine.Start()
	c.chat.AwaitText("album-two")
	if n := strings.Count(lastRead(c.Machine), "(saved to"); n != 3 || c.Begun("album-two") != 1 {
		t.Errorf("an album of 3 over a crash was read as %q", lastRead(c.Machine))
	}
	album("three", 0, 10)
	c.chat.AwaitText("album-three")
	if n := strings.Count(lastRead(c.Machine), "(saved to"); n != 10 {
		t.Errorf("an album of 10 was read as %q", lastRead(c.Machine))
	}
	if n := c.Balanced(); n != 3 {
		t.Errorf("three albums are %d messages", n)
	}
	if files := c.Glob("state/media/tg-7/*"); len(files) != 17 {
		t.Errorf("17 pictures are %d files", len(files))
	}
}
