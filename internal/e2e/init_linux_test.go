package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bareclaw/core/config"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/testkit/botapi"
)

var startLink = regexp.MustCompile(`https://t\.me/fake_bot\?start=([A-Za-z0-9_-]{16})`)

// lastCode returns the code of the link that was shown last.
func (x *display) lastCode() string {
	x.t.Helper()
	links := startLink.FindAllStringSubmatch(x.shown(), -1)
	if len(links) == 0 {
		x.t.Fatal("no link is shown")
	}
	return links[len(links)-1][1]
}

// newBotUser is newUser with a Bot API server, and somebody who has a chat with its bot.
func newBotUser(t *testing.T) (newcomer, *botapi.Server, *botapi.User, *botapi.Chat) {
	t.Helper()
	m := newUser(t)
	api := botapi.New(t, botapi.WithoutRates())
	anna := api.User(7, "Anna", "Arden", "anna")
	m.env = append(m.env, "BARECLAW_TELEGRAM_API="+api.URL())
	return m, api, anna, api.Private(anna)
}

// TestInitFirstContact takes a new user from nothing to an answer and a bot, and
// through all of it once more, which changes nothing.
func TestInitFirstContact(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newBotUser(t)
	port := freePort(t)
	s := m.onScreen("init")
	s.expect("found " + m.path("bin/claude"))
	s.answer("Ask Claude one small question", "?")
	s.expect("It is one call of the model")
	s.answer("Ask Claude one small question", "")
	s.expect("claude answered in")
	s.answer("Port [", port)
	s.answer("Token that requests over TCP must carry", "g")
	s.expect("A token was made")
	s.answer("Directory that Claude works in [~]", m.path("work"))
	s.expect("Token of your Telegram bot")
	if s.echoes() {
		t.Error("the terminal shows the token while it is typed")
	}
	s.types(api.Token() + "\n")
	s.expect("this is @fake_bot")
	s.expect("wrote ")
	s.expect("Waiting for the tap")
	pairOnScreen(t, s, api, anna, chat)
	s.answer("Start the gateway now, in the background?", "y")
	s.expect("the gateway runs in the background")
	s.expect("answered in")
	chat.AwaitText("I'm here")
	s.expect("A look at everything")
	s.expect("it works")
	s.expect("All set.")
	if status := s.ends(); status != 0 {
		t.Errorf("exit status %d", status)
	}
	if strings.Contains(s.shown(), api.Token()) {
		t.Error("the bot's token was shown")
	}
	if strings.Contains(s.shown(), "No login was found") {
		t.Error("it doubts a login that was used a moment ago")
	}
	first := m.checkSaved(t, map[string]string{
		"BARECLAW_PORT": port, "BARECLAW_CWD": m.path("work"), "BARECLAW_TELEGRAM_TOKEN": api.Token(), "BARECLAW_ALLOWED_USERS": "7",
		"BARECLAW_HEARTBEAT_NOTIFY": "tg-7",
	})
	if notes := m.contents("home/.config/bareclaw/notes.md"); strings.Count(notes, "\n") != 2 {
		t.Errorf("the notes are %q", notes)
	}
	chat.Send(anna, "hello")
	chat.AwaitText("ok: hello")

	again := m.onScreen("init")
	for ended := false; !ended; { // Enter to everything
		switch again.expectOneOf("]: ", "All set.", "Not all went well") {
		case "]: ":
			again.types("\n")
		case "All set.":
			ended = true
		default:
			t.Fatal("the second run did not go well")
		}
	}
	if status := again.ends(); status != 0 {
		t.Errorf("the second run: exit status %d", status)
	}
	if now := m.contents(envFile); now != first {
		t.Errorf("the second run changed the settings:\n%s\ninto\n%s", first, now)
	}
	if strings.Contains(again.shown(), "Done:") && !strings.Contains(again.shown(), "Done: answered in") {
		t.Error("the second run did something")
	}
}

