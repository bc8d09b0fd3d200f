package setup

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bareclaw/core/config"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
)

var startLink = regexp.MustCompile(`https://t\.me/fake_bot\?start=([A-Z2-7]{26})`)

// lastCode returns the code of the link that was shown last.
func lastCode(x *harness.Display) string {
	x.T.Helper()
	links := startLink.FindAllStringSubmatch(x.Shown(), -1)
	if len(links) == 0 {
		x.T.Fatal("no link is shown")
	}
	return links[len(links)-1][1]
}

// newBotUser is newUser with a Bot API server, and somebody who has a chat with its bot.
func newBotUser(t *testing.T) (*harness.Machine, *botapi.Server, *botapi.User, *botapi.Chat) {
	t.Helper()
	m := harness.NewUser(t)
	api := botapi.New(t, botapi.WithoutRates())
	anna := api.User(7, "Anna", "Arden", "anna")
	m.Env = append(m.Env, "BARECLAW_TELEGRAM_API="+api.URL())
	return m, api, anna, api.Private(anna)
}

// TestInitFirstContact takes a new user from nothing to an answer and a bot, and
// through all of it once more, which changes nothing.
func TestInitFirstContact(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newBotUser(t)
	port := harness.FreePort(t)
	s := m.OnScreen("init")
	s.Expect("found " + m.Path("bin/claude"))
	s.Answer("Ask Claude one small question", "?")
	s.Expect("It is one call of the model")
	s.Answer("Ask Claude one small question", "")
	s.Expect("claude answered in")
	s.Answer("Port [", port)
	s.Answer("Token that requests over TCP must carry", "g")
	s.Expect("A token was made")
	s.Answer("Directory that Claude works in [~]", m.Path("work"))
	s.Answer("Time zone [", "Europe/Berlin")
	s.Expect("runs any command and edits any file without asking")
	s.Answer("1, 2 or 3 [free]", "")
	s.Expect("Token of your Telegram bot")
	if echoes(s) {
		t.Error("the terminal shows the token while it is typed")
	}
	s.Types(api.Token() + "\n")
	s.Expect("this is @fake_bot")
	s.Expect("wrote ")
	s.Expect("Waiting for the tap")
	pairOnScreen(t, s, api, anna, chat)
	s.Answer("Start the gateway now, in the background?", "y")
	s.Expect("the gateway runs in the background")
	s.Expect("answered in")
	chat.AwaitText("This is BAREclaw") // from the gateway, which sees the tap too
	s.Expect("A look at everything")
	s.Expect("it works")
	s.Expect("All set.")
	s.Exits(0)
	if strings.Contains(s.Shown(), api.Token()) {
		t.Error("the bot's token was shown")
	}
	if strings.Contains(s.Shown(), "No login was found") {
		t.Error("it doubts a login that was used a moment ago")
	}
	first := m.CheckSaved(t, map[string]string{
		"BARECLAW_PORT": port, "BARECLAW_CWD": m.Path("work"), "BARECLAW_TELEGRAM_TOKEN": api.Token(), "BARECLAW_ALLOWED_USERS": "7",
		"BARECLAW_HEARTBEAT_NOTIFY": "tg-7", "BARECLAW_TZ": "Europe/Berlin",
	})
	if notes := m.Contents("home/.config/bareclaw/notes.md"); strings.Count(notes, "\n") != 2 {
		t.Errorf("the notes are %q", notes)
	}
	chat.Send(anna, "hello")
	chat.AwaitText("ok: hello")

	again := m.OnScreen("init")
	for ended := false; !ended; { // Enter to everything
		switch again.ExpectOneOf("]: ", "All set.", "Not all went well") {
		case "]: ":
			again.Types("\n")
		case "All set.":
			ended = true
		default:
			t.Fatal("the second run did not go well")
		}
	}
	again.Exits(0)
	if now := m.Contents(harness.EnvFile); now != first {
		t.Errorf("the second run changed the settings:\n%s\ninto\n%s", first, now)
	}
	if strings.Contains(again.Shown(), "Done:") && !strings.Contains(again.Shown(), "Done: answered in") {
		t.Error("the second run did something")
	}
}

