package commands

import (
	"context"
	"fmt"
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
		return commands.Note{Text: "This gateway cannot restart itself."}, nil
	}
	key := c.Address.Key()
	r := restartRecord{Channel: key, ReplyTo: c.Message.ID, Version: s.Version, At: time.Now()}
	if err := s.Records.Put(ctx, records.RecordRestart+c.Key, r); err != nil {
		return commands.Note{}, commands.Failed("restart", err)
	}
	s.Out.Say(ctx, answerID(c.Key), key, view.Note{Text: "Restarting. Claude goes on working, and your messages are kept.", ReplyTo: c.Message.ID})
	err := s.Restart(ctx)
	if err != nil && ctx.Err() == nil {
		s.Records.Forget(ctx, "the record of a restart", records.RecordRestart+c.Key)
		s.Out.Say(ctx, answerID(c.Key)+":failed", key, view.Note{
			Text:    "The restart failed; the gateway runs on as before. " + mdtext.Literal(err.Error()),
			ReplyTo: c.Message.ID,
		})
	}
	return commands.Note{}, nil // the new process reports
}

// ReportRestart notifies the chats that requested a restart.
func (s *restarts) ReportRestart(ctx context.Context) {
	err := records.Each(ctx, s.Records, records.RecordRestart, func(rest string, r restartRecord) {
		text := fmt.Sprintf("Back after %s, version %s", mdtext.Duration(time.Since(r.At)), mdtext.Literal(s.Version))
		if r.Version != s.Version {
			text += ", before " + mdtext.Literal(r.Version)
		}
		s.Out.Say(ctx, "back:"+records.RecordRestart+rest, r.Channel, view.Note{
			Text:    text + ". Agent: " + mdtext.Literal(s.Agent) + ".",
			ReplyTo: r.ReplyTo,
		})
		s.Records.Forget(ctx, "the record of a restart", records.RecordRestart+rest)
	})
	s.Records.Error(ctx, "the chats that asked for a restart are not known", err)
}
