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
		`{"token":["abc","d"],"pin":1234,"pass\u0077ord":"x"}`:                        `{"token":["[masked:3]","[masked:1]"],"pin":"[masked:4]","pass\u0077ord":"[masked:1]"}`,
		"mysql --password abc --host db":                                              "mysql --password [masked:3] --host db",
		"run --token=abc -v":                                                          "run --token=[masked:3] -v",
		`['x', '--password', 'abc']`:                                                  `['x', '--password', '[masked:3]']`,
		"curl -u user:pw http://h":                                                    "curl -u user:[masked:2] http://h",
		"curl --user 'ann:p w' h":                                                     "curl --user 'ann:[masked:3]' h",
		"docker run -u 1000:1000 x":                                                   "docker run -u 1000:1000 x",
		"usage: --password string  the password; use --token to log in":               "usage: --password string  the password; use --token to log in",
		"log: INSERT INTO users (email, password) VALUES ('a','hunter22')":            "log: INSERT INTO users (email, password) VALUES ('a','[masked:8]')",
		"q: insert into users (id, pwd) values ($1, $2) -- PARAMETERS: [1,2]":         "q: insert into users (id, pwd) values ($1, $2) -- PARAMETERS: [masked:5]",
		"INSERT INTO logs (a) VALUES ('x')":                                           "INSERT INTO logs (a) VALUES ('x')",
		"redirect=https%3A%2F%2Fa%2Freset%2F0123456789abcdef0123456789abcdef&b=1":     "redirect=https%3A%2F%2Fa%2Freset%2F[masked:32]&b=1",
		"next=%2Freset%2F0123456789abcdef0123456789abcdef":                            "next=%2Freset%2F[masked:32]",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIa\nb\n-----END RSA PRIVATE KEY-----\nok": "-----BEGIN RSA PRIVATE KEY-----[masked:8]-----END RSA PRIVATE KEY-----\nok",
		`{"k":"-----BEGIN PRIVATE KEY-----\nMIIa`:                                     `{"k":"-----BEGIN PRIVATE KEY-----[masked:6]`,
		"-----BEGIN PUBLIC KEY-----\nMIIa":                                            "-----BEGIN PUBLIC KEY-----\nMIIa",
		"pass: hunter22 PASS=x pass: 1234":                                            "pass: [masked:8] PASS=[masked:1] pass: [masked:4]",
		`{"api_key":"abc def"}`:                                                       `{"api_key":"[masked:7]"}`,
		`{\"apiKey\":\"abcdef\",\"a\":1}`:                                             `{\"apiKey\":\"[masked:6]\",\"a\":1}`,
		"DB_PASSWORD = 'it is long'":                                                  "DB_PASSWORD = '[masked:10]'",
		"clientSecret := \"abc\"":                                                     "clientSecret := \"[masked:3]\"",
		"secret => 'abc'":                                                             "secret => '[masked:3]'",
		"Authorization: Bearer abc.def":                                               "Authorization: Bearer [masked:7]",
		"token=a&page=2&access_token=bb":                                              "token=[masked:1]&page=2&access_token=[masked:2]",
		"postgres://app:pa:ss@db/x failed":                                            "postgres://app:[masked:5]@db/x failed",
		"a http://u:p@x/ b redis://:pw@y":                                             "a http://u:[masked:1]@x/ b redis://:[masked:2]@y",
		"http://host:80/a@b":                                                          "http://host:80/a@b",
		"password=[REDACTED] token=****":                                              "password=[REDACTED] token=****",
		"secret=CHANGE_ME token: xxxx":                                                "secret=CHANGE_ME token: xxxx",
		"password=":                                                                   "password=",
		"max_tokens=4096 keys: 3":                                                     "max_tokens=4096 keys: 3",
		"password=[masked:8]":                                                         "password=[masked:8]",
		"password=a,b;c d":                                                            "password=[masked:5] d",
		"password=a, user=b;token=c;d=1":                                              "password=[masked:1], user=b;token=[masked:1];d=1",
		"user[password_confirmation]=abc":                                             "user[password_confirmation]=[masked:3]",
		"user%5Bpassword%5D=abc&a=1":                                                  "user%5Bpassword%5D=[masked:3]&a=1",
		"Authorization: Token abc, a=1":                                               "Authorization: Token [masked:3], a=1",
		"authorization: Own abc":                                                      "authorization: [masked:7]",
		`-H 'Authorization: Digest a="b", c'`:                                         `-H 'Authorization: Digest [masked:2]"b", c'`,
		"cookie: 'a=1; b=2', host: 'x'":                                               "cookie: 'a=[masked:1]; b=[masked:1]', host: 'x'",
		"Set-Cookie: a=1; Path=/":                                                     "Set-Cookie: a=[masked:1]; Path=/",
		"sent Bearer abc1 to x":                                                       "sent Bearer [masked:4] to x",
		"sent Basic YTpi to x":                                                        "sent Basic [masked:4] to x",
		"got eyJhIjoxfQ.eyJiIjoyfQ.c2ln.":                                             "got [masked:26].",
		"https://h:80/reset/0123456789abcdef0123456789abcdef, ok":                     "https://h:80/reset/[masked:32], ok",
		"password=a\npassword=b":                                                      "password=[masked:1]\npassword=[masked:1]",
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
		`{"password":"hunter22","user":"ann"}`:                         `{"password":"[masked:8]","user":"ann"}`,
		`[{"apiKey": "a"}, {"api_secret" : "bb"}]`:                     `[{"apiKey": "[masked:1]"}, {"api_secret" : "[masked:2]"}]`,
		`{"token":12345678,"secret":null,"pwd":true}`:                  `{"token":"[masked:8]","secret":null,"pwd":true}`,
		`{"secret":{"a":"b","c":["d",1]},"e":"f"}`:                     `{"secret":{"a":"[masked:1]","c":["[masked:1]","[masked:1]"]},"e":"f"}`,
		`{"password":"[REDACTED]","secret":"********"}`:                `{"password":"[REDACTED]","secret":"********"}`,
		`{"pass\u0077ord":"x"}`:                                        `{"pass\u0077ord":"[masked:1]"}`,
		`{"error":"at postgres://a:b@c"}`:                              `{"error":"at postgres://a:[masked:1]@c"}`,
		`{"log":"{\"token\":\"a\\\"b\"} token=c\\\"d"}`:                `{"log":"{\"token\":\"[masked:4]\"} token=[masked:4]"}`,
		`{"password":"cut off he`:                                      `{"password":"[masked:10]`,
		`{"password":`:                                                 `{"password":`,
		"{\"token\":\"a\"}\n{\"token\":\"b\"}\n":                       "{\"token\":\"[masked:1]\"}\n{\"token\":\"[masked:1]\"}\n",
		`{"a":"password","b":"x"}`:                                     `{"a":"password","b":"x"}`,
		`]]}}{"secret":"a"}`:                                           `]]}}{"secret":"[masked:1]"}`,
		`[{"name":"password","value":"abc"},{"name":"a","value":"b"}]`: `[{"name":"password","value":"[masked:3]"},{"name":"a","value":"b"}]`,
		`{"type":"field","value":"abc","msg":"bad","path":"password"}`: `{"type":"field","value":"[masked:3]","msg":"bad","path":"password"}`,
		`{"loc":["body","password"],"input":["a",{"b":1}]}`:            `{"loc":["body","password"],"input":["[masked:1]",{"b":"[masked:1]"}]}`,
		`{"value": {"a":"token=b","c":1} ,"key":"api_key","x":[1]}`:    `{"value": "[masked:21]" ,"key":"api_key","x":[1]}`,
		`{"label":"New password","value":1234}`:                        `{"label":"New password","value":"[masked:4]"}`,
		`{"value":1234,"name":"pin"}`:                                  `{"value":"[masked:4]","name":"pin"}`,
		`{"name":"Secret Santa","value":"24"}`:                         `{"name":"Secret Santa","value":"24"}`,
		`{"name":"max_tokens","value":4096}`:                           `{"name":"max_tokens","value":4096}`,
		`{"a":{"value":"b"},"name":"token"}`:                           `{"a":{"value":"b"},"name":"token"}`,
		`{"n":-1.5e3}`:                                                 `{"n":-1.5e3}`,
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
		{"application/json", `{'password': 'abc', "token": "de"}`, `{'password': '[masked:3]', "token": "[masked:2]"}`},
		{"application/json", "{\"a\":tru", "{\"a\":tru"},
		{"text/plain", `{"tokens":["ab",1],"max_tokens":5}`, `{"tokens":["[masked:2]",1],"max_tokens":5}`},
		{"application/x-www-form-urlencoded", "password=a;TAIL&b=2#c", "password=[masked:6]&b=2#c"},
		{"text/html", `{"token":["a","b"],"password":{"value":"c"}}`, `{"token":["[masked:1]","[masked:1]"],"password":{"value":"[masked:1]"}}`},
		{"", `{"pass\u0077ord":"a","pin":1234}`, `{"pass\u0077ord":"[masked:1]","pin":"[masked:4]"}`},
		{"application/x-www-form-urlencoded", `{"token":["a"],"pin":1234}`, `{"token":["[masked:1]"],"pin":"[masked:4]"}`},
		{"application/jsonl", "{\"token\":[\"a\"]}\n", "{\"token\":[\"[masked:1]\"]}\n"},
		{"", "user%5Bpassword%5D=a%20b", "user%5Bpassword%5D=[masked:5]"},
		{"application/x-www-form-urlencoded", "next=%2Freset%3Ftoken%3Dab%26a%3D1", "next=%2Freset%3Ftoken%3D[masked:2]%26a%3D1"},
		{"application/x-www-form-urlencoded", "d=%7B%22pin%22%3A1234%2C%22a%22%3A1%7D", "d=%7B%22pin%22%3A[masked:4]%2C%22a%22%3A1%7D"},
		{"application/xml", "<a><password>x &amp; y</password><b>c</b></a>", "<a><password>[masked:9]</password><b>c</b></a>"},
		{"application/xml", "<secret><a>b</a></secret>", "<secret>[masked:8]</secret>"},
		{"application/xml", `<u password="ab" id="1"/>`, `<u password="[masked:2]" id="1"/>`},
		{"application/xml", "<a><password>cut off he", "<a><password>[masked:10]"},
		{"text/html", `<meta name="csrf-token" content="ab">`, `<meta name="csrf-token" content="[masked:2]">`},
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
	f.Add([]byte(`{"value":{"a":["token=b"]},"x":1,"name":"password"}`))
	f.Add([]byte(`{"loc":["body","password"],"input":[1,tr`))
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
	for _, part := range hostile {
		f.Add("password=" + strings.Repeat(part, 5))
	}
	f.Add("password: 'a b' token=\\\"c\\\" x://y:z@w")
	f.Fuzz(func(t *testing.T, text string) {
		masked := MaskText(text)
		if again := MaskText(masked); again != masked {
			t.Errorf("%q becomes %q, and then %q", text, masked, again)
		}
		_ = MaskURL(text)
	})
}

