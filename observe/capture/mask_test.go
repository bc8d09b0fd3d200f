package capture

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestMaskedLength(t *testing.T) {
	t.Parallel()
	if n, ok := MaskedLength(Mask(12)); n != 12 || !ok {
		t.Errorf("got %d, %v", n, ok)
	}
	for _, s := range []string{"", "[masked:]", "[masked:x]", "[masked:-1]", "[masked:5] ", "[REDACTED]", "hunter22"} {
		if n, ok := MaskedLength(s); ok {
			t.Errorf("%q is the mask of %d bytes", s, n)
		}
	}
}

func TestMaskText(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"":                                    "",
		"nothing = here: at all":              "nothing = here: at all",
		"password=hunter22":                   "password=[masked:8]",
		"login password: hunter22, user: ann": "login password: [masked:8], user: ann",
		`{"api_key":"abc def"}`:               `{"api_key":"[masked:7]"}`,
		`{\"apiKey\":\"abcdef\",\"a\":1}`:     `{\"apiKey\":\"[masked:6]\",\"a\":1}`,
		"DB_PASSWORD = 'it is long'":          "DB_PASSWORD = '[masked:10]'",
		"clientSecret := \"abc\"":             "clientSecret := \"[masked:3]\"",
		"secret => 'abc'":                     "secret => '[masked:3]'",
		"Authorization: Bearer abc.def":       "Authorization: Bearer [masked:7]",
		"token=a&page=2&access_token=bb":      "token=[masked:1]&page=2&access_token=[masked:2]",
		"postgres://app:pa:ss@db/x failed":    "postgres://app:[masked:5]@db/x failed",
		"a http://u:p@x/ b redis://:pw@y":     "a http://u:[masked:1]@x/ b redis://:[masked:2]@y",
		"http://host:80/a@b":                  "http://host:80/a@b",
		"password=[REDACTED] token=****":      "password=[REDACTED] token=****",
		"secret=CHANGE_ME token: xxxx":        "secret=CHANGE_ME token: xxxx",
		"password=":                           "password=",
		"max_tokens=4096 keys: 3":             "max_tokens=4096 keys: 3",
		"password=[masked:8]":                 "password=[masked:8]",
		"password=a\npassword=b":              "password=[masked:1]\npassword=[masked:1]",
	}
	for text, want := range cases {
		got := MaskText(text)
		if got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", text, got, want)
		}
		if again := MaskText(got); again != got {
			t.Errorf("%s\nbecomes again %s", got, again)
		}
	}
}

func TestMaskURL(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"/a?token=abc&x=1#access_token=de&y": "/a?token=[masked:3]&x=1#access_token=[masked:2]&y",
		"/a?user%5Bpassword%5D=abc":          "/a?user%5Bpassword%5D=[masked:3]",
		"/a?api-key=abc&code=1&token=":       "/a?api-key=[masked:3]&code=1&token=",
		"http://u:p@h/a?session_id=1":        "http://u:[masked:1]@h/a?session_id=[masked:1]",
		"/a?next=http%3A%2F%2Fu%3Apw%40h":    "/a?next=http%3A%2F%2Fu%3A[masked:2]%40h",
		"/plain":                             "/plain",
		"/%zz?password=%zz":                  "/%zz?password=[masked:3]",
	}
	for address, want := range cases {
		if got := MaskURL(address); got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", address, got, want)
		}
	}
}

func TestMaskHeader(t *testing.T) {
	t.Parallel()
	header := http.Header{
		"Authorization": {"Basic YTpi", "abc"},
		"Cookie":        {"a=1; theme=dark", "bare"},
		"Set-Cookie":    {"sid=abc=d; Path=/; HttpOnly", "t=; Max-Age=0"},
		"X-Api-Key":     {"abcd"},
		"Location":      {"/in?token=abc"},
		"Accept":        {"*/*"},
	}
	want := http.Header{
		"Authorization": {"Basic [masked:4]", "[masked:3]"},
		"Cookie":        {"a=[masked:1]; theme=[masked:4]", "[masked:4]"},
		"Set-Cookie":    {"sid=[masked:5]; Path=/; HttpOnly", "t=; Max-Age=0"},
		"X-Api-Key":     {"[masked:4]"},
		"Location":      {"/in?token=[masked:3]"},
		"Accept":        {"*/*"},
	}
	got := MaskHeader(header)
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q", got)
	}
	cookies := make([]string, 1000)
	for i := range cookies {
		cookies[i] = "name=" + strings.Repeat("v", 200)
	}
	kept := MaskHeader(http.Header{"Set-Cookie": cookies})["Set-Cookie"]
	if len(kept) < 200 || len(kept) == len(cookies) {
		t.Errorf("of 1,000 cookies %d are kept", len(kept))
	}
}

