package core

import (
	"slices"
)

// RetryContent returns the contents of a turn's messages, after a note to the agent if the
// agent may have begun to work on the turn. turn is nil without an earlier turn; members has
// at least one message.
func RetryContent(members []*Message, turn *Turn) (Content, error) {
	last := members[len(members)-1]
	note := ""
	if turn != nil && MayHaveActed(&last.Reply, turn) && !IsCommand(last) {
		note = continueNote(last.Reply.Done)
	}
	if len(members) == 1 && note == "" {
		return last.Content, nil
	}
	own := sendersDiffer(members)
	return joinContents(members, func(i int) (head string) {
		if own {
			head = originPrefix(members[i])
		}
		if i == 0 {
			head = note + head
		}
		return head
	})
}

// MayHaveActed reports whether the agent may have done work in the turn that a second run
// would repeat.
func MayHaveActed(r *Reply, t *Turn) bool {
	begun := func(m Mark) bool { return m.What == MarkTool || m.What == MarkTakenOver }
	return r.Done != "" || r.Code == CodeInterrupted && r.State == Failed || slices.ContainsFunc(t.Marks, begun)
}

func continueNote(done string) string {
	note := "Your work on the message below was cut short before you had answered it."
	if done != "" {
		note += " You had begun: " + done + "."
	}
	return note + " See what of it took effect, and go on from there without doing again what is done. The message was:\n\n"
}
