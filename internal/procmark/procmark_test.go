package procmark

import "testing"

func TestParse(t *testing.T) {
	t.Parallel()
	m := Of("/state/hosts", 12, 345)
	for _, value := range []string{m.String(), m.Numbered(7)} {
		if got, ok := Parse(value); !ok || got != m {
			t.Errorf("%s is parsed as %+v, %v", value, got, ok)
		}
	}
	for _, bad := range []string{"", "a", "a.1", "a.b.c", "a.1.2.3.4"} {
		if m, ok := Parse(bad); ok {
			t.Errorf("%q is taken for %+v", bad, m)
		}
	}
}
