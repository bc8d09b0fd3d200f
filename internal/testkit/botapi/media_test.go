package botapi_test

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"bareclaw/internal/testkit/botapi"
)

// picture is a PNG of the size.
func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fetch downloads a file and returns its bytes and the HTTP status.
func fetch(t *testing.T, s *botapi.Server, path string) ([]byte, int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/file/bot"+s.Token()+"/"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return data, resp.StatusCode
}

func TestUploads(t *testing.T) {
	t.Parallel()
	s, _, chat := world(t)
	to := map[string]string{"chat_id": "7", "caption": "look"}
	bare := map[string]string{"chat_id": "7"}
	for _, tc := range []struct {
		method, field, name, kind string
		values                    map[string]string
		data                      []byte
	}{
		{"sendPhoto", "photo", "a.png", "photo", to, picture(t, 20, 10)},
		{"sendDocument", "document", "a.md", "document", to, []byte("# text")},
		{"sendAudio", "audio", "a.mp3", "audio", to, []byte("ID3")},
		{"sendVoice", "voice", "a.ogg", "voice", to, []byte("OggS")},
		{"sendVoice", "voice", "a.wav", "document", to, []byte("RIFF")}, // as Telegram does with other formats
		{"sendVideo", "video", "a.mp4", "video", to, []byte("mp4")},
		{"sendAnimation", "animation", "a.gif", "animation", to, []byte("GIF89a")},
		{"sendSticker", "sticker", "a.webp", "sticker", bare, []byte("webp")},
		{"sendVideoNote", "video_note", "a.mp4", "video_note", bare, []byte("mp4")},
	} {
		r := upload(t, s, tc.method, tc.values, tc.field, tc.name, tc.data)
		if !r.OK {
			t.Errorf("%s: %s", tc.method, r.Description)
			continue
		}
		all := chat.Messages()
		m := all[len(all)-1]
		if m.Media == nil || m.Media.Kind != tc.kind || !bytes.Equal(m.Media.Data, tc.data) || m.Media.Name != tc.name || m.Text != tc.values["caption"] {
			t.Errorf("%s: seen %v", tc.method, m)
		}
	}
	b := newBot(t, s)
	m, err := b.SendDocument(t.Context(), &bot.SendDocumentParams{ChatID: chat.ID(), Document: &models.InputFileUpload{Filename: "b.txt", Data: bytes.NewReader([]byte("text"))}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.SendDocument(t.Context(), &bot.SendDocumentParams{ChatID: chat.ID(), Document: &models.InputFileString{Data: m.Document.FileID}}); err != nil {
		t.Errorf("by file_id: %v", err)
	}
	if r := upload(t, s, "sendDocument", map[string]string{"chat_id": "7", "document": "attach://part"}, "part", "c.txt", []byte("x")); !r.OK {
		t.Errorf("attach://: %s", r.Description)
	}
	must(t, s, "editMessageCaption", fields{"chat_id": chat.ID(), "message_id": m.ID, "caption": "new"}, nil)
	refused(t, s, "editMessageText", fields{"chat_id": chat.ID(), "message_id": m.ID, "text": "x"}, 400, "Bad Request: there is no text in the message to edit")
	if calls := s.Calls("sendDocument"); len(calls[1].Files) != 1 || calls[1].Files[0] != "document" {
		t.Errorf("recorded files %q", calls[1].Files)
	}
}

func TestUploadsRefused(t *testing.T) {
	t.Parallel()
	s, _, chat := world(t)
	to := map[string]string{"chat_id": "7"}
	photo := func(data []byte) reply { return upload(t, s, "sendPhoto", to, "photo", "a.png", data) }
	document := func(values map[string]string, data []byte) reply {
		return upload(t, s, "sendDocument", values, "document", "a", data)
	}
	for _, tc := range []struct {
		got  reply
		code int
		want string
	}{
		{photo([]byte("no picture")), 400, "Bad Request: IMAGE_PROCESS_FAILED"},
		{photo(picture(t, 420, 20)), 400, "Bad Request: PHOTO_INVALID_DIMENSIONS"},
		{photo(make([]byte, 10<<20+1)), 400, "Bad Request: file of size 10485761 bytes is too big for a photo; the maximum size is 10485760 bytes"},
		{document(to, nil), 400, "Bad Request: file must be non-empty"},
		{document(to, make([]byte, 51<<20)), 413, "Request Entity Too Large"},
		{document(map[string]string{"chat_id": "7", "caption": repeat("x", 1025)}, []byte("x")), 400, "Bad Request: message caption is too long"},
		{upload(t, s, "sendVoice", to, "", "", nil), 400, "Bad Request: there is no voice in the request"},
		{call(t, s, "sendDocument", fields{"chat_id": 7, "document": "unknown"}), 400, "Bad Request: wrong file identifier/HTTP URL specified"},
		{call(t, s, "getFile", fields{"file_id": "unknown"}), 400, "Bad Request: invalid file_id"},
		{call(t, s, "getFile", nil), 400, "Bad Request: file_id not specified"},
	} {
		if tc.got.OK || tc.got.Code != tc.code || tc.got.Description != tc.want {
			t.Errorf("got %d %q, want %d %q", tc.got.Code, tc.got.Description, tc.code, tc.want)
		}
	}
	if n := len(chat.Messages()); n != 0 {
		t.Errorf("%d messages", n)
	}
}

func TestMediaOfUsers(t *testing.T) {
	t.Parallel()
	clock := botapi.NewClock(time.Unix(1_800_000_000, 0))
	s, anna, chat := world(t, botapi.WithClock(clock.Now))
	data := []byte("the bytes")
	for _, m := range []botapi.Media{
		botapi.Photo(data), botapi.Document("a.txt", "text/plain", data), botapi.Voice(data, 3), botapi.Audio("a.mp3", data, 3),
		botapi.Video("a.mp4", data, 3), botapi.VideoNote(data, 3), botapi.Animation("a.mp4", data), botapi.Sticker("👍", data),
	} {
		chat.Send(anna, "", botapi.WithMedia(m))
	}
	for _, m := range []botapi.Media{botapi.Contact("+1", "Bo", "Berg"), botapi.Location(1, 2), botapi.Venue("Café", "Street 1", 1, 2)} {
		chat.Send(anna, "", botapi.WithMedia(m))
	}
	got := updates(t, s, nil)
	files := []string{got[0].Message.Photo[1].FileID, got[1].Message.Document.FileID, got[2].Message.Voice.FileID, got[3].Message.Audio.FileID,
		got[4].Message.Video.FileID, got[5].Message.VideoNote.FileID, got[6].Message.Animation.FileID, got[6].Message.Document.FileID, got[7].Message.Sticker.FileID}
	var file struct {
		Path string `json:"file_path"`
		Size int64  `json:"file_size"`
	}
	for i, id := range files {
		must(t, s, "getFile", fields{"file_id": id}, &file)
		if body, code := fetch(t, s, file.Path); code != http.StatusOK || !bytes.Equal(body, data) || file.Size != int64(len(data)) {
			t.Errorf("file %d: %d %q, size %d", i, code, body, file.Size)
		}
	}
	if got[8].Message.Contact == nil || got[9].Message.Location == nil || got[10].Message.Venue == nil || got[10].Message.Location == nil {
		t.Errorf("contact, location, venue: %+v", got[8:])
	}
	clock.Advance(61 * time.Minute)
	if _, code := fetch(t, s, file.Path); code != http.StatusNotFound {
		t.Errorf("an old link is answered %d", code)
	}
	if _, code := fetch(t, s, "documents/none"); code != http.StatusNotFound {
		t.Errorf("no file is answered %d", code)
	}
	chat.Send(anna, "big", botapi.WithMedia(botapi.Document("big.bin", "", data).OfSize(21<<20)))
	id := updates(t, s, fields{"offset": -1})[0].Message.Document.FileID
	refused(t, s, "getFile", fields{"file_id": id}, 400, "Bad Request: file is too big")
}

func TestMessagesOfUsers(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	bo := s.User(8, "Bo", "", "")
	mine := say(t, s, chat.ID(), "question")
	chat.Send(anna, "/start now", botapi.ReplyingTo(mine), botapi.Quoting("quest"))
	chat.Send(anna, "theirs", botapi.ForwardedFrom(bo))
	chat.Send(anna, "hidden", botapi.ForwardedFromHidden("Someone"))
	chat.Send(anna, "post", botapi.ForwardedFromChannel(-100999, "News", 5))
	chat.Send(anna, "elsewhere", botapi.ReplyingElsewhere(bo, "what"))
	bold := botapi.Entity{Type: "bold", Offset: 0, Length: 4}
	edited := chat.Send(anna, "bold", botapi.WithEntities(bold))
	for range 2 {
		chat.Send(anna, "part", botapi.WithMedia(botapi.Photo([]byte("x"))), botapi.InAlbum("42"))
	}
	chat.Edit(anna, edited.MessageID, "bolder")
	got := updates(t, s, nil)
	first := got[0].Message
	if first.Reply == nil || first.Reply.ID != mine || first.Quote == nil || len(first.Entities) != 1 || first.Entities[0].Length != 6 {
		t.Errorf("reply %+v", first)
	}
	for i := 1; i <= 3; i++ {
		if got[i].Message.Forward == nil {
			t.Errorf("message %d has no forward_origin", i)
		}
	}
	if got[4].Message.External == nil || len(got[5].Message.Entities) != 1 {
		t.Errorf("external reply and bold: %+v", got[4:6])
	}
	if got[6].Message.Album != "42" || got[7].Message.Album != "42" || got[7].Message.Caption != "part" {
		t.Errorf("album %+v", got[6:8])
	}
	if got[8].Edited == nil || got[8].Edited.ID != edited.MessageID || got[8].Edited.Text != "bolder" {
		t.Errorf("edit %+v", got[8])
	}
}
