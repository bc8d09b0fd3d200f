package botapi

import (
	"maps"
	"path"
)

// Media is a file or another attachment of a message.
type Media struct {
	Kind     string // as the field of a message: photo, document, voice, contact, …
	Name     string // of the file; may be ""
	MIME     string
	Data     []byte
	Size     int64 // what the API tells; 0 is len(Data)
	Duration int   // seconds
	Emoji    string

	file  *file
	extra object // other fields
}

// Photo is a picture. It comes in two sizes, of which the larger is Data.
func Photo(data []byte) Media { return Media{Kind: "photo", Name: "photo.jpg", Data: data} }

// Document is any file.
func Document(name, mime string, data []byte) Media {
	return Media{Kind: "document", Name: name, MIME: mime, Data: data}
}

// Voice is a voice message.
func Voice(data []byte, seconds int) Media {
	return Media{Kind: "voice", Name: "voice.oga", MIME: "audio/ogg", Data: data, Duration: seconds}
}

// Audio is a piece of music.
func Audio(name string, data []byte, seconds int) Media {
	return Media{Kind: "audio", Name: name, MIME: "audio/mpeg", Data: data, Duration: seconds}
}

// Video is a film.
func Video(name string, data []byte, seconds int) Media {
	return Media{Kind: "video", Name: name, MIME: "video/mp4", Data: data, Duration: seconds, extra: object{"width": 640, "height": 360}}
}

// VideoNote is a round film.
func VideoNote(data []byte, seconds int) Media {
	return Media{Kind: "video_note", Name: "note.mp4", Data: data, Duration: seconds, extra: object{"length": 240}}
}

// Animation is a GIF or a film without sound. The API sets document as well.
func Animation(name string, data []byte) Media {
	return Media{Kind: "animation", Name: name, MIME: "video/mp4", Data: data, Duration: 1, extra: object{"width": 320, "height": 180}}
}

// Sticker is a sticker.
func Sticker(emoji string, data []byte) Media {
	return Media{Kind: "sticker", Name: "sticker.webp", Emoji: emoji, Data: data, extra: object{"type": "regular", "width": 512, "height": 512, "is_animated": false, "is_video": false}}
}

// filed reports whether there is a file to download.
func (m *Media) filed() bool {
	return m.Kind != "contact" && m.Kind != "location" && m.Kind != "venue"
}

// keepLocked stores the file.
func (s *Server) keepLocked(m *Media) {
	if m.filed() && m.file == nil {
		m.file = s.storeLocked(m.Kind, path.Ext(m.Name), m.Data, m.Size)
	}
}

// addTo puts the attachment into a message.
func (m *Media) addTo(message object) {
	switch m.Kind {
	case "photo":
		small := m.file.wire()
		small["file_id"], small["file_unique_id"] = m.file.id+"-s", m.file.unique+"s"
		small["width"], small["height"], small["file_size"] = 90, 60, min(m.file.size, 1000)
		large := m.file.wire()
		large["width"], large["height"] = 1280, 853
		message["photo"] = []object{small, large}
	case "animation":
		message["animation"] = m.wire()
		o := m.file.wire()
		o["file_name"], o["mime_type"] = m.Name, m.MIME
		message["document"] = o
	case "venue":
		message["venue"], message["location"] = m.wire(), m.extra["location"]
	default:
		message[m.Kind] = m.wire()
	}
}

// wire is the attachment itself.
func (m *Media) wire() object {
	o := object{}
	if m.file != nil {
		o = m.file.wire()
	}
	maps.Copy(o, m.extra)
	named := m.Kind == "document" || m.Kind == "audio" || m.Kind == "video" || m.Kind == "animation"
	if named && m.Name != "" {
		o["file_name"] = m.Name
	}
	if m.MIME != "" {
		o["mime_type"] = m.MIME
	}
	if m.Duration > 0 || m.Kind == "voice" || m.Kind == "audio" || m.Kind == "video" || m.Kind == "animation" || m.Kind == "video_note" {
		o["duration"] = m.Duration
	}
	if m.Emoji != "" {
		o["emoji"] = m.Emoji
	}
	return o
}
