package rules

import (
	"net/http"
	"testing"

	"bareclaw/observe/capture"
)

func asks(origin, allowed, credentials string) *capture.Request {
	r := get("/items")
	r.Sent.Header.Set("Origin", origin)
	r.Received.Header.Set("Access-Control-Allow-Origin", allowed)
	r.Received.Header.Set("Access-Control-Allow-Credentials", credentials)
	return r
}

func posts(sent, received string) *capture.Request {
	r := returnsJSON(received)
	r.Method = http.MethodPost
	r.Sent.Media = "application/json"
	r.Sent.Body = []byte(sent)
	return r
}

func overHTTPS(r *capture.Request) *capture.Request {
	r.HTTPS = true
	return r
}

func to(url string, r *capture.Request) *capture.Request {
	r.URL = url
	return r
}

func securityExamples() []example {
	return []example{
		{
			rule:  "exposed-secret",
			bad:   after(returnsJSON(`{"users":[{"name":"ann","password":"[masked:12]"}]}`)),
			other: after(returnsJSON(`{"password":"[masked: 60 characters]"}`)),
			text:  `The response contains a value of "password".`,
			fixed: after(returnsJSON(`{"password":"[masked:12]"}`), returnsJSON(`{"name":"ann"}`)),
			nothing: map[string]*Subject{
				"short":        after(returnsJSON(`{"password":"[masked:7]"}`)),
				"own mask":     after(returnsJSON(`{"password":"[REDACTED]"}`)),
				"stars":        after(returnsJSON(`{"password":"**********"}`)),
				"placeholder":  after(returnsJSON(`{"password":"CHANGE_ME_NOW"}`)),
				"no string":    after(returnsJSON(`{"password":{"type":"string"},"secret":true,"api_key":null}`)),
				"another key":  after(returnsJSON(`{"token":"[masked:40]","passwordHint":"my first cat"}`)),
				"too deep":     after(returnsJSON(`{"a":{"a":{"a":{"a":{"a":{"password":"[masked:12]"}}}}}}`)),
				"sixth item":   after(returnsJSON(`[{},{},{},{},{},{"password":"[masked:12]"}]`)),
				"an error":     after(replies(http.StatusBadRequest, "application/json", `{"password":"must have 8 characters"}`)),
				"words":        after(to("/locales/en", returnsJSON(`{"password":"[masked:19]"}`))),
				"no JSON":      after(replies(http.StatusOK, "text/html", `<input name="password">`)),
				"not modified": after(replies(http.StatusNotModified, "", "")),
			},
		},
		{
			rule:  "token-in-url",
			bad:   after(get("/items?page=1&access_token=[masked:20]")),
			other: after(get("/items?access_token=%5Bmasked%3A30%5D")),
			text:  `The URL contains a value of "access_token".`,
			fixed: after(get("/items?access_token=[masked:20]"), get("/items?page=1")),
			nothing: map[string]*Subject{
				"no value":      after(get("/items?token=")),
				"OAuth":         after(get("/back?code=abcdefgh&state=abcdefgh&nonce=1&redirect_uri=x")),
				"another name":  after(get("/items?tokens=5&mytoken=abcdefgh")),
				"in the path":   after(get("/token=abcdefgh")),
				"own mask":      after(get("/items?token=[REDACTED]")),
				"live reload":   after(upgraded(get("/?token=[masked:12]"))),
				"fragment only": after(get("/items?page=1#token=abcdefgh")),
			},
		},
		{
			rule:  "stack-trace-leak",
			bad:   after(fails("<pre>Error: no<br> &nbsp; &nbsp;at /srv/app/index.js:5:9<br> &nbsp; &nbsp;at Layer.handle (/srv/app/layer.js:1:2)</pre>")),
			other: after(replies(400, "application/json", `{"stack":"Error: no\n    at Object.<anonymous> (/srv/app/other.js:50:90)"}`)),
			text:  "The response shows a JavaScript stack trace.",
			fixed: after(fails("Error: no\n    at f (/srv/index.js:5:9)"), fails("Something went wrong")),
			nothing: map[string]*Subject{
				"prose with times":  after(fails("We meet at noon (10:30:15) at the office (1:2:3)")),
				"a page about one":  after(replies(200, "text/html", "<html>"+string(make([]byte, TraceHeadBytes))+"\n    at f (/srv/index.js:5:9)")),
				"a text in JSON":    after(returnsJSON(`{"readme":"Error: no\n    at f (/srv/index.js:5:9)"}`)),
				"a file and a line": after(fails("Look at index.js, line 5")),
			},
		},
		{
			rule:  "error-info-leak",
			bad:   after(fails("cannot connect to postgres://app:[masked:8]@db:5432/shop")),
			other: after(replies(404, "application/json", `{"error":"mongodb+srv://cluster0 is down"}`)),
			text:  "The error response shows the URL of a database.",
			fixed: after(fails("mysql://root@db is down"), fails("try again later")),
			nothing: map[string]*Subject{
				"no error":    after(replies(200, "text/plain", "use postgres://user@host")),
				"prose":       after(fails("Please select an item from the list, or insert into the form. Update your set. You cannot delete from here.")),
				"tags":        after(fails("<b>SELECT</b> one <i>FROM</i> these")),
				"echo":        after(to("/q?url=postgres%3A%2F%2Fme%40db", fails("no such URL: postgres://me@db"))),
				"echoed SQL":  after(to("/q?q=SELECT+a+FROM+b", fails("cannot parse SELECT a FROM b"))),
				"short word":  after(fails("Unexpected token: identifier")),
				"forged":      after(fails(`var csrf_token="[masked:32]"`)),
				"own mask":    after(fails("secret=[REDACTED]")),
				"no protocol": after(fails("see https://example.com/postgres")),
			},
		},
		{
			rule:  "insecure-cookie",
			bad:   after(sets("Set-Cookie", "sid=[masked:20]; Path=/")),
			other: after(sets("Set-Cookie", "sid=[masked:20]; Path=/; httponly")),
			text:  `The cookie "sid" lacks HttpOnly and SameSite.`,
			fixed: after(sets("Set-Cookie", "sid=[masked:20]"), sets("Set-Cookie", "sid=[masked:20]; HttpOnly; SameSite=Lax")),
			nothing: map[string]*Subject{
				"removed":         after(sets("Set-Cookie", "sid=; Path=/", "b=1; Max-Age=0")),
				"read by pages":   after(sets("Set-Cookie", "XSRF-TOKEN=abc; SameSite=Lax")),
				"redirect":        after(redirects(sets("Set-Cookie", "sid=1"))),
				"internal":        after(to("/__dev", sets("Set-Cookie", "sid=1"))),
				"secure on HTTPS": after(overHTTPS(sets("Set-Cookie", "sid=1; Secure; HttpOnly; SameSite=Lax"))),
			},
		},
		{
			rule:  "cors-credentials",
			bad:   after(asks("https://evil.example", "https://evil.example", "true"), asks("https://other.example", "https://other.example", "true")),
			other: after(asks("null", "null", "true")),
			text:  "The app allows credentials for whatever origin asks, such as https://other.example.",
			fixed: after(asks("https://evil.example", "https://evil.example", "true"), asks("https://evil.example", "https://app.example", "true")),
			nothing: map[string]*Subject{
				"no credentials": after(asks("https://evil.example", "*", "")),
				"reflected, but": after(asks("https://evil.example", "https://evil.example", "false")),
				"own front end":  after(asks("http://localhost:5173", "http://localhost:5173", "true"), asks("http://127.0.0.1:3000", "http://127.0.0.1:3000", "true")),
			},
		},
		{
			rule:  "response-pii-leak",
			bad:   after(returnsJSON("[" + person(0) + "," + person(0) + "]")),
			other: after(returnsJSON(person(6))),
			text:  "The response contains personal data: a list of records with email addresses.",
			fixed: after(returnsJSON(person(6)), returnsJSON(`{"id":1,"name":"ann"}`)),
			nothing: map[string]*Subject{
				"own data":       after(to("/api/me", returnsJSON(person(9)))),
				"few fields":     after(returnsJSON(person(2))),
				"no email":       after(returnsJSON(`{"id":1,"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}`)),
				"one item":       after(returnsJSON("[" + person(0) + "]")),
				"contact":        after(returnsJSON(`{"phone":"123","address":"Main St"}`)),
				"empty field":    after(returnsJSON(`{"id":1,"phone":null,"address":""}`)),
				"acknowledgment": after(posts(`{"email":"ann@example.com"}`, `{"ok":true,"email":"ann@example.com"}`)),
				"an error":       after(replies(409, "application/json", person(9))),
			},
		},
		{
			rule:  "sensitive-logs",
			bad:   after(logs(`login {"user":"ann","password":"[masked:12]"}`)),
			other: after(logs("Password: [masked: 9 characters]", "DB_PASSWORD='[masked:20]'")),
			text:  "The log shows the value of a password, in 1 line.",
			fixed: after(logs("password=[masked:12]"), logs("login of ann")),
			nothing: map[string]*Subject{
				"short":     after(logs("password=[masked:5]")),
				"own mask":  after(logs("password=********", "token: [REDACTED]", "secret=xxxxxxxx")),
				"no value":  after(logs("token: undefined", "reset the password", "max_tokens: 40960000")),
				"a count":   after(logs("token_count=12345678")),
				"the words": after(logs("password is required: please enter one")),
			},
		},
	}
}

