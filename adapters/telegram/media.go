package telegram

import (
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

// maxFileBytes is what bots are given of a file:
// https://core.telegram.org/bots/api#getfile
const maxFileBytes = 20 << 20

// A media is a file that a message has.
type media struct {
	kind   string // what it is to a person: "photo", "voice message", …
	id     string // for getFile
	name   string // of the file here
	bytes  int64  // 0: not known
	about  string // in words; %s is where the size stands
	ask    string // what the agent is asked about an image where nothing was written
	image  bool   // it is shown to the agent if it can be
	spoken bool   // it can be transcribed
	quoted bool   // it belongs to the message that is replied to
}

// mediaOf returns the file of a message, false if it has none.
func mediaOf(m *models.Message) (media, bool) {
	var f media
	var name string
	switch {
	case m.Animation != nil: // it has a document as well
		v := m.Animation
		f = media{kind: "animation", id: v.FileID, bytes: v.FileSize}
		f.about = fmt.Sprintf("GIF/animation received (%ds, %dx%d, %%s)", v.Duration, v.Width, v.Height)
		name = orName(v.FileName, "animation", v.FileUniqueID, ".mp4")
	case len(m.Photo) > 0:
		v := largest(m.Photo)
		f = media{kind: "photo", id: v.FileID, bytes: int64(v.FileSize), image: true, ask: "What do you see in this image?"}
		f.about = fmt.Sprintf("Photo received (%dx%d, %%s)", v.Width, v.Height)
		name = orName("", "photo", v.FileUniqueID, ".jpg")
	case m.Document != nil:
		f, name = document(m.Document)
	case m.Voice != nil:
		v := m.Voice
		f = media{kind: "voice message", id: v.FileID, bytes: v.FileSize, spoken: true}
		f.about = fmt.Sprintf("Voice message received (%ds, %%s)", v.Duration)
		name = orName("", "voice", v.FileUniqueID, ".ogg")
	case m.Audio != nil:
		f, name = audio(m.Audio)
	case m.Video != nil:
		v := m.Video
		f = media{kind: "video", id: v.FileID, bytes: v.FileSize}
		f.about = fmt.Sprintf("Video received (%ds, %dx%d, %%s)", v.Duration, v.Width, v.Height)
		name = orName(v.FileName, "video", v.FileUniqueID, ".mp4")
	case m.VideoNote != nil:
		v := m.VideoNote
		f = media{kind: "video note", id: v.FileID, bytes: int64(v.FileSize)}
		f.about = fmt.Sprintf("Video note received (%ds, %%s)", v.Duration)
		name = orName("", "video_note", v.FileUniqueID, ".mp4")
	case m.Sticker != nil && !m.Sticker.IsAnimated && !m.Sticker.IsVideo:
		v := m.Sticker
		f = media{kind: "sticker", id: v.FileID, bytes: int64(v.FileSize), image: true, ask: "Sticker: " + stickerName(v, "")}
		f.about = "Sticker received (%s)"
		name = orName("", "sticker", v.FileUniqueID, ".webp")
	default:
		return media{}, false
	}
	f.name = strconv.FormatInt(stampOf(m), 10) + "-" + name
	return f, true
}

// stampOf is the time at which a message was sent, in milliseconds. Telegram tells
// only the second; the rest is the message's own, so that two files with one name do
// not become one, and a file that is fetched again goes where it was.
func stampOf(m *models.Message) int64 { return int64(m.Date)*1000 + int64(uint(m.ID)%1000) }

func largest(sizes []models.PhotoSize) models.PhotoSize {
	best := sizes[0]
	for _, s := range sizes {
		if s.Width*s.Height > best.Width*best.Height {
			best = s
		}
	}
	return best
}

func document(v *models.Document) (f media, name string) {
	f = media{kind: "file", id: v.FileID, bytes: v.FileSize, image: strings.HasPrefix(v.MimeType, "image/"), ask: "Image file received."}
	shown := oneLine(v.FileName)
	if shown == "" {
		shown = "unnamed"
	}
	f.about = "File received: " + escapePercent(shown) + " (%s" + escapePercent(withMIME(v.MimeType)) + ")"
	return f, orName(v.FileName, "file", v.FileUniqueID, "")
}

func audio(v *models.Audio) (f media, name string) {
	f = media{kind: "audio file", id: v.FileID, bytes: v.FileSize, spoken: true}
	if v.Title != "" {
		f.about += "Title: " + escapePercent(oneLine(v.Title)) + "\n"
	}
	if v.Performer != "" {
		f.about += "Artist: " + escapePercent(oneLine(v.Performer)) + "\n"
	}
	f.about += fmt.Sprintf("Audio file (%ds, %%s%s)", v.Duration, escapePercent(withMIME(v.MimeType)))
	return f, orName(v.FileName, "audio", v.FileUniqueID, ".mp3")
}

func withMIME(mime string) string {
	if mime == "" {
		return ""
	}
	return ", " + oneLine(mime)
}

func escapePercent(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// described is what the file is, in words, with its size.
func (f *media) described(bytes int64) string { return fmt.Sprintf(f.about, kilobytes(bytes)) }

func kilobytes(bytes int64) string { return fmt.Sprintf("%.1f KB", float64(bytes)/1024) }

// orName is the file's own name made safe, or one that tells what it is.
func orName(own, kind, unique, ext string) string {
	if own != "" {
		return safeName(own)
	}
	return safeName(kind + "-" + unique + ext)
}

// safeName makes a file name of whatever a sender chose: no path, nothing that is
// hidden, no control characters, short enough with what stands before it.
func safeName(name string) string {
	const maxBytes = 120
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '.' || r == '-' || r == '_':
			return r
		case r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			return r
		}
		return '_'
	}, path.Base(strings.ReplaceAll(name, "\\", "/")))
	ext := path.Ext(name)
	if ext == "." || len(ext) > 20 {
		ext = ""
	}
	stem := strings.TrimLeft(strings.TrimSuffix(name, ext), ".")
	for len(stem)+len(ext) > maxBytes {
		_, size := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-size]
	}
	if stem == "" {
		stem = "file"
	}
	return stem + ext
}

// mediaDir is where files are kept that came in.
func (a *Adapter) mediaDir() string { return filepath.Join(a.o.StateDir, "media") }

// mediaPath is where a file of a conversation is kept.
func (a *Adapter) mediaPath(key core.ChannelKey, f *media) string {
	return filepath.Join(a.mediaDir(), string(key), f.name)
}
