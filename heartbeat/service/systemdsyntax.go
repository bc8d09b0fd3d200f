package service

import (
	"fmt"
	"strings"
)

// Each setting of systemd has rules of its own for what its value may hold and how:
// systemd.syntax(7), systemd.service(5), systemd.exec(5), and where these are silent
// what systemd 252 does. In all of them a % begins a specifier.

// specifiers writes a text in which no % begins one.
func specifiers(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// execPath writes the program of ExecStart=. It is unquoted like any word, but
// variables are not replaced in it, and systemd refuses quotes and backslashes in it
// however they are written.
func execPath(path string) (string, error) {
	if i := strings.IndexAny(path, `"'\`); i >= 0 {
		return "", fmt.Errorf("systemd starts no program whose path has quotes or backslashes, as %s has: put bareclaw somewhere else", path)
	}
	if strings.ContainsFunc(path, func(r rune) bool { return !plain(r) }) {
		return `"` + specifiers(path) + `"`, nil
	}
	return path, nil
}

// plain reports whether a character means nothing to systemd in a word.
func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@:,", r)
}

// directoryPath writes WorkingDirectory=, which is taken as it is up to the end of the
// line: nothing is unquoted.
func directoryPath(path string) (string, error) {
	if err := endsInLine("the working directory", path); err != nil {
		return "", err
	}
	return specifiers(path), nil
}

// envFilePath writes EnvironmentFile=, which is a pattern as of a shell.
func envFilePath(path string) (string, error) {
	if err := endsInLine("the file of settings", path); err != nil {
		return "", err
	}
	return specifiers(escapeGlob(path)), nil
}

// escapeGlob has a path be a pattern of itself.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(path)
}

// endsInLine refuses a path whose end systemd would take for the line's: spaces there
// are dropped, and a backslash joins the next line.
func endsInLine(what, path string) error {
	if strings.HasSuffix(path, `\`) || strings.TrimSpace(path) != path {
		return fmt.Errorf("%s, %q, ends with a space or a backslash, which a unit of systemd cannot say", what, path)
	}
	return nil
}

// envText writes variables, NAME=value, as a file for EnvironmentFile=. In double
// quotes only these four mean something, and lines may end.
func envText(vars []string) string {
	escaper := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`")
	var b strings.Builder
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		b.WriteString(name + `="` + escaper.Replace(value) + "\"\n")
	}
	return b.String()
}
