package service

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// program makes a file that can be started.
func program(t *testing.T, path string) string {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755)
	}
	check.OK(t, err)
	return path
}

func TestNewSpec(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	claude := program(t, filepath.Join(dir, "bin", "claude"))
	binary := program(t, filepath.Join(dir, "bareclaw"))
	gone := filepath.Join(dir, "gone")
	request := Request{
		Binary: binary, Chosen: true, Dir: dir, Claude: "claude", StateDir: filepath.Join(dir, "state"),
		Environ: []string{
			"PATH=" + strings.Join([]string{"relative", gone, dir + "/bin/", "", "/usr/bin", dir + "/bin"}, ":"),
			"BARECLAW_PORT=1", "BARECLAW_PORT=4000", "BARECLAW_SOCKET=/x", "BARECLAW_SESSION=y", "BARECLAW_TEST_SYSTEMD=z", "BARECLAW_MODEL=",
			"HOME=/x", "XDG_RUNTIME_DIR=/run/user/1", "XDG_STATE_HOME=/s", "CLAUDE_CONFIG_DIR=/c", "ANTHROPIC_API_KEY=k", "https_proxy=http://proxy:1",
		},
	}
	s, err := NewSpec(request)
	check.OK(t, err)
	if s.Path != dir+"/bin:/usr/bin" || s.Claude != claude || s.Binary != binary || s.Dir != dir {
		t.Errorf("got %+v", s)
	}
	if want := []string{"BARECLAW_PORT=4000", "CLAUDE_CONFIG_DIR=/c", "XDG_STATE_HOME=/s", "https_proxy=http://proxy:1"}; !slices.Equal(s.Settings, want) {
		t.Errorf("settings are %q, want %q", s.Settings, want)
	}

	// What a job was given makes the same job again: the gateway itself installs the
	// heartbeat.
	var files []File
	files, err = Files(Systemd, Gateway, s, Dirs{Home: dir, Config: dir})
	check.OK(t, err)
	again := request
	again.Environ = s.variables()
	again.Claude = s.Claude
	s, err = NewSpec(again)
	check.OK(t, err)
	if same, err := Files(Systemd, Gateway, s, Dirs{Home: dir, Config: dir}); err != nil || !slices.Equal(same, files) {
		t.Errorf("from within it is %v, was %v (%v)", same, files, err)
	}

	request.Claude, request.Dir, request.Binary = "no-claude", gone, gone
	_, err = NewSpec(request)
	if !errors.Is(err, ErrNoClaude) {
		t.Errorf("without claude: %v", err)
	}
	for _, want := range []string{"no-claude", "--agent echo", gone + " is not a directory", "there is no file " + gone} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	request.Dir, request.Binary, request.Echo = dir, binary, true
	if s, err = NewSpec(request); err != nil || s.Claude != "" || !slices.Contains(s.variables(), "BARECLAW_AGENT=echo") {
		t.Errorf("with the echo agent: %+v, %v", s, err)
	}
}

func TestLasting(t *testing.T) {
	t.Parallel()
	self, err := os.Executable() // which go test has built
	check.OK(t, err)
	home := t.TempDir() // where files stay, for this test
	temp := filepath.Join(home, "tmp")
	for path, why := range map[string]string{
		program(t, filepath.Join(home, "bin/bareclaw")):                       "",
		program(t, filepath.Join(home, "state/bin/bareclaw")):                 "",
		program(t, filepath.Join(home, ".cache/go-build/ab/cdef-d/bareclaw")): "go run",
		program(t, filepath.Join(home, "go-build123/b001/exe/bareclaw")):      "go run",
		program(t, filepath.Join(temp, "a/bareclaw")):                         "where files do not stay",
		self: "",
		filepath.Join(home, "bareclaw (deleted)"): "there is no file",
		home: "not a program",
	} {
		err := lastingOutside([]string{temp}, path)
		if path == self {
			if err == nil {
				t.Errorf("%s, of go test, is said to stay", path)
			}
			continue
		}
		if (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", path, err, why)
		}
	}
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if !slices.Contains(temporary(), dir) {
			t.Errorf("%s is not said to be for temporary files", dir)
		}
	}
	if err := Lasting(program(t, filepath.Join(t.TempDir(), "bareclaw"))); err == nil || !strings.Contains(err.Error(), "where files do not stay") {
		t.Errorf("a program in a temporary directory: %v", err)
	}
}
