package security

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/chromium"
)

// browser starts a Chromium with a new profile, in which evil.example is this machine.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := chromium.Path(t)
	home := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	t.Cleanup(cancel)
	ctx, end := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(home), chromedp.Env("HOME="+home), chromedp.NoSandbox,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1"))...)
	t.Cleanup(end)
	ctx, leave := chromedp.NewContext(ctx)
	t.Cleanup(leave)
	return ctx
}

// promise evaluates an expression in the page that is shown, and returns what its promise gives.
func promise[T any](expression string) chromedp.Action[T] {
	return chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise)
}

// earlierServer is a server that had the gateway's port before: its page leaves a service worker
// in the browser that answers every visit with a page of its own.
func earlierServer(ctx context.Context, t *testing.T, port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	check.OK(t, err)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/sw.js" {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<p>An earlier server.</p>")
			return
		}
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, `
			addEventListener("install", () => skipWaiting());
			addEventListener("activate", e => e.waitUntil(clients.claim()));
			addEventListener("fetch", e => {
				if (e.request.mode == "navigate")
					e.respondWith(new Response("<p id=worker>The worker's page.</p>", {headers: {"Content-Type": "text/html"}}));
			});`)
	}))
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	defer s.Close()
	check.OK(t, chromedp.Do(ctx, chromedp.Navigate(s.URL),
		promise[chromedp.Void](`navigator.serviceWorker.register("/sw.js").then(() => navigator.serviceWorker.ready).then(() => true)`)))
	s.CloseClientConnections()
}

// TestPagesOfAnEarlierServerAreKeptOut has a foreign site send the browser to the gateway, where
// the service worker of an earlier server on the port answers with a page of its own. The page is
// of the gateway's own origin. It commands nothing, and its worker is removed by this one visit.
func TestPagesOfAnEarlierServerAreKeptOut(t *testing.T) {
	t.Parallel()
	ctx, port := browser(t), harness.FreePort(t)
	earlierServer(ctx, t, port)
	m := harness.NewMachine(t, "BARECLAW_PORT="+port)
	g := m.Start()
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<script>location = %q</script>", g.Base+"/x")
	}))
	defer evil.Close()

	_, evilPort, err := net.SplitHostPort(evil.Listener.Addr().String())
	check.OK(t, err)
	check.OK(t, chromedp.Do(ctx, chromedp.Navigate("http://evil.example:"+evilPort), chromedp.WaitReady("#worker")))
	for _, request := range [][3]string{
		{"GET", "/channels"}, {"POST", "/message", `{"text":"echo owned"}`}, {"POST", "/toolhost/call", `{"tool":"hello_world","args":{}}`},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"channel_list","arguments":{}}}`},
		{"PATCH", "/channels/pwn", `{"permission_mode":"bypassPermissions"}`}, {"POST", "/upgrade", `{"path":"/bin/true"}`},
	} {
		got, err := chromedp.Run(ctx, promise[string](fmt.Sprintf(`(async () => {
			const body = %q || undefined;
			const r = await fetch(%q, {method: %q, body, headers: body && {"Content-Type": "application/json"}});
			return r.status + " " + await r.text();
		})()`, request[2], request[1], request[0])))
		check.OK(t, err)
		if !strings.HasPrefix(got, "403 ") || !strings.Contains(got, "foreign_origin") {
			t.Errorf("%s %s from the page of a worker: %s", request[0], request[1], got)
		}
	}
	if n := len(m.Journal()); n != 0 {
		t.Errorf("claude has run: %d lines", n)
	}

	check.OK(t, chromedp.Do(ctx,
		promise[chromedp.Void](`new Promise(gone => {
			const look = async () => (await navigator.serviceWorker.getRegistrations()).length ? setTimeout(look, 20) : gone(true);
			look();
		})`), chromedp.Navigate(g.Base+"/x")))
	text, err := chromedp.Run(ctx, chromedp.Text("body"))
	check.OK(t, err)
	if !strings.Contains(text, "no web page") {
		t.Errorf("the next visit shows %q", text)
	}
	g.Say("desk", "echo yes").Want(t, "yes") // programs are served as ever
}
