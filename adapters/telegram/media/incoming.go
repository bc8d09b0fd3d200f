// Package media downloads the files of received messages and uploads files.
package media

import (
	"bareclaw/adapters/telegram/view"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
)

// MaxFileBytes is the maximum size of files that bots can download:
// https://core.telegram.org/bots/api#getfile
const MaxFileBytes = 20 << 20

// A File is a file attached to a message.
type File struct {
	Kind   string // shown to people: "photo", "voice message", …
	ID     string // parameter of getFile
	Name   string // local file name
	Bytes  int64  // 0 if unknown
	About  string // description, with %s for the size
	Ask    string // prompt for an image without text
	Image  bool   // shown to Claude if possible
	Spoken bool   // can be transcribed
	Quoted bool   // attached to the replied-to message
}

// FileOf returns the file attached to a message; false if none is attached.
func FileOf(m *models.Message) (File, bool) {
	var f File
	var name string
	switch {
	case m.Animation != nil: // before Document, since animations have both fields
		v := m.Animation
		f = File{Kind: "animation", ID: v.FileID, Bytes: v.FileSize}
		f.About = fmt.Sprintf("GIF/animation received (%ds, %dx%d, %%s)", v.Duration, v.Width, v.Height)
		name = orName(v.FileName, "animation", v.FileUniqueID, ".mp4")
	case len(m.Photo) > 0:
		v := slices.MaxFunc(m.Photo, func(a, b models.PhotoSize) int { return a.Width*a.Height - b.Width*b.Height })
		f = File{Kind: "photo", ID: v.FileID, Bytes: int64(v.FileSize), Image: true, Ask: "What do you see in this image?"}
		f.About = fmt.Sprintf("Photo received (%dx%d, %%s)", v.Width, v.Height)
		name = orName("", "photo", v.FileUniqueID, ".jpg")
	case m.Document != nil:
		f, name = document(m.Document)
	case m.Voice != nil:
		v := m.Voice
		f = File{Kind: "voice message", ID: v.FileID, Bytes: v.FileSize, Spoken: true}
		f.About = fmt.Sprintf("Voice message received (%ds, %%s)", v.Duration)
		name = orName("", "voice", v.FileUniqueID, ".ogg")
	case m.Audio != nil:
		f, name = audio(m.Audio)
	case m.Video != nil:
		v := m.Video
		f = File{Kind: "video", ID: v.FileID, Bytes: v.FileSize}
		f.About = fmt.Sprintf("Video received (%ds, %dx%d, %%s)", v.Duration, v.Width, v.Height)
		name = orName(v.FileName, "video", v.FileUniqueID, ".mp4")
	case m.VideoNote != nil:
		v := m.VideoNote
		f = File{Kind: "video note", ID: v.FileID, Bytes: int64(v.FileSize)}
		f.About = fmt.Sprintf("Video note received (%ds, %%s)", v.Duration)
		name = orName("", "video_note", v.FileUniqueID, ".mp4")
	case m.Sticker != nil && !m.Sticker.IsAnimated && !m.Sticker.IsVideo:
		v := m.Sticker
		f = File{Kind: "sticker", ID: v.FileID, Bytes: int64(v.FileSize), Image: true, Ask: "Sticker: " + StickerName(v, "")}
		f.About = "Sticker received (%s)"
		name = orName("", "sticker", v.FileUniqueID, ".webp")
	default:
		return File{}, false
	}
	f.Name = strconv.FormatInt(stampOf(m), 10) + "-" + name
	return f, true
}

// stampOf returns the time of a message in milliseconds. Telegram reports seconds; the
// milliseconds derive from the message id, to keep files of equal name apart and to let
// a repeated download find the existing file.
func stampOf(m *models.Message) int64 { return int64(m.Date)*1000 + int64(uint(m.ID)%1000) }

func document(v *models.Document) (f File, name string) {
	f = File{Kind: "file", ID: v.FileID, Bytes: v.FileSize, Image: strings.HasPrefix(v.MimeType, "image/"), Ask: "Image file received."}
	shown := cmp.Or(view.OneLine(v.FileName), "unnamed")
	f.About = "File received: " + escapePercent(shown) + " (%s" + escapePercent(withMIME(v.MimeType)) + ")"
	return f, orName(v.FileName, "file", v.FileUniqueID, "")
}

func audio(v *models.Audio) (f File, name string) {
	f = File{Kind: "audio file", ID: v.FileID, Bytes: v.FileSize, Spoken: true}
	if v.Title != "" {
		f.About += "Title: " + escapePercent(view.OneLine(v.Title)) + "\n"
	}
	if v.Performer != "" {
		f.About += "Artist: " + escapePercent(view.OneLine(v.Performer)) + "\n"
	}
	f.About += fmt.Sprintf("Audio file (%ds, %%s%s)", v.Duration, escapePercent(withMIME(v.MimeType)))
	return f, orName(v.FileName, "audio", v.FileUniqueID, ".mp3")
}

func withMIME(mime string) string {
	if mime == "" {
		return ""
	}
	return ", " + view.OneLine(mime)
}

func escapePercent(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// Described returns the description of the file, including the size.
func (f *File) Described(bytes int64) string { return fmt.Sprintf(f.About, kilobytes(bytes)) }

func kilobytes(bytes int64) string { return fmt.Sprintf("%.1f KB", float64(bytes)/1024) }

// orName returns a safe form of the file's own name, or a generated name.
func orName(own, kind, unique, ext string) string {
	return safeName(cmp.Or(own, kind+"-"+unique+ext))
}

// safeName converts a sender's file name to a safe name: without directories, not
// hidden, without control characters, and short enough for the prefixed stamp.
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

// StickerName returns the emoji of a sticker, followed by known details in parentheses.
func StickerName(s *models.Sticker, how string) string {
	var known []string
	if how != "" {
		known = append(known, how)
	}
	if s.SetName != "" {
		known = append(known, "set: "+s.SetName)
	}
	text := s.Emoji
	if len(known) > 0 {
		text += " (" + strings.Join(known, ", ") + ")"
	}
	return strings.TrimSpace(text)
}
