package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"bareclaw/core/config"
	"bareclaw/internal/atomicfile"
)

// An envFile is a .env in memory. Its methods change single settings and keep everything
// else: other settings, comments, order and line ends. Before a change they check that
// core/config reads the same values.
type envFile struct {
	path  string // of the file itself, no link to it
	text  string
	saved string      // the text of the file
	mode  fs.FileMode // of the file; 0 where there is none
	vars  map[string]string
}

// openEnv reads a .env, which may be missing. A syntax error is a [*config.Problem].
func openEnv(path string) (*envFile, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays one
	}
	f := &envFile{path: path}
	vars, err := config.ReadDotEnv(path)
	if err != nil {
		return nil, err
	}
	f.vars = vars
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	f.text, f.saved, f.mode = string(b), string(b), info.Mode().Perm()
	return f, nil
}

// set sets a variable, unless the value is the same. An error means that a .env cannot
// hold the value, and that nothing has changed.
func (f *envFile) set(name, value string) error {
	if old, ok := f.vars[name]; ok && old == value {
		return nil
	}
	want := maps.Collect(maps.All(f.vars)) // also where there is none
	want[name] = value
	same := func(a, b string) bool { return a == b || strings.Contains(f.text, "$") } // a reference to the variable may change others
	for _, quoted := range quotings(value) {
		for _, text := range candidates(f.text, name, name+"="+quoted) {
			vars, ok := config.ParseDotEnv([]byte(text))
			if ok && vars[name] == value && maps.EqualFunc(want, vars, same) {
				f.text, f.vars = text, vars
				return nil
			}
		}
	}
	return fmt.Errorf("%s cannot be set to this value in %s without changing what is beside it", name, f.path)
}

// candidates returns texts that may set a variable by a line, the best first: in the place of
// the last statement that may set the variable, below a comment that shows the variable, as
// in .env.example, or at the end. What looks like a statement or a comment may be a part of
// another value, so the caller tries the texts.
func candidates(text, name, line string) (texts []string) {
	const begin, value = `(?m)^[ \t\x{feff}]*(?:export[ \t]+)?(`, `[ \t]*[=:][ \t]*(?:'(?:[^'\\]|\\(?s:.))*'|"(?:[^"\\]|\\(?s:.))*"|[^\r\n]*))`
	for _, end := range []string{`[ \t]+#[^\r\n]*\r?$`, `[ \t]*\r?$`} { // a comment stays
		statement := regexp.MustCompile(begin + name + value + end)
		for _, at := range slices.Backward(statement.FindAllStringSubmatchIndex(text, -1)) {
			texts = append(texts, text[:at[2]]+line+text[at[3]:])
		}
	}
	if at := regexp.MustCompile(`(?m)^# *` + name + `=.*\n`).FindStringIndex(text); at != nil {
		texts = append(texts, text[:at[1]]+line+"\n"+text[at[1]:])
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return append(texts, text+line+"\n")
}

// save writes the file atomically, readable by the user alone, and reports whether
// anything changed.
func (f *envFile) save() (changed bool, err error) {
	const private = 0o600
	if f.text == f.saved && (f.mode == 0 || f.mode == private) {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return false, fmt.Errorf("make the directory of the settings: %w", err)
	}
	if err := atomicfile.Write(f.path, []byte(f.text), private); err != nil {
		return false, fmt.Errorf("write the settings: %w", err)
	}
	f.saved, f.mode = f.text, private
	return true, nil
}

// plain are the characters without a special meaning in a .env, a shell and systemd.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,~"

// quotings returns the ways to write a value, beginning with those that a shell reads alike.
// None of them fits all values.
func quotings(value string) []string {
	bare := strings.ReplaceAll(value, "$", `\$`)
	if value != "" && strings.Trim(value, plain) == "" {
		return []string{bare}
	}
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "\n", `\n`, "\r", `\r`).Replace(value)
	return []string{"'" + value + "'", `"` + escaped + `"`, bare}
}
