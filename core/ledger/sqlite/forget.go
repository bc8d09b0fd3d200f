package sqlite

import "bareclaw/core"

// The ended messages of a channel, and the turns that none of its other messages has. An outcome that
// is still to be delivered is read from its message, which stays until then.
const (
	endedMessages = `FROM messages WHERE channel=?1 AND state>1
		AND id NOT IN (SELECT message FROM deliveries WHERE state='pending' AND message IS NOT NULL)`
	endedTurns = `SELECT turn ` + endedMessages + ` AND turn IS NOT NULL
		EXCEPT SELECT turn FROM messages WHERE channel=?1 AND id NOT IN (SELECT id ` + endedMessages + `)`
)

// The steps of forgetting a channel, in order: what belongs to a message goes before the message. The
// counters and what was spent stay, as do deliveries, whose ids keep a repeated one from being sent.
var forgetSteps = []*statement{
	newStatement("forget the approvals of", `DELETE FROM approvals WHERE turn IN (`+endedTurns+`)`),
	newStatement("forget the lines of", `DELETE FROM bodies WHERE kind=1 AND owner IN (`+endedTurns+`)`),
	newStatement("forget the turns of", `DELETE FROM turns WHERE id IN (`+endedTurns+`)`),
	newStatement("forget the contents of", `DELETE FROM bodies WHERE kind=0 AND owner IN (SELECT id `+endedMessages+`)`),
	newStatement("forget the messages of", `DELETE `+endedMessages),
	newStatement("forget the background results of", `DELETE FROM backgrounds WHERE channel=?1`),
	newStatement("forget what was sent to", `UPDATE deliveries SET body=NULL WHERE channel=?1 AND state<>'pending'`),
	newStatement("forget the rules of", `DELETE FROM rules WHERE channel=?1`),
	newStatement("forget the settings of", `DELETE FROM settings WHERE channel=?1`),
}

func forgetChannels(k *compiler, c *core.Change) {
	for _, key := range c.Forget {
		forgetChannel(k, key)
	}
}

func forgetChannel(k *compiler, key core.ChannelKey) {
	for _, s := range forgetSteps {
		k.add(s, string(key), string(key))
	}
}
