package botapi

import "time"

// DefaultToken is the bot token of a server made without [WithToken].
const DefaultToken = "123456:AAE-fake-token_0123456789abcdefghij"

// An Option changes how a server behaves.
type Option func(*options)

type options struct {
	token   string
	now     func() time.Time
	rates   rates
	lenient bool
}

func defaults() options {
	return options{token: DefaultToken, now: time.Now, rates: defaultRates()}
}

// WithToken sets the only token that is not answered 401. Its first part, up to
// the colon, is the bot's user id.
func WithToken(token string) Option { return func(o *options) { o.token = token } }

// WithoutRates switches the limits off.
func WithoutRates() Option { return func(o *options) { o.rates = rates{} } }

// Lenient lets a violation be recorded without failing the test.
func Lenient() Option { return func(o *options) { o.lenient = true } }
