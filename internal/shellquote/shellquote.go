// Package shellquote writes texts as words of a shell's command line.
package shellquote

import "strings"

// plain are the characters that no shell treats specially, anywhere in a word.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%="

// Word returns s as one word for a POSIX shell: as it is if every character is plain, else in single quotes.
func Word(s string) string {
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