func upgraded(r *capture.Request) *capture.Request {
	r.End = capture.Upgraded
	return r
}

func redirects(r *capture.Request) *capture.Request {
	r.Status = http.StatusFound
	return r
}

func TestStackTraces(t *testing.T) {
	for name, body := range map[string]string{
		"JavaScript": "Error: no\n    at async handler (file:///srv/app.mjs:1:2)",
		"Python":     "Traceback (most recent call last):\n  File \"/srv/app.py\", line 3, in f",
		"Go":         "panic: no\n\ngoroutine 17 [running]:\nmain.main()",
		"Java":       "java.lang.Error\n\tat com.example.Shop.buy(Shop.java:12)",
		"Ruby":       "/srv/app/shop.rb:5:in `buy': no (RuntimeError)",
		"PHP":        "<b>Fatal error</b>: no in <b>/srv/shop.php</b> on line <b>3</b>",
		".NET":       "   at Shop.Buy(String id) in C:\\src\\Shop.cs:line 12",
	} {
		for _, r := range []*capture.Request{fails(body), replies(200, "text/plain", body)} {
			found := checkStackTraceLeak(after(r))
			if len(found) != 1 || found[0].Description.Text != "The response shows a "+name+" stack trace." {
				t.Errorf("%s with %d: %v", name, r.Status, found)
			}
		}
	}
	found := checkStackTraceLeak(after(returnsJSON(`{"errors":[{"extensions":{"stacktrace":["Error: no","    at f (/srv/index.js:5:9)"]}}]}`)))
	if len(found) != 1 {
		t.Errorf("in the answer to GraphQL: %v", found)
	}
}

