package config

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/joho/godotenv"
)

const exampleFile = "../../.env.example"

// TestExampleNamesEveryVariable holds .env.example to the struct, both ways:
// every variable once, commented out, in order, with its default and with
// words above it.
func TestExampleNamesEveryVariable(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	assignment := regexp.MustCompile(`^#?\s*([A-Z_]+)=(.*)$`)
	var got, want []string
	above := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if m := assignment.FindStringSubmatch(line); m != nil && strings.HasPrefix(m[1], prefix) {
			got = append(got, line)
			if !strings.HasPrefix(above, "# ") {
				t.Errorf("%s: nothing above it says what it does", m[1])
			}
		} else if line != "" && !strings.HasPrefix(line, "#") {
			t.Errorf("line %q is not commented out", line)
		}
		above = line
	}
	for _, v := range Variables() {
		want = append(want, "#"+v.Name+"="+v.Default)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("assignments in .env.example:\n%s\nwant, from the struct:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestExampleUncommentedIsTheDefault reads the file as a user would who takes
// every # away: nothing may change.
func TestExampleUncommentedIsTheDefault(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	vars, err := godotenv.Unmarshal(strings.ReplaceAll(string(data), "#"+prefix, prefix))
	if err != nil {
		t.Fatal(err)
	}
	var env environment
	fill(t, &env, vars)
	m := testMachine(t)
	var p problems
	if got, want := env.resolve(m, &p), (environment{}).resolve(m, &p); !reflect.DeepEqual(got, want) || p.err() != nil {
		t.Errorf("all of .env.example = %+v, %v\nwant the defaults %+v", got, p.err(), want)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, v := range Variables() {
		if !strings.HasPrefix(v.Name, prefix) || seen[v.Name] {
			t.Errorf("%+v: the name is used twice or is not one of ours", v)
		}
		seen[v.Name] = true
		if v.Help == "" || strings.Contains(v.Help, "\n") {
			t.Errorf("%s: help is not one line: %q", v.Name, v.Help)
		}
	}
}

// fill sets the fields of env by variable name.
func fill(t *testing.T, env *environment, vars map[string]string) {
	t.Helper()
	v := reflect.ValueOf(env).Elem()
	left := len(vars)
	for i := range v.NumField() {
		if value, ok := vars[v.Type().Field(i).Tag.Get("envconfig")]; ok {
			v.Field(i).SetString(value)
			left--
		}
	}
	if left != 0 {
		t.Fatalf("%d of the names in %v are no variables", left, vars)
	}
}

// testMachine is a machine whose home and working directory exist.
func testMachine(t *testing.T) machine {
	t.Helper()
	home := shortDir(t)
	return machine{home: home, configDir: home + "/.config/bareclaw", cwd: t.TempDir(), uid: os.Getuid()}
}
