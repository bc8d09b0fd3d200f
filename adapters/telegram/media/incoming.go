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
	About  string // description, up to the size
	Ask    string // prompt for an image without text
	Image  bool   // shown to Claude if possible
	Spoken bool   // can be transcribed
	Quoted bool   // attached to the replied-to message
	mime   string
}

// FileOf returns the file attached to a message; false if none is attached.
func FileOf(m *models.Message) (File, bool) {
	var f File
	var own, name string // the sender's name of the file, and a name for a file without
	switch {
	case m.Animation != nil: // before Document, since animations have both fields
		v := m.Animation
		f = File{Kind: "animation", ID: v.FileID, Bytes: v.FileSize, About: fmt.Sprintf("GIF/animation received (%ds, %dx%d, ", v.Duration, v.Width, v.Height)}
		own, name = v.FileName, "animation-"+v.FileUniqueID+".mp4"
	case len(m.Photo) > 0:
		v := slices.MaxFunc(m.Photo, func(a, b models.PhotoSize) int { return a.Width*a.Height - b.Width*b.Height })
		f = File{Kind: "photo", ID: v.FileID, Bytes: int64(v.FileSize), About: fmt.Sprintf("Photo received (%dx%d, ", v.Width, v.Height)}
		f.Image, f.Ask, name = true, "What do you see in this image?", "photo-"+v.FileUniqueID+".jpg"
	case m.Document != nil:
		v := m.Document
		f = File{Kind: "file", ID: v.FileID, Bytes: v.FileSize, mime: v.MimeType, Image: strings.HasPrefix(v.MimeType, "image/"), Ask: "Image file received."}
		f.About = "File received: " + cmp.Or(view.OneLine(v.FileName), "unnamed") + " ("
		own, name = v.FileName, "file-"+v.FileUniqueID
	case m.Voice != nil:
		v := m.Voice
		f = File{Kind: "voice message", ID: v.FileID, Bytes: v.FileSize, Spoken: true, About: fmt.Sprintf("Voice message received (%ds, ", v.Duration)}
		name = "voice-" + v.FileUniqueID + ".ogg"
	case m.Audio != nil:
		v := m.Audio
		f = File{Kind: "audio file", ID: v.FileID, Bytes: v.FileSize, mime: v.MimeType, Spoken: true}
		f.About = fmt.Sprintf("%s%sAudio file (%ds, ", labelled("Title", v.Title), labelled("Artist", v.Performer), v.Duration)
		own, name = v.FileName, "audio-"+v.FileUniqueID+".mp3"
	case m.Video != nil:
		v := m.Video
		f = File{Kind: "video", ID: v.FileID, Bytes: v.FileSize, About: fmt.Sprintf("Video received (%ds, %dx%d, ", v.Duration, v.Width, v.Height)}
		own, name = v.FileName, "video-"+v.FileUniqueID+".mp4"
	case m.VideoNote != nil:
		v := m.VideoNote
		f = File{Kind: "video note", ID: v.FileID, Bytes: int64(v.FileSize), About: fmt.Sprintf("Video note received (%ds, ", v.Duration)}
		name = "video_note-" + v.FileUniqueID + ".mp4"
	case m.Sticker != nil && !m.Sticker.IsAnimated && !m.Sticker.IsVideo:
		v := m.Sticker
		f = File{Kind: "sticker", ID: v.FileID, Bytes: int64(v.FileSize), About: "Sticker received (", Image: true, Ask: "Sticker: " + StickerName(v, "")}
		name = "sticker-" + v.FileUniqueID + ".webp"
	default:
		return f, false
	}
	f.Name = strconv.FormatInt(stampOf(m), 10) + "-" + safeName(cmp.Or(own, name))
	return f, true
}

func labelled(label, text string) string {
	if text == "" {
		return ""
	}
	return label + ": " + view.OneLine(text) + "\n"
}

// stampOf returns the time of a message in milliseconds. Telegram reports seconds; the
// milliseconds derive from the message id, to keep files of equal name apart and to let
// a repeated download find the existing file.
func stampOf(m *models.Message) int64 { return int64(m.Date)*1000 + int64(uint(m.ID)%1000) }

// Described returns the description of the file, including the size.
func (f *File) Described(bytes int64) string {
	mime := ""
	if f.mime != "" {
		mime = ", " + view.OneLine(f.mime)
	}
	return fmt.Sprintf("%s%.1f KB%s)", f.About, float64(bytes)/1024, mime)
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
