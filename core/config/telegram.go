package config

import (
	"errors"
	"math"
	"path/filepath"
	"regexp"
	"strings"
)

// Telegram holds the settings of the Telegram adapter.
type Telegram struct {
	// Token is the token of your Telegram bot, which switches Telegram on.
	Token BotToken `envconfig:"BARECLAW_TELEGRAM_TOKEN" secret:"true" unset:"none" admits:"BARECLAW_ALLOWED_USERS"`
	// AllowedUsers are the numeric ids of the users that the bot listens to. A bot token
	// requires at least one.
	//
	// @userinfobot tells you yours.
	AllowedUsers UserIDs `envconfig:"BARECLAW_ALLOWED_USERS" unset:"none"`
	// API is the base URL of the Bot API, for a Bot API server of your own.
	API BaseURL `envconfig:"BARECLAW_TELEGRAM_API" default:"https://api.telegram.org"`
	// FileOver is the number of messages above which the rest of an answer, or of a request for
	// permission, comes as a file.
	FileOver MessageCount `envconfig:"BARECLAW_TELEGRAM_FILE_OVER" default:"5" harmless:"true"`
	// MediaMaxAge is how long received files are kept; 0 means for ever.
	MediaMaxAge Age `envconfig:"BARECLAW_MEDIA_MAX_AGE" default:"30d" harmless:"true"`
	// Transcribe is a command line for sh that turns a voice message into text: it reads the
	// path of the audio file on standard input and writes the text to standard output.
	//
	// Without the command Claude gets the file alone.
	Transcribe CommandLine `envconfig:"BARECLAW_TRANSCRIBE" unset:"none"`
	// SendRoots are further directories that files may be sent from.
	//
	// `BARECLAW_CWD` and the directory of received files are always allowed; hidden paths,
	// the state directory and ~/.config never are.
	SendRoots Directories `envconfig:"BARECLAW_SEND_ROOTS" unset:"none"`
}

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

// LockFile returns the path of the lock file of the process that receives the bot's messages,
// empty without a bot. All daemons of a user share the file, which is in the [Config.UserDir].
func (t Telegram) LockFile(userDir string) string {
	id, _, ok := strings.Cut(t.Token.Reveal(), ":")
	if !ok {
		return ""
	}
	return filepath.Join(userDir, "telegram-"+id+".lock")
}
