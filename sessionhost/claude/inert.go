package claude

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Inert returns a text of somebody whom claude does not serve, with the syntax of the CLI in
// a spelling that reads the same and means nothing to the CLI:
//
//   - @ becomes ＠, except in the middle of an address such as ann@example.com. The CLI reads
//     @path, @"path", @server:uri, @agent-NAME and @"NAME (agent)" in every user text, before
//     the model does: it attaches files and adds lines of its own. Without file mentions
//     ([Launch]) it still tells the model that the user has mentioned the file.
//   - <tag> becomes ‹tag› where the CLI writes such a tag around its own notes:
//     system-reminder, task-notification, command-name and the like.
//   - ultrathink becomes ultra-think, as the CLI itself writes the word in texts that nobody
//     typed. The word raises the effort of the turn.
//
// A command needs no care, since a turn begins with the text of the gateway. The tests have
// the CLI's own expressions and lists, taken from the program text of version 2.1.329.
func Inert(text string) string {
	text = keyword().ReplaceAllString(text, "$1-$2")
	text = tag().ReplaceAllStringFunc(text, inertTag)
	return inertMentions(text)
}

// keyword matches the words that the CLI acts on; \b is that of ASCII, as in the CLI.
var keyword = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(ultra)(think|code|plan|review)\b`) })

// spaces matches what JavaScript takes for white space.
const spaces = `[\s\v\pZ\x{FEFF}]*`

// tag matches a tag, or what of it is on one line. The second group is its name.
var tag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<(` + spaces + `/?` + spaces + `)([A-Za-z][\w:.-]*)([^<>\n]*)(>?)`)
})

// ownTags are the tags with one-word names that the CLI writes; all its other names have a
// hyphen or an underscore.
var ownTags = []string{"tick", "channel", "cited", "terminal", "browser", "transcript"}

// ownTagsUnderscored are those with an underscore. Other such names stay: they are usual in
// programs, as in Vec<my_type>.
var ownTagsUnderscored = []string{
	"system_reminder", "task_notification", "function_calls", "function_results", "tool_use_error", "sandbox_violations", "total_tokens",
	"ide_selection", "ide_opened_file", "browser_instruction", "pasted_content",
}

func inertTag(s string) string {
	part := tag().FindStringSubmatch(s)
	name := strings.ToLower(part[2])
	if !strings.Contains(name, "-") && !strings.HasPrefix(name, "antml:") && !slices.Contains(ownTags, name) && !slices.Contains(ownTagsUnderscored, name) {
		return s
	}
	if part[4] != "" {
		part[4] = "›"
	}
	return "‹" + part[1] + part[2] + part[3] + part[4]
}

// inertMentions replaces every @ that is not inside an address. The CLI takes an @ for a
// mention at the start of the text, and after white space or one of 。、？！.
func inertMentions(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	var b strings.Builder
	before := ' '
	for i, r := range text {
		after, _ := utf8.DecodeRuneInString(text[min(i+1, len(text)):])
		inAddress := joinsAddress(before) && (unicode.IsLetter(after) || unicode.IsDigit(after))
		before = r
		if r == '@' && !inAddress {
			r = '＠'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// joinsAddress reports whether an @ after the character belongs to an address: of mail, or
// of the web, as in https://example.com/@ann.
func joinsAddress(before rune) bool {
	return unicode.IsLetter(before) || unicode.IsDigit(before) || strings.ContainsRune("/._-+=&%~", before)
}
