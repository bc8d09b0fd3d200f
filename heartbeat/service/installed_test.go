package service

import (
	"os"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestEnvOf reads what is written for EnvironmentFile= back, and what people write.
func TestEnvOf(t *testing.T) {
	t.Parallel()
	want := []string{"A=", "B=one\ntwo\\\nC=\"no\"\n", `C=\`, "D=`$x` \\n é", `E="`}
	if got := envOf("# a comment with A=\"b\"\n\n" + envText(want)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for text, want := range map[string][]string{
		"": nil, "rubbish\nA=b c \n;x\nB=": {"A=b c", "B="}, `A="not ended`: {"A=not ended"}, `A="not ended\`: {`A=not ended\`},
	} {
		if got := envOf(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestAddPlist reads back with which settings a job of launchd was installed, as the job
// itself does when the job starts. The test is not parallel: it changes the environment.
func TestAddPlist(t *testing.T) {
	dir := t.TempDir()
	files, err := Files(Launchd, Gateway, Spec{Binary: "/bin/b", Dir: "/a b", Path: "/bin", StateDir: "/state", Settings: []string{"BARECLAW_STATE_DIR=/st & te"}}, Dirs{Home: dir, Config: dir})
	check.OK(t, err)
	if _, _, err := place(files); err != nil {
		t.Fatal(err)
	}
	var s, none Status
	s.addPlist(files[0].Path)
	if s.Dir != "/a b" || !slices.Contains(s.Environ, "BARECLAW_STATE_DIR=/st & te") {
		t.Errorf("got %q, %q", s.Dir, s.Environ)
	}
	if none.addPlist(files[0].Path + ".not"); none.Dir != "" || none.Environ != nil {
		t.Errorf("where there is no plist: %+v", none)
	}
	old := File{Path: files[0].Path + ".old", Mode: 0o600, Text: strings.Replace(files[0].Text, envVariable, "BARECLAW_STATE_DIR", 1)} // as of an older version
	if _, _, err := place([]File{old}); err != nil {
		t.Fatal(err)
	}
	if none.addPlist(old.Path); !slices.Contains(none.Environ, "BARECLAW_STATE_DIR="+files[1].Path) {
		t.Errorf("of a plist with settings: %q", none.Environ)
	}
	t.Setenv("PATH", "/usr/bin") // which launchd gives, and the job replaces
	t.Setenv("BARECLAW_STATE_DIR", "")
	t.Setenv("BARECLAW_AGENT", "")
	t.Setenv(envVariable, files[1].Path)
	err = LoadEnv()
	if _, told := os.LookupEnv(envVariable); err != nil || told || os.Getenv("PATH") != "/bin" || os.Getenv("BARECLAW_STATE_DIR") != "/st & te" {
		t.Errorf("the job has %q: %v", os.Environ(), err)
	}
	t.Setenv(envVariable, files[1].Path+".not")
	if err := LoadEnv(); err == nil {
		t.Error("a job starts without its settings")
	}
}