func TestMaskJSON(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		`{"password":"hunter22","user":"ann"}`:          `{"password":"[masked:8]","user":"ann"}`,
		`[{"apiKey": "a"}, {"api_secret" : "bb"}]`:      `[{"apiKey": "[masked:1]"}, {"api_secret" : "[masked:2]"}]`,
		`{"token":12345678,"secret":null,"pwd":true}`:   `{"token":"[masked:8]","secret":null,"pwd":true}`,
		`{"secret":{"a":"b","c":["d",1]},"e":"f"}`:      `{"secret":{"a":"[masked:1]","c":["[masked:1]","[masked:1]"]},"e":"f"}`,
		`{"password":"[REDACTED]","secret":"********"}`: `{"password":"[REDACTED]","secret":"********"}`,
		`{"pass\u0077ord":"x"}`:                         `{"pass\u0077ord":"[masked:1]"}`,
		`{"error":"at postgres://a:b@c"}`:               `{"error":"at postgres://a:[masked:1]@c"}`,
		`{"log":"{\"token\":\"a\\\"b\"} token=c\\\"d"}`: `{"log":"{\"token\":\"[masked:4]\"} token=[masked:4]"}`,
		`{"password":"cut off he`:                       `{"password":"[masked:10]`,
		`{"password":`:                                  `{"password":`,
		"{\"token\":\"a\"}\n{\"token\":\"b\"}\n":        "{\"token\":\"[masked:1]\"}\n{\"token\":\"[masked:1]\"}\n",
		`{"a":"password","b":"x"}`:                      `{"a":"password","b":"x"}`,
		`]]}}{"secret":"a"}`:                            `]]}}{"secret":"[masked:1]"}`,
		`{"n":-1.5e3}`:                                  `{"n":-1.5e3}`,
	}
	for text, want := range cases {
		if got := string(MaskJSON([]byte(text))); got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", text, got, want)
		}
	}
	const depth = 10_000
	deep := strings.Repeat(`{"a":[`, depth) + `{"password":"deep"}` + strings.Repeat(`]}`, depth)
	if got := string(MaskJSON([]byte(deep))); !strings.Contains(got, `"[masked:4]"`) || strings.Contains(got, "deep") {
		t.Error("the secret at the bottom is not masked")
	}
	MaskJSON([]byte(deep)[:MaxBody-5000])
}

func TestMaskBody(t *testing.T) {
	t.Parallel()
	cases := []struct{ media, body, want string }{
		{"application/json", `{"token":"a"}`, `{"token":"[masked:1]"}`},
		{"application/problem+json", ` {"token":"a"}`, ` {"token":"[masked:1]"}`},
		{"application/json", `Error: password=abc`, `Error: password=[masked:3]`},
		{"application/x-www-form-urlencoded", "a=1&password=b+c", "a=1&password=[masked:3]"},
		{"text/html", "<p>secret: abc</p>", "<p>secret: [masked:3]</p>"},
	}
	for _, c := range cases {
		if got := string(MaskBody(c.media, []byte(c.body))); got != c.want {
			t.Errorf("%s of %s becomes %s", c.body, c.media, got)
		}
	}
}

func FuzzMaskJSON(f *testing.F) {
	f.Add([]byte(`{"password":"a\"b","x":["token=c\\",-1.5e+3,{"secret":1}]}`))
	f.Add([]byte(`{"secret":{"a":[tru`))
	f.Add([]byte("\"\\"))
	f.Fuzz(func(t *testing.T, body []byte) {
		masked := MaskJSON(body)
		if json.Valid(body) && !json.Valid(masked) {
			t.Errorf("%q becomes %q", body, masked)
		}
		if again := MaskJSON(masked); json.Valid(body) && string(again) != string(masked) {
			t.Errorf("%q becomes %q, and then %q", body, masked, again)
		}
		MaskBody("application/json", body)
	})
}

func FuzzMaskText(f *testing.F) {
	f.Add("password: 'a b' token=\\\"c\\\" x://y:z@w")
	f.Fuzz(func(t *testing.T, text string) {
		masked := MaskText(text)
		if again := MaskText(masked); again != masked {
			t.Errorf("%q becomes %q, and then %q", text, masked, again)
		}
		_ = MaskURL(text)
	})
}
