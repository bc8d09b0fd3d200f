package setup

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"rsc.io/qr"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/core/config"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/term"
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
	if _, err := w.bot.client.SendMessage(ctx, &bot.SendMessageParams{ChatID: owner.ID, Text: "You are connected. The gateway listens to you here."}); err != nil && ctx.Err() == nil {
		w.note("The greeting was not sent: %s", term.SafeLine(err.Error()))
	}
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
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("make room for the polling lock: %w", err)
	}
	f, err := os.OpenFile(config.Config{UserDir: dir, TelegramToken: config.NewSecret(w.bot.token)}.TelegramLock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the polling lock: %w", err)
	}
	err = lockfile.Try(f)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, lockfile.ErrHeld) {
		return nil, trouble("a gateway of yours receives this bot's messages now, and would get the tap",
			"stop it and run this again, or add the numeric id to BARECLAW_ALLOWED_USERS in "+w.path)
	}
	return nil, err
}

// errExpired means that nobody opened the link in time.
var errExpired = trouble("nobody opened the link in time", "run this again, or with --allowed-users and your numeric id")

// findOwner shows a link with a new code and returns the person who opened the link, after
// confirmation. A refused or expired code is followed by another.
func findOwner(ctx context.Context, w *wizard) (models.User, error) {
	for {
		code := newCode()
		invite(w, "https://t.me/"+w.bot.Username+"?start="+code)
		tap, err := watchForTap(ctx, w, code)
		expired := errors.Is(err, errExpired)
		if !w.asks() || err != nil && !expired {
			return tap, err
		}
		question, help := "Try again with a new one?", "A code is good for a few minutes, once."
		if expired {
			w.note("The code has expired.")
		} else {
			question, help = "It was opened by "+describe(tap)+". Is that you?", "Whoever is let in can have Claude run commands on this machine as you."
		}
		yes, askErr := w.confirm(ctx, question, help)
		if askErr != nil || yes != expired {
			return tap, cmp.Or(askErr, err)
		}
		if !expired {
			w.note("Not let in. Here is another link, with a new code.")
		}
	}
}

func newCode() string {
	b := make([]byte, 12) // 96 bits
	_, _ = rand.Read(b)   // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

func invite(w *wizard, link string) {
	w.note("Open this link with the Telegram that shall talk to the bot, and tap Start:")
	w.note("  %s", term.SafeLine(link))
	if w.NoQR {
		return
	}
	if picture, err := drawQR(link, unicodeTerminal(w.inEnviron)); err == nil { // else the link does
		w.say("%s", picture)
	}
}

// watchForTap polls until somebody opens the link, the code expires, or the user skips the step.
//
// Polls acknowledge nothing, because the gateway must see the other messages. So each poll
// returns all unacknowledged updates, at once. At the end [acknowledge] acknowledges the tap if that
// loses no other message.
func watchForTap(ctx context.Context, w *wizard, code string) (models.User, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.PairTimeout, errExpired)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if w.asks() {
		_, _ = fmt.Fprint(w.out, stepIndent+"Waiting for the tap; s and Enter skips: ")
		defer w.say("")
		var typing sync.WaitGroup
		typing.Go(func() { end(w.awaitSkip(ctx)) }) // ends with ctx
		defer typing.Wait()
		defer end(nil)
	} else {
		w.note("Waiting for the tap …")
	}
	user, err := pollForTap(ctx, w, code)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return user, err
}

func pollForTap(ctx context.Context, w *wizard, code string) (models.User, error) {
	for {
		updates, err := w.bot.updates(ctx)
		if ctx.Err() != nil {
			return models.User{}, ctx.Err()
		}
		if refused := pollTrouble(err); refused != nil {
			return models.User{}, refused
		}
		if i := slices.IndexFunc(updates, func(u models.Update) bool { return isTap(u.Message, code) }); i >= 0 {
			acknowledge(ctx, w, updates[:i+1])
			return *updates[i].Message.From, nil
		}
		if len(updates) >= batch {
			return models.User{}, trouble("so many messages wait for the bot that Telegram shows none after them",
				"start the gateway with --allowed-users and your numeric id: it reads them")
		}
		select {
		case <-time.After(pollPause):
		case <-ctx.Done():
		}
	}
}

// pollTrouble returns a refusal that makes further polls useless, else nil.
func pollTrouble(err error) error {
	r, refused := errors.AsType[*botapi.Error](err)
	switch {
	case !refused:
		return nil
	case r.Status == http.StatusConflict && strings.Contains(r.Text, "webhook"):
		return trouble("the bot has a webhook, so another program gets its messages", "remove it with the Bot API's deleteWebhook, or make another bot")
	case r.Status == http.StatusConflict:
		return trouble("another program receives this bot's messages", "stop it, or make another bot")
	case r.Status == http.StatusUnauthorized:
		return trouble("Telegram does not know the token any more", "have @BotFather make a new one with /token")
	}
	return nil
}

// isTap reports whether a message comes from a person who opened the link in a private
// chat with the bot.
func isTap(m *models.Message, code string) bool {
	if m == nil || m.From == nil || m.Chat.Type != "private" || m.From.IsBot || m.From.ID == 0 || m.From.ID != m.Chat.ID {
		return false
	}
	return subtle.ConstantTimeCompare([]byte(m.Text), []byte("/start "+code)) == 1
}

// acknowledge removes the tap, the last of some updates, before the gateway answers it
// too. Telegram removes all earlier updates as well, so acknowledge acts only if those
// come from strangers.
func acknowledge(ctx context.Context, w *wizard, updates []models.Update) {
	tap := updates[len(updates)-1]
	heard := append(strings.Split(w.current(varUsers), ","), strconv.FormatInt(tap.Message.From.ID, 10))
	for _, u := range updates[:len(updates)-1] {
		if u.Message == nil || u.Message.From == nil || u.Message.Chat.Type != "private" || slices.Contains(heard, strconv.FormatInt(u.Message.From.ID, 10)) {
			return
		}
	}
	_, _ = w.bot.client.Updates(ctx, tap.ID+1, 0) // after a failure the gateway answers /start, which does no harm
}

// margin is the light border in modules. The standard has 4; 2 are enough for phones,
// and leave room for the lines around on a screen of 24.
const margin = 2

// drawQR draws a QR code: with half blocks, two modules to a character, dark on light in
// any colour scheme; or in ASCII, which needs four times the room.
func drawQR(text string, halfBlocks bool) (string, error) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return "", fmt.Errorf("draw a QR code: %w", err)
	}
	glyphs, before, after, rows := [...]string{"  ", "", "", "##"}, "", "\n", 1
	if halfBlocks {
		glyphs, before, after, rows = [...]string{" ", "▄", "▀", "█"}, "    \x1b[30;47m", "\x1b[0m\n", 2
	}
	var b strings.Builder
	for y := -margin; y < code.Size+margin; y += rows {
		b.WriteString(before)
		for x := -margin; x < code.Size+margin; x++ {
			glyph := 0
			if code.Black(x, y) { // the upper module
				glyph += 2
			}
			if code.Black(x, y+rows-1) { // the lower module, in ASCII the same
				glyph++
			}
			b.WriteString(glyphs[glyph])
		}
		b.WriteString(after)
	}
	return b.String(), nil
}

// unicodeTerminal reports by the environment whether a terminal shows half blocks and
// colours.
func unicodeTerminal(environ func(string) string) bool {
	if kind := environ("TERM"); kind == "" || kind == "dumb" {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} { // the first non-empty variable decides
		if locale := strings.ToUpper(environ(name)); locale != "" {
			return strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8")
		}
	}
	return false
}
