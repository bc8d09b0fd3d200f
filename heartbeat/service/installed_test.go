package service

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
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

// TestAddPlist reads back with which settings a job of launchd was installed.
func TestAddPlist(t *testing.T) {
	t.Parallel()
	files, err := Files(Launchd, Gateway, Spec{Binary: "/bin/b", Dir: "/a b", Path: "/bin", StateDir: "/state", Settings: []string{"BARECLAW_STATE_DIR=/st & te"}}, Dirs{Home: "/home"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "plist")
	if err := os.WriteFile(path, []byte(files[0].Text), 0o600); err != nil {
		t.Fatal(err)
	}
	var s, none Status
	s.addPlist(path)
	if s.Dir != "/a b" || !slices.Contains(s.Environ, "BARECLAW_STATE_DIR=/st & te") {
		t.Errorf("got %q, %q", s.Dir, s.Environ)
	}
	if none.addPlist(path + ".not"); none.Dir != "" || none.Environ != nil {
		t.Errorf("where there is no plist: %+v", none)
	}
}
