package lanes

import "testing"

// A conversation that the API refuses for the same reason again cannot go on.
func TestRefusedConversation(t *testing.T) {
	const refused = `refused="400 odd block"; `
	scenarios(t, map[string]string{
		"the second time it is said what to do": `
			send one; fail one api_error "API Error: 400 odd block 7." ` + refused + `one failed api_error "API Error: 400 odd block 7."
			send two; fail two api_error "API Error: 400 odd block 9." ` + refused + `
			two failed conversation_refused "This conversation cannot go on: API Error: 400 odd block 9. new c begins a new one."
			send three; fail three api_error odd ` + refused + `three failed conversation_refused`,
		"also after a restart, and when the session has ended": `
			send one; fail one api_error odd ` + refused + `one failed api_error; {restart|die; wait 1s|crash; die; start; wait 1s}
			send two; fail two api_error odd ` + refused + `two failed conversation_refused`,
		"another reason is another matter, and does not hide the first": `
			send one; fail one api_error odd ` + refused + `one failed api_error
			send two; fail two api_error other refused="413 large"; two failed api_error; {restart|wait 1s}
			send three; fail three api_error odd ` + refused + `three failed conversation_refused`,
		"an answer begins anew": `
			send one; fail one api_error odd ` + refused + `one failed api_error; works; {restart|wait 1s}
			send two; fail two api_error odd ` + refused + `two failed api_error`,
		"a new conversation begins anew": `
			works; send one; fail one api_error odd ` + refused + `one failed api_error; {reset; wait 1s|reset; restart}
			send two; fail two api_error odd ` + refused + `two failed api_error`,
		"a conversation that is too long can be shortened": `
			send one; fail one prompt_too_long "Prompt is too long" refused=prompt_too_long
			one failed prompt_too_long "Prompt is too long. shorten shortens this conversation, new c begins a new one."
			send two; fail two compact_failed "Error during compaction: too long" refused=prompt_too_long
			two failed conversation_refused "This conversation cannot go on: Error during compaction: too long. new c begins a new one."`,
		"other failures are as before": `
			send one; fail one api_error odd; one failed api_error odd; send two; fail two api_error odd; two failed api_error odd`,
	})
}

// The message that met the missing login says how to repeat it, and nothing else says it again.
func TestLoginSaidOnce(t *testing.T) {
	scenarios(t, map[string]string{
		"the message that met it": `
			send one; fail one not_logged_in "Not logged in"
			one failed not_logged_in "This message was not answered: Claude is not logged in (Not logged in). On the gateway's machine, log in. When Claude is logged in, send the message again or run retry"
			one failed not_logged_in notices=""`,
	})
}
