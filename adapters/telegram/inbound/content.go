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

// Read downloads the files of messages and makes a single content of all.
func (r *Reader) Read(ctx context.Context, to chats.Address, ms []*models.Message) (Result, error) {
	var says []reading
	for _, m := range ms {
		says = append(says, r.read(m))
	}
	if slices.ContainsFunc(says, func(s reading) bool { return len(s.files) > 0 }) {
		defer r.Sender.TypeUntil(ctx, to)()
	}
	var files []received
	left := int64(media.MaxImagesBytes)
	for i := range says {
		for _, m := range says[i].files {
			f := r.receive(ctx, to, m, left)
			left -= int64(len(f.block)) * 3 / 4
			files = append(files, f)
		}
	}
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	return assemble(says, files)
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

func assemble(says []reading, files []received) (Result, error) {
	var b Result
	var body text
	lead := ""
	for _, s := range says {
		lead = cmp.Or(lead, s.lead)
		body.add("\n", s.text)
		body.add("\n", s.facts)
		b.unread = b.unread || s.empty
	}
	b.Empty = body.Len() == 0 && !slices.ContainsFunc(files, func(f received) bool { return f.failure == "" && !f.Quoted })
	b.unread = b.unread && b.Empty
	var blocks []json.RawMessage
	var ask string // about images without a text
	for _, f := range files {
		switch {
		case f.block == nil:
			continue
		case len(blocks) == 0:
			ask = f.Ask
		case !f.Quoted:
			ask = "What do you see in these images?"
		}
		blocks = append(blocks, f.block)
	}
	if body.Len() == 0 {
		body.add("", ask)
	}
	for i := range files {
		files[i].tell(&body)
		b.failed = append(b.failed, files[i].failures()...)
	}
	b.Content = core.Content{Text: strings.TrimSpace(lead + body.String())}
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
