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
		ids, problems := parse(b)
		if len(problems) > maxProblems+1 {
			t.Errorf("%d problems are told", len(problems))
		}
		owners := map[string]bool{}
		for _, id := range ids {
			if !validID(id) || owners[strings.ToLower(id)] {
				t.Errorf("session %q is kept", id)
			}
			owners[strings.ToLower(id)] = true
		}
		again, problems := parse(format(ids))
		if len(problems) != 0 || !maps.Equal(again, ids) {
			t.Errorf("%v became %v, %q", ids, again, problems)
		}
	})
}
