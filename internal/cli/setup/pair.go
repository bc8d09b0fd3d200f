package setup

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot/models"
	"rsc.io/qr"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/core/config"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/term"
	"bareclaw/internal/wait"
)

const (
	// pollPause is the time between two polls.
	pollPause = time.Second
	// batch is how many updates Telegram gives at once.
	batch = 100
	// chatPrefix and the number of a Telegram chat form the name of the channel.
	chatPrefix = "tg-"
)

// pairOwner finds the owner of the bot: only this terminal shows the link, and the owner opens
// the link.
func pairOwner(ctx context.Context, w *wizard) (Outcome, error) {
	users := w.current(varUsers)
	switch {
	case w.bot.Username == "":
		return skipped("there is no bot"), nil
	case users != "" && !w.Pair:
		return unchanged("it listens to " + term.SafeLine(users)), nil
	case !w.asks() && !w.Pair:
		return Outcome{}, trouble("nobody may talk to the bot, so its token was not saved", "run this with --pair, or with --allowed-users and your numeric id")
	}
	lock, err := lockPolling(w)
	if err != nil {
		return Outcome{}, err
	}
	defer func() { _ = lock.Close() }()
	owner, err := findOwner(ctx, w)
	switch {
	case errors.Is(err, errSkip):
		return Outcome{State: Skipped, Detail: "nobody may talk to the bot yet, so its token was not saved", Next: errExpired.Next}, nil
	case err != nil:
		return Outcome{}, err
	}
	id := strconv.FormatInt(owner.ID, 10)
	if err := w.choose(varUsers, strings.TrimPrefix(users+","+id, ",")); err != nil {
		return Outcome{}, err
	}
	if w.current(varNotify) == "" { // otherwise the heartbeat would have no recipient
		if err := w.choose(varNotify, chatPrefix+id); err != nil {
			return Outcome{}, err
		}
	}
	if _, err := w.write(); err != nil {
		return Outcome{}, err
	}
	w.newOwner = owner.ID
	return done("the bot listens to " + describe(owner)), nil
}

// describe names a person by the chosen name and by the id, because only the id is certain.
func describe(u models.User) string {
	name := term.SafeLine(u.FirstName + " " + u.LastName)
	if u.Username != "" {
		name += " (@" + term.SafeLine(u.Username) + ")"
	}
	return fmt.Sprintf("%s, id %d", name, u.ID)
}

// lockPolling makes sure that no gateway of this user receives the bot's messages while
// the file is open.
func lockPolling(w *wizard) (*os.File, error) {
	dir, _, err := config.UserDirs()
	if err != nil {
		return nil, err
	}
	f, err := lockfile.Own(config.Config{UserDir: dir, TelegramToken: config.NewSecret(w.bot.token)}.TelegramLock(), os.Getpid(), lockfile.Try)
	if errors.Is(err, lockfile.ErrHeld) {
		return nil, trouble("a gateway of yours receives this bot's messages now, and would get the tap",
			"stop it and run this again, or add the numeric id to BARECLAW_ALLOWED_USERS in "+w.path)
	}
	return f, err
}

// errExpired means that nobody opened the link in time.
var errExpired = trouble("nobody opened the link in time", "run this again, or with --allowed-users and your numeric id")

// findOwner shows a link with a new code and returns the person who opened the link, after
// confirmation. A refused person is followed by another code.
func findOwner(ctx context.Context, w *wizard) (models.User, error) {
	for {
		code := rand.Text()
		invite(w, "https://t.me/"+w.bot.Username+"?start="+code)
		tap, err := watchForTap(ctx, w, code)
		if err != nil || !w.asks() {
			return tap, err
		}
		yes, err := w.confirm(ctx, "It was opened by "+describe(tap)+". Is that you?", "Whoever is let in can have Claude run commands on this machine as you.")
		if err != nil || yes {
			return tap, err
		}
		w.note("Not let in. Here is another link, with a new code.")
	}
}

