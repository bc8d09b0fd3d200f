package sessionfile

import (
	"maps"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	const id = "0b9fbb1c-5d0a-4a3e-9f43-3a1b6a1f0001"
	for _, seed := range []string{"", "null", "[]", `{"a": "` + id + `"}`, `{"a": 1, "a": "` + id + `", "b": "` + strings.ToUpper(id) + `"}x`, `{"\ud800": "`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ids, _ := parse(b)
		owners := map[string]bool{}
		for _, id := range ids {
			if !validID(id) || owners[strings.ToLower(id)] {
				t.Errorf("session %q is kept", id)
			}
			owners[strings.ToLower(id)] = true
		}
		written, err := format(ids)
		if again, problem := parse(written); err != nil || problem != nil || !maps.Equal(again, ids) {
			t.Errorf("%v became %v, %v, %v", ids, again, err, problem)
		}
	})
}
