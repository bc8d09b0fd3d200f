package commands

import (
	"context"
	"time"

	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/commands"
	"bareclaw/internal/mdtext"
)

// A restartRecord is a chat to notify when the gateway is back.
type restartRecord struct {
	Channel core.ChannelKey `json:"channel"`
	ReplyTo int             `json:"reply_to"`
	Version string          `json:"version"` // before the restart
	At      time.Time       `json:"at"`
}

type restarts struct{ *Options }

// restart restarts the gateway. restart records the answer first: after a crash, the
// recorded answer prevents a second restart by the same command.
func (s *restarts) restart(ctx context.Context, c Call) (commands.Note, error) {
	if s.Restart == nil {
		return says("This gateway cannot restart itself.")
	}
	r := restartRecord{
		Channel: c.Address.Key(),
		ReplyTo: c.Message.ID,
		Version: s.Version,
		At:      time.Now(),
	}
	record := records.RecordRestart + c.Key
	if err := s.Records.Put(ctx, record, r); err != nil {
		return commands.Note{}, commands.Failed("restart", err)
	}
	answer := answerID(c.Key)
	s.say(ctx, answer, r, "Restarting. Claude goes on working, and your messages are kept.")
	err := s.Restart(ctx)
	if err != nil && ctx.Err() == nil {
		s.forget(ctx, record)
		s.say(ctx, answer+":failed", r, "The restart failed; the gateway runs on as before. "+mdtext.Literal(err.Error()))
	}
	return commands.Note{}, nil // the new process reports
}

// say replies with a text, which is Markdown, to the command that a record is of.
func (s *restarts) say(ctx context.Context, id string, r restartRecord, text string) {
	note := view.Note{
		Text:    text,
		ReplyTo: r.ReplyTo,
	}
	s.Out.Say(ctx, id, r.Channel, note)
}

func (s *restarts) forget(ctx context.Context, record string) {
	s.Records.Forget(ctx, "the record of a restart", record)
}

// ReportRestart notifies the chats that requested a restart.
func (s *restarts) ReportRestart(ctx context.Context) {
	err := records.Each(ctx, s.Records, records.RecordRestart, func(rest string, r restartRecord) {
		record := records.RecordRestart + rest
		s.say(ctx, "back:"+record, r, s.report(r))
		s.forget(ctx, record)
	})
	s.Records.Error(ctx, "the chats that asked for a restart are not known", err)
}

// report says how long a restart took, and what runs now.
func (s *restarts) report(r restartRecord) string {
	took := time.Since(r.At)
	text := "Back after " + mdtext.Duration(took) + ", version " + mdtext.Literal(s.Version)
	if r.Version != s.Version {
		text += ", before " + mdtext.Literal(r.Version)
	}
	return text + ". Agent: " + mdtext.Literal(s.Agent) + "."
}
