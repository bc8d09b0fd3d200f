package plainjson

import (
	"testing"

	"bareclaw/internal/testkit/check"
)

func TestMarshal(t *testing.T) {
	t.Parallel()
	got, err := Marshal(map[string]any{"code": "a < b && b > c\n", "list": []int{1, 2}})
	check.OK(t, err)
	if want := `{"code":"a < b && b > c\n","list":[1,2]}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if b, err := Marshal(func() {}); err == nil || b != nil {
		t.Errorf("a function encodes to %s, %v", b, err)
	}
}
