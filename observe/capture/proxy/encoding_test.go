package proxy

import (
	"net/http"
	"testing"
)

// TestAskReadable: the app is asked for what is read, with the client's weights, unless the client takes nothing of that.
func TestAskReadable(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"gzip, deflate, br, zstd":        "gzip, deflate", // a browser
		"br;q=1.0, gzip;q=0.8, *;q=0.1":  "gzip;q=0.8, deflate;q=0.1",
		"GZIP;q=0.5,deflate ; q=0.4, br": "GZIP;q=0.5, deflate ; q=0.4",
		"br":                             "identity",
		"":                               "identity",
		"identity":                       "identity",
		"*":                              "gzip, deflate",
		"br, gzip;q=0":                   "gzip;q=0, identity",
		"br, gzip, identity;q=0":         "gzip, identity;q=0",
		"br, gzip, *;q=0":                "gzip, *;q=0",
		"br, identity;q=0":               "br, identity;q=0",
		"br, *;q=0":                      "br, *;q=0",
		"*;q=0.5, gzip;q=0, deflate;q=0": "gzip;q=0, deflate;q=0, identity",
	} {
		header := http.Header{acceptEncodingHeader: {asked}}
		askReadable(header)
		if got := header.Get(acceptEncodingHeader); got != want {
			t.Errorf("%q becomes %q, want %q", asked, got, want)
		}
	}
	several := http.Header{acceptEncodingHeader: {"br", "gzip"}}
	askReadable(several)
	if got := several[acceptEncodingHeader]; len(got) != 1 || got[0] != "gzip" {
		t.Errorf("two lines become %q", got)
	}
	none := http.Header{}
	askReadable(none)
	if len(none) > 0 {
		t.Errorf("without the header: %v", none)
	}
}
