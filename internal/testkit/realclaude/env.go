package realclaude

import (
	"os"
	"path/filepath"
)

// Env returns the whole environment for a CLI that speaks to the API at baseURL
// and keeps all its state below dir, an absolute path of an existing directory.
// Nothing else is inherited but PATH. The API key is a dummy.
func Env(dir, baseURL string) []string {
	return []string{
		"HOME=" + dir,
		"CLAUDE_CONFIG_DIR=" + filepath.Join(dir, "claude-config"),
		"PATH=" + os.Getenv("PATH"),
		"LANG=C.UTF-8",
		"DISABLE_TELEMETRY=1",
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"ANTHROPIC_API_KEY=sk-ant-dummy-key",
		"ANTHROPIC_BASE_URL=" + baseURL,
	}
}
