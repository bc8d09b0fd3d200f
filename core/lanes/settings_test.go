package lanes

import (
	"context"
	"testing"

	"bareclaw/core"
)

// addRule adds a rule to a channel, as a decision with Always does.
func addRule(ctx context.Context, m *Manager, key core.ChannelKey, rule, by string) (core.Rule, error) {
	r, err := core.NewRule(key, rule, by, m.o.Now())
	if err != nil {
		return r, err
	}
	c := core.SettingsChange{Channel: key, Add: []core.Rule{r}}
	return r, core.WriteAndWait(ctx, m.o.Ledger, core.Change{Settings: []core.SettingsChange{c}}, func() {
		m.ChannelSettings.Apply(&c)
		m.lanes.wake(key)
	})
}

func TestSettings(t *testing.T) {
	scenarios(t, map[string]string{
		"an unused session with other settings ends, and is resumed with the new": `
			send one; answer one ok; set model=haiku; wait 2s; gone 1; gently 1; send two; answer two ok
			process 2 resumed session=1 model=haiku
			set model=haiku; wait 2s; send three; answer three ok; process 2; set model=""; wait 2s; send four
			answer four ok; process 3 model="" hadmodel=true`,
		"a running turn ends with the settings that it began with": `
			send one two; begin one; set model=haiku; one open; two open; alive 1; finish one 1; one answered 1
			wait 2s; process 2 resumed model=haiku
			answer two 2; two answered 2`,
		"a message that comes just then waits for the new session": `
			send one; answer one ok; deaf; set model=haiku; send two; turns one; die; wait 1s
			process 2 model=haiku; answer two 2; two answered 2`,
		"background tasks keep their process": `
			send one; answer one ok; tasks 1; set model=haiku; wait 1m; send two; answer two ok; process 1
			tasks 0; wait 32s; gone 1`,
		"a new process of the gateway compares": `
			set model=haiku mode=plan; send zero; answer zero ok; {restart|crash; start}; send one; begin one
			process 1; set model=sonnet; {restart|crash; start}
			finish one 1; one answered 1; send two; wait 2s; answer two 2; two answered 2
			process 2 model=sonnet mode="" hadmode=true`,
		"a turn that fails for them says how to undo them": `
			set model=nonsense mode=bypassPermissions; send one; fail one bad_model
			one failed bad_model "the model \"nonsense\"" without=bypass
			one failed bad_model "take back the model, or take back all."; exit killed; wait 1s; send two
			exit "Claude refuses the mode." start_failed
			wait 1s
			two failed agent_exit "Claude refuses the mode. (This channel has the model \"nonsense\" and the permission mode \"bypassPermissions\""`,
	})
}