// pairOnScreen has strangers and the owner open the bot.
func pairOnScreen(t *testing.T, s *harness.Display, api *botapi.Server, anna *botapi.User, chat *botapi.Chat) {
	t.Helper()
	code := lastCode(s)
	mallory := api.User(666, "Mallory\x1b[2J", "", "")
	private := api.Private(mallory)
	private.Send(mallory, "/start")
	private.Send(mallory, "/start "+code[:25]+"x")
	private.Send(mallory, "/start  "+code)
	api.Group(-100, "Everybody", mallory, anna).Send(mallory, "/start "+code)
	private.Send(mallory, "/start "+code) // who has seen the screen
	s.Expect("It was opened by Mallory")
	s.Answer("id 666. Is that you?", "n")
	s.Expect("Waiting for the tap")
	if lastCode(s) == code {
		t.Fatal("the code is the old one")
	}
	private.Send(mallory, "/start "+code)
	chat.Send(anna, "/start "+lastCode(s))
	s.Answer("Anna Arden (@anna), id 7. Is that you?", "")
	s.Expect("the bot listens to Anna Arden")
	if len(private.FromBot()) != 0 {
		t.Error("the bot has answered a stranger")
	}
}

// TestInitWithoutClaude goes on with the echo agent, and says how to get claude.
func TestInitWithoutClaude(t *testing.T) {
	t.Parallel()
	m := harness.NewUser(t)
	check.OK(t, os.Remove(m.Path("bin/claude")))
	s := m.OnScreen("init", "--port", harness.FreePort(t))
	s.Expect("curl -fsSL https://claude.ai/install.sh | bash")
	s.Answer("Enter looks again", "")
	s.Expect("Claude Code was not found")
	s.Answer("Enter looks again", "s")
	s.Expect("A token keeps out what reaches the gateway through programs of yours")
	s.Answer("Token that requests", "")
	s.Expect("A token was made")
	s.Answer("Directory", "")
	s.Answer("Time zone [", "")
	s.Answer("1, 2 or 3", "")
	s.Answer("Token of your Telegram bot", "")
	s.Answer("Start the gateway", "")
	s.Expect("I am not Claude")
	s.Expect("answered in")
	s.Ends()
	m.CheckSaved(t, map[string]string{"BARECLAW_CWD": "~"})
	vars, err := config.ReadDotEnv(m.Path(harness.EnvFile))
	check.OK(t, err)
	if token := vars["BARECLAW_HTTP_TOKEN"]; len(token) < 26 || strings.Contains(s.Shown(), token) {
		t.Errorf("the token has %d characters, or was shown", len(token))
	}
	m.Command(exitcode.OK, "channels", "set", "terminal", "--model", "haiku") // which takes the token
}

// TestInitFindsClaudeOffThePath remembers where it is.
func TestInitFindsClaudeOffThePath(t *testing.T) {
	t.Parallel()
	m := harness.NewUser(t)
	m.Write("home/.local/bin/claude", harness.ClaudeWithLogin, 0o700)
	check.OK(t, os.Remove(m.Path("bin/claude")))
	runs(m, exitcode.OK, "", append(quietly, "--port", harness.FreePort(t))...)
	m.CheckSaved(t, map[string]string{"BARECLAW_CLAUDE": m.Path("home/.local/bin/claude")})
}

// TestInitIsGivenAnotherProgram: what is not Claude Code is not saved, and a gateway that
// works goes on with what it has.
func TestInitIsGivenAnotherProgram(t *testing.T) {
	t.Parallel()
	m := harness.NewUser(t)
	m.Write("bin/other", "#!/bin/sh\necho 'other 1'\n", 0o700)
	port := harness.FreePort(t)
	args := slices.Concat(quietly, []string{"--json", "--port", port})
	runs(m, exitcode.OK, "", args...)
	before := m.Contents(harness.EnvFile)
	runs(m, exitcode.Failed, "", append(args, "--claude", m.Path("bin/other"))...).Shows("does not tell a version", "claude answered in")
	if after := m.Contents(harness.EnvFile); after != before {
		t.Errorf("the settings were\n%sand are\n%s", before, after)
	}
	s := m.OnScreen("init", "--port", port, "--no-service", "--no-start", "--no-doctor", "--claude", m.Path("bin/other"))
	s.Expect("It is not taken.")
	s.Answer("Enter looks again", "")
	s.Expect("found " + m.Path("bin/claude"))
}

