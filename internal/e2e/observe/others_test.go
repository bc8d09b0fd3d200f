package observe

import (
	"net/http"
	"testing"

	"bareclaw/internal/testkit/webapps"
	"bareclaw/observe/capture"
	"bareclaw/observe/rules"
)

// TestOthers uses apps of other people as one does: nothing critical is found, and warnings alone for which there is
// a reason.
func TestOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		app      func(t testing.TB) *webapps.App
		use      func(o *observer)
		expected map[place]string // why a warning is right
	}{
		"express-generator": {app: webapps.Generated, use: useGenerated},
		"http-server":       {app: webapps.HTTPServer, use: useHTTPServer},
		"json-server": {
			app: webapps.JSONServer,
			use: useJSONServer,
		},
		"verdaccio": {app: webapps.Verdaccio, use: useVerdaccio},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := observe(t, c.app(t))
			c.use(o)
			awaitLast(o)
			for at, f := range o.findings() {
				switch _, isExpected := c.expected[at]; {
				case f.Issue.Severity == rules.Info, isExpected, isLast(at):
				default:
					t.Errorf("%s: %s: %q", at, f.Issue.Severity, f.Issue.Desc)
				}
			}
		})
	}
}

// isLast reports whether a place is that of the flaw that awaitLast sends. Most apps have no such path.
func isLast(at place) bool {
	return at.rule == "token-in-url" && (at.endpoint == "GET /last-of-all" || at.endpoint == "GET "+capture.NotFound)
}

// awaitLast sends a flaw of the client itself, and waits until it is found. Requests are looked at in turn, so that
// those before have been judged then.
func awaitLast(o *observer) {
	o.t.Helper()
	o.get("/last-of-all?token=a-token-of-somebody")
	o.eventually("the last request is judged", func() bool {
		for at := range o.findings() {
			if isLast(at) {
				return true
			}
		}
		return false
	})
}

// expect fails unless a request is answered with the status.
func expect(o *observer, want int, method, path, body string, header ...string) {
	o.t.Helper()
	if got := o.send(method, path, body, header...); got != want {
		o.t.Errorf("%s %s is answered %d, want %d", method, path, got, want)
	}
}

// useGenerated loads the pages of the app, and one that it has not.
func useGenerated(o *observer) {
	for range 6 {
		expect(o, http.StatusOK, http.MethodGet, "/", "")
		expect(o, http.StatusOK, http.MethodGet, "/users", "")
		expect(o, http.StatusOK, http.MethodGet, "/stylesheets/style.css", "")
		expect(o, http.StatusNotFound, http.MethodGet, "/nothing", "")
	}
}

// useHTTPServer loads files and lists.
func useHTTPServer(o *observer) {
	for range 6 {
		expect(o, http.StatusOK, http.MethodGet, "/", "")
		expect(o, http.StatusOK, http.MethodGet, "/notes/", "")
		expect(o, http.StatusOK, http.MethodGet, "/notes/first.txt", "")
		expect(o, http.StatusNotFound, http.MethodGet, "/nothing", "")
	}
}

// useJSONServer reads, writes and searches.
func useJSONServer(o *observer) {
	const form = "application/json"
	for range 6 {
		expect(o, http.StatusOK, http.MethodGet, "/posts?_page=1&_limit=10", "")
		expect(o, http.StatusOK, http.MethodGet, "/posts/1?_embed=comments", "")
		expect(o, http.StatusCreated, http.MethodPost, "/posts", `{"title":"Another","author":"Bea"}`, "Content-Type", form)
		expect(o, http.StatusOK, http.MethodPut, "/posts/1", `{"title":"Changed","author":"Ann"}`, "Content-Type", form)
		expect(o, http.StatusNotFound, http.MethodGet, "/posts/1000", "")
	}
}

// useVerdaccio looks for packages, makes an account, and logs in.
func useVerdaccio(o *observer) {
	const account = `{"name":"ann","password":"correct-horse","email":"ann@example.com","type":"user","roles":[]}`
	expect(o, http.StatusCreated, http.MethodPut, "/-/user/org.couchdb.user:ann", account, "Content-Type", "application/json")
	for range 6 {
		expect(o, http.StatusOK, http.MethodGet, "/", "")
		expect(o, http.StatusOK, http.MethodGet, "/-/verdaccio/data/packages", "")
		expect(o, http.StatusOK, http.MethodGet, "/-/v1/search?text=a", "")
		expect(o, http.StatusNotFound, http.MethodGet, "/left-pad", "", "Accept", "application/vnd.npm.install-v1+json")
		expect(o, http.StatusUnauthorized, http.MethodPut, "/-/package/left-pad/dist-tags/latest", `"1.0.0"`, "Content-Type", "application/json")
	}
}
