package observe

import (
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestSecretsInJSONSentAsText: JSON whose app does not say that it is JSON shows no secret either. Servers in Go call it text.
func TestSecretsInJSONSentAsText(t *testing.T) {
	f := newFaulty(t)
	r := f.starts()
	for _, text := range []string{`{"tokens":1,"token":["` + secret + `"]}`, `{"password":{"value":"` + secret + `"}}`, `{"pass\u0077ord":"` + secret + `"}`} {
		for _, media := range []string{"application/json", "text/plain", ""} {
			if got := f.serve(r, media, text); got != text {
				t.Errorf("the client gets %q", got)
			}
		}
	}
	f.get(r, "/secret")
	f.finds(r, "exposed-secret", "GET /secret")
	all, err := client(r).LatestOf(t.Context(), "GET /file", 100)
	check.OK(t, err)
	if len(all) != 9 {
		t.Errorf("%d requests are kept", len(all))
	}
	for i := range all {
		if body := all[i].ResponseBody; body == nil || strings.Contains(*body, secret) {
			t.Errorf("as %q this is kept: %s", all[i].ResponseHeaders["content-type"], *body)
		}
	}
}
