package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/sendfile"
	"bareclaw/core"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

const (
	// maxCaption is the length of the longest caption in UTF-16 units:
	// https://core.telegram.org/bots/api#sendphoto
	maxCaption = 1024
	// maxUpload and maxPhoto are the sizes in bytes of the largest file and photo:
	// https://core.telegram.org/bots/api#sending-files
	maxUpload = 50 << 20
	maxPhoto  = 10 << 20
	// minUploadRate is how many bytes a second a file must be sent with, or it counts
	// as stuck.
	minUploadRate = 100 << 10
)

// A mediaKind is how a file is shown, by the name that POST /send has for it.
type mediaKind string

const (
	kindPhoto     mediaKind = "photo"
	kindDocument  mediaKind = "document"
	kindAudio     mediaKind = "audio"
	kindVoice     mediaKind = "voice"
	kindVideo     mediaKind = "video"
	kindAnimation mediaKind = "animation"
	kindSticker   mediaKind = "sticker"
	kindVideoNote mediaKind = "video_note"
)

// hasCaption reports whether there may be a text with it.
func (k mediaKind) hasCaption() bool { return k != kindSticker && k != kindVideoNote }

// mediaKindOf returns how a file is sent: as it was asked for, or by the extension of
// its name. What is no OGG would not be shown as a voice message.
func mediaKindOf(m *core.Media) mediaKind {
	ext := strings.ToLower(filepath.Ext(m.Path))
	kind := mediaKind(m.Type)
	switch {
	case kind == "":
		return kindByExtension(ext)
	case kind == kindVoice && ext != ".ogg" && ext != ".oga":
		return kindAudio
	}
	return kind
}

// kindByExtension returns what a file is shown as best. Pictures that Telegram does
// not decode are documents.
func kindByExtension(ext string) mediaKind {
	switch ext {
	case ".jpg", ".jpeg", ".png", ".webp", ".bmp":
		return kindPhoto
	case ".gif":
		return kindAnimation
	case ".mp4", ".m4v", ".mov", ".webm", ".mkv", ".avi":
		return kindVideo
	case ".ogg", ".oga":
		return kindVoice
	case ".mp3", ".m4a", ".aac", ".flac", ".wav", ".opus":
		return kindAudio
	case ".tgs":
		return kindSticker
	}
	return kindDocument
}

// openMedia opens a file that may be sent, and that Telegram takes by its size. The
// error is for whoever asked for it.
func (a *Adapter) openMedia(path string) (*os.File, int64, error) {
	f, err := a.files.Open(path)
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

// A hopeless error is an errCannotCompose that says only why.
type hopeless struct{ error }

// Is makes it one.
func (hopeless) Is(target error) bool { return target == errCannotCompose }

// A mediaPart is a message with a file, which is opened when it is sent.
type mediaPart struct {
	adapter *Adapter
	path    string
	kind    mediaKind
	caption markdown.Document
}

// timeLimit returns how long sending it may take.
func (m *mediaPart) timeLimit() time.Duration { return botapi.CallTimeout + uploadTime(m.path) }

// uploadTime returns how long a file may take to be sent.
func uploadTime(path string) time.Duration {
	info, err := os.Stat(path)
	if err != nil {
		return 0 // there is nothing to send
	}
	return time.Duration(min(info.Size(), maxUpload)/minUploadRate) * time.Second
}

// send sends the file as it is now. A picture that is too large for a photo, or that
// Telegram does not take as one, goes as a document.
func (m *mediaPart) send(ctx context.Context, c *botapi.Client, to chats.Address) (int, error) {
	f, size, err := m.adapter.openMedia(m.path)
	if err != nil {
		return 0, hopeless{err}
	}
	defer func() { _ = f.Close() }()
	kind := m.kind
	if kind == kindPhoto && size > maxPhoto {
		m.adapter.o.Log.Info("telegram: a photo is sent as a document, being larger than photos may be", "file", m.path, "bytes", size)
		kind = kindDocument
	}
	id, err := m.sendAs(ctx, c, to, kind, io.LimitReader(f, size))
	if kind != kindPhoto || !noPhoto(err) {
		return id, err
	}
	m.adapter.o.Log.Info("telegram: a photo is sent as a document, not being taken as one", "file", m.path, "err", err)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, hopeless{err}
	}
	return m.sendAs(ctx, c, to, kindDocument, io.LimitReader(f, size))
}

// noPhoto reports whether Telegram finds that a file is no photo: it cannot be
// decoded, or its sides are too long or too unlike.
func noPhoto(err error) bool {
	if !errors.Is(err, bot.ErrorBadRequest) {
		return false
	}
	for _, word := range []string{"IMAGE_PROCESS_FAILED", "PHOTO_INVALID_DIMENSIONS", "PHOTO_EXT_INVALID", "PHOTO_SAVE_FILE_INVALID"} {
		if strings.Contains(err.Error(), word) {
			return true
		}
	}
	return false
}

// sendAs sends the content of the file by the method of the kind.
func (m *mediaPart) sendAs(ctx context.Context, c *botapi.Client, to chats.Address, kind mediaKind, content io.Reader) (int, error) {
	file := &models.InputFileUpload{Filename: uploadName(m.path), Data: content}
	chat, thread, text, entities := to.Chat, to.Thread, m.caption.Text, m.caption.Entities
	var sent *models.Message
	var err error
	switch kind {
	case kindPhoto:
		sent, err = c.SendPhoto(ctx, &bot.SendPhotoParams{ChatID: chat, MessageThreadID: thread, Photo: file, Caption: text, CaptionEntities: entities})
	case kindAudio:
		sent, err = c.SendAudio(ctx, &bot.SendAudioParams{ChatID: chat, MessageThreadID: thread, Audio: file, Caption: text, CaptionEntities: entities})
	case kindVoice:
		sent, err = c.SendVoice(ctx, &bot.SendVoiceParams{ChatID: chat, MessageThreadID: thread, Voice: file, Caption: text, CaptionEntities: entities})
	case kindVideo:
		sent, err = c.SendVideo(ctx, &bot.SendVideoParams{ChatID: chat, MessageThreadID: thread, Video: file, Caption: text, CaptionEntities: entities, SupportsStreaming: true})
	case kindAnimation:
		sent, err = c.SendAnimation(ctx, &bot.SendAnimationParams{ChatID: chat, MessageThreadID: thread, Animation: file, Caption: text, CaptionEntities: entities})
	case kindSticker:
		sent, err = c.SendSticker(ctx, &bot.SendStickerParams{ChatID: chat, MessageThreadID: thread, Sticker: file})
	case kindVideoNote:
		sent, err = c.SendVideoNote(ctx, &bot.SendVideoNoteParams{ChatID: chat, MessageThreadID: thread, VideoNote: file})
	default:
		sent, err = c.SendDocument(ctx, &bot.SendDocumentParams{ChatID: chat, MessageThreadID: thread, Document: file, Caption: text, CaptionEntities: entities})
	}
	if err != nil {
		return 0, err
	}
	return sent.ID, nil
}

// uploadName returns what a file is called where it is received.
func uploadName(path string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '_'
		}
		return r
	}, filepath.Base(path))
}
