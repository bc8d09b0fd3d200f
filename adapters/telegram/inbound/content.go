package inbound

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/media"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

// A received file is a file of a message, and the result of receiving the file.
type received struct {
	media.File
	path       string
	about      string          // what it is
	failure    string          // why the file is not here
	block      json.RawMessage // shows an image
	hidden     string          // why an image is not shown
	transcript string
	deaf       string // why a transcript is missing
}

// A Reader makes the content of submissions.
type Reader struct {
	Downloader *media.Downloader
	Sender     *outbox.Sender
	Transcribe string // command to transcribe voice messages; empty: none
	BotName    func() string
	Inert      func(string) string // takes its meaning for the agent's program from a text
	Log        *slog.Logger
}

// A Result is the content of messages.
type Result struct {
	Content core.Content
	Empty   bool     // nothing is left to submit
	unread  bool     // nothing is understood
	failed  []string // failures, in words for the sender
}

// Problems describes failures to the sender; empty: none.
func (b *Result) Problems() string {
	switch {
	case b.unread:
		return "I do not understand this kind of message. Send it as text or as a file."
	case len(b.failed) == 0:
		return ""
	case b.Empty:
		return strings.Join(b.failed, "\n")
	}
	return strings.Join(append(b.failed, "Claude got the rest of your message."), "\n")
}

// A unit is a part of what one person has sent at once: a message, or an album.
type unit struct {
	says  []reading
	files []received
}

// Read downloads the files of messages and makes a single content of all. The messages of a unit
// are an album, or one.
func (r *Reader) Read(ctx context.Context, to chats.Address, messages ...[]*models.Message) (Result, error) {
	units := make([]unit, len(messages))
	hasFiles := false
	for i, ms := range messages {
		for _, m := range ms {
			s := r.read(m)
			units[i].says = append(units[i].says, s)
			hasFiles = hasFiles || len(s.files) > 0
		}
	}
	if hasFiles {
		defer r.Sender.TypeUntil(ctx, to)()
	}
	left := int64(media.MaxImagesBytes)
	for i := range units {
		for _, s := range units[i].says {
			for _, m := range s.files {
				f := r.receive(ctx, to, m, left)
				left -= int64(len(f.block)) * 3 / 4
				units[i].files = append(units[i].files, f)
			}
		}
	}
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	return assemble(units)
}

func (r *Reader) receive(ctx context.Context, to chats.Address, m media.File, left int64) received {
	f := received{File: m, path: filepath.Join(r.Downloader.Dir, string(to.Key()), r.Inert(m.Name))}
	n, err := r.Downloader.Download(ctx, &m, f.path)
	if err != nil {
		if f.failure = "the download failed"; ctx.Err() == nil {
			r.Log.Warn("telegram: a file was not received", "channel", string(to.Key()), "kind", m.Kind, "err", errors.Unwrap(err))
			if known := (*media.Error)(nil); errors.As(err, &known) {
				f.failure = known.Why
			}
		}
		return f
	}
	f.about, f.Ask = r.ofOthers(m.Described(n)), r.ofOthers(m.Ask)
	if f.Image {
		f.block, f.hidden = media.ShowImage(f.path, left)
	}
	if f.Spoken && r.Transcribe != "" {
		transcript, err := media.Transcribe(ctx, r.Transcribe, f.path)
		if f.transcript = r.ofOthers(transcript); err != nil {
			f.deaf = r.ofOthers(err.Error())
		}
	}
	return f
}

