package botapi

import (
	"bytes"
	"fmt"
	"image"
	"maps"
	"net/http"
	"path"
	"strings"
	"time"

	// The formats photos come in.
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
)

// Media is a file of a message.
type Media struct {
	Kind string // as the field of a message: photo, document, voice, …
	Name string // of the file; may be ""
	MIME string
	Data []byte

	file *file
}

// seconds is how long everything that is played takes.
const seconds = 3

// mediaFields are the fields of media, besides those of the file, by kind.
var mediaFields = map[string]object{
	"photo":      {"width": 1280, "height": 853},
	"document":   {},
	"voice":      {"duration": seconds, "mime_type": "audio/ogg"},
	"audio":      {"duration": seconds, "mime_type": "audio/mpeg"},
	"video":      {"duration": seconds, "mime_type": "video/mp4", "width": 640, "height": 360},
	"video_note": {"duration": seconds, "length": 240},
	"animation":  {"duration": seconds, "mime_type": "video/mp4", "width": 320, "height": 180},
	"sticker":    {"type": "regular", "width": 512, "height": 512, "is_animated": false, "is_video": false},
}

// Photo is a picture. It comes in two sizes, of which the larger is Data.
func Photo(data []byte) Media { return File("photo", "photo.jpg", data) }

// Document is any file.
func Document(name, mime string, data []byte) Media {
	return Media{Kind: "document", Name: name, MIME: mime, Data: data}
}

// File is a file of a kind.
func File(kind, name string, data []byte) Media { return Media{Kind: kind, Name: name, Data: data} }

// file is what was uploaded by somebody, under its file_id.
type file struct {
	id, unique string
	path       string
	data       []byte
	linked     time.Time // when getFile last gave the path away
}

// keepLocked stores the file.
func (s *Server) keepLocked(m *Media) {
	n := len(s.files)
	m.file = &file{
		id: fmt.Sprintf("FAKE-%s-%06d", m.Kind, n), unique: fmt.Sprintf("U%06d", n),
		path: fmt.Sprintf("%ss/file_%d%s", m.Kind, n, path.Ext(m.Name)), data: m.Data,
	}
	s.files[m.file.id] = m.file
}

// wire is the file as it is in messages.
func (f *file) wire() object {
	return object{"file_id": f.id, "file_unique_id": f.unique, "file_size": len(f.data)}
}

// addTo puts the attachment into a message. A photo comes in two sizes, and an animation
// as a document as well.
func (m *Media) addTo(message object) {
	o := m.file.wire()
	maps.Copy(o, mediaFields[m.Kind])
	named := m.Kind == "document" || m.Kind == "audio" || m.Kind == "video" || m.Kind == "animation"
	if named && m.Name != "" {
		o["file_name"] = m.Name
	}
	if m.MIME != "" {
		o["mime_type"] = m.MIME
	}
	message[m.Kind] = o
	switch m.Kind {
	case "photo":
		small := object{"file_id": m.file.id + "-s", "file_unique_id": m.file.unique + "s", "width": 90, "height": 60, "file_size": 1000}
		message["photo"] = []object{small, o}
	case "animation":
		message["document"] = o
	}
}

// sendMedia makes the method that sends an attachment of the kind.
func sendMedia(kind string) func(*request) (any, error) {
	return func(r *request) (any, error) {
		m := r.attachment(kind)
		text, entities := r.formatted("caption", "caption_entities", maxCaption, "message caption is too long")
		if kind == "sticker" || kind == "video_note" {
			text, entities = "", nil // they have no caption
		}
		r.thread(r.chat()) // before anything is kept
		r.s.keepLocked(m)
		return r.post(Message{Media: m, Text: text, Entities: entities})
	}
}

// attachment takes the file from the request. A voice message has to be OGG, MP3 or M4A;
// anything else comes as a document: core.telegram.org/bots/api#sendvoice
func (r *request) attachment(kind string) *Media {
	field := kind
	if value := r.text(kind); value != "" {
		field = strings.TrimPrefix(value, "attach://")
	}
	up, ok := r.files[field]
	switch {
	case !ok:
		panic(bad("there is no %s in the request", strings.ReplaceAll(kind, "_", " ")))
	case len(up.data) == 0:
		panic(bad("file must be non-empty"))
	case kind == "photo":
		checkPhoto(up.data)
	}
	ext := strings.ToLower(path.Ext(up.name))
	if kind == "voice" && !bytes.HasPrefix(up.data, []byte("OggS")) && ext != ".mp3" && ext != ".m4a" {
		kind = "document"
	}
	m := File(kind, path.Base(up.name), up.data)
	if kind == "document" {
		m.MIME = http.DetectContentType(up.data)
	}
	return &m
}

const (
	maxPhotoBytes = 10 << 20 // core.telegram.org/bots/api#sendphoto
	maxPhotoSides = 10000    // width and height together, same place
	maxPhotoRatio = 20       // same place
)

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

const (
	maxDownloadBytes = 20 << 20  // core.telegram.org/bots/api#getfile
	linkLife         = time.Hour // how long a link is good for at least, and here no longer; same place
)

// getFile: core.telegram.org/bots/api#getfile
func (r *request) getFile() (any, error) {
	f := r.s.files[r.text("file_id")]
	switch {
	case f == nil:
		return nil, bad("invalid file_id")
	case len(f.data) > maxDownloadBytes:
		return nil, bad("file is too big")
	}
	f.linked = now()
	o := f.wire()
	o["file_path"] = f.path
	return o, nil
}

// download answers GET /file/bot<token>/<path>.
func (r *request) download() (any, error) {
	for _, f := range r.s.files {
		if f.path == r.text("file_path") && now().Sub(f.linked) <= linkLife {
			return f.data, nil
		}
	}
	return nil, &apiError{code: http.StatusNotFound, description: "Not Found"}
}
