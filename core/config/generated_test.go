package config

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"

	"github.com/joho/godotenv"
)

// update writes the generated documents: go generate ./core/config
var update = flag.Bool("update", false, "write .env.example and the table in docs/settings.md")

const exampleFile, tableFile = "../../.env.example", "../../docs/settings.md"

const exampleHead = `# BAREclaw's settings. Every line is optional: without any of them the gateway
# listens on localhost and runs claude in your home directory.
#
# Copy this file to $XDG_CONFIG_HOME/bareclaw/.env (~/.config/bareclaw/.env), which
# every command reads, or to .env in the directory the gateway is started in, and
# remove the # before each line you change. Both files are read; the values of the
# one in the directory win, and a variable that is already in the environment wins
# over both. Other variables may stand in the file in ~/.config only: claude and its
# tools see them. Commands read the one in a directory where a gateway was started
# or set up before, and never send a token to an address that the other file sets.
# A file that belongs to another user, or that every user can write, is refused: it
# decides what is run.
#
# NAME=value, NAME="value" and NAME='value' all work. Put a value that contains
# a $ or a # in single quotes. An empty value means the default.
# Durations are written as 90s, 10m or 1h30m.
`

// comments returns the comment of each setting, by its variable: the first paragraph, and the
// others. The name of the field and the verb at the beginning are cut off.
func comments(t *testing.T) map[string][2]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	check.OK(t, err)
	all := map[string][2]string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		check.OK(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok && f.Tag != nil {
				tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
				all[tag.Get("envconfig")] = comment(t, f)
			}
			return true
		})
	}
	return all
}

func comment(t *testing.T, f *ast.Field) [2]string {
	t.Helper()
	first, rest, _ := strings.Cut(f.Doc.Text(), "\n\n")
	words := strings.Fields(first)
	name := f.Names[0].Name
	if len(words) < 3 || words[0] != name || words[1] != "is" && words[1] != "are" {
		t.Fatalf("%s: the comment does not begin with %q", name, name+" is")
	}
	first = strings.Join(words[2:], " ")
	return [2]string{strings.ToUpper(first[:1]) + first[1:], strings.Join(strings.Fields(rest), " ")}
}

// example renders .env.example.
func example(t *testing.T) string {
	t.Helper()
	b := strings.Builder{}
	b.WriteString(exampleHead)
	texts := comments(t)
	for _, s := range settings() {
		if s.section != "" {
			b.WriteString("\n\n# --- " + s.section + " " + strings.Repeat("-", 73-len(s.section)) + "\n")
		}
		text := texts[s.Name]
		b.WriteString("\n" + commented(text[0]+" "+text[1]))
		b.WriteString(commented("Accepted: " + s.decoder(new(Config)).Accepted() + "."))
		if unset := s.field.Tag.Get("unset"); unset != "" {
			b.WriteString(commented("Default: " + unset + "."))
		}
		b.WriteString("#" + s.Name + "=" + s.Default + "\n")
	}
	return b.String()
}

// commented wraps a text as comment lines.
func commented(text string) string {
	b, line := strings.Builder{}, "#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > 80 {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}

// table renders the table of docs/settings.md.
func table(t *testing.T) string {
	t.Helper()
	b := strings.Builder{}
	b.WriteString("| variable | default | effect |\n|---|---|---|\n")
	texts := comments(t)
	for _, s := range settings() {
		shown := s.field.Tag.Get("unset")
		if s.Default != "" {
			shown = "`" + s.Default + "`"
		}
		b.WriteString("| `" + s.Name + "` | " + shown + " | " + texts[s.Name][0] + " |\n")
	}
	return b.String()
}

// TestDocumentsAreGenerated holds .env.example and the documented table to the struct.
func TestDocumentsAreGenerated(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(tableFile)
	check.OK(t, err)
	head, rest, found := strings.Cut(string(page), "| variable | default |")
	if !found {
		t.Fatalf("%s has no table of settings", tableFile)
	}
	_, tail, _ := strings.Cut(rest+"\n\n", "|\n\n")
	for file, want := range map[string]string{exampleFile: example(t), tableFile: strings.TrimRight(head+table(t)+"\n"+tail, "\n") + "\n"} {
		if *update {
			check.OK(t, os.WriteFile(file, []byte(want), 0o644))
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s is not what the settings generate (%v): run go generate ./core/config", file, err)
		}
	}
}

// TestExampleUncommentedIsTheDefault reads the file as a user would who takes
// every # away: nothing may change.
func TestExampleUncommentedIsTheDefault(t *testing.T) {
	t.Parallel()
	uncomment := strings.NewReplacer("#"+prefix, prefix, "#"+idleVariable, idleVariable)
	vars, err := godotenv.Unmarshal(uncomment.Replace(example(t)))
	check.OK(t, err)
	m := testMachine(t)
	want, _ := resolve(nil, m)
	got, p := resolve(vars, m)
	got.given = want.given // what was given is what is told, not what counts
	if !reflect.DeepEqual(got, want) || p.err() != nil || len(vars) != len(settings()) {
		t.Errorf("all of .env.example = %+v, %v\nwant the defaults %+v", got, p.err(), want)
	}
}

// TestTags checks the tags, which the compiler does not.
func TestTags(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range settings() {
		if !IsSetting(s.Name) || seen[s.Name] {
			t.Errorf("%+v: the name is used twice or is not one of ours", s.Variable)
		}
		seen[s.Name] = true
		if !reflect.PointerTo(s.field.Type).Implements(reflect.TypeFor[decoder]()) {
			t.Fatalf("%s: a %s does not decode texts", s.Name, s.field.Type)
		}
		if (s.Default == "") == (s.field.Tag.Get("unset") == "") {
			t.Errorf("%s: give a default, or describe the value of the unset variable", s.Name)
		}
		if admits := Requirement(s.Name); admits != "" && !slices.ContainsFunc(settings(), func(s setting) bool { return s.Name == admits }) {
			t.Errorf("%s: there is no setting %s", s.Name, admits)
		}
	}
}

// testMachine is a machine whose home and working directory exist.
func testMachine(t *testing.T) machine {
	t.Helper()
	home := shortDir(t)
	return machine{home: home, configDir: home + "/.config/bareclaw", cwd: t.TempDir(), uid: os.Getuid()}
}