// TestInitNotLoggedIn says what to do, and tries again when that is done.
func TestInitNotLoggedIn(t *testing.T) {
	t.Parallel()
	m := harness.NewUser(t)
	check.OK(t, os.Remove(m.Path("home/.logged-in")))
	if told := runs(m, exitcode.Failed, "", append(quietly, "--port", harness.FreePort(t))...).Err.String(); told != "" {
		t.Errorf("it tells %q", told)
	}
	s := m.OnScreen("init", "--port", harness.FreePort(t), "--no-service", "--no-start", "--no-doctor")
	s.Answer("Ask Claude one small question", "")
	s.Expect("Claude is not logged in")
	s.Expect("run `claude` in another terminal")
	s.Expect("Enter to ask Claude again")
	m.Touch("home/.logged-in")
	s.Types("\n")
	s.Expect("claude answered in")
	s.Answer("Token that requests", "")
	s.Answer("Directory", "")
	s.Answer("Time zone [", "")
	s.Answer("1, 2 or 3", "")
	s.Answer("Token of your Telegram bot", "s")
	s.Expect("All set.")
	s.Exits(0)
}

// TestInitTakesALogin has a token pasted that claude accepts. It is saved where the gateway reads
// it, shown nowhere, and found again by another init.
func TestInitTakesALogin(t *testing.T) {
	t.Parallel()
	m := harness.NewUser(t)
	check.OK(t, os.Remove(m.Path("home/.logged-in")))
	const token = "sk-ant-oat01-abcdefghijklmnopqrstuvwxyz"
	m.Write("home/.accepts", token, 0o600)
	port := harness.FreePort(t)
	s := m.OnScreen("init", "--port", port, "--no-telegram", "--no-service", "--no-doctor")
	s.Answer("Ask Claude one small question", "")
	s.Expect("`claude setup-token` on any machine and paste the token here")
	if echoes(s) {
		t.Error("the terminal shows the token while it is typed")
	}
	s.Answer("Token, or Enter", "short")
	s.Expect("This does not look like a token.")
	s.Answer("Token, or Enter", strings.ToUpper(token))
	s.Expect("Claude is not logged in")
	s.Answer("Token, or Enter", "?")
	s.Expect("is kept in")
	s.Answer("Token, or Enter", token)
	s.Expect("Done: claude answered in")
	s.Answer("Token that requests", "")
	s.Answer("Directory", "")
	s.Answer("Time zone [", "")
	s.Answer("1, 2 or 3", "")
	s.Expect("CLAUDE_CODE_OAUTH_TOKEN")
	s.Answer("Start the gateway", "")
	s.Expect("Done: answered in")
	s.Exits(0)
	m.CheckSaved(t, map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": token})
	if strings.Contains(strings.ToLower(s.Shown()), token) {
		t.Error("the token was shown")
	}
	runs(m, exitcode.OK, "", append(quietly, "--port", port)...).Shows("Fine: claude answered in")
	m.Command(exitcode.OK, "stop", "--sessions")

	check.OK(t, os.Remove(m.Path(harness.EnvFile)))
	piped := append(slices.Clone(quietly), "--port", port, "--no-turn", "--claude-token-file", "-")
	runs(m, exitcode.Usage, "two words, which are not a token\n", piped...)
	runs(m, exitcode.OK, token+"\n", piped...)
	m.CheckSaved(t, map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": token})
}

// TestInitPermissions: what Claude may do without asking is said, and chosen by a person or a flag.
// Without either it stays as it is.
func TestInitPermissions(t *testing.T) {
	t.Parallel()
	m := harness.NewUser(t)
	args := append(slices.Clone(quietly), "--no-turn", "--port", harness.FreePort(t))
	free := map[string]string{"BARECLAW_ALLOWED_TOOLS": "", "BARECLAW_PERMISSION_MODE": ""}
	ask := map[string]string{"BARECLAW_ALLOWED_TOOLS": "Read,Glob,Grep,Skill,Task", "BARECLAW_PERMISSION_MODE": "default"}
	runs(m, exitcode.OK, "", args...).Shows("runs any command and edits any file without asking", "--permissions=ask, or auto")
	m.CheckSaved(t, free)
	runs(m, exitcode.OK, "", append(args, "--permissions=ask")...).Shows("Done: Claude reads freely, and asks before")
	m.CheckSaved(t, ask)
	runs(m, exitcode.OK, "", args...).Shows("Fine: Claude reads freely, and asks before")
	m.CheckSaved(t, ask)
	s := m.OnScreen("init", "--no-turn", "--no-telegram", "--no-service", "--no-start", "--no-doctor")
	s.Answer("Port [", "")
	s.Answer("Token that requests", "")
	s.Answer("Directory", "")
	s.Answer("Time zone [", "")
	s.Expect("1 free: Claude runs any command and edits any file without asking.")
	s.Answer("1, 2 or 3 [ask]", "3")
	s.Exits(0)
	m.CheckSaved(t, map[string]string{"BARECLAW_ALLOWED_TOOLS": "Read,Glob,Grep,Skill,Task", "BARECLAW_PERMISSION_MODE": "auto"})
	runs(m, exitcode.OK, "", append(args, "--permissions=free")...).Shows("Done: Claude runs any command")
	m.CheckSaved(t, free)
	m.Write(harness.EnvFile, "BARECLAW_PERMISSION_MODE=plan\n", 0o600)
	runs(m, exitcode.OK, "", args...).Shows("as you have set it: BARECLAW_PERMISSION_MODE=plan")
	m.CheckSaved(t, map[string]string{"BARECLAW_PERMISSION_MODE": "plan"})
}

// TestServeGreetsAPerson on a terminal, before the log, and not elsewhere.
func TestServeGreetsAPerson(t *testing.T) {
	t.Parallel()
	m := harness.NewUser(t)
	m.Set("BARECLAW_PORT=" + harness.FreePort(t))
	check.OK(t, os.Remove(m.Path("bin/claude")))
	s := m.OnScreen("serve")
	s.Expect("Ctrl-C ends it")
	s.Expect("level=INFO msg=ready")
	said := s.Shown()
	greeting, _, _ := strings.Cut(said, "Ctrl-C")
	if !strings.HasPrefix(strings.TrimSpace(said), "BAREclaw is at http://127.0.0.1:") || !strings.Contains(said, "`bareclaw init`") || strings.Contains(greeting, "level=") {
		t.Errorf("it greets with\n%s", said)
	}
	s.Types("\x03")
	s.Exits(0)
}

// TestInitAsksAgainForWhatIsWrong covers a port that is taken, a directory that is not
// there, and tokens that are wrong.
func TestInitAsksAgainForWhatIsWrong(t *testing.T) {
	t.Parallel()
	m, api, _, _ := newBotUser(t)
	taken := harness.TakenPort(t)
	m.Write(harness.EnvFile, "BARECLAW_PORT="+taken+"\n", 0o600)
	s := m.OnScreen("init", "--no-turn", "--no-service", "--no-start", "--no-doctor")
	s.Expect("Port " + taken + " is in use by another program")
	s.Answer("Port [", "banana")
	s.Expect("not a whole number")
	s.Answer("Port [", taken)
	s.Expect("in use by another program")
	s.Answer("Port [", "")
	s.Answer("Token that requests", "two words")
	s.Expect("it has a space")
	s.Answer("Token that requests", "n")
	s.Expect("this is an answer and no token")
	s.Answer("Token that requests", "")
	s.Answer("Directory", m.Path("work/new"))
	s.Answer("Create it?", "n")
	s.Answer("Directory", m.Path("work/new"))
	s.Answer("Create it?", "y")
	s.Answer("Time zone [", "Mars/Olympus")
	s.Expect(`"Mars/Olympus" is not a time zone`)
	s.Answer("Time zone [", "")
	s.Answer("1, 2 or 3", "4")
	s.Expect("Please answer 1, 2 or 3.")
	s.Answer("1, 2 or 3", "")
	s.Answer("Token of your Telegram bot", "nonsense")
	s.Expect("does not look like a bot's token")
	s.Answer("Token of your Telegram bot", "123456:wrong")
	s.Expect("Telegram does not know this token")
	s.Answer("Token of your Telegram bot", api.Token())
	s.Answer("Waiting for the tap", "s")
	s.Expect("nobody may talk to the bot yet")
	s.Expect("All set.")
	s.Ends()
	saved := m.CheckSaved(t, map[string]string{"BARECLAW_CWD": m.Path("work/new"), "BARECLAW_TELEGRAM_TOKEN": ""})
	if strings.Contains(saved, "BARECLAW_PORT="+taken+"\n") || strings.Contains(s.Shown(), "nonsense") {
		t.Errorf("the settings are\n%s", saved)
	}
}

// TestInitInterrupted ends it by Ctrl-C at every question in turn.
func TestInitInterrupted(t *testing.T) {
	t.Parallel()
	for n := range 9 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			m, api, _, _ := newBotUser(t)
			before := "# mine\nA='1'\n"
			m.Write(harness.EnvFile, before, 0o600)
			s := m.OnScreen("init", "--no-qr")
			answers := []string{"s", harness.FreePort(t), "", "", "", "", api.Token(), "s"} // up to the start in the background
			for _, answer := range answers[:n] {
				s.Asks()
				s.Types(answer + "\n")
				s.Expect("\n")
			}
			s.Asks()
			s.Types("\x03")
			s.Expect("Interrupted. Nothing is half done.")
			s.Exits(130)
			if strings.Contains(s.Shown(), "BARECLAW_TELEGRAM_TOKEN was not saved.") != (n > 6) {
				t.Error("it does not say what was saved")
			}
			if !echoes(s) {
				t.Error("the terminal does not show what is typed any more")
			}
			now := m.Contents(harness.EnvFile)
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
	dir := m.Path("work/it's a \"dir\" $HOME #1 ž")
	check.OK(t, os.MkdirAll(dir, 0o700))
	before := "# my settings\nOTHER=\"kept\" # really\n\n#BARECLAW_PORT=3000\n# the end\n"
	m.Write(harness.EnvFile, before, 0o644)
	port := harness.FreePort(t)
	args := []string{"--yes", "--json", "--no-service", "--port", port, "--cwd", dir, "--http-token", "generate",
		"--telegram-token-file", "-", "--allowed-users", "7,8", "--source", "off"}
	i := runs(m, exitcode.OK, api.Token()+"\n", args...)
	summary := i.Document()
	if !summary.Flag("ok") || !summary.Flag("running") || summary.Str("bot") != "fake_bot" || len(summary.Array("steps")) != 11 {
		t.Errorf("the summary is %s", summary.Body)
	}
	saved := m.CheckSaved(t, map[string]string{
		"OTHER": "kept", "BARECLAW_PORT": port, "BARECLAW_CWD": dir, "BARECLAW_TELEGRAM_TOKEN": api.Token(), "BARECLAW_ALLOWED_USERS": "7,8",
		"BARECLAW_SOURCE": "off",
	})
	if !strings.HasPrefix(saved, "# my settings\nOTHER=\"kept\" # really\n\n#BARECLAW_PORT=3000\nBARECLAW_PORT="+port+"\n# the end\n") {
		t.Errorf("the settings are\n%s", saved)
	}
	vars, _ := config.ReadDotEnv(m.Path(harness.EnvFile))
	for _, secret := range []string{api.Token(), vars["BARECLAW_HTTP_TOKEN"]} {
		if secret == "" || strings.Contains(i.Out.String()+i.Err.String(), secret) {
			t.Errorf("a secret was printed, or is empty")
		}
	}
	runs(m, exitcode.OK, api.Token(), args...).Shows("runs already")
	if now := m.Contents(harness.EnvFile); now != saved {
		t.Errorf("after the second run the settings are\n%s", now)
	}
}

// TestInitRefuses covers what a script may have wrong.
func TestInitRefuses(t *testing.T) {
	t.Parallel()
	m := harness.NewUser(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "standard input is not a terminal"},
		{[]string{"--yes", "--port", "99999"}, "BARECLAW_PORT"},
		{[]string{"--yes", "--cwd", "/no/such/dir"}, "BARECLAW_CWD"},
		{[]string{"--yes", "--allowed-users", "anna"}, "BARECLAW_ALLOWED_USERS"},
		{[]string{"--yes", "--telegram-token-file", "/no/such/file"}, "/no/such/file"},
		{[]string{"--yes", "--agent", "parrot"}, "BARECLAW_AGENT"},
		{[]string{"--no-such-flag"}, "unknown flag"},
		{[]string{"--yes", "--heartbeat=perhaps"}, "--heartbeat"},
		{[]string{"--yes", "--heartbeat=yes", "--no-heartbeat"}, "cannot go together"},
	} {
		runs(m, exitcode.Usage, "", c.args...).Prints("").Tells(c.says)
	}
	if m.Contents(harness.EnvFile) != "" {
		t.Error("settings were written")
	}
	m.Write(harness.EnvFile, "A=\"open\nSECRET=hush", 0o600)
	if told := runs(m, exitcode.Usage, "", "--yes").Tells(".env:1").Err.String(); strings.Contains(told, "hush") {
		t.Errorf("of settings that cannot be understood it tells %q", told)
	}
}

// TestInitTakesThePortOnlyIfFree says which one is free, writes nothing of it, and does
// the rest.
func TestInitTakesThePortOnlyIfFree(t *testing.T) {
	t.Parallel()
	m := harness.NewUser(t)
	taken := harness.TakenPort(t)
	runs(m, exitcode.Failed, "", "--yes", "--no-turn", "--no-service", "--no-doctor", "--port", taken).Shows("in use by another program", "--port ")
	if !strings.Contains(m.Contents(harness.EnvFile), "BARECLAW_CWD=~") {
		t.Errorf("the settings are %q", m.Contents(harness.EnvFile))
	}
}

// TestInitPairsForScripts waits for the tap where that is asked for, leaves what others
// wrote to the gateway, and refuses while a gateway receives.
func TestInitPairsForScripts(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newBotUser(t)
	m.Env = append(m.Env, "BARECLAW_TELEGRAM_TOKEN="+api.Token(), "BARECLAW_PORT="+harness.FreePort(t))
	args := slices.Concat(quietly, []string{"--no-turn"})
	runs(m, exitcode.Failed, "", args...).Shows("nobody may talk to the bot")
	runs(m, exitcode.Failed, "", append(args, "--pair", "--no-qr", "--pair-timeout", "1s")...).Shows("nobody opened the link in time")
	if saved := m.Contents(harness.EnvFile); strings.Contains(saved, "TOKEN") {
		t.Errorf("without a tap the settings are\n%s", saved)
	}

	lock, err := os.OpenFile(m.Path("state/telegram-123456.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	check.OK(t, err)
	check.OK(t, lockfile.Try(lock))
	runs(m, exitcode.Failed, "", append(args, "--pair")...).Shows("a gateway of yours receives this bot's messages")
	_ = lock.Close()

	before := chat.Send(anna, "said before").UpdateID
	s := m.OnScreen(append([]string{"init", "--pair"}, args...)...)
	s.Expect("Waiting for the tap")
	tap := chat.Send(anna, "/start "+lastCode(s)).UpdateID
	s.Expect("the bot listens to Anna Arden")
	s.Expect("All set.")
	s.Exits(0)
	if pending := api.Pending(); len(pending) != 2 || pending[0] != before || pending[1] != tap {
		t.Errorf("updates %v wait for the gateway, want %d and %d", pending, before, tap)
	}
	m.CheckSaved(t, map[string]string{"BARECLAW_ALLOWED_USERS": "7", "BARECLAW_TELEGRAM_TOKEN": api.Token()})
	if rows := qrRows(s.Shown()); rows == 0 || rows > 20 {
		t.Errorf("the QR code has %d rows", rows)
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
	m := harness.NewUser(t)
	m.Write("work/.env", "BARECLAW_PORT="+harness.FreePort(t)+"\n", 0o600)
	i := m.Invoke(nil, append([]string{"init", "--no-turn", "--port", harness.FreePort(t)}, quietly...)...)
	<-i.Done
	i.Shows(".env in this directory sets BARECLAW_PORT otherwise")
}
