package claude

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// Every transcript under testdata/fate was written by the CLI; its golden file
// lists the fate of every message of ours in it.
func TestRecordedFates(t *testing.T) {
	t.Parallel()
	ours := regexp.MustCompile(`aaaaaaaa-0000-4000-8000-[0-9a-f]{12}`)
	for _, path := range recordings(t, "testdata/fate/*.jsonl") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(path)
			check.OK(t, err)
			uuids := ours.FindAllString(string(b), -1)
			slices.Sort(uuids)
			var got strings.Builder
			for _, u := range slices.Compact(uuids) {
				f, err := ReadFate(path, core.TurnID(u))
				check.OK(t, err)
				fmt.Fprintf(&got, "%s begun=%v tool=%v answered=%v failed=%v code=%q interrupted=%v into=%q\n\ttext %.100q\n",
					tail(u), f.Begun, f.ToolBegun, f.Answered, f.Failed, f.Code, f.Interrupted, tail(string(f.Into)), f.Text)
				if f.Done != "" {
					fmt.Fprintf(&got, "\tdone %q\n", f.Done)
				}
			}
			checkGolden(t, path, got.String())
		})
	}
}

// line is a transcript entry with a parent, for the cases no CLI wrote.
func line(uuid, parent, rest string) string {
	return `{"uuid":"` + uuid + `","parentUuid":"` + parent + `",` + rest + "}\n"
}

const (
	userRest   = `"type":"user","message":{"role":"user","content":"hi"}`
	toolRest   = `"type":"assistant","message":{"stop_reason":"tool_use","content":[{"type":"tool_use","id":"t1","name":"Edit","input":{"old_string":"x","file_path":"/a"}}]}`
	answerRest = `"type":"assistant","message":{"stop_reason":"end_turn","content":[{"type":"text","text":"done"}]}`
)

func TestReadFateDamage(t *testing.T) {
	t.Parallel()
	answered := core.Fate{Begun: true, Answered: true, Text: "done"}
	edited := core.Fate{Begun: true, ToolBegun: true, Done: "Edit (/a), not finished"}
	for _, tc := range []struct {
		name, transcript string
		want             core.Fate
	}{
		{"empty", "", core.Fate{}},
		{"another message", line("x", "", userRest) + line("y", "x", answerRest), core.Fate{}},
		{"half a last line", line("u", "", userRest) + line("v", "u", toolRest) + line("w", "v", answerRest)[:90], edited},
		{"half a user line", line("u", "", userRest)[:60], core.Fate{}},
		{"an entry lost in the chain", line("u", "", userRest) + "{broken\n" + line("w", "lost", answerRest), answered},
		{"a loop", line("u", "w", userRest) + line("v", "v", toolRest) + line("w", "v", answerRest), core.Fate{Begun: true, ToolBegun: true, Answered: true, Text: "done", Done: edited.Done}},
		{"unknown lines", "[]\nnull\n{}\n" + line("u", "", userRest) + line("q", "u", `"type":"from_the_future"`) + line("w", "q", answerRest), answered},
		{"odd shapes", line("u", "", userRest) + line("v", "u", `"type":"assistant","message":7`) + line("w", "v", `"type":"user","message":{"content":{}},"isMeta":true`) +
			line("x", "w", `"type":"attachment","attachment":[]`) + line("y", "x", answerRest), answered},
		{"a sidechain", line("u", "", userRest) + line("v", "u", `"isSidechain":true,`+toolRest) + line("w", "v", `"isSidechain":true,`+answerRest), core.Fate{Begun: true}},
		{"a failed call", line("u", "", userRest) + line("v", "u", toolRest) +
			line("w", "v", `"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"no such file"}]}`),
			core.Fate{Begun: true, ToolBegun: true, Done: "Edit (/a), failed"}},
		{"the next turn's answer", line("u", "", userRest) + line("v", "u", toolRest) + line("n", "v", userRest) + line("w", "n", answerRest), edited},
	} {
		got, err := readFate(strings.NewReader(tc.transcript), "u")
		if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: got %+v, %v, want %+v", tc.name, got, err, tc.want)
		}
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 150)
	for in, want := range map[string]string{
		`{"description":"d","command":"ls"}`: "ls",
		`{"command":"","description":"d"}`:   "d",
		`{"x":1}`:                            "",
		`{"Command":"ls","command":"rm"}`:    "rm",
		`{"command":"ls","command":"rm"}`:    "rm",
		`7`:                                  "",
		`{"url":"` + long + `"}`:             strings.Repeat("é", 100),
	} {
		if got := ToolTarget([]byte(in)); got != want {
			t.Errorf("target(%.40s) = %q, want %q", in, got, want)
		}
	}
}

func TestFindTranscript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := FindTranscript(dir, someUUID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no projects: %v", err)
	}
	write := func(project string, age time.Duration) string {
		path := filepath.Join(dir, "projects", project, someUUID+".jsonl")
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check.OK(t, os.WriteFile(path, nil, 0o600))
		when := time.Now().Add(-age)
		check.OK(t, os.Chtimes(path, when, when))
		return path
	}
	write("-old", time.Hour)
	want := write("-new", time.Minute)
	write("-older", 2*time.Hour)
	if got, err := FindTranscript(dir, someUUID); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := FindTranscript(dir, "aaaaaaaa-0000-4000-8000-00000000000b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unknown session: %v", err)
	}
	for _, id := range []string{"", "..", "../../etc/passwd", "*", someUUID + "/x"} {
		if got, err := FindTranscript(dir, id); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %q, %v", id, got, err)
		}
	}
	if _, err := ReadFate(filepath.Join(dir, "absent"), someUUID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadFate without a file: %v", err)
	}
}

func FuzzReadFate(f *testing.F) {
	f.Add(line("u", "", userRest) + line("v", "u", toolRest) + line("w", "v", answerRest))
	f.Add(line("u", "", userRest) + line("v", "u", `"type":"attachment","attachment":{"type":"queued_command","source_uuid":"u"}`))
	f.Add(line("b", "", `"type":"user","mergedSendUuids":["u","b"],"message":{"content":[{"type":"text","text":"<command-name>"}]}`) +
		line("s", "b", `"type":"system","subtype":"local_command","content":"<local-command-stdout>x</local-command-stdout>"`))
	f.Add(line("u", "", userRest) + line("v", "u", toolRest) + line("w", "v", `"type":"user","toolDenialKind":"interrupted","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}`) +
		line("x", "w", `"isApiErrorMessage":true,`+answerRest))
	f.Fuzz(func(t *testing.T, transcript string) {
		fate, err := readFate(strings.NewReader(transcript), "u")
		check.OK(t, err)
		if fate.Answered && fate.Failed || !fate.Begun && !reflect.DeepEqual(fate, core.Fate{}) || fate.Failed != (fate.Code != "") || len(fate.Done) > 0 && !fate.ToolBegun {
			t.Fatalf("contradicts itself: %+v", fate)
		}
		if !strings.Contains(transcript, "u") && fate.Begun {
			t.Fatalf("begun without its uuid: %+v", fate)
		}
	})
}