func TestErrorsShowMore(t *testing.T) {
	for body, want := range map[string]string{
		`syntax error in INSERT INTO users (name) VALUES ($1)`:                   "a part of an SQL query",
		`select * from "users" where "id" = $1 - relation "users" is missing`:    "a part of an SQL query",
		`{"message":"SELECT \"User\".\"id\"\n FROM \"public\".\"User\" failed"}`: "a part of an SQL query",
		"update `users` set `name` = 'x' - no such table":                        "a part of an SQL query",
		`DELETE FROM users WHERE id = 7: constraint`:                             "a part of an SQL query",
		`config: api_key=[masked:20]`:                                            "the value of a secret",
		`client_secret: [masked:32]`:                                             "the value of a secret",
	} {
		found := checkErrorInfoLeak(after(fails(body)))
		if len(found) != 1 || found[0].Description.Text != "The error response shows "+want+"." {
			t.Errorf("%s: %v", body, found)
		}
	}
}

func TestCookieOverHTTPS(t *testing.T) {
	found := checkInsecureCookie(after(overHTTPS(sets("Set-Cookie", "a=1; HttpOnly; SameSite=Lax", "b=2; Secure; SameSite=Lax"))))
	if len(found) != 2 || found[0].Description.Text != `The cookie "a" lacks Secure.` ||
		found[1].Description.Text != `The cookie "b" lacks HttpOnly.` {
		t.Error(found)
	}
}

func TestOrigins(t *testing.T) {
	found := checkCORSCredentials(after(asks("", "*", "true")))
	if len(found) != 1 || found[0].Likely {
		t.Errorf("*: %v", found)
	}
	found = checkCORSCredentials(after(asks("https://evil.example", "https://evil.example", "true")))
	if len(found) != 1 || !found[0].Likely {
		t.Errorf("one foreign origin may be on a list: %v", found)
	}
	own := asks("https://phone.example", "https://phone.example", "true")
	own.Sent.Header.Set("Sec-Fetch-Site", "same-origin")
	if found := checkCORSCredentials(after(own)); len(found) > 0 {
		t.Errorf("the app's own page: %v", found)
	}
}

func TestPersonalData(t *testing.T) {
	for name, r := range map[string]*capture.Request{
		"the email address that was sent, in a whole record": posts(`{"email":"ann@example.com"}`, person(1)),
		"a whole record with an email address":               returnsJSON(`{"user":` + person(7) + `}`),
		"the field dateOfBirth":                              returnsJSON(`{"userId":1,"dateOfBirth":"2000-01-01"}`),
	} {
		found := checkResponsePIILeak(after(r))
		if len(found) != 1 || found[0].Description.Text != "The response contains personal data: "+name+"." {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestNoEvidence(t *testing.T) {
	for name, r := range map[string]struct {
		rule    string
		request *capture.Request
	}{
		"an error says nothing of the response": {"exposed-secret", fails("no")},
		"an empty response":                     {"exposed-secret", replies(http.StatusNotModified, "", "")},
		"a response without a body":             {"stack-trace-leak", &capture.Request{Method: http.MethodHead, Status: 500}},
		"no cookie":                             {"insecure-cookie", get("/items")},
		"no origin":                             {"cors-credentials", get("/items")},
		"an error before the queries":           {"n1", fails("no")},
		"unknown values":                        {"redundant-query", runs(statement{"SELECT a FROM b WHERE c = $1", "?"})},
		"unknown rows":                          {"high-rows", reads(-1)},
		"no history":                            {"regression", get("/items")},
		"no app":                                {"error-hotspot", &capture.Request{End: capture.AppFailed}},
	} {
		if byID(t, r.rule).Clean(after(r.request)) {
			t.Errorf("%s: %s is gone", name, r.rule)
		}
	}
	unseen := get("/items")
	unseen.Evidence = capture.Response
	if byID(t, "n1").Clean(after(unseen)) {
		t.Error("without queries, n1 is gone")
	}
}
