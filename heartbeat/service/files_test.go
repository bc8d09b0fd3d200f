package service

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	units "github.com/coreos/go-systemd/v22/unit"
	"howett.net/plist"

	"bareclaw/internal/testkit/check"
)

var update = flag.Bool("update", false, "write the golden files")

// ordinary is what most people have.
func ordinary() (Spec, Dirs) {
	return Spec{
			Binary: "/home/ann/.local/bin/bareclaw", Dir: "/home/ann/bareclaw", Path: "/home/ann/.local/bin:/usr/local/bin:/usr/bin:/bin",
			Claude: "/home/ann/.local/bin/claude", StateDir: "/home/ann/.local/state/bareclaw", Interval: time.Hour,
		},
		Dirs{Home: "/home/ann", Config: "/home/ann/.config", Data: "/home/ann/.local/share"}
}

// awkward has in it all that means something to systemd or to XML.
func awkward() (Spec, Dirs) {
	home := "/home/a b  %h $HOME ${PATH} & é <z>[z]* ; #x"
	return Spec{
			Binary: home + "/bareclaw $$ %%", Dir: home + `/it's "here" \x20 100% $PWD; -`, Path: "/usr/bin:" + home + "/bin",
			Claude: home + `/cl"au'de\`, StateDir: home + "/state", Interval: 90*time.Minute + time.Second, Listen: "127.0.0.1:3000",
			Settings: []string{`BARECLAW_HEARTBEAT_MESSAGE=look at "$HOME" & <tell> 'me' \n ` + "`now`\nand then", "BARECLAW_HTTP_TOKEN=100%$x#;"},
		},
		Dirs{Home: home, Config: home + "/.config", Data: home + "/.local/share"}
}

// TestFilesAreAsTheyWere compares the files of all jobs with those in testdata.
func TestFilesAreAsTheyWere(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func() (Spec, Dirs){"ordinary": ordinary, "awkward": awkward} {
		for _, system := range []System{Systemd, Launchd} {
			t.Run(name+" "+string(system), func(t *testing.T) {
				t.Parallel()
				spec, dirs := of()
				if system == Launchd {
					spec.Listen = ""
				}
				var all strings.Builder
				for _, job := range []Job{Gateway, Heartbeat} {
					files, err := Files(system, job, spec, dirs)
					check.OK(t, err)
					for _, f := range files {
						fmt.Fprintf(&all, "==> %s (%#o) <==\n%s\n", f.Path, f.Mode, f.Text)
					}
				}
				golden := filepath.Join("testdata", name+"."+string(system))
				if *update {
					check.OK(t, os.WriteFile(golden, []byte(all.String()), 0o644))
				}
				want, err := os.ReadFile(golden)
				check.OK(t, err)
				if all.String() != string(want) {
					t.Errorf("not what %s says (go test -update writes it):\n%s", golden, all.String())
				}
			})
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change  func(*Spec)
		systems []System // that refuse it
		why     string
	}{
		"line end":             {func(s *Spec) { s.Dir += "\n[Service]" }, both, "line end"},
		"control character":    {func(s *Spec) { s.Binary = "/bin/\x1b[2J" }, both, "cannot be shown"},
		"not UTF-8":            {func(s *Spec) { s.Dir = "/home/\xff" }, both, "UTF-8"},
		"relative":             {func(s *Spec) { s.Binary = "bareclaw" }, both, "absolute"},
		"no state directory":   {func(s *Spec) { s.StateDir = "" }, both, "absolute"},
		"value not UTF-8":      {func(s *Spec) { s.Settings = []string{"A=\xff"} }, both, "value of A is not UTF-8"},
		"value with an escape": {func(s *Spec) { s.Settings = []string{"A=\x1b"} }, both, "control characters"},
		"not a variable":       {func(s *Spec) { s.Settings = []string{"A B=c"} }, both, "not the name"},
		"no value":             {func(s *Spec) { s.Settings = []string{"A"} }, both, "not the name"},
		"quote in the program": {func(s *Spec) { s.Binary = `/home/o'neil/bareclaw` }, []System{Systemd}, "quotes or backslashes"},
		"quote elsewhere":      {func(s *Spec) { s.Dir = `/home/o'neil` }, nil, ""},
		"space at the end":     {func(s *Spec) { s.Dir = "/home/ann " }, []System{Systemd}, "ends with a space"},
		"backslash at the end": {func(s *Spec) { s.Dir = `/home/ann\` }, []System{Systemd}, "ends with a space or a backslash"},
		"address with a line":  {func(s *Spec) { s.Listen = "[::1]:3000\nAccept=yes" }, both, "listen"},
		"address for launchd":  {func(s *Spec) { s.Listen = "[::1]:3000" }, []System{Launchd}, "listen"},
	} {
		for _, system := range both {
			spec, dirs := ordinary()
			row.change(&spec)
			_, err := Files(system, Gateway, spec, dirs)
			refuses := false
			for _, s := range row.systems {
				refuses = refuses || s == system
			}
			if (err != nil) != refuses || err != nil && !strings.Contains(err.Error(), row.why) {
				t.Errorf("%s, %s: %v; want one that says %q: %v", name, system, err, row.why, refuses)
			}
		}
	}
	spec, dirs := ordinary()
	spec.Interval = 0
	if _, err := Files(Systemd, Heartbeat, spec, dirs); err == nil {
		t.Error("a heartbeat without an interval is accepted")
	}
}

var both = []System{Systemd, Launchd}

// FuzzFiles holds that what is accepted is read as it was meant, by readers of our own
// that follow the documents of systemd; that systemd follows them is tested with it.
func FuzzFiles(f *testing.F) {
	for _, of := range []func() (Spec, Dirs){ordinary, awkward} {
		spec, _ := of()
		f.Add(spec.Binary, spec.Dir, spec.Claude, "a value")
		f.Add(spec.Binary+`\"'`, spec.Dir+" ", "", strings.Join(spec.Settings, "\n"))
	}
	f.Add("/a\u2028b", "/\ufeff", "/c\x00", "\r\n")
	f.Fuzz(func(t *testing.T, binary, dir, claude, value string) {
		spec, dirs := ordinary()
		spec.Binary, spec.Dir, spec.Claude, spec.Settings = binary, dir, claude, []string{"A=" + value, "LAST=1"}
		dirs.Config = dir + "/c" // where the file of settings is
		if files, err := Files(Launchd, Gateway, spec, dirs); err == nil {
			var p agentPlist
			if _, err := plist.Unmarshal([]byte(files[0].Text), &p); err != nil {
				t.Fatalf("%v\n%s", err, files[0].Text)
			}
			vars := readQuoted(t, files[1].Text)
			if p.ProgramArguments[0] != binary || len(p.ProgramArguments) != 2 || p.WorkingDirectory != dir || p.EnvironmentVariables[envVariable] != files[1].Path || vars["A"] != value {
				t.Errorf("launchd reads %+v", p)
			}
		}
		files, err := Files(Systemd, Gateway, spec, dirs)
		if err != nil {
			return
		}
		options, err := units.DeserializeOptions(strings.NewReader(files[0].Text))
		if err != nil {
			t.Fatalf("%v\n%s", err, files[0].Text)
		}
		if n := strings.Count(files[0].Text, "\n"); n != 22 {
			t.Errorf("the unit has %d lines:\n%s", n, files[0].Text)
		}
		for _, o := range options {
			switch o.Name {
			case "ExecStart":
				program := strings.TrimSuffix(o.Value, " serve")
				if quoted := strings.Trim(program, `"`); quoted != program {
					program = strings.ReplaceAll(quoted, "%%", "%")
				}
				if program != binary {
					t.Errorf("systemd starts %q, not %q", program, binary)
				}
			case "WorkingDirectory":
				if got := strings.ReplaceAll(o.Value, "%%", "%"); got != dir {
					t.Errorf("it is started in %q, not %q", got, dir)
				}
			case "EnvironmentFile":
				if matches, err := filepath.Match(strings.ReplaceAll(o.Value, "%%", "%"), files[1].Path); !matches || err != nil {
					t.Errorf("%q does not match %q (%v)", o.Value, files[1].Path, err)
				}
			}
		}
		vars := readQuoted(t, files[1].Text)
		if vars["A"] != value || claude != "" && vars["BARECLAW_CLAUDE"] != claude || vars["LAST"] != "1" || !utf8.ValidString(files[1].Text) {
			t.Errorf("the settings are %q", vars)
		}
	})
}

// readQuoted reads a file of settings as systemd.exec(5) says of EnvironmentFile=.
func readQuoted(t *testing.T, text string) map[string]string {
	vars := map[string]string{}
	_, rest, _ := strings.Cut(text, "\n")
	for rest != "" {
		name, value, ok := strings.Cut(rest, `="`)
		if !ok {
			t.Fatalf("no variable at %q", rest)
		}
		var b strings.Builder
		i := 0
		for ; value[i] != '"'; i++ {
			if value[i] == '\\' && strings.IndexByte("\"\\$`", value[i+1]) >= 0 {
				i++
			}
			b.WriteByte(value[i])
		}
		vars[name] = b.String()
		rest = strings.TrimPrefix(value[i+1:], "\n")
	}
	return vars
}

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
	s.addPlist(readPlist(files[0].Path))
	if s.Dir != "/a b" || !slices.Contains(s.Environ, "BARECLAW_STATE_DIR=/st & te") {
		t.Errorf("got %q, %q", s.Dir, s.Environ)
	}
	if none.addPlist(readPlist(files[0].Path + ".not")); none.Dir != "" || none.Environ != nil {
		t.Errorf("where there is no plist: %+v", none)
	}
	old := File{Path: files[0].Path + ".old", Mode: 0o600, Text: strings.Replace(files[0].Text, envVariable, "BARECLAW_STATE_DIR", 1)} // as of an older version
	if _, _, err := place([]File{old}); err != nil {
		t.Fatal(err)
	}
	if none.addPlist(readPlist(old.Path)); !slices.Contains(none.Environ, "BARECLAW_STATE_DIR="+files[1].Path) {
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

// TestOutdatedPlist compares plists with what a caller with other directories would install. A
// plist without logs tells no state directory: then only the plist is outdated.
func TestOutdatedPlist(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dirs := Dirs{Home: dir, Config: dir}
	spec := Spec{Binary: "/bin/b", Dir: "/work", Path: "/bin", StateDir: "/state"}
	files, err := Files(Launchd, Gateway, spec, dirs)
	check.OK(t, err)
	outdated := func(text string) string {
		t.Helper()
		files[0].Text = text
		_, _, err := place(files)
		check.OK(t, err)
		caller := spec
		caller.Dir, caller.StateDir = "/elsewhere", "/other"
		return dirs.outdated(Launchd, Gateway, readPlist(files[0].Path).asInstalled(caller))
	}
	plist := files[0].Text
	if got := outdated(plist); got != "" {
		t.Errorf("what was just installed is outdated: %s", got)
	}
	silent := regexp.MustCompile(`(?s)\s*<key>Standard(Error|Out)Path</key>\s*<string>[^<]*</string>`).ReplaceAllString(plist, "")
	if got := outdated(silent); silent == plist || got != files[0].Path {
		t.Errorf("a plist without logs: %q is outdated", got)
	}
}

// TestUnansweredSaysWhatToDo: in words, and on request what was tried.
func TestUnansweredSaysWhatToDo(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		uid    int
		booted bool
		says   []string
	}{
		"no systemd": {1000, false, []string{"systemd is not running here", "`bareclaw serve`"}},
		"root":       {0, true, []string{"root has no systemd of its own", "contrib/systemd/system/bareclaw.service", "`bareclaw serve`"}},
		"su":         {1000, true, []string{"su or sudo", "enable-linger", "XDG_RUNTIME_DIR=/run/user/1000"}},
	}
	direct, overBus := errors.New("dial unix /a: gone"), errors.New("dial unix /b: gone")
	for name, row := range rows {
		err := unanswered(row.uid, row.booted, direct, overBus)
		words := err.Error()
		if tried := Tried(fmt.Errorf("ask: %w", err)); !slices.Equal(tried, []error{direct, overBus}) || strings.Contains(words, "dial") || !errors.Is(err, direct) {
			t.Errorf("%s: %q, tried %v", name, err, tried)
		}
		for _, want := range row.says {
			if !strings.Contains(words, want) {
				t.Errorf("%s: there is no %q in %q", name, want, words)
			}
		}
	}
}
