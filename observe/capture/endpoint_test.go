package capture

import (
	"strings"
	"testing"
)

func TestEndpoint(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"/":                "GET /",
		"/users":           "GET /users",
		"/users/42":        "GET /users/:id",
		"/users/42/":       "GET /users/:id/",
		"/users/42?page=7": "GET /users/:id",
		"/v1/users":        "GET /v1/users",
		"/a/0b5e2f1c-1111-4222-8333-444455556666/b": "GET /a/:id/b",
		"/a/abcdefab-cdef-abcd-efab-cdefabcdefab":   "GET /a/:id",
		"/commits/deadbeefcafe":                     "GET /commits/:id",
		"/commits/deadbeef":                         "GET /commits/deadbeef",
		"/orders/ord_9fK2x":                         "GET /orders/:id",
		"/posts/my-first-post":                      "GET /posts/my-first-post",
		"/files/report.2024.pdf":                    "GET /files/report.2024.pdf",
		"/account;jsessionid=ABC123;a=b/orders":     "GET /account/orders",
		"/reset/9f86d081884c7d659a2feaa0c55ad015a3": "GET /reset/:token",
		"/reset/Vx3kQ9-aZ_81bTqL0pWm7RyCeD/confirm": "GET /reset/:token/confirm",
		"/in/eyJhbGciOiJub25lIn0.eyJhIjoxfQ.c2ln":   "GET /in/:token",
		"/reset/[masked:40]":                        "GET /reset/:token",
		"/users/507f1f77bcf86cd799439011":           "GET /users/:id",
		"/users/clh3k2j8x0000qzrmn831i7rn":          "GET /users/:id",
		"/users/01ARZ3NDEKTSV4RRFFQ69G5FAV":         "GET /users/:id",
		"/posts/things-to-do-in-bern-in-spring":     "GET /posts/things-to-do-in-bern-in-spring",
		"/api/getUserByCompanyNameAndDepartment":    "GET /api/getUserByCompanyNameAndDepartment",
		"/users/user_2NNEqL2nrIRdJ194ndJqAHwEfxC":   "GET /users/:token",
		"/rpc/ExportAllUSDAndEURInvoicesAsPDF":      "GET /rpc/ExportAllUSDAndEURInvoicesAsPDF",
		"//42//":                                    "GET //:id//",
		"*":                                         "GET *",
		"":                                          "GET ",
		"/" + strings.Repeat("é", 300):              "GET /" + strings.Repeat("é", 97) + "…",
	}
	for path, want := range cases {
		if got := Endpoint("GET", path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

func TestIgnored(t *testing.T) {
	t.Parallel()
	ignored := strings.Fields(`/app.js /a/b.CSS?v=1 /favicon.ico /__brakit/api/requests /health /api/health /healthz?full=1
		/_next/data/x.json /@vite/client /static/x /.well-known/security.txt /docs`)
	for _, path := range ignored {
		if !Ignored(path) {
			t.Errorf("%s is not ignored", path)
		}
	}
	seen := strings.Fields(`/ /users /api /api/users.json /a.b/c /healthy /documents /docs/1 /_private /@ann /users?file=x.js /status/5`)
	for _, path := range seen {
		if Ignored(path) {
			t.Errorf("%s is ignored", path)
		}
	}
}

func FuzzEndpoint(f *testing.F) {
	f.Add("GET", "/users/42?x=1")
	f.Add("", "//\xff/%2e/")
	f.Fuzz(func(t *testing.T, method, path string) {
		name := Endpoint(method, path)
		if len(name) > maxEndpoint+len("…") && len(method) < maxEndpoint {
			t.Errorf("%q is %d bytes long", name, len(name))
		}
		_, rest, _ := strings.Cut(name, " ")
		if method == "GET" && len(name) < maxEndpoint && Endpoint(method, rest) != name {
			t.Errorf("%q becomes %q", name, Endpoint(method, rest))
		}
		_ = Ignored(path)
	})
}
