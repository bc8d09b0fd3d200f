package config

// Observe holds the settings of observers of web apps.
type Observe struct {
	// Notify is the channel that is told what an observer finds, if nothing else names
	// one.
	//
	// An observer that a session has started tells the session's own channel, and
	// `bareclaw observe --channel` names another.
	Notify Channel `envconfig:"BARECLAW_OBSERVE_NOTIFY" unset:"none"`
}
