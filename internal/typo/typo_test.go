package typo

import "testing"

func TestNearestName(t *testing.T) {
	t.Parallel()
	known := []string{"desk", "terminal", "job1", "tg-12345", "a"}
	for text, want := range map[string]string{
		"dekc": "desk", "Desk": "desk", "desk": "", "terminl": "terminal", "job2": "", "tg-12346": "", "ops": "", "jib1": "job1", "xyz": "",
	} {
		if got := Nearest(text, known); got != want {
			t.Errorf("%q is taken for %q, want %q", text, got, want)
		}
	}
}
