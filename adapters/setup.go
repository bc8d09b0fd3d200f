package adapters

import "bareclaw/internal/steps"

// A Setup is an adapter's part in a run of `bareclaw init`.
type Setup struct {
	// Title is the name of the service, as people write it.
	Title string
	// Flags is a pointer to a struct of flags, with the tags of kong.
	Flags any
	// Values returns the settings given by flags, by variable; an empty value is none.
	Values func() map[string]string
	// SecretFiles returns the files given by flags that hold settings, by variable.
	SecretFiles func() map[string]string
	// Connect finds the settings of the adapter. It runs before the settings are saved.
	Connect steps.Step
	// Admit finds out who may use the adapter. It runs after the settings were saved, and saves
	// what it has found.
	Admit steps.Step
	// Access returns how a person reaches the gateway by the adapter, after the steps.
	Access func() Access
}

// Access is how a person reaches the gateway by an adapter. The zero value is no way.
type Access struct {
	Bot   string // user name of the bot
	Link  string // where people meet it
	Greet string // what to do first: "say hello to …"
	Owner int64  // id of the person admitted in this run; 0: nobody
}
