package chats

import (
	"strings"
	"unicode"
)

// Unaddressed removes the bot's user name from a text: a leading "@name", and the one that
// follows a command.
func Unaddressed(text, bot string) string {
	first, rest := firstWord(text)
	switch name, at, ok := strings.Cut(first, "@"); {
	case !ok || bot == "":
	case name == "" && strings.EqualFold(strings.TrimRight(at, ",:"), bot):
		return strings.TrimLeftFunc(rest, unicode.IsSpace)
	case strings.HasPrefix(name, "/") && strings.EqualFold(at, bot):
		return name + rest
	}
	return text
}

// ForOtherBot reports whether a text is a command for another bot of the group. The names
// of bots end in "bot": https://core.telegram.org/bots/features#botfather
func ForOtherBot(text, bot string) bool {
	first, _ := firstWord(text)
	name, at, ok := strings.Cut(first, "@")
	return ok && bot != "" && len(name) > 1 && name[0] == '/' && !strings.Contains(name[1:], "/") &&
		strings.HasSuffix(strings.ToLower(at), "bot") && !strings.EqualFold(at, bot)
}

func firstWord(text string) (word, rest string) {
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}