func invite(w *wizard, link string) {
	kind := w.inEnviron("TERM")
	code := !w.NoQR && kind != "" && kind != "dumb"
	how := "Open this link on a device with your Telegram, and tap Start:"
	if code {
		how = "Scan this code with your phone, or open the link on a device with your Telegram, and tap Start:"
	}
	w.note("%s", how)
	w.note("  %s", term.SafeLine(link))
	if code {
		w.say("%s", drawQR(link))
	}
}

// watchForTap waits until somebody opens the link or the user skips the step; where nobody is
// asked, until the time is over.
func watchForTap(ctx context.Context, w *wizard, code string) (models.User, error) {
	if !w.asks() {
		w.note("Waiting for the tap …")
		ctx, cancel := context.WithTimeoutCause(ctx, w.PairTimeout, errExpired)
		defer cancel()
		return pollForTap(ctx, w, code)
	}
	_, _ = fmt.Fprint(w.out, stepIndent+"Waiting for the tap; s and Enter skips: ")
	defer w.say("")
	ctx, end := context.WithCancelCause(ctx)
	var typing sync.WaitGroup
	defer typing.Wait()
	defer end(nil)
	typing.Go(func() { end(w.awaitSkip(ctx)) }) // ends with ctx
	return pollForTap(ctx, w, code)
}

// pollForTap polls until somebody opens the link. Polls acknowledge nothing, because the
// gateway must see the other messages. So each poll returns all unacknowledged updates, at
// once. The gateway sees the tap too, and answers with the only greeting.
func pollForTap(ctx context.Context, w *wizard, code string) (models.User, error) {
	advice := map[int]string{
		http.StatusConflict:     "stop the program that receives them, or its webhook, or make another bot",
		http.StatusUnauthorized: "ask @BotFather for a new token with /token",
	}
	for told := false; ; {
		updates, err := w.bot.client.Updates(ctx, 0, 0)
		if ctx.Err() != nil {
			return models.User{}, context.Cause(ctx)
		}
		if refused, ok := errors.AsType[*botapi.Error](err); ok && advice[refused.Status] != "" {
			return models.User{}, trouble("Telegram does not show the bot's messages: "+term.SafeLine(refused.Text), advice[refused.Status])
		}
		if err != nil && !told {
			told = true
			w.note("Telegram cannot be asked now, and is asked again until it answers: %s", term.SafeLine(err.Error()))
		}
		for _, raw := range updates {
			if u, _ := botapi.DecodeUpdate(raw); isTap(u.Message, code) { // an update that cannot be read is not the tap
				return *u.Message.From, nil
			}
		}
		if len(updates) >= batch {
			return models.User{}, trouble("so many messages wait for the bot that Telegram shows none after them",
				"start the gateway with --allowed-users and your numeric id: it reads them")
		}
		_ = wait.Sleep(ctx, pollPause) // the next poll notices the end of ctx
	}
}

// isTap reports whether a message comes from a person who opened the link in a private
// chat with the bot.
func isTap(m *models.Message, code string) bool {
	if m == nil || m.From == nil || m.Chat.Type != "private" || m.From.IsBot || m.From.ID == 0 || m.From.ID != m.Chat.ID {
		return false
	}
	return subtle.ConstantTimeCompare([]byte(m.Text), []byte("/start "+code)) == 1
}

// margin is the light border in modules. The standard has 4; 2 are enough for phones,
// and leave room for the lines around on a screen of 24.
const margin = 2

// drawQR draws a QR code with half blocks, two modules to a character, dark on light in any
// colour scheme.
func drawQR(link string) string {
	code, err := qr.Encode(link, qr.L)
	if err != nil {
		return "" // the link does
	}
	glyphs := [...]string{" ", "▄", "▀", "█"}
	var b strings.Builder
	for y := -margin; y < code.Size+margin; y += 2 {
		b.WriteString(stepIndent + "\x1b[30;47m")
		for x := -margin; x < code.Size+margin; x++ {
			glyph := 0
			if code.Black(x, y) {
				glyph += 2
			}
			if code.Black(x, y+1) {
				glyph++
			}
			b.WriteString(glyphs[glyph])
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String()
}
