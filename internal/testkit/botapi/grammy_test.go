package botapi_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/realclaude"
)

// grammy returns a node_modules directory with the client of other people that
// checks this server: what testdata/grammy/package-lock.json names, checked by
// npm against the checksums there, none of its scripts run. It is fetched once.
//
// Where node or npm is missing or npm reaches nothing, the test is skipped,
// unless BARECLAW_REQUIRE_GRAMMY=1 says that it must run.
func grammy(t *testing.T) string {
	t.Helper()
	dir, err := fetchGrammy(t)
	if err == nil {
		return filepath.Join(dir, "node_modules")
	}
	if os.Getenv("BARECLAW_REQUIRE_GRAMMY") == "1" {
		t.Fatal(err)
	}
	t.Skipf("cross-checks with grammY SKIPPED: %v", err)
	return ""
}

func fetchGrammy(t *testing.T) (string, error) {
	cache, err := realclaude.CacheDir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	lock, err := os.ReadFile("testdata/grammy/package-lock.json")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, fmt.Sprintf("grammy-%x", sha256.Sum256(lock))[:23])
	unlock, err := lockedfile.MutexAt(dir + ".lock").Lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, installGrammy(t, dir)
}

// installGrammy makes the directory appear whole. The caller holds its lock.
func installGrammy(t *testing.T, dir string) (err error) {
	temp := dir + ".tmp" // also what an interrupted try left
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if err := os.CopyFS(temp, os.DirFS("testdata/grammy")); err != nil {
		return err
	}
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1")
	cmd.Dir = temp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w: %s", err, out)
	}
	return os.Rename(temp, dir)
}

// startGrammy runs the bot of testdata until the test ends, which fails if it
// does not end well.
func startGrammy(t *testing.T, s *botapi.Server, report *botapi.Chat) {
	t.Helper()
	modules := grammy(t)
	cmd := exec.Command("node", "testdata/grammy/bot.cjs")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NODE_PATH=" + modules,
		"FAKE_URL=" + s.URL(), "FAKE_TOKEN=" + s.Token(), fmt.Sprintf("REPORT_CHAT=%d", report.ID())}
	cmd.WaitDelay = time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kill := time.AfterFunc(botapi.Patience, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		if t.Failed() {
			_ = cmd.Process.Kill()
		}
		_ = stdin.Close() // asks it to end
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("the grammY bot: %v\n%s", err, &output)
		}
	})
}

func TestGrammY(t *testing.T) {
	t.Parallel()
	s := botapi.New(t, botapi.WithoutRates())
	anna := s.User(7, "Anna", "Arden", "anna")
	chat := s.Private(anna)
	report := s.Private(s.User(8, "Owner", "", ""))
	startGrammy(t, s, report)
	report.AwaitText("I am fake_bot") // getMe and the first poll
	if got := s.Commands(); !slices.Equal(got, []string{"buttons"}) {
		t.Errorf("commands %q", got)
	}

	hello := chat.Send(anna, "hello")
	if m := chat.AwaitText("ok: hello"); m.ReplyTo != hello.MessageID {
		t.Errorf("the echo %v answers message %d", m, m.ReplyTo)
	}
	chat.Edit(anna, hello.MessageID, "hello again")
	chat.AwaitText("edited: hello again")

	chat.Send(anna, "/buttons")
	menu := chat.AwaitText("Choose")
	tap := chat.Tap(anna, menu.ID, "Blue")
	chosen := chat.AwaitText("You chose colour:blue")
	if a, _ := tap.Answer(); chosen.ID != menu.ID || chosen.Edits != 1 || len(chosen.Buttons) != 0 || len(chosen.Entities) != 1 || a != "Noted" {
		t.Errorf("after the tap: %v, answer %+v", chosen, a)
	}
	chat.Send(anna, "/twice")
	report.AwaitText("Bad Request: message is not modified")

	forum := s.Forum(-100400, "Forum", anna)
	topic := forum.CreateTopic(anna, "Work")
	forum.Send(anna, "in a topic", botapi.InTopic(topic))
	if m := forum.AwaitText("ok: in a topic"); m.Thread != topic {
		t.Errorf("the echo is in thread %d, not %d", m.Thread, topic)
	}

	data := []byte(strings.Repeat("0123456789", 1000))
	chat.Send(anna, "turn it", botapi.WithMedia(botapi.Document("digits.txt", "text/plain", data)))
	back := chat.AwaitMessage("reversed file", func(m botapi.Message) bool { return m.FromBot && m.Media != nil })
	slices.Reverse(data)
	if !bytes.Equal(back.Media.Data, data) || back.Media.Name != "reversed.bin" || back.Text != "turn it" {
		t.Errorf("got %v", back)
	}

	chat.Send(anna, "/draft")
	s.Await(t, "draft", func() bool { _, ok := chat.Draft(0); return ok })
	chat.StopDraft(0)
	report.AwaitText("stopped draft 5")

	s.Script("sendMessage", chat.ID(), botapi.TooMany(3))
	chat.Send(anna, "/flood")
	report.AwaitText("flood 429 3 Too Many Requests: retry after 3")
}
