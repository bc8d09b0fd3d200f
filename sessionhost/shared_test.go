package sessionhost

import (
	"testing"

	"bareclaw/core"
)

// TestSharedRuntimeDir has two gateways with one runtime directory serve channels of the same
// name. The one does not take the session of the other for its own.
func TestSharedRuntimeDir(t *testing.T) {
	t.Parallel()
	st, other := newStation(t), newStation(t)
	other.o.RuntimeDir = st.o.RuntimeDir
	s := st.start()
	s.until(core.Readied)
	s.Detach()
	foreign := other.start()
	foreign.until(core.Readied)
	if s, err := st.generation(2).Attach(t.Context(), "c"); err == nil {
		t.Errorf("process %d is attached, which holds the other's session", s.Info().HostPID)
		s.Detach()
	}
	if got := foreign.answer("echo still here"); got != "still here" {
		t.Errorf("answer is %q", got)
	}
}
