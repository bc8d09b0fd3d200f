// Package media downloads the files of received messages and uploads files.
package media

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // for DecodeConfig
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"bareclaw/internal/mdtext"

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
		f.About = "File received: " + cmp.Or(mdtext.OneLine(v.FileName), "unnamed") + " ("
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
	return label + ": " + mdtext.OneLine(text) + "\n"
}

// stampOf returns the time of a message in milliseconds. Telegram reports seconds; the
// milliseconds derive from the message id, to keep files of equal name apart and to let
// a repeated download find the existing file.
func stampOf(m *models.Message) int64 { return int64(m.Date)*1000 + int64(uint(m.ID)%1000) }

// Described returns the description of the file, including the size.
func (f *File) Described(bytes int64) string {
	mime := ""
	if f.mime != "" {
		mime = ", " + mdtext.OneLine(f.mime)
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
	return cmp.Or(stem, "file") + ext
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

const (
	// maxImageBytes is the maximum size of an image for Claude: 5 MB of base64,
	// https://docs.claude.com/en/docs/build-with-claude/vision
	maxImageBytes = 5 << 20 / 4 * 3
	// MaxImagesBytes limits the images of a message: an API request may have 32 MB.
	MaxImagesBytes = 4 * maxImageBytes
	// maxImageSide is the maximum width and height, in pixels.
	maxImageSide = 8000
)

var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// ShowImage returns the content block with an image for Claude, or the reason for
// leaving the image out. left is the number of bytes available for images. An image
// refused by the API must never enter a conversation, because the API would refuse every
// later turn.
func ShowImage(path string, left int64) (block json.RawMessage, why string) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "it cannot be read"
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxImageBytes+1))
	if err != nil {
		return nil, "it cannot be read"
	}
	if len(data) > maxImageBytes || int64(len(data)) > left {
		return nil, "it is too large"
	}
	kind := http.DetectContentType(data)
	if !slices.Contains(imageTypes, kind) {
		return nil, "it is not a JPEG, PNG, GIF or WebP image"
	}
	if c, _, err := image.DecodeConfig(bytes.NewReader(data)); kind != "image/webp" {
		if err != nil {
			return nil, "it is damaged"
		}
		if c.Width > maxImageSide || c.Height > maxImageSide {
			return nil, "it has too many pixels"
		}
	}
	data64 := base64.StdEncoding.EncodeToString(data)
	return fmt.Appendf(nil, `{"type":"image","source":{"type":"base64","media_type":"%s","data":"%s"}}`, kind, data64), ""
}

const (
	transcribeTimeout = 5 * time.Minute
	// maxTranscript limits a transcript, in bytes; enough for hours of speech.
	maxTranscript = 256 << 10
)

// Transcribe runs a shell command that transcribes an audio file: the command reads the
// file's path, a single line, from stdin and prints the text. The command's environment
// lacks the gateway's settings, because some settings are secret. The error is worded
// for the speaker.
func Transcribe(ctx context.Context, command, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, transcribeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BARECLAW_") })
	cmd.Stdin = strings.NewReader(path + "\n")
	out, complaint := &bounded{max: maxTranscript}, &bounded{max: 300}
	cmd.Stdout, cmd.Stderr = out, complaint
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // kill the whole process group
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	text := strings.TrimSpace(strings.ToValidUTF8(out.b.String(), "\uFFFD"))
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("the command took longer than %s", transcribeTimeout)
	case err != nil:
		why := mdtext.OneLine(strings.ToValidUTF8(complaint.b.String(), "\uFFFD"))
		return "", fmt.Errorf("the command failed: %s", cmp.Or(why, err.Error()))
	case text == "":
		return "", errors.New("the command found no words")
	}
	return text, nil
}

// A bounded buffer keeps the first max bytes written and discards the rest.
type bounded struct {
	b   bytes.Buffer
	max int
}

func (w *bounded) Write(p []byte) (int, error) {
	w.b.Write(p[:min(len(p), w.max-w.b.Len())])
	return len(p), nil
}
