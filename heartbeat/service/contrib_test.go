package service

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bareclaw/core/config"
	"bareclaw/internal/testkit/check"
)

const contribDir = "../../contrib"

// TestReadyMadeFiles compares those of contrib with what is installed.
func TestReadyMadeFiles(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		system         System
		dir, home, say string
	}{{Systemd, "systemd/user", "/home/you", "%h"}, {Launchd, "launchd", "/Users/you", "/Users/you"}} {
		spec := Spec{
			Binary: of.home + "/.local/bin/bareclaw", Dir: of.home, Path: of.home + "/.local/bin:/usr/local/bin:/usr/bin:/bin",
			Claude: of.home + "/.local/bin/claude", StateDir: of.home + "/.local/state/bareclaw", Interval: time.Hour,
		}
		for _, job := range []Job{Gateway, Heartbeat} {
			files, err := Files(of.system, job, spec, Dirs{Home: of.home, Config: of.home + "/.config"})
			check.OK(t, err)
			for _, f := range files {
				text := f.Text
				if filepath.Ext(f.Path) != ".env" { // where no specifier is read
					text = strings.ReplaceAll(text, of.home, of.say)
				}
				path := filepath.Join(contribDir, of.dir, filepath.Base(f.Path))
				if *update {
					check.OK(t, os.WriteFile(path, []byte(text), 0o644))
				}
				if have, err := os.ReadFile(path); err != nil || string(have) != text {
					t.Errorf("%s is not what is installed (go test -update writes it): %v", path, err)
				}
			}
		}
	}
}

// TestSystemUnit has systemd judge the unit for a whole system.
func TestSystemUnit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(contribDir, "systemd/system/bareclaw.service")
	text, err := os.ReadFile(path)
	check.OK(t, err)
	stated := regexp.MustCompile(`systemd 252: (\d+\.\d+), OK`).FindSubmatch(text)
	if stated == nil {
		t.Fatal("it does not state its exposure")
	}
	spec, dirs := ordinary()
	files, err := Files(Systemd, Gateway, spec, dirs)
	check.OK(t, err)
	for line := range strings.Lines(files[0].Text) { // what keeps the gateway running is the same everywhere
		name, _, _ := strings.Cut(line, "=")
		if !slices.Contains([]string{"ExecStart", "WorkingDirectory", "EnvironmentFile", "WantedBy"}, name) && line[0] != '#' && !strings.Contains(string(text), line) {
			t.Errorf("it has not the line %q", line)
		}
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("NOT TESTED: the exposure of the unit for a whole system:", err)
	}
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", path).CombinedOutput()
	overall := regexp.MustCompile(`Overall exposure level for bareclaw.service: (\d+\.\d+)`).FindSubmatch(out)
	if err != nil || overall == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	is, _ := strconv.ParseFloat(string(overall[1]), 64)
	says, _ := strconv.ParseFloat(string(stated[1]), 64)
	if is > says+0.3 { // other versions count a little differently
		t.Errorf("its exposure is %.1f and it states %.1f", is, says)
	}
}

// TestContainerfile reads the container's recipe, which no container is built from
// here: that paths and settings in it fit together.
func TestContainerfile(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(contribDir, "Containerfile"))
	check.OK(t, err)
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(string(b), "")
	instructions := map[string][]string{}
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			continue
		}
		if !slices.Contains([]string{"FROM", "WORKDIR", "COPY", "RUN", "USER", "ENV", "VOLUME", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT", "CMD"}, name) {
			t.Errorf("there is no instruction %q", name)
		}
		instructions[name] = append(instructions[name], rest)
	}
	var known []string
	for _, v := range config.Variables() {
		known = append(known, v.Name)
	}
	env := map[string]string{}
	for assignment := range strings.FieldsSeq(strings.Join(instructions["ENV"], " ")) {
		name, value, ok := strings.Cut(assignment, "=")
		if !ok || !slices.Contains(known, name) {
			t.Errorf("%q sets no variable of the gateway", assignment)
		}
		env[name] = value
	}
	var entry, command, volume []string
	for _, row := range []struct {
		name string
		into *[]string
	}{{"ENTRYPOINT", &entry}, {"CMD", &command}, {"VOLUME", &volume}} {
		if len(instructions[row.name]) != 1 || json.Unmarshal([]byte(instructions[row.name][0]), row.into) != nil || len(*row.into) != 1 {
			t.Errorf("%s %q is not a list of one", row.name, instructions[row.name])
		}
	}
	mod, err := os.ReadFile("../../go.mod")
	check.OK(t, err)
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	home := strings.Join(volume, "")
	for what, ok := range map[string]bool{
		"the Go of go.mod":                   instructions["FROM"][0] == "golang:"+string(goVersion[1])+" AS build",
		"what is built is copied":            strings.HasSuffix(instructions["RUN"][0], " -o /out/bareclaw .") && instructions["COPY"][1] == "--from=build /out/bareclaw "+strings.Join(entry, ""),
		"it serves":                          slices.Equal(command, []string{"serve"}),
		"not as root":                        slices.Equal(instructions["USER"], []string{"bareclaw"}) && strings.Contains(instructions["RUN"][1], "useradd --create-home --uid 10001 bareclaw"),
		"it works in the volume":             instructions["WORKDIR"][1] == home && home == "/home/bareclaw",
		"the socket is where health asks":    strings.Contains(instructions["HEALTHCHECK"][0], env["BARECLAW_RUNTIME_DIR"]+"/api.sock ") && strings.HasPrefix(env["BARECLAW_RUNTIME_DIR"], home+"/"),
		"the port is exposed":                instructions["EXPOSE"][0] == env["BARECLAW_PORT"],
		"the signal that leaves work behind": instructions["STOPSIGNAL"][0] == "SIGTERM",
	} {
		if !ok {
			t.Errorf("not so: %s", what)
		}
	}
}
