package doctor

import "bareclaw/internal/term"

// LoginVariable is the variable from which claude takes a login that `claude setup-token` has made.
const LoginVariable = "CLAUDE_CODE_OAUTH_TOKEN"

// LoginAdvice says how to log claude in on the gateway's machine, where envFile is the gateway's
// file of settings; empty if unknown.
func LoginAdvice(envFile string) string {
	if envFile == "" {
		envFile = "the gateway's .env"
	}
	return "run `claude` once and log in; without a browser run `claude setup-token` on any machine, put the line " +
		LoginVariable + "=… into " + term.SafeLine(envFile) + " (`bareclaw init` asks for it), then `bareclaw restart`"
}
