package realclaude

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/realclaude"
)

func TestRealDoctorHasClaudeAnswerOnceAndLeavesNothing(t *testing.T) {
	t.Parallel()
	m := harness.NewRealMachine(t)
	d := m.Doctor()
	if realclaude.Chosen() == realclaude.Version {
		d.Fine("claude", "which is known to work")
	}
	d.Fine("login", "the key in ANTHROPIC_API_KEY")
	d.Fine("turn", "claude answered in", "claude-")
	if n := m.Count(); n != 1 {
		t.Errorf("%d calls of the model, want 1", n)
	}
	for _, r := range m.Requests() {
		if len(r.System) > 2000 {
			t.Errorf("the system prompt has %d bytes", len(r.System))
		}
		for _, name := range r.Tools {
			if name == "Bash" || name == "Write" || name == "Edit" {
				t.Errorf("claude has the tool %s", name)
			}
		}
	}
	if left := append(m.Glob("home/claude-config/projects/*/*.jsonl"), m.Glob("tmp/bareclaw-doctor-*")...); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestRealDoctorOfALoginThatIsMissingOrRefused(t *testing.T) {
	t.Parallel()
	m := harness.NewRealMachine(t, "BARECLAW_PASS_ENV=")
	d := m.Doctor()
	d.Tells(doctor.Problem, "not_logged_in", "/login")
	d.Tells(doctor.Note, "key_withheld", "ANTHROPIC_API_KEY")

	m.Set("BARECLAW_PASS_ENV=ANTHROPIC_API_KEY")
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
	})
	m.Before.Store(&refuse)
	m.Doctor().Tells(doctor.Problem, "not_logged_in")
}

func TestRealDoctorOfAnAPIThatIsAway(t *testing.T) {
	t.Parallel()
	m := harness.NewRealMachine(t, "ANTHROPIC_BASE_URL=http://127.0.0.1:1")
	f := m.Doctor().Find("turn_failed")
	if f == nil || !strings.Contains(strings.ToLower(f.What), "connect") {
		t.Errorf("finding %+v", f)
	}
}
