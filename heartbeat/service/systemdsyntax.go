package service

import (
	"fmt"
	"strings"
)

// Each systemd setting has separate syntax rules: systemd.syntax(7), systemd.service(5),
// systemd.exec(5), and, for undocumented cases, the behavior of systemd 252. Every
// setting expands specifiers, sequences that begin with %.

// specifiers escapes every % in s, so that systemd expands no specifier.
func specifiers(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// execPath formats the program path of ExecStart=. systemd unquotes the path like any
// word but expands no variables, and refuses quotes and backslashes in the path even
// when escaped.
func execPath(path string) (string, error) {
	if i := strings.IndexAny(path, `"'\`); i >= 0 {
		return "", fmt.Errorf("systemd starts no program whose path has quotes or backslashes, as %s has: put bareclaw somewhere else", path)
	}
	if strings.ContainsFunc(path, func(r rune) bool { return !plain(r) }) {
		return `"` + specifiers(path) + `"`, nil
	}
	return path, nil
}

// plain reports whether r has no special meaning to systemd in a word.
func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@:,", r)
}

// directoryPath formats the value of WorkingDirectory=. systemd takes the rest of the
// line literally, without unquoting.
func directoryPath(path string) (string, error) {
	if err := endsInLine("the working directory", path); err != nil {
		return "", err
	}
	return specifiers(path), nil
}

// envFilePath formats the value of EnvironmentFile=, a shell glob pattern.
func envFilePath(path string) (string, error) {
	if err := endsInLine("the file of settings", path); err != nil {
		return "", err
	}
	return specifiers(escapeGlob(path)), nil
}

// escapeGlob returns a glob pattern that matches only path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(path)
}

// endsInLine returns an error for a path whose end systemd would misread: systemd drops
// trailing spaces, and joins the next line after a backslash.
func endsInLine(what, path string) error {
	if strings.HasSuffix(path, `\`) || strings.TrimSpace(path) != path {
		return fmt.Errorf("%s, %q, ends with a space or a backslash, which a unit of systemd cannot say", what, path)
	}
	return nil
}

// envText formats variables, NAME=value, as a file for EnvironmentFile=. In double
// quotes only the four escaped characters are special, and a value may span lines.
func envText(vars []string) string {
	escaper := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`")
	var b strings.Builder
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		b.WriteString(name + `="` + escaper.Replace(value) + "\"\n")
	}
	return b.String()
}
