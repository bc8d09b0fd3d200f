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

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/core/config"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/steps"
	"bareclaw/internal/term"
	"bareclaw/internal/wait"
)

const (
	// pollPause is the time between two polls.
	pollPause = time.Second
	// batch is how many updates Telegram gives at once.
	batch = 100
)

// admit finds the owner of the bot: only this terminal shows the link, and the owner opens
// the link.
func (r *run) admit(ctx context.Context, w steps.Wizard) (steps.Outcome, error) {
	users := w.Current(varUsers)
	r.users = users
	switch {
	case r.bot.Username == "":
		return steps.Skipped("there is no bot"), nil
	case users != "" && !r.flags.Pair:
		return steps.Unchanged("it listens to " + term.SafeLine(users)), nil
	case !w.Asks() && !r.flags.Pair:
		return steps.Outcome{}, steps.Trouble("nobody may talk to the bot, so its token was not saved", "run this with --pair, or with --allowed-users and your numeric id")
	}
	lock, err := r.lockPolling(w)
	if err != nil {
		return steps.Outcome{}, err
	}
	defer func() { _ = lock.Close() }()
	owner, err := r.findOwner(ctx, w)
	switch {
	case errors.Is(err, steps.ErrSkipped):
		return steps.Outcome{State: steps.StateSkipped, Detail: "nobody may talk to the bot yet, so its token was not saved", Next: errExpired.Next}, nil
	case err != nil:
		return steps.Outcome{}, err
	}
	id := strconv.FormatInt(owner.ID, 10)
	if err := w.Choose(varUsers, strings.TrimPrefix(users+","+id, ",")); err != nil {
		return steps.Outcome{}, err
	}
	if w.Current(varNotify) == "" { // otherwise the heartbeat would have no recipient
		if err := w.Choose(varNotify, chats.Prefix+id); err != nil {
			return steps.Outcome{}, err
		}
	}
	if err := w.Save(); err != nil {
		return steps.Outcome{}, err
	}
	r.users, r.owner = w.Current(varUsers), owner.ID
	return steps.Done("the bot listens to " + describe(owner)), nil
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
func (r *run) lockPolling(w steps.Wizard) (*os.File, error) {
	dir, _, err := config.UserDirs()
	if err != nil {
		return nil, err
	}
	settings := config.Telegram{Token: config.BotToken{Secret: config.NewSecret(r.bot.token)}}
	f, err := lockfile.Own(settings.LockFile(dir), os.Getpid(), lockfile.Try)
	if errors.Is(err, lockfile.ErrHeld) {
		return nil, steps.Trouble("a gateway of yours receives this bot's messages now, and would get the tap",
			"stop it and run this again, or add the numeric id to BARECLAW_ALLOWED_USERS in "+w.Path())
	}
	return f, err
}

// errExpired means that nobody opened the link in time.
var errExpired = steps.Trouble("nobody opened the link in time", "run this again, or with --allowed-users and your numeric id")

// findOwner shows a link with a new code and returns the person who opened the link, after
// confirmation. A refused person is followed by another code.
func (r *run) findOwner(ctx context.Context, w steps.Wizard) (models.User, error) {
	for {
		code := rand.Text()
		r.invite(w, "https://t.me/"+r.bot.Username+"?start="+code)
		tap, err := r.watchForTap(ctx, w, code)
		if err != nil || !w.Asks() {
			return tap, err
		}
		yes, err := w.Confirm(ctx, "It was opened by "+describe(tap)+". Is that you?", "Whoever is let in can have Claude run commands on this machine as you.")
		if err != nil || yes {
			return tap, err
		}
		w.Note("Not let in. Here is another link, with a new code.")
	}
}

func (r *run) invite(w steps.Wizard, link string) {
	kind := w.InEnviron("TERM")
	code := !r.flags.NoQR && kind != "" && kind != "dumb"
	how := "Open this link on a device with your Telegram, and tap Start:"
	if code {
		how = "Scan this code with your phone, or open the link on a device with your Telegram, and tap Start:"
	}
	w.Note("%s", how)
	w.Note("  %s", term.SafeLine(link))
	if code {
		w.Print(drawQR(link))
	}
}

// watchForTap waits until somebody opens the link or the user skips the step; where nobody is
// asked, until the time is over.
func (r *run) watchForTap(ctx context.Context, w steps.Wizard, code string) (models.User, error) {
	if !w.Asks() {
		w.Note("Waiting for the tap …")
		ctx, cancel := context.WithTimeoutCause(ctx, r.flags.PairTimeout, errExpired)
		defer cancel()
		return r.pollForTap(ctx, w, code)
	}
	w.Print(steps.Indent + "Waiting for the tap; s and Enter skips: ")
	defer w.Print("\n")
	ctx, end := context.WithCancelCause(ctx)
	var typing sync.WaitGroup
	defer typing.Wait()
	defer end(nil)
	typing.Go(func() { end(w.AwaitSkip(ctx)) }) // ends with ctx
	return r.pollForTap(ctx, w, code)
}

// pollForTap polls until somebody opens the link. Polls acknowledge nothing, because the
// gateway must see the other messages. So each poll returns all unacknowledged updates, at
// once. The gateway sees the tap too, and answers with the only greeting.
func (r *run) pollForTap(ctx context.Context, w steps.Wizard, code string) (models.User, error) {
	advice := map[int]string{
		http.StatusConflict:     "stop the program that receives them, or its webhook, or make another bot",
		http.StatusUnauthorized: "ask @BotFather for a new token with /token",
	}
	for told := false; ; {
		updates, err := r.bot.client.Updates(ctx, 0, 0)
		if ctx.Err() != nil {
			return models.User{}, context.Cause(ctx)
		}
		if refused, ok := errors.AsType[*botapi.Error](err); ok && advice[refused.Status] != "" {
			return models.User{}, steps.Trouble("Telegram does not show the bot's messages: "+term.SafeLine(refused.Text), advice[refused.Status])
		}
		if err != nil && !told {
			told = true
			w.Note("Telegram cannot be asked now, and is asked again until it answers: %s", term.SafeLine(err.Error()))
		}
		for _, raw := range updates {
			if u, _ := botapi.DecodeUpdate(raw); isTap(u.Message, code) { // an update that cannot be read is not the tap
				return *u.Message.From, nil
			}
		}
		if len(updates) >= batch {
			return models.User{}, steps.Trouble("so many messages wait for the bot that Telegram shows none after them",
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
