package botapi

import "time"

// DefaultToken is the bot token of a server made without [WithToken].
const DefaultToken = "123456:AAE-fake-token_0123456789abcdefghij"

// An Option changes how a server behaves.
type Option func(*options)

type options struct {
	token     string
	addr      string
	now       func() time.Time
	rates     Rates
	lenient   bool
	parseMode bool
}

func defaults() options {
	return options{token: DefaultToken, addr: "127.0.0.1:0", now: time.Now, rates: DefaultRates()}
}

// WithToken sets the only token that is not answered 401. Its first part, up to
// the colon, is the bot's user id.
func WithToken(token string) Option { return func(o *options) { o.token = token } }

// WithAddress sets the TCP address to listen on, instead of a free port of
// 127.0.0.1.
func WithAddress(addr string) Option { return func(o *options) { o.addr = addr } }

// WithClock sets what dates, rates, drafts and callback queries go by, for
// instance [Clock.Now]. Long polls and held requests go by real time.
func WithClock(now func() time.Time) Option { return func(o *options) { o.now = now } }

// WithRates sets the limits that lead to 429.
func WithRates(rates Rates) Option { return func(o *options) { o.rates = rates } }

// WithoutRates switches the limits off.
func WithoutRates() Option { return WithRates(Rates{}) }

// Lenient lets a violation be recorded without failing the test.
func Lenient() Option { return func(o *options) { o.lenient = true } }

// AllowParseMode lets parse_mode be used. Without it that is a violation: our
// adapter sends entities, which cannot be refused for their text.
func AllowParseMode() Option { return func(o *options) { o.parseMode = true } }
