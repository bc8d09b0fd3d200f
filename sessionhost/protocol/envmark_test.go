package protocol

import "testing"

func TestParseMarker(t *testing.T) {
	t.Parallel()
	m := EnvMarkOf("/state/hosts/x.json", 12, 345)
	if got, ok := parseEnvMark(m.String()); !ok || got != m {
		t.Errorf("%s is parsed as %+v, %v", m, got, ok)
	}
	for _, bad := range []string{"", "a", "a.1", "a.b.c", "a.1.2.3", "a.-1.-2"} {
		if m, ok := parseEnvMark(bad); ok && m.String() == bad {
			t.Errorf("%q is taken for a marker", bad)
		}
	}
}
