package media

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/media/sendfile"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/core"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

const (
	// MaxCaption is the maximum length of a caption in UTF-16 units:
	// https://core.telegram.org/bots/api#sendphoto
	MaxCaption = 1024
	// maxUpload and maxPhoto are the maximum sizes in bytes of a file and a photo:
	// https://core.telegram.org/bots/api#sending-files
	maxUpload = 50 << 20
	maxPhoto  = 10 << 20
	// minUploadRate is the minimum upload speed in bytes per second: slower uploads time
	// out.
	minUploadRate = 100 << 10
)

// A Kind is the presentation of a sent file, named as in POST /send.
type Kind string

const (
	photo      Kind = "photo"
	asDocument Kind = "document"
	asAudio    Kind = "audio"
	voice      Kind = "voice"
	video      Kind = "video"
	animation  Kind = "animation"
	sticker    Kind = "sticker"
	videoNote  Kind = "video_note"
)

// HasCaption reports whether Telegram allows a caption for the kind of file.
func (k Kind) HasCaption() bool { return k != sticker && k != videoNote }

// KindOf returns the kind of a file: the requested kind, or a kind chosen by the
// extension of the name. A voice message that is no OGG file becomes an audio file.
func KindOf(m *core.Media) Kind {
	ext := strings.ToLower(filepath.Ext(m.Path))
	kind := Kind(m.Type)
	switch {
	case kind == "":
		return cmp.Or(kindByExtension[ext], asDocument)
	case kind == voice && ext != ".ogg" && ext != ".oga":
		return asAudio
	}
	return kind
}

// kindByExtension holds the best kinds for extensions; other files are documents, also images
// that Telegram cannot decode.
var kindByExtension = map[string]Kind{
	".jpg": photo, ".jpeg": photo, ".png": photo, ".webp": photo, ".bmp": photo, ".gif": animation, ".tgs": sticker,
	".mp4": video, ".m4v": video, ".mov": video, ".webm": video, ".mkv": video, ".avi": video, ".ogg": voice, ".oga": voice,
	".mp3": asAudio, ".m4a": asAudio, ".aac": asAudio, ".flac": asAudio, ".wav": asAudio, ".opus": asAudio,
}

// An Uploader opens the files that may be sent.
type Uploader struct {
	Policy sendfile.Policy
	Log    *slog.Logger
}

// Open opens a file permitted by the policy and within Telegram's size limit. The error
// is worded for the caller of POST /send.
func (u *Uploader) Open(path string) (*os.File, int64, error) {
	f, err := u.Policy.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil {
		switch size := info.Size(); {
		case size == 0:
			err = &sendfile.Refusal{Path: path, Why: "it is empty."}
		case size > maxUpload:
			err = &sendfile.Refusal{Path: path, Why: fmt.Sprintf("it has %.1f MB, and Telegram takes at most %d MB.", float64(size)/(1<<20), maxUpload>>20)}
		default:
			return f, size, nil
		}
	}
	_ = f.Close()
	return nil, 0, err
}

// An Upload is an outgoing message with a file. The file is opened at the time of
// sending.
type Upload struct {
	Uploader *Uploader
	Path     string
	Kind     Kind
	Caption  markdown.Document
}

// TimeLimit returns the timeout of a single attempt to send the file.
func (m *Upload) TimeLimit() time.Duration { return botapi.CallTimeout + UploadTime(m.Path) }

// UploadTime returns the maximum duration of a file's upload.
func UploadTime(path string) time.Duration {
	info, err := os.Stat(path)
	if err != nil {
		return 0 // no file to send
	}
	return time.Duration(min(info.Size(), maxUpload)/minUploadRate) * time.Second
}

// Send sends the current content of the file. A picture too large for a photo, or
// refused by Telegram as a photo, is sent as a document.
func (m *Upload) Send(ctx context.Context, c *botapi.Client, to chats.Address) (int, error) {
	f, size, err := m.Uploader.Open(m.Path)
	if err != nil {
		return 0, outbox.Undeliverable(err)
	}
	defer func() { _ = f.Close() }()
	kind := m.Kind
	if kind == photo && size > maxPhoto {
		m.Uploader.Log.Info("telegram: a photo is too large and is sent as a document", "file", m.Path, "bytes", size)
		kind = asDocument
	}
	id, err := m.sendAs(ctx, c, to, kind, io.LimitReader(f, size))
	if kind != photo || !noPhoto(err) {
		return id, err
	}
	m.Uploader.Log.Info("telegram: a photo was refused and is sent as a document", "file", m.Path, "err", err)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, outbox.Undeliverable(err)
	}
	return m.sendAs(ctx, c, to, asDocument, io.LimitReader(f, size))
}

// Reduced implements outbox.Reducible: the same file with an unformatted caption, then as a
// document.
func (m *Upload) Reduced() []outbox.Part {
	plain := *m
	plain.Caption = markdown.Document{Text: m.Caption.Text}
	if m.Kind == asDocument {
		return []outbox.Part{&plain}
	}
	document := plain
	document.Kind = asDocument
	return []outbox.Part{&plain, &document}
}

// noPhoto reports whether Telegram refused a file as a photo: Telegram cannot decode the
// file, or the sides are too long or too unequal.
func noPhoto(err error) bool {
	return botapi.Refused(err, "image_process_failed", "photo_invalid_dimensions", "photo_ext_invalid", "photo_save_file_invalid")
}

func (m *Upload) sendAs(ctx context.Context, c *botapi.Client, to chats.Address, kind Kind, content io.Reader) (int, error) {
	file := &models.InputFileUpload{Filename: uploadName(m.Path), Data: content}
	chat, thread, text, entities := to.Chat, to.Thread, m.Caption.Text, m.Caption.Entities
	var sent *models.Message
	var err error
	switch kind {
	case photo:
		sent, err = c.SendPhoto(ctx, &bot.SendPhotoParams{ChatID: chat, MessageThreadID: thread, Photo: file, Caption: text, CaptionEntities: entities})
	case asAudio:
		sent, err = c.SendAudio(ctx, &bot.SendAudioParams{ChatID: chat, MessageThreadID: thread, Audio: file, Caption: text, CaptionEntities: entities})
	case voice:
		sent, err = c.SendVoice(ctx, &bot.SendVoiceParams{ChatID: chat, MessageThreadID: thread, Voice: file, Caption: text, CaptionEntities: entities})
	case video:
		sent, err = c.SendVideo(ctx, &bot.SendVideoParams{ChatID: chat, MessageThreadID: thread, Video: file, Caption: text, CaptionEntities: entities, SupportsStreaming: true})
	case animation:
		sent, err = c.SendAnimation(ctx, &bot.SendAnimationParams{ChatID: chat, MessageThreadID: thread, Animation: file, Caption: text, CaptionEntities: entities})
	case sticker:
		sent, err = c.SendSticker(ctx, &bot.SendStickerParams{ChatID: chat, MessageThreadID: thread, Sticker: file})
	case videoNote:
		sent, err = c.SendVideoNote(ctx, &bot.SendVideoNoteParams{ChatID: chat, MessageThreadID: thread, VideoNote: file})
	default:
		sent, err = c.SendDocument(ctx, &bot.SendDocumentParams{ChatID: chat, MessageThreadID: thread, Document: file, Caption: text, CaptionEntities: entities})
	}
	if err != nil {
		return 0, err
	}
	return sent.ID, nil
}

func uploadName(path string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '_'
		}
		return r
	}, filepath.Base(path))
}