// TestHarmlessTexts: what has no secret stays as it is, to the byte.
func TestHarmlessTexts(t *testing.T) {
	t.Parallel()
	texts := []string{
		`{"model":"m","max_tokens":4096,"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}`,
		`{"token_type":"Bearer","expires_in":3600,"password_length":12,"csrf_token_name":"_token"}`,
		`{"password":true,"secret":null,"tokens":[1,2,3],"keys":["a"],"primary_key":"id","author":"ann"}`,
		`{"id":"0b5e2f1c-1111-4222-8333-444455556666","created_at":"2024-01-01T00:00:00.000Z","url":"https://cdn.example/a/b.png?w=1"}`,
		`{'single': 'quotes'}`, `[1, 2`, `"a string"`, `<html><body class="a">text &amp; more: none</body></html>`,
		"usage: login <user> <password> [--force]", "max_tokens=4096&tokens=17&tokens_used=5", "Bearer authentication is required",
		"a bearer token of type: JWT", "Basic auth failed", "the basic idea: none", "password is required", "token: undefined",
		"GET /users/42?page=7&sort=name&next=%2Fhome%3Fa%3D1 200 12 ms", "http://localhost:3000/users/42", "mail ann@example.com: sent",
		"a=1&b=c+d&e=%20", "<user id='1'><name>ann</name></user>", "at f (/app/src/server.js:12:34)", "cookie: a small file", "key: value, keys: 3",
		"PASS: TestFoo", "pass: 12 fail: 3", "--- PASS: TestX (0.00s)", "PASSED tests: 4", "Secret Santa: 24 guests",
		"--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--X--\r\n", "pass_rate=0.9, bypass: on, compass=north", "[info] a[0]: 1 (b)",
	}
	for _, text := range texts {
		for _, media := range []string{"", "application/json", "text/html", "application/x-www-form-urlencoded"} {
			if got := string(MaskBody(media, []byte(text))); got != text {
				t.Errorf("%s\nof %q becomes %s", text, media, got)
			}
		}
		if got := MaskText(text); got != text {
			t.Errorf("%s\nbecomes %s", text, got)
		}
	}
	queries := []string{
		"SELECT id, password_hash FROM users WHERE email = 'a@b' LIMIT 10", "SELECT 'a' || name FROM t WHERE a = 'b'",
		"UPDATE runs SET max_tokens = 4096, prompt_tokens = 12 WHERE name = 'x'", "INSERT INTO t (a, b) VALUES ('x', 2)", "GET user:1", "SET a b",
	}
	for _, text := range queries {
		signal := period{}.prepare(Signal{Query: &Query{Text: text, Values: "[a, 7]", ValuesKnown: true}})
		if signal.Query.Text != text || signal.Query.Values != "[a, 7]" || !signal.Query.ValuesKnown {
			t.Errorf("%s\nbecomes %+v", text, signal.Query)
		}
	}
}

