package config

import (
	"errors"
	"math"
	"path/filepath"
	"regexp"
	"strings"
)

// A BotToken is the id and the key of a Telegram bot, in the format of @BotFather.
type BotToken struct{ Secret }

// Decode reads a bot's token. Errors do not contain the value.
func (t *BotToken) Decode(text string) error {
	if !regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`).MatchString(text) {
		return errors.New("it does not look like a bot token")
	}
	t.Secret = NewSecret(text)
	return nil
}

// Accepted describes bot tokens.
func (*BotToken) Accepted() string { return "a token from @BotFather, as 123456:ABC-DEF" }

// UserIDs are numeric ids of Telegram users.
type UserIDs []int64

var userIDs = span{1, math.MaxInt64}

// Decode reads a list of ids.
func (u *UserIDs) Decode(text string) (err error) {
	*u, err = decodeList(text, userIDs.decode)
	return err
}

// Accepted describes lists of ids.
func (*UserIDs) Accepted() string {
	return "a comma-separated list of Telegram user ids, as 123456789,987654321"
}

// TelegramLock returns the path of the lock file of the process that receives the bot's
// messages, empty without a bot. All daemons of this user share the file.
func (c Config) TelegramLock() string {
	id, _, ok := strings.Cut(c.TelegramToken.Reveal(), ":")
	if !ok {
		return ""
	}
	return filepath.Join(c.UserDir, "telegram-"+id+".lock")
}