// pairOnScreen has strangers and the owner open the bot.
func pairOnScreen(t *testing.T, s *display, api *botapi.Server, anna *botapi.User, chat *botapi.Chat) {
	t.Helper()
	code := s.lastCode()
	mallory := api.User(666, "Mallory\x1b[2J", "", "")
	private := api.Private(mallory)
	private.Send(mallory, "/start")
	private.Send(mallory, "/start "+code[:15]+"x")
	private.Send(mallory, "/start  "+code)
	api.Group(-100, "Everybody", mallory, anna).Send(mallory, "/start "+code)
	private.Send(mallory, "/start "+code) // who has seen the screen
	s.expect("It was opened by Mallory")
	s.answer("id 666. Is that you?", "n")
	s.expect("Waiting for the tap")
	if s.lastCode() == code {
		t.Fatal("the code is the old one")
	}
	private.Send(mallory, "/start "+code)
	chat.Send(anna, "/start "+s.lastCode())
	s.answer("Anna Arden (@anna), id 7. Is that you?", "")
	s.expect("the bot listens to Anna Arden")
	chat.AwaitText("You are connected")
	if len(private.FromBot()) != 0 {
		t.Error("the bot has answered a stranger")
	}
}

// checkSaved holds the settings on disk to some values and returns the file.
func (m newcomer) checkSaved(t *testing.T, want map[string]string) string {
	t.Helper()
	info, err := os.Stat(m.path(envFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the settings: %v, %v", info, err)
	}
	vars, err := config.ReadDotEnv(m.path(envFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		if vars[name] != value {
			t.Errorf("%s is %q, want %q", name, vars[name], value)
		}
	}
	return m.contents(envFile)
}

// TestInitWithoutClaude goes on with the echo agent, and says how to get claude.
func TestInitWithoutClaude(t *testing.T) {
	t.Parallel()
	m := newUser(t)
	if err := os.Remove(m.path("bin/claude")); err != nil {
		t.Fatal(err)
	}
	s := m.onScreen("init", "--port", freePort(t))
	s.expect("npm install -g @anthropic-ai/claude-code")
	s.answer("Enter looks again", "")
	s.expect("Claude Code was not found")
	s.answer("Enter looks again", "s")
	s.answer("Token that requests", "")
	s.answer("Directory", "")
	s.answer("Token of your Telegram bot", "")
	s.answer("Start the gateway", "")
	s.expect("I am not Claude")
	s.expect("answered in")
	s.ends()
	m.checkSaved(t, map[string]string{"BARECLAW_CWD": "~"})
}

// TestInitFindsClaudeOffThePath remembers where it is.
func TestInitFindsClaudeOffThePath(t *testing.T) {
	t.Parallel()
	m := newUser(t)
	m.write("home/.local/bin/claude", claudeWithLogin, 0o700)
	if err := os.Remove(m.path("bin/claude")); err != nil {
		t.Fatal(err)
	}
	_, stderr, status := m.runs("", "init", "--yes", "--port", freePort(t), "--no-service", "--no-start", "--no-doctor")
	if status != 0 {
		t.Errorf("exit status %d\n%s", status, stderr)
	}
	m.checkSaved(t, map[string]string{"BARECLAW_CLAUDE": m.path("home/.local/bin/claude")})
}

// TestInitIsGivenAnotherProgram: what is not Claude Code is not saved, and a gateway that
// works goes on with what it has.
func TestInitIsGivenAnotherProgram(t *testing.T) {
	t.Parallel()
	m := newUser(t)
	m.write("bin/other", "#!/bin/sh\necho 'other 1'\n", 0o700)
	port := freePort(t)
	args := []string{"init", "--yes", "--json", "--port", port, "--no-service", "--no-start", "--no-doctor"}
	if _, stderr, status := m.runs("", args...); status != 0 {
		t.Fatalf("exit status %d\n%s", status, stderr)
	}
	before := m.contents(envFile)
	stdout, stderr, status := m.runs("", append(args, "--claude", m.path("bin/other"))...)
	if status != 1 || !strings.Contains(stdout, "does not tell a version") || !strings.Contains(stdout, "claude answered in") {
		t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
	}
	if after := m.contents(envFile); after != before {
		t.Errorf("the settings were\n%sand are\n%s", before, after)
	}
	s := m.onScreen("init", "--port", port, "--no-service", "--no-start", "--no-doctor", "--claude", m.path("bin/other"))
	s.expect("It is not taken.")
	s.answer("Enter looks again", "")
	s.expect("found " + m.path("bin/claude"))
}

// TestInitNotLoggedIn says what to do, and tries again when that is done.
func TestInitNotLoggedIn(t *testing.T) {
	t.Parallel()
	m := newUser(t)
	if err := os.Remove(m.path("home/.logged-in")); err != nil {
		t.Fatal(err)
	}
	_, stderr, status := m.runs("", "init", "--yes", "--port", freePort(t), "--no-service", "--no-start", "--no-doctor")
	if status != 1 || stderr != "" {
		t.Errorf("exit status %d, want 1\n%s", status, stderr)
	}
	s := m.onScreen("init", "--port", freePort(t), "--no-service", "--no-start", "--no-doctor")
	s.answer("Ask Claude one small question", "")
	s.expect("claude is not logged in")
	s.expect("run `claude` once to log in")
	s.expect("Enter asks again")
	m.touch("home/.logged-in")
	s.types("\n")
	s.expect("claude answered in")
	s.answer("Token that requests", "")
	s.answer("Directory", "")
	s.answer("Token of your Telegram bot", "s")
	s.expect("All set.")
	if status := s.ends(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

// TestInitAsksAgainForWhatIsWrong covers a port that is taken, a directory that is not
// there, and tokens that are wrong.
func TestInitAsksAgainForWhatIsWrong(t *testing.T) {
	t.Parallel()
	m, api, _, _ := newBotUser(t)
	taken := takenPort(t)
	m.write(envFile, "BARECLAW_PORT="+taken+"\n", 0o600)
	s := m.onScreen("init", "--no-turn", "--no-service", "--no-start", "--no-doctor")
	s.expect("Port " + taken + " is in use by another program")
	s.answer("Port [", "banana")
	s.expect("not a whole number")
	s.answer("Port [", taken)
	s.expect("in use by another program")
	s.answer("Port [", "")
	s.answer("Token that requests", "two words")
	s.expect("it has a space")
	s.answer("Token that requests", "n")
	s.expect("this is an answer and no token")
	s.answer("Token that requests", "")
	s.answer("Directory", m.path("work/new"))
	s.answer("Make it?", "y")
	s.answer("Token of your Telegram bot", "nonsense")
	s.expect("does not look like a bot's token")
	s.answer("Token of your Telegram bot", "123456:wrong")
	s.expect("Telegram does not know this token")
	s.answer("Token of your Telegram bot", api.Token())
	s.answer("Waiting for the tap", "s")
	s.expect("nobody may talk to the bot yet")
	s.expect("All set.")
	s.ends()
	saved := m.checkSaved(t, map[string]string{"BARECLAW_CWD": m.path("work/new"), "BARECLAW_TELEGRAM_TOKEN": ""})
	if strings.Contains(saved, "BARECLAW_PORT="+taken+"\n") || strings.Contains(s.shown(), "nonsense") {
		t.Errorf("the settings are\n%s", saved)
	}
}

// TestInitInterrupted ends it by Ctrl-C at every question in turn.
func TestInitInterrupted(t *testing.T) {
	t.Parallel()
	for n := range 7 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			m, api, _, _ := newBotUser(t)
			before := "# mine\nA='1'\n"
			m.write(envFile, before, 0o600)
			s := m.onScreen("init", "--no-qr")
			answers := []string{"s", freePort(t), "", "", api.Token(), "s"} // up to the start in the background
			for _, answer := range answers[:n] {
				s.asks()
				s.types(answer + "\n")
				s.expect("\n")
			}
			s.asks()
			s.types("\x03")
			s.expect("Interrupted. Nothing is half done.")
			if status := s.ends(); status != 130 {
				t.Errorf("exit status %d, want 130", status)
			}
			if shown := s.shown(); strings.Contains(shown, "\n  settings:") || strings.Contains(shown, "The bot's token was not saved.") != (n > 4) {
				t.Error("it does not say what was saved")
			}
			if !s.echoes() {
				t.Error("the terminal does not show what is typed any more")
			}
			now := m.contents(envFile)
			if _, ok := config.ParseDotEnv([]byte(now)); !ok || !strings.HasPrefix(now, before) || strings.Contains(now, "TELEGRAM_TOKEN") {
				t.Errorf("the settings are\n%s", now)
			}
		})
	}
}

// TestInitForScripts takes all from flags, keeps what stands in the settings, and says
// in JSON what it did.
func TestInitForScripts(t *testing.T) {
	t.Parallel()
	m, api, _, _ := newBotUser(t)
	dir := m.path("work/it's a \"dir\" $HOME #1 ž\\")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	before := "# my settings\nOTHER=\"kept\" # really\n\n#BARECLAW_PORT=3000\n# the end\n"
	m.write(envFile, before, 0o644)
	port := freePort(t)
	args := []string{"init", "--yes", "--json", "--no-service", "--port", port, "--cwd", dir, "--http-token", "generate",
		"--telegram-token-file", "-", "--allowed-users", "7,8"}
	stdout, stderr, status := m.runs(api.Token()+"\n", args...)
	var summary struct {
		OK, Running bool
		Bot         string
		Steps       []struct{ Step, State, Detail string }
	}
	if err := json.Unmarshal([]byte(stdout), &summary); err != nil || status != 0 {
		t.Fatalf("exit status %d, %v\n%s\n%s", status, err, stdout, stderr)
	}
	if !summary.OK || !summary.Running || summary.Bot != "fake_bot" || len(summary.Steps) != 10 {
		t.Errorf("the summary is %s", stdout)
	}
	saved := m.checkSaved(t, map[string]string{
		"OTHER": "kept", "BARECLAW_PORT": port, "BARECLAW_CWD": dir, "BARECLAW_TELEGRAM_TOKEN": api.Token(), "BARECLAW_ALLOWED_USERS": "7,8",
	})
	if !strings.HasPrefix(saved, "# my settings\nOTHER=\"kept\" # really\n\n#BARECLAW_PORT=3000\nBARECLAW_PORT="+port+"\n# the end\n") {
		t.Errorf("the settings are\n%s", saved)
	}
	vars, _ := config.ReadDotEnv(m.path(envFile))
	for _, secret := range []string{api.Token(), vars["BARECLAW_HTTP_TOKEN"]} {
		if secret == "" || strings.Contains(stdout+stderr, secret) {
			t.Errorf("a secret was printed, or is empty")
		}
	}
	if stdout, _, status := m.runs(api.Token(), args...); status != 0 || m.contents(envFile) != saved || !strings.Contains(stdout, "runs already") {
		t.Errorf("the second run: exit status %d\n%s\n%s", status, stdout, m.contents(envFile))
	}
}

// TestInitRefuses covers what a script may have wrong.
func TestInitRefuses(t *testing.T) {
	t.Parallel()
	m := newUser(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"init"}, "standard input is not a terminal"},
		{[]string{"init", "--yes", "--port", "99999"}, "BARECLAW_PORT"},
		{[]string{"init", "--yes", "--cwd", "/no/such/dir"}, "BARECLAW_CWD"},
		{[]string{"init", "--yes", "--allowed-users", "anna"}, "BARECLAW_ALLOWED_USERS"},
		{[]string{"init", "--yes", "--telegram-token-file", "/no/such/file"}, "/no/such/file"},
		{[]string{"init", "--yes", "--agent", "parrot"}, "BARECLAW_AGENT"},
		{[]string{"init", "--no-such-flag"}, "unknown flag"},
		{[]string{"init", "--yes", "--heartbeat=perhaps"}, "--heartbeat"},
		{[]string{"init", "--yes", "--heartbeat=yes", "--no-heartbeat"}, "cannot go together"},
	} {
		stdout, stderr, status := m.runs("", c.args...)
		if status != 2 || !strings.Contains(stderr, c.says) || stdout != "" {
			t.Errorf("%v: exit status %d, want 2 and %q\n%s%s", c.args, status, c.says, stdout, stderr)
		}
	}
	if m.contents(envFile) != "" {
		t.Error("settings were written")
	}
	m.write(envFile, "A=\"open\nSECRET=hush", 0o600)
	_, stderr, status := m.runs("", "init", "--yes")
	if status != 2 || !strings.Contains(stderr, ".env:1") || strings.Contains(stderr, "hush") {
		t.Errorf("settings that cannot be understood: exit status %d\n%s", status, stderr)
	}
}

