package messagesapi

import "strings"

// What the CLI (2.1.329) puts into a conversation by itself, as seen on the wire.
const (
	reminderOpen  = "<system-reminder>"
	reminderClose = "</system-reminder>"
	imageNote     = "[Image: source: " // follows an image block
	interruptNote = "[Request interrupted by user"

	// steerOpen and steerClose enclose, in a system message, what the user
	// sent while a turn was running.
	steerOpen  = "The user sent a new message while you were working:\n"
	steerClose = "\n\nThis is how Claude Code surfaces messages"
)

// written returns what the user wrote in one text block, and whether anything is
// left of it when the CLI's own notes are taken out.
func written(role, text string) (string, bool) {
	if _, rest, ok := strings.Cut(text, steerOpen); ok {
		steered, _, _ := strings.Cut(rest, steerClose)
		return strings.TrimSuffix(strings.TrimSpace(steered), reminderClose), true
	}
	if role != "user" {
		return "", false
	}
	text = withoutReminders(text)
	if strings.HasPrefix(text, imageNote) || strings.TrimSpace(text) == "" {
		return "", false
	}
	return text, true
}

// withoutReminders takes out the reminders and the blank space after each.
func withoutReminders(text string) string {
	var kept strings.Builder
	for {
		before, rest, ok := strings.Cut(text, reminderOpen)
		if !ok {
			break
		}
		_, after, closed := strings.Cut(rest, reminderClose)
		if !closed {
			break
		}
		kept.WriteString(before)
		text = strings.TrimLeft(after, " \r\n")
	}
	return kept.String() + text
}
