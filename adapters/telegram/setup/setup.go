// Package setup is Telegram's part in `bareclaw init`: it meets the bot, and pairs its owner.
package setup

import (
	"time"

	"bareclaw/adapters"
	"bareclaw/internal/steps"
)

// The settings that the steps choose.
const (
	varBot    = "BARECLAW_TELEGRAM_TOKEN"
	varAPI    = "BARECLAW_TELEGRAM_API"
	varUsers  = "BARECLAW_ALLOWED_USERS"
	varNotify = "BARECLAW_HEARTBEAT_NOTIFY"
)

// Flags are the flags of `bareclaw init`.
type Flags struct {
	BotTokenFile string `name:"telegram-token-file" placeholder:"FILE" help:"File that holds the token of your Telegram bot; - is standard input."`
	AllowedUsers string `placeholder:"IDS" help:"Numeric ids of the Telegram users that the bot listens to, comma-separated."`

	Pair        bool          `help:"Wait for a person to open the bot's link, and allow that person, also with --yes or if users are allowed already."`
	PairTimeout time.Duration `default:"5m" help:"How long --pair waits with --yes."`
	NoQR        bool          `name:"no-qr" help:"Show the link without a QR code."`

	NoTelegram bool `help:"Leave Telegram as it is."`
}

// A run is a run of the steps.
type run struct {
	flags Flags
	bot   connection
	users string // who may use the bot, after the steps
	owner int64  // id of the person admitted; 0: nobody
}

// New returns the steps.
func New() *adapters.Setup {
	r := new(run)
	return &adapters.Setup{
		Title: "Telegram",
		Flags: &r.flags,
		Values: func() map[string]string {
			return map[string]string{varUsers: r.flags.AllowedUsers}
		},
		SecretFiles: func() map[string]string {
			return map[string]string{varBot: r.flags.BotTokenFile}
		},
		Connect: steps.Step{Name: "telegram", Title: "Telegram", Run: r.connect},
		Admit:   steps.Step{Name: "pairing", Title: "Who may talk to the bot", Run: r.admit},
		Access:  r.access,
	}
}

// access returns the bot, and its link once somebody may use it.
func (r *run) access() adapters.Access {
	a := adapters.Access{Bot: r.bot.Username, Owner: r.owner}
	if a.Bot != "" && r.users != "" {
		a.Link = "https://t.me/" + a.Bot
		a.Greet = "say hello to @" + a.Bot
	}
	return a
}
