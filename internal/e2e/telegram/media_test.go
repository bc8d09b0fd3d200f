package telegram

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

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
		{botapi.Voice(data, 3), "Voice message received (3s, 0.0 KB)"},
		{botapi.Audio("song.mp3", data, 4), "Audio file (4s, 0.0 KB"},
		{botapi.Video("clip.mp4", data, 5), "Video received (5s"},
		{botapi.VideoNote(data, 6), "Video note received (6s, 0.0 KB)"},
		{botapi.Animation("cat.mp4", data), "GIF/animation received ("},
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
	chat.Send(anna, "echo speech", botapi.WithMedia(botapi.Voice([]byte("x"), 1)))
	api.Await(t, "typing is shown again", func() bool { return len(api.Calls("sendChatAction")) >= 2 })
	if n := m.Begun(""); n != 0 {
		t.Errorf("%d turns were begun", n)
	}
	m.Touch("go")
	chat.AwaitText("speech")
}

// TestTelegramMediaThatFails holds that what was written is read all the same, and
// that both sides are told.
func TestTelegramMediaThatFails(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t, "BARECLAW_TRANSCRIBE=echo no model >&2; exit 1")
	m.Start()
	api.Script("getFile", 0, botapi.Refuse(400, "Bad Request: file is too big"))
	chat.Send(anna, "echo the caption", botapi.WithMedia(botapi.Video("big.mp4", []byte("x"), 5)))
	chat.AwaitText("the caption")
	note := chat.AwaitText("Your video could not be received: it is larger than 20 MB")
	if note.ReplyTo == 0 || !strings.Contains(lastRead(m), "but it is not here") {
		t.Errorf("the note replies to %d; the agent read %q", note.ReplyTo, lastRead(m))
	}
	before := m.Begun("")
	api.Script("getFile", 0, botapi.Refuse(400, "Bad Request: file is too big"))
	chat.Send(anna, "", botapi.WithMedia(botapi.Document("alone.bin", "application/octet-stream", []byte("x"))))
	chat.AwaitText("Your file could not be received")
	chat.Send(anna, "echo speech", botapi.WithMedia(botapi.Voice([]byte("x"), 1)))
	chat.AwaitText("Your voice message could not be transcribed: the command failed: no model")
	chat.AwaitText("speech")
	if n := m.Begun(""); n != before+1 {
		t.Errorf("%d turns were begun: one is of nothing", n-before)
	}
}

// TestTelegramSplitText holds that a text which a client has split is one message, with
// its formats, also when the daemon is killed between its parts; that a message of
// somebody else, or after a pause, is none of its parts; and that what is edited of it is
// one part.
func TestTelegramSplitText(t *testing.T) {
	t.Parallel()
	clock := botapi.NewClock(time.Now()) // by which nothing is late however busy the machine is
	m, api, anna, chat := harness.NewChatWith(t, []botapi.Option{botapi.WithoutRates(), botapi.WithClock(clock.Now)})
	g := m.Start()
	together := func(send func()) { // it is received at once
		api.DropNetwork()
		defer api.RestoreNetwork()
		send()
	}
	long := func(begin string) string { return begin + strings.Repeat("x", 4096-len(begin)) }
	bold := botapi.WithEntities(botapi.Entity{Type: "bold", Offset: 4090, Length: 6})
	together(func() {
		chat.Send(anna, long("tool 0 one "), bold)
		chat.Send(anna, long("two "))
		chat.Send(anna, "three.", botapi.WithEntities(botapi.Entity{Type: "code", Offset: 0, Length: 5}))
	})
	chat.AwaitMessage("the answer", fromBot("final: "))
	want := long("tool 0 one ")[:4090] + "**xxxxxx**" + long("two ") + "`three`."
	if got := lastRead(m); !strings.HasSuffix(got, " "+want) && !strings.HasSuffix(got, "\n"+want) || m.Begun("three") != 1 {
		t.Errorf("a text of three parts was read as %d bytes that end with %q", len(got), got[max(0, len(got)-100):])
	}
	together(func() { chat.Send(anna, long("tool 0 four ")) })
	api.Await(t, "acknowledgement", func() bool { return len(api.Pending()) == 0 })
	g.Kill()
	together(func() { chat.Send(anna, "five") })
	g = m.Start()
	chat.AwaitMessage("the second answer", func(now botapi.Message) bool { return now.FromBot && strings.HasSuffix(now.Text, "five") })
	if got := lastRead(m); !strings.HasSuffix(got, long("tool 0 four ")+"five") {
		t.Errorf("a text of two parts over a crash was read as %d bytes", len(got))
	}
	together(func() {
		chat.Send(anna, long("tool 0 six "))
		clock.Advance(time.Minute)
		chat.Send(anna, "echo seven")
	})
	answers(chat, "seven")
	if n := g.Balanced(); n != 4 {
		t.Errorf("there are %d messages, want 4", n)
	}
}

