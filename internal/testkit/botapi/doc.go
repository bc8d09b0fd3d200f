// Package botapi is a strict Telegram Bot API server for tests. It keeps
// one bot's chats, files and updates, plays the people who write to the bot, and
// refuses what Telegram refuses, in Telegram's words.
//
// A scenario makes a server, points the bot at it, acts as a user, and looks at
// what that user sees:
//
//	s := botapi.New(t)
//	anna := s.User(7, "Anna", "Arden", "anna")
//	chat := s.Private(anna)                      // Anna has pressed Start
//	startDaemon(t, s.URL(), s.Token())           // calls go to URL/bot<token>/<method>
//
//	sent := chat.Send(anna, "hello")             // sent.UpdateID, sent.MessageID
//	answer := chat.AwaitText("ok: hello")        // fails with a dump of all chats
//	chat.Tap(anna, answer.ID, "Stop")            // fails if there is no such button
//	chat.AwaitMessage("a stopped turn", func(m botapi.Message) bool {
//		return m.ID == answer.ID && m.Edits > 0 && len(m.Buttons) == 0
//	})
//
// Groups, forums, topics, albums, replies, forwards, edits, drafts with their
// Stop button, blocking and migration are methods of [Server] and
// [Chat]. [Chat.Messages] is what people see now; [Server.Calls] is every request
// with its outcome. The state is the server's: a daemon that is killed and started
// again finds it as it was.
//
// Faults are scripted for the next calls of a method in a chat, in order:
//
//	s.Script("sendMessage", chat.ID(), botapi.TooMany(2), botapi.ResetAfter())
//	held := s.Hold("getUpdates", 0)              // a poll that stalls until held.Release()
//	s.DropNetwork()                              // and s.RestoreNetwork()
//
// What Telegram tolerates and drops (an entity that cannot be shown, an unknown
// parameter, a number that is none) and parse_mode, which our adapter must not
// use, are violations: they fail the test, unless the server is [Lenient]. The
// documented limits of rates hold unless [WithoutRates] is given; a call before
// retry_after is over counts in [Server.RateViolations].
package botapi
