package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"

	"bareclaw/adapters"
	"bareclaw/adapters/kinds"
)

// aliases are words for commands that people bring along from other programs. No help shows them.
func aliases() map[string]string {
	return map[string]string{
		"setup": "init", "config": "settings", "update": "upgrade", "log": "logs", "ls": "channels", "ps": "channels", "list": "channels",
	}
}

// isHarmful reports whether a command ends, restarts, replaces or removes something, so that nobody
// should come upon it by a typo.
func isHarmful(name string) bool {
	return slices.Contains([]string{
		"stop", "restart", "upgrade", "restore", "cancel", "interrupt", "reset", "remove", "rollback", "uninstall", "allow", "deny", "run", "pause",
	}, name)
}

// describeUsage explains arguments that cannot be parsed, and names the matching help. An
// argument in the place of a command counts as an unknown command.
func describeUsage(err error) string {
	says, about, named := err.Error(), "bareclaw", true
	var node *kong.Node
	if wrong, ok := errors.AsType[*kong.ParseError](err); ok && wrong.Context.Selected() != nil {
		selected, args := wrong.Context.Selected(), wrong.Context.Args
		node = selected
		named = node.Parent != nil && node.Parent.DefaultCmd == node && !slices.Contains(args, node.Name)
		if named {
			node = node.Parent
		}
		about = node.FullPath()
	}
	says = withoutHarm(says)
	if unknown, ok := strings.CutPrefix(says, "unexpected argument "); ok && named {
		says = "there is no command " + unknown
	}
	if node != nil && strings.HasPrefix(says, "unknown flag ") && node.FullPath() == "bareclaw mount add" {
		says += "; the program and its arguments come after --"
	}
	if node != nil { // the parser puts the command before errors of the command's own checks
		says = strings.TrimPrefix(says, strings.TrimPrefix(node.FullPath(), "bareclaw ")+": ")
	}
	return inWords(says, node) + "\nTry: " + about + " --help"
}

// withoutHarm removes suggestions of harmful commands, and of flags of one letter, which every typo
// of one letter is like.
func withoutHarm(says string) string {
	before, list, ok := strings.Cut(says, ", did you mean ")
	if !ok {
		return says
	}
	var good []string
	for name := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(list, "one of "), "?"), ", ") {
		bare := strings.Trim(name, `"`)
		if !isHarmful(bare) && (!strings.HasPrefix(bare, "-") || strings.HasPrefix(bare, "--")) {
			good = append(good, name)
		}
	}
	if len(good) == 0 {
		return before
	}
	return before + "; did you mean " + strings.Join(good, " or ") + "?"
}

// A rewording replaces an error of the parser.
type rewording struct {
	found *regexp.Regexp
	says  string
}

func rewordings() []rewording {
	reword := func(found, says string) rewording { return rewording{regexp.MustCompile(found), says} }
	return []rewording{
		reword(`^(-\S+): expected \w+ value but got .*$`, "$1 needs a value"),
		reword(`^(\S+): expected (?:a valid \d+ bit int|an int|a valid \d+ bit uint) but got ("[^"]*").*$`, "$1 needs a whole number, not $2"),
		reword(`^(\S+): expected a float but got ("[^"]*").*$`, "$1 needs a number, not $2"),
		reword(`^(\S+): expected duration but got ("[^"]*").*$`, "$1 needs a duration such as 30s or 10m, not $2"),
		reword(`^<([^>]+)> must be one of`, "$1 must be one of"),
	}
}

// inWords rewords an error of the parser for a person. node is the command, nil if unknown.
func inWords(says string, node *kong.Node) string {
	if missing, ok := strings.CutPrefix(says, `expected "<`); ok && node != nil {
		name, _, _ := strings.Cut(missing, ">")
		return fmt.Sprintf("which %s? %s", name, calledAs(node))
	}
	for _, r := range rewordings() {
		if r.found.MatchString(says) {
			says = r.found.ReplaceAllString(says, r.says)
			break
		}
	}
	before, rest, ok := strings.Cut(says, " must be one of ")
	if !ok {
		return says
	}
	list, got, _ := strings.Cut(rest, " but got ")
	words := strings.Split(strings.ReplaceAll(list, `"`, ""), ",")
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	if last := len(words) - 1; last > 0 {
		words = append(words[:last-1], words[last-1]+" or "+words[last])
	}
	return before + " must be " + strings.Join(words, ", ") + ", not " + got
}

// calledAs returns how a command is called, with its arguments.
func calledAs(node *kong.Node) string {
	called := node.FullPath()
	for _, arg := range node.Positional {
		name := strings.ToUpper(arg.Name)
		if !arg.Required {
			name = "[" + name + "]"
		}
		called += " " + name
	}
	return called
}

// isName reports whether a word is a name, which begins with a capital wherever it stands.
func isName(word string) bool {
	isKind := func(k adapters.Kind) bool { return k.Title == word }
	return slices.Contains([]string{"Claude", "Go", "Node"}, word) || slices.ContainsFunc(kinds.All(), isKind)
}

// lowerFirst makes a sentence go on after the name of the program. Names and abbreviations stay.
func lowerFirst(text string) string {
	word, _, _ := strings.Cut(text, " ")
	runes := []rune(word)
	if len(runes) < 2 || !unicode.IsUpper(runes[0]) || slices.ContainsFunc(runes[1:], unicode.IsUpper) ||
		isName(strings.TrimRight(word, ",:;.")) {
		return text
	}
	return string(unicode.ToLower(runes[0])) + text[len(string(runes[0])):]
}