// TestTelegramAlbum holds that an album is one message, also when the daemon is killed
// between its parts.
func TestTelegramAlbum(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	g := m.Start()
	album := func(id string, from, to int) {
		api.DropNetwork() // so that all of it is received at once, however busy the machine is
		defer api.RestoreNetwork()
		for i := from; i < to; i++ {
			text := ""
			if i == 1 {
				text = "echo album-" + id
			}
			chat.Send(anna, text, botapi.WithMedia(botapi.Photo(append(harness.SomePicture(t), byte(i)))), botapi.InAlbum(id))
		}
	}
	album("one", 0, 4)
	chat.AwaitText("album-one")
	if n := strings.Count(lastRead(m), "(saved to"); n != 4 || m.Begun("album-one") != 1 {
		t.Errorf("an album of 4 was read as %q", lastRead(m))
	}
	album("two", 0, 2)
	api.Await(t, "acknowledgement", func() bool { return len(api.Pending()) == 0 })
	g.Kill()
	album("two", 2, 3)
	g = m.Start()
	chat.AwaitText("album-two")
	if n := strings.Count(lastRead(m), "(saved to"); n != 3 || m.Begun("album-two") != 1 {
		t.Errorf("an album of 3 over a crash was read as %q", lastRead(m))
	}
	album("three", 0, 10)
	chat.AwaitText("album-three")
	if n := strings.Count(lastRead(m), "(saved to"); n != 10 {
		t.Errorf("an album of 10 was read as %q", lastRead(m))
	}
	if n := g.Balanced(); n != 3 {
		t.Errorf("three albums are %d messages", n)
	}
	if files := m.Glob("state/media/tg-7/*"); len(files) != 17 {
		t.Errorf("17 pictures are %d files", len(files))
	}
}

// TestTelegramRepliesAndOthers holds what the agent is told besides what was written.
func TestTelegramRepliesAndOthers(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	m.Start()
	bob := api.User(8, "Bob", "", "bob")
	photo := chat.Send(anna, "echo mine", botapi.WithMedia(botapi.Photo(harness.SomePicture(t))))
	answer := chat.AwaitText("mine")
	for name, c := range map[string]struct {
		want    string
		options []botapi.SendOption
	}{
		"reply":   {"In reply to Fake:\n> mine\n\necho reply", []botapi.SendOption{botapi.ReplyingTo(answer.ID)}},
		"forward": {"Forwarded from Bob:\necho forward", []botapi.SendOption{botapi.ForwardedFrom(bob)}},
		"other":   {"In reply to Bob:\n> there\n\necho other", []botapi.SendOption{botapi.ReplyingElsewhere(bob, "there")}},
		"picture": {"has a photo, saved to " + m.Path("state/media/tg-7"), []botapi.SendOption{botapi.ReplyingTo(photo.MessageID)}},
	} {
		chat.Send(anna, "echo "+name, c.options...)
		chat.AwaitMessage(name, func(msg botapi.Message) bool { return msg.FromBot && msg.Text == name })
		if text := lastRead(m); !strings.Contains(text, c.want) {
			t.Errorf("%s reads as %q, want %q", name, text, c.want)
		}
	}
	if files := m.Glob("state/media/tg-7/*"); len(files) != 1 {
		t.Errorf("one picture is %d files", len(files))
	}
	for name, c := range map[string]botapi.Media{
		"Contact: Bo B, 123": botapi.Contact("123", "Bo", "B"), "Location: 1.5, 2.5": botapi.Location(1.5, 2.5),
		"Venue: Bar, Road 1 (1.5, 2.5)": botapi.Venue("Bar", "Road 1", 1.5, 2.5),
	} {
		chat.Send(anna, "", botapi.WithMedia(c))
		m.Eventually(name, func() bool { return strings.Contains(lastRead(m), name) })
	}
	if text := fmt.Sprint(m.Glob("state/media/*")); text != "["+m.Path("state/media/tg-7")+"]" {
		t.Errorf("directories of files are %s", text)
	}
}
