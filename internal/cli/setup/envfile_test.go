package setup

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/core/config"
	"bareclaw/internal/testkit/check"
)

// edited makes a file with a text and opens it.
func edited(t *testing.T, text string) (*envFile, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), ".env")
	check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	f, err := openEnv(path)
	check.OK(t, err)
	return f, path
}

// TestHostileValues writes what people have in paths and tokens, and reads it back as
// the gateway does.
func TestHostileValues(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"", "plain", "with spaces", " spaces around ", "it's", `say "hi"`, `"quoted"`, `'quoted'`, `"x'`, "#comment", "a # b", "a#b",
		"$HOME", "${HOME}", "$(id)", `\$HOME`, `\`, `a\`, `it's\`, `\n`, "line\nline", "line\r\nline", "tab\t", "žluťoučký 🐎 \u202e", "=", "a=b:c",
		"export X=1", "${_}", `C:\Users\x`, "`id`", "%h", "&;|<>", `it's a "dir" $HOME #1 ž`,
	} {
		f, path := edited(t, "# mine\nOTHER='x'\n")
		if err := f.set("BARECLAW_CWD", value); err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		if _, err := f.save(); err != nil {
			t.Fatal(err)
		}
		vars, err := config.ReadDotEnv(path)
		if err != nil || vars["BARECLAW_CWD"] != value || vars["OTHER"] != "x" || len(vars) != 2 {
			t.Errorf("%q is read as %q (%v, %v)", value, vars["BARECLAW_CWD"], vars, err)
		}
	}
}

// TestValuesThatNoFileCanHold are refused, and nothing changes.
func TestValuesThatNoFileCanHold(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`'x"`, `'x\`, "it's\n\""} {
		f, _ := edited(t, "# mine\nOTHER='x'\n")
		if err := f.set("BARECLAW_CWD", value); err == nil || f.text != f.saved {
			t.Errorf("%q: %v, and the text is %q", value, err, f.text)
		}
	}
}

// FuzzSet holds of every text and value: either the value is read back and all else is
// as it was, or it is refused and nothing has changed.
func FuzzSet(f *testing.F) {
	f.Add("A=1\n", "x y")
	f.Add("A='1\n2' # c\nBARECLAW_PORT=\"a\\\"b\"\r\n#x", "'\"")
	f.Add("export BARECLAW_PORT = 3\n  B: 4", "$A")
	f.Add("#BARECLAW_PORT=3000\nX=${BARECLAW_PORT}", "\\")
	f.Add("\ufeffBARECLAW_PORT=1", "\n")
	f.Fuzz(func(t *testing.T, text, value string) {
		before, ok := config.ParseDotEnv([]byte(text))
		if !ok {
			return
		}
		file := &envFile{path: "x", text: text, vars: before}
		if err := file.set("BARECLAW_PORT", value); err != nil {
			if file.text != text {
				t.Errorf("refused, but the text is %q", file.text)
			}
			return
		}
		after, ok := config.ParseDotEnv([]byte(file.text))
		if !ok || after["BARECLAW_PORT"] != value {
			t.Errorf("%q in %q is read as %q (%v):\n%s", value, text, after["BARECLAW_PORT"], ok, file.text)
		}
		if !strings.Contains(text, "$") { // nothing refers to it
			delete(before, "BARECLAW_PORT")
			delete(after, "BARECLAW_PORT")
			if !maps.Equal(before, after) {
				t.Errorf("others were %v and are %v", before, after)
			}
		}
	})
}

// TestAllElseStays shows where a setting goes.
func TestAllElseStays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, after string }{
		{"", "BARECLAW_PORT=4000\n"},
		{"# mine", "# mine\nBARECLAW_PORT=4000\n"},
		{"A=1\nBARECLAW_PORT=3000 # why\nB=2\n", "A=1\nBARECLAW_PORT=4000 # why\nB=2\n"},
		{"A=1\r\nBARECLAW_PORT='3000' # why\r\nB=2\r\n", "A=1\r\nBARECLAW_PORT=4000 # why\r\nB=2\r\n"},
		{"export BARECLAW_PORT=1\nBARECLAW_PORT=2\n", "export BARECLAW_PORT=1\nBARECLAW_PORT=4000\n"},
		{"# TCP port\n#BARECLAW_PORT=3000\n\n# next\n", "# TCP port\n#BARECLAW_PORT=3000\nBARECLAW_PORT=4000\n\n# next\n"},
		{"A='\nBARECLAW_PORT=1\n'\n", "A='\nBARECLAW_PORT=1\n'\nBARECLAW_PORT=4000\n"},
		{"BARECLAW_PORT=4_000\nBARECLAW_PORT=4000", "BARECLAW_PORT=4_000\nBARECLAW_PORT=4000"},
	} {
		f, path := edited(t, c.before)
		if err := f.set("BARECLAW_PORT", "4000"); err != nil {
			t.Fatalf("%q: %v", c.before, err)
		}
		changed, err := f.save()
		check.OK(t, err)
		b, err := os.ReadFile(path)
		if err != nil || string(b) != c.after {
			t.Errorf("%q became %q, want %q (%v)", c.before, b, c.after, err)
		}
		if changed != (c.before != c.after) {
			t.Errorf("%q: changed is %v", c.before, changed)
		}
		if _, err := f.save(); err != nil {
			t.Error(err)
		}
	}
}

// TestFileIsPrivateAndALinkStays holds for a .env that is kept elsewhere, and that
// others could read.
func TestFileIsPrivateAndALinkStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "dotfiles.env"), filepath.Join(dir, ".env")
	check.OK(t, os.WriteFile(target, []byte("A=1\n"), 0o644))
	check.OK(t, os.Symlink(target, link))
	f, err := openEnv(link)
	check.OK(t, err)
	if changed, err := f.save(); err != nil || !changed {
		t.Errorf("a file that others can read: changed %v, %v", changed, err)
	}
	info, err := os.Stat(target)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
	if to, err := os.Readlink(link); err != nil || to != target {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if changed, err := f.save(); err != nil || changed {
		t.Errorf("once more: changed %v, %v", changed, err)
	}
}

// TestFileThatCannotBeUnderstood is left alone.
func TestFileThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".env")
	check.OK(t, os.WriteFile(path, []byte("A=1\nTOKEN=\"hush\n"), 0o600))
	_, err := openEnv(path)
	if err == nil || !strings.Contains(err.Error(), ".env:2") || strings.Contains(err.Error(), "hush") {
		t.Errorf("the error is %v", err)
	}
}
