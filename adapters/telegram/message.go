package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

// message makes of a message, or of those of an album, what there is to be made. An
// error means that it is to be tried again after the next start.
func (a *Adapter) message(ctx context.Context, p chats.Address, batch []*arrival) error {
	m := batch[0].update.Message
	p = a.movedTo(p)
	a.learn(ctx, p, m)
	switch {
	case m.MigrateToChatID != 0:
		return a.migrate(ctx, m.Chat.ID, m.MigrateToChatID)
	case m.MigrateFromChatID != 0:
		return a.migrate(ctx, m.MigrateFromChatID, m.Chat.ID)
	case isService(m), forOther(m.Text, a.health.name()), !a.listensTo(m):
		return nil
	case len(batch) == 1 && a.command(ctx, p, batch[0]):
		return ctx.Err()
	}
	return a.converse(ctx, p, batch)
}

// converse submits what was said.
func (a *Adapter) converse(ctx context.Context, p chats.Address, batch []*arrival) error {
	ms := messagesOf(batch)
	if len(ms) > 1 && ms[0].MediaGroupID == "" {
		ms = []*models.Message{joinedText(ms)}
	}
	b, err := a.build(ctx, p, ms)
	if err != nil {
		return err
	}
	if text := b.note(); text != "" {
		a.say(ctx, "unread:"+batch[0].key, p.Key(), Note{Text: text, ReplyTo: ms[0].ID})
	}
	if b.nothing {
		return ctx.Err()
	}
	s := core.Submission{
		Channel: p.Key(), Adapter: Name, Origin: a.origin(p, ms[0]), Content: b.content,
		SourceKey: batch[0].key, CanAsk: true, Deliver: true,
	}
	if len(batch) == 1 {
		return a.submit(ctx, p, ms[0].ID, s)
	}
	return a.submitTogether(ctx, p, batch, s)
}

// submitTogether submits the messages of an album, or the parts of a text, as one. If an earlier process has
// submitted those that it had, before it was killed, the others are one of their own.
func (a *Adapter) submitTogether(ctx context.Context, p chats.Address, batch []*arrival, s core.Submission) error {
	s.SourceHash = sizeHash(len(batch))
	t, err := a.offer(ctx, s)
	for n := len(batch) - 1; errors.Is(err, core.ErrKeyReused) && n > 0; n-- {
		s.SourceHash = sizeHash(n)
		if t, err = a.offer(ctx, s); err == nil {
			return errors.Join(a.accepted(ctx, p, batch[:n], t), a.converse(ctx, p, batch[n:]))
		}
	}
	if err != nil {
		return a.refused(ctx, p, batch[0].update.Message.ID, s, err)
	}
	return a.accepted(ctx, p, batch, t)
}

// sizeHash tells submissions of so many messages from others with the same key. One
// that is submitted by itself has none.
func sizeHash(n int) string {
	if n == 1 {
		return ""
	}
	return strconv.Itoa(n)
}

// accepted remembers what the messages of a chat were submitted as.
func (a *Adapter) accepted(ctx context.Context, p chats.Address, batch []*arrival, t *core.Ticket) error {
	a.records.LinkSource(ctx, p.Chat, batch[0].update.Message.ID, t.Message.ID)
	for _, m := range messagesOf(batch) {
		a.records.LinkMessage(ctx, p.Chat, m.ID, records.Link{Message: t.Message.ID, Part: true, Caption: writtenText(m, a.health.name())})
	}
	return ctx.Err()
}

func messagesOf(batch []*arrival) []*models.Message {
	ms := make([]*models.Message, len(batch))
	for i, r := range batch {
		ms[i] = r.update.Message
	}
	return ms
}

// A fetched is one of the files of a message, and what became of it.
type fetched struct {
	media
	path       string
	failure    string // why it is not here
	block      json.RawMessage
	hidden     string // why an image is not shown
	transcript string
	deaf       string // why there is none
}

// A built is the content that was made of messages.
type built struct {
	content core.Content
	nothing bool     // nothing is left to be submitted
	unread  bool     // it says nothing that is understood here
	failed  []string // what did not work, in words for the sender
}

// note is what the sender is told of it; empty: nothing.
func (b *built) note() string {
	switch {
	case b.unread:
		return "I do not understand this kind of message. Send it as text or as a file."
	case len(b.failed) == 0:
		return ""
	case b.nothing:
		return strings.Join(b.failed, "\n")
	}
	return strings.Join(append(b.failed, "The rest of the message was passed on."), "\n")
}

// build fetches what messages bring with them and makes their content. It blocks
// for as long as that takes.
func (a *Adapter) build(ctx context.Context, p chats.Address, ms []*models.Message) (built, error) {
	var says []said
	for _, m := range ms {
		says = append(says, read(m, a.health.name()))
	}
	if slices.ContainsFunc(says, func(s said) bool { return len(s.files) > 0 }) {
		defer a.typeFor(ctx, p)()
	}
	var files []fetched
	left := int64(maxImagesBytes)
	for i := range says {
		for _, m := range says[i].files {
			f := a.receiveFile(ctx, p, m, left)
			left -= int64(len(f.block)) * 3 / 4
			files = append(files, f)
		}
	}
	if ctx.Err() != nil {
		return built{}, ctx.Err()
	}
	return assemble(says, files)
}

