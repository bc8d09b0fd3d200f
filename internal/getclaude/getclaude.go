// Package getclaude says how Claude Code is installed.
package getclaude

// The commands that install Claude Code: Anthropic's own installer, and npm, whose package needs
// Node 22 or newer.
const (
	Installer = "curl -fsSL https://claude.ai/install.sh | bash"
	ByNpm     = "npm install -g @anthropic-ai/claude-code"
)

// AdviceFor names the commands that install a version, as the end of a sentence.
func AdviceFor(version string) string {
	return "`" + Installer + " -s " + version + "`, or with Node 22 or newer `" + ByNpm + "@" + version + "`"
}

// Advice names both commands for a person, as the end of a sentence.
const Advice = "`" + Installer + "`, or with Node 22 or newer `" + ByNpm + "`"