// assemble makes the content of units. Each unit has its own lead, such as the name of the sender of
// a forwarded message, and its own files.
func assemble(units []unit) (Result, error) {
	var b Result
	var whole text
	var blocks []json.RawMessage
	ask := askAbout(units)
	b.Empty = true
	for i := range units {
		u := &units[i]
		b.Empty = b.Empty && u.isEmpty()
		b.unread = b.unread || slices.ContainsFunc(u.says, func(s reading) bool { return s.empty })
		whole.add("\n\n", strings.TrimSpace(u.text(ask)))
		ask = ""
		for k := range u.files {
			b.failed = append(b.failed, u.files[k].failures()...)
			if block := u.files[k].block; block != nil {
				blocks = append(blocks, block)
			}
		}
	}
	if b.unread && !b.Empty {
		b.unread = false
		b.failed = append(b.failed, "A part of your message is of a kind that I do not understand. Send it as text or as a file.")
	}
	b.Content = core.Content{Text: whole.String()}
	if len(blocks) == 0 {
		return b, nil
	}
	last, err := TextBlock(b.Content.Text)
	if err != nil {
		return Result{}, fmt.Errorf("telegram: make the content of a message: %w", err)
	}
	b.Content = core.Content{Blocks: append(blocks, last)}
	return b, nil
}

// words returns what a unit says, besides its files.
func (u *unit) words() string {
	var body text
	for _, s := range u.says {
		body.add("\n", s.text)
		body.add("\n", s.facts)
	}
	return body.String()
}

// isEmpty reports whether nothing is left of a unit to submit.
func (u *unit) isEmpty() bool {
	return u.words() == "" && !slices.ContainsFunc(u.files, func(f received) bool { return f.failure == "" && !f.Quoted })
}

// text returns the text of a unit; a unit without words asks about its images.
func (u *unit) text(ask string) string {
	lead := ""
	for _, s := range u.says {
		lead = cmp.Or(lead, s.lead)
	}
	var body text
	body.add("", cmp.Or(u.words(), ask))
	for i := range u.files {
		u.files[i].tell(&body)
	}
	return lead + body.String()
}

// askAbout returns the question about images that nobody has said a word about; empty if somebody
// has.
func askAbout(units []unit) (ask string) {
	images := 0
	for i := range units {
		if units[i].words() != "" {
			return ""
		}
		for _, f := range units[i].files {
			switch {
			case f.block == nil:
				continue
			case images == 0:
				ask = f.Ask
			case !f.Quoted:
				ask = "What do you see in these images?"
			}
			images++
		}
	}
	return ask
}

// TextBlock returns a content block with a text.
func TextBlock(text string) (json.RawMessage, error) {
	return json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", text})
}

type text struct{ strings.Builder }

// add appends a part, with sep before every part except the first. An empty part adds
// nothing.
func (t *text) add(sep, part string) {
	if part == "" {
		return
	}
	if t.Len() > 0 {
		t.WriteString(sep)
	}
	t.WriteString(part)
}

func (f *received) tell(body *text) {
	switch {
	case f.failure != "":
		which := "A " + f.Kind + " was sent with this"
		if f.Quoted {
			which = "The message that is replied to has a " + f.Kind
		}
		body.add("\n", "("+which+", but it is not here: "+f.failure+".)")
		return
	case f.Quoted:
		body.add("\n", "(The message that is replied to has a "+f.Kind+", saved to "+f.path+")")
		return
	case f.block != nil:
		sep := "\n\n"
		if strings.HasSuffix(body.String(), ")") && strings.Contains(body.String(), "\n(saved to ") {
			sep = "\n"
		}
		body.add(sep, "(saved to "+f.path+")")
		return
	}
	body.add("\n", f.about+"\nSaved to: "+f.path)
	if f.hidden != "" {
		body.add("\n", "(It is not shown here: "+f.hidden+".)")
	}
	if f.transcript != "" {
		body.add("\n", "Transcript: "+f.transcript)
	}
	if f.deaf != "" {
		body.add("\n", "(It could not be transcribed: "+f.deaf+".)")
	}
}

func (f *received) failures() []string {
	switch {
	case f.failure != "" && f.Quoted:
		return []string{"The " + f.Kind + " that you reply to could not be received: " + f.failure + "."}
	case f.failure != "":
		return []string{"Your " + f.Kind + " could not be received: " + f.failure + "."}
	case f.deaf != "":
		return []string{"Your " + f.Kind + " could not be transcribed: " + f.deaf + "."}
	}
	return nil
}