// receiveFile brings a file here, and makes of it what the agent can be shown.
func (a *Adapter) receiveFile(ctx context.Context, p chats.Address, m media, left int64) fetched {
	f := fetched{media: m, path: a.mediaPath(p.Key(), &m)}
	n, err := a.fetch(ctx, &m, f.path)
	if err != nil {
		if f.failure = "it could not be fetched"; ctx.Err() == nil {
			a.o.Log.Warn("telegram: a file was not received", "channel", string(p.Key()), "kind", m.kind, "err", errors.Unwrap(err))
			if known := (*fileError)(nil); errors.As(err, &known) {
				f.failure = known.why
			}
		}
		return f
	}
	f.bytes = n
	if f.image {
		f.block, f.hidden = showImage(f.path, left)
	}
	if f.spoken && a.o.Transcribe != "" {
		f.transcript, err = transcribe(ctx, a.o.Transcribe, f.path)
		if err != nil {
			f.deaf = err.Error()
		}
	}
	return f
}

// assemble makes one content of messages and their files.
func assemble(says []said, files []fetched) (built, error) {
	var b built
	var body text
	lead, arrived, shown := "", 0, 0
	for i := range says {
		s := &says[i]
		if lead == "" {
			lead = s.lead
		}
		body.add("\n", s.text)
		body.add("\n", s.facts)
		b.unread = b.unread || s.empty
	}
	written := body.Len() > 0
	for i := range files {
		f := &files[i]
		if f.failure == "" && !f.quoted {
			arrived++
		}
		if f.block != nil && !f.quoted {
			shown++
		}
	}
	if b.nothing = !written && arrived == 0; !b.nothing {
		b.unread = false
	}
	var blocks []json.RawMessage
	for i := range files {
		f := &files[i]
		if f.block != nil {
			blocks = append(blocks, f.block)
			if body.Len() == 0 {
				body.add("", f.question(shown))
			}
		}
	}
	for i := range files {
		files[i].tell(&body)
		b.failed = append(b.failed, files[i].failures()...)
	}
	b.content = core.Content{Text: strings.TrimSpace(lead + body.String())}
	if len(blocks) == 0 {
		return b, nil
	}
	last, err := json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", b.content.Text})
	if err != nil {
		return built{}, fmt.Errorf("telegram: make the content of a message: %w", err)
	}
	b.content = core.Content{Blocks: append(blocks, last)}
	return b, nil
}

// A text grows by parts that are kept apart.
type text struct{ strings.Builder }

// add appends a part, after sep unless it is the first; nothing if it is empty.
func (t *text) add(sep, part string) {
	if part == "" {
		return
	}
	if t.Len() > 0 {
		t.WriteString(sep)
	}
	t.WriteString(part)
}

// question is what the agent is asked about images where nothing was written.
func (f *fetched) question(shown int) string {
	if shown > 1 {
		return "What do you see in these images?"
	}
	return f.ask
}

// tell tells the agent of the file.
func (f *fetched) tell(body *text) {
	switch {
	case f.failure != "":
		which := "A " + f.kind + " was sent with this"
		if f.quoted {
			which = "The message that is replied to has a " + f.kind
		}
		body.add("\n", "("+which+", but it is not here: "+f.failure+".)")
		return
	case f.quoted:
		body.add("\n", "(The message that is replied to has a "+f.kind+", saved to "+f.path+")")
		return
	case f.block != nil:
		sep := "\n\n"
		if strings.HasSuffix(body.String(), ")") && strings.Contains(body.String(), "\n(saved to ") {
			sep = "\n"
		}
		body.add(sep, "(saved to "+f.path+")")
		return
	}
	body.add("\n", f.described(f.bytes)+"\nSaved to: "+f.path)
	if f.hidden != "" {
		body.add("\n", "(It is not shown here: "+f.hidden+".)")
	}
	if f.transcript != "" {
		body.add("\n", "Transcript: "+unforged(f.transcript))
	}
	if f.deaf != "" {
		body.add("\n", "(It could not be transcribed: "+f.deaf+".)")
	}
}

// failures says, for the sender, what did not work.
func (f *fetched) failures() []string {
	switch {
	case f.failure != "" && f.quoted:
		return []string{"The " + f.kind + " that you reply to could not be received: " + f.failure + "."}
	case f.failure != "":
		return []string{"Your " + f.kind + " could not be received: " + f.failure + "."}
	case f.deaf != "":
		return []string{"Your " + f.kind + " could not be transcribed: " + f.deaf + "."}
	}
	return nil
}
