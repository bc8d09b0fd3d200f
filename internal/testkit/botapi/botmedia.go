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
	m, err := r.attachment(kind)
	if err != nil {
		return nil, err
	}
	text, entities, err := r.caption()
	if err != nil {
		return nil, err
	}
	if kind == "sticker" || kind == "video_note" {
		text, entities = "", nil // they have no caption; checkNames has told
	}
	c, err := r.chat() // before anything is kept
	if err != nil {
		return nil, err
	}
	if _, err := r.thread(c); err != nil {
		return nil, err
	}
	r.s.keepLocked(m)
	return r.post(&stored{media: m, text: text, entities: entities})
}

// attachment takes the file from the request.
func (r *request) attachment(kind string) (*Media, error) {
	field := kind
	if value := r.text(kind); value != "" {
		field = strings.TrimPrefix(value, "attach://")
	}
	up, ok := r.files[field]
	if !ok {
		return nil, bad("there is no %s in the request", strings.ReplaceAll(kind, "_", " "))
	}
	if len(up.data) == 0 {
		return nil, bad("file must be non-empty")
	}
	m := uploaded(kind, up)
	m.Duration = int(r.integer("duration"))
	if kind == "photo" {
		return m, checkPhoto(up.data)
	}
	return m, nil
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
func checkPhoto(data []byte) error {
	if len(data) > maxPhotoBytes {
		return bad("file of size %d bytes is too big for a photo; the maximum size is %d bytes", len(data), maxPhotoBytes)
	}
	if http.DetectContentType(data) == "image/webp" {
		return nil // its size is not looked at
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return bad("IMAGE_PROCESS_FAILED")
	}
	long, short := max(size.Width, size.Height), min(size.Width, size.Height)
	if long+short > maxPhotoSides || long > short*maxPhotoRatio {
		return bad("PHOTO_INVALID_DIMENSIONS")
	}
	return nil
}
