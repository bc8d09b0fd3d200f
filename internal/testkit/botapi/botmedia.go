package botapi

import (
	"bytes"
	"image"
	"net/http"
	"path"
	"strings"

	// The formats photos come in.
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
)

const (
	maxPhotoBytes = 10 << 20 // core.telegram.org/bots/api#sendphoto
	maxPhotoSides = 10000    // width and height together, same place
	maxPhotoRatio = 20       // same place
)

// media makes the method that sends an attachment of the kind.
func media(kind string) func(*request) (any, error) {
	return func(r *request) (any, error) { return r.sendMedia(kind) }
}

func (r *request) sendMedia(kind string) (any, error) {
	m := r.attachment(kind)
	text, entities := r.caption()
	if kind == "sticker" || kind == "video_note" {
		text, entities = "", nil // they have no caption; checkNames has told
	}
	c := r.chat() // before anything is kept
	r.thread(c)
	r.s.keepLocked(m)
	return r.post(&stored{media: m, text: text, entities: entities})
}

// attachment takes the file from the request.
func (r *request) attachment(kind string) *Media {
	field := kind
	if value := r.text(kind); value != "" {
		field = strings.TrimPrefix(value, "attach://")
	}
	up, ok := r.files[field]
	if !ok {
		panic(bad("there is no %s in the request", strings.ReplaceAll(kind, "_", " ")))
	}
	if len(up.data) == 0 {
		panic(bad("file must be non-empty"))
	}
	m := uploaded(kind, up)
	m.Duration = int(r.integer("duration"))
	if kind == "photo" {
		checkPhoto(up.data)
	}
	return m
}

// uploaded is what Telegram makes of a file. A voice message has to be OGG, MP3
// or M4A; anything else comes as a document: core.telegram.org/bots/api#sendvoice
func uploaded(kind string, up upload) *Media {
	ext := strings.ToLower(path.Ext(up.name))
	if kind == "voice" && !bytes.HasPrefix(up.data, []byte("OggS")) && ext != ".mp3" && ext != ".m4a" {
		kind = "document"
	}
	var m Media
	switch kind {
	case "video":
		m = Video(up.name, up.data, 0)
	case "animation":
		m = Animation(up.name, up.data)
	case "video_note":
		m = VideoNote(up.data, 0)
	case "sticker":
		m = Sticker("", up.data)
	case "photo":
		m = Photo(up.data)
	case "voice":
		m = Voice(up.data, 0)
	default:
		m = Media{Kind: kind, MIME: http.DetectContentType(up.data), Data: up.data}
	}
	m.Name = path.Base(up.name)
	return &m
}

// checkPhoto refuses what is no picture, too big or of an odd shape.
func checkPhoto(data []byte) {
	if len(data) > maxPhotoBytes {
		panic(bad("file of size %d bytes is too big for a photo; the maximum size is %d bytes", len(data), maxPhotoBytes))
	}
	if http.DetectContentType(data) == "image/webp" {
		return // its size is not looked at
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		panic(bad("IMAGE_PROCESS_FAILED"))
	}
	long, short := max(size.Width, size.Height), min(size.Width, size.Height)
	if long+short > maxPhotoSides || long > short*maxPhotoRatio {
		panic(bad("PHOTO_INVALID_DIMENSIONS"))
	}
}