// TestMaskingIsLinear would not end if the work grew with the square of the length.
func TestMaskingIsLinear(t *testing.T) {
	t.Parallel()
	const size = 512 << 10
	for _, part := range hostile {
		text := strings.Repeat(part, size/len(part))
		MaskText(text)
		MaskText("password=[" + text)
		MaskBody("application/json", []byte(`{"a":"`+text))
		MaskBody("application/x-www-form-urlencoded", []byte(text))
		_, _ = maskQuery(text[:MaxSignalText])
	}
}

// hostile are texts that cost most if they are repeated.
var hostile = []string{
	"]", "[", "password=[masked:", "password=[", "password='", "password:", "<password>", "<password> ", "<a b=", "<a b='", "<a name=password>", "://", "://a:",
	"http://a@", "%3A%2F%2F", "%3A%2F%2Fa%3A", "%3D", "eyJ", "eyJ.", "bearer ", "basic YTpi", "cookie: ", "cookie: a ", "authorization: basic a ", "set-cookie: a;",
	"tokens: [", "tokens: [1 ", "password=a,", "a,", "\\", `\"`, "%(", "$a$", "form-data; name=\"password\"\r\n\r\n", "form-data; name=", "a=b&", ";", "&quot;",
	"password ", "/0a1B", "{'", "select password, ", "--password ", "-u a:", "-----BEGIN PRIVATE KEY-----", "insert into password ", "%2F", "pass: 1", "-",
}