// TestInitTakesThePortOnlyIfFree says which one is free, writes nothing of it, and does
// the rest.
func TestInitTakesThePortOnlyIfFree(t *testing.T) {
	t.Parallel()
	m := newUser(t)
	taken := takenPort(t)
	stdout, _, status := m.runs("", "init", "--yes", "--no-turn", "--no-service", "--no-doctor", "--port", taken)
	if status != 1 || !strings.Contains(stdout, "in use by another program") || !strings.Contains(stdout, "--port ") {
		t.Errorf("exit status %d\n%s", status, stdout)
	}
	if !strings.Contains(m.contents(envFile), "BARECLAW_CWD=~") {
		t.Errorf("the settings are %q", m.contents(envFile))
	}
}

// TestInitPairsForScripts waits for the tap where that is asked for, leaves what others
// wrote to the gateway, and refuses while a gateway receives.
func TestInitPairsForScripts(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newBotUser(t)
	m.env = append(m.env, "BARECLAW_TELEGRAM_TOKEN="+api.Token(), "BARECLAW_PORT="+freePort(t))
	args := []string{"init", "--yes", "--no-turn", "--no-service", "--no-start", "--no-doctor"}

	stdout, _, status := m.runs("", args...)
	if status != 1 || !strings.Contains(stdout, "nobody may talk to the bot") || strings.Contains(m.contents(envFile), "TOKEN") {
		t.Errorf("without --pair: exit status %d\n%s\n%s", status, stdout, m.contents(envFile))
	}
	stdout, _, status = m.runs("", append(args, "--pair", "--pair-timeout", "1s")...)
	if status != 1 || !strings.Contains(stdout, "nobody opened the link in time") || strings.Contains(m.contents(envFile), "TOKEN") {
		t.Errorf("nobody taps: exit status %d\n%s", status, stdout)
	}

	lock, err := os.OpenFile(m.path("state/telegram-123456.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := lockfile.Try(lock); err != nil {
		t.Fatal(err)
	}
	stdout, _, status = m.runs("", append(args, "--pair")...)
	_ = lock.Close()
	if status != 1 || !strings.Contains(stdout, "a gateway of yours receives this bot's messages") {
		t.Errorf("while a gateway receives: exit status %d\n%s", status, stdout)
	}

	before := chat.Send(anna, "said before").UpdateID
	s := m.onScreen(append(args, "--pair")...)
	s.expect("Waiting for the tap")
	tap := chat.Send(anna, "/start "+s.lastCode()).UpdateID
	s.expect("the bot listens to Anna Arden")
	s.expect("All set.")
	if status := s.ends(); status != 0 {
		t.Errorf("exit status %d", status)
	}
	if pending := api.Pending(); len(pending) != 2 || pending[0] != before || pending[1] != tap {
		t.Errorf("updates %v wait for the gateway, want %d and %d", pending, before, tap)
	}
	m.checkSaved(t, map[string]string{"BARECLAW_ALLOWED_USERS": "7", "BARECLAW_TELEGRAM_TOKEN": api.Token()})
	if rows := qrRows(s.shown()); rows == 0 || rows > 20 {
		t.Errorf("the QR code has %d rows", rows)
	}
}

// TestInitTakesTheTapAway does not leave the tap to the gateway where that loses nothing.
func TestInitTakesTheTapAway(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newBotUser(t)
	m.env = append(m.env, "BARECLAW_TELEGRAM_TOKEN="+api.Token(), "BARECLAW_PORT="+freePort(t))
	mallory := api.User(666, "Mallory", "", "")
	api.Private(mallory).Send(mallory, "let me in")
	s := m.onScreen("init", "--yes", "--no-turn", "--no-service", "--no-start", "--no-doctor", "--pair", "--no-qr")
	s.expect("Waiting for the tap")
	chat.Send(anna, "/start "+s.lastCode())
	s.expect("All set.")
	if status := s.ends(); status != 0 {
		t.Errorf("exit status %d", status)
	}
	if pending := api.Pending(); len(pending) != 0 {
		t.Errorf("updates %v wait for the gateway", pending)
	}
	if rows := qrRows(s.shown()); rows != 0 {
		t.Error("a QR code is shown")
	}
}

// qrRows counts the lines of a screen that are a part of a QR code.
func qrRows(shown string) (rows int) {
	for line := range strings.Lines(shown) {
		if strings.ContainsAny(line, "█▀▄") {
			rows++
		}
	}
	return rows
}

// TestInitShowsOtherSettings warns of a .env that wins.
func TestInitShowsOtherSettings(t *testing.T) {
	t.Parallel()
	m := newUser(t)
	m.write("work/.env", "BARECLAW_PORT="+freePort(t)+"\n", 0o600)
	stdout, _, _ := m.runs("", "init", "--yes", "--no-turn", "--no-service", "--no-start", "--no-doctor", "--port", freePort(t))
	if !strings.Contains(stdout, ".env in this directory sets BARECLAW_PORT otherwise") {
		t.Errorf("it says\n%s", stdout)
	}
	other := filepath.Join(m.dir, "other.env")
	if _, stderr, status := m.runs("", "init", "--yes", "--no-turn", "--no-service", "--no-doctor", "--env-file", other, "--port", "0"); status != 0 {
		t.Errorf("exit status %d\n%s", status, stderr)
	}
	if b, err := os.ReadFile(other); err != nil || !strings.Contains(string(b), "BARECLAW_PORT=0") {
		t.Errorf("%s is %q (%v)", other, b, err)
	}
}
