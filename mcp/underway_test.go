package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

// askTime is how long the tool ask waits for its person: longer than sessions stay without use.
const askTime = sessionTimeout + 10*time.Minute

// askTool returns a tool that answers after askTime.
func askTool() tools.Tool {
	return tools.Tool{
		Name:    "ask",
		Input:   json.RawMessage(`{"type":"object"}`),
		Timeout: 2 * askTime,
		ByName:  true,
		Handle: func(ctx context.Context, _ tools.Call) (tools.Result, error) {
			select {
			case <-time.After(askTime):
				return tools.Result{Text: "well"}, nil
			case <-ctx.Done():
				return tools.Result{}, ctx.Err()
			}
		},
	}
}

// sent sends a request to a handler, and returns the answer when it is whole; headers are pairs.
func sent(t *testing.T, to http.Handler, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	to.ServeHTTP(w, r)
	return w
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// asked calls the tool ask, and returns the text of the answer later.
func asked(t *testing.T, to http.Handler, path string, headers ...string) <-chan string {
	t.Helper()
	answer := make(chan string, 1)
	go func() {
		w := sent(t, to, path, callTool("ask", "{}"), headers...)
		answer <- fmt.Sprint(w.Code, " ", w.Body)
	}()
	synctest.Wait()
	return answer
}

// sessionHeaders are those of requests of a session, which is begun here or was by an earlier process.
func sessionHeaders(t *testing.T, to http.Handler, path, earlier string) []string {
	t.Helper()
	id := earlier
	if earlier == "" {
		id = sent(t, to, path, initialize, streams()...).Header().Get(headerSession)
	}
	return streams(headerSession, id)
}

// sessionCount returns how many sessions a handler knows.
func sessionCount(h *Handler) int {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	return len(h.sessions.all)
}

// wantsWell fails unless the answer is that of the tool ask.
func wantsWell(t *testing.T, name string, answer <-chan string) {
	t.Helper()
	if got := <-answer; !strings.HasPrefix(got, "200") || !strings.Contains(got, `"text":"well"`) {
		t.Errorf("%s: the answer is %s", name, got)
	}
}

// TestBagGoesDuringCall: the client of a call has the answer also when the bag goes meanwhile.
func TestBagGoesDuringCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newBagProcess(t, map[string][]string{"mine": {"ask"}})
		check.OK(t, p.dynamic.Replace([]tools.Tool{askTool()}))
		stateless := streams(headerVersion, statelessFrom, "Mcp-Method", "tools/call", "Mcp-Name", "ask")
		own := sessionHeaders(t, p.bags, "/mine", "")
		answers := map[string]<-chan string{
			"curl":            asked(t, p.bags, "/mine"),
			"a stream":        asked(t, p.bags, "/mine", streams()...),
			"a session":       asked(t, p.bags, "/mine", own...),
			"another session": asked(t, p.bags, "/mine", sessionHeaders(t, p.bags, "/mine", "earlier")...),
		}
		meta := `"arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"` + statelessFrom + `",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		newest := make(chan string, 1)
		go func() {
			w := sent(t, p.bags, "/mine", strings.Replace(callTool("ask", "{}"), `"arguments":{}`, meta, 1), stateless...)
			newest <- fmt.Sprint(w.Code, " ", w.Body)
		}()
		answers["the newest version"] = newest
		synctest.Wait()
		gone := p.bags.open["mine"]

		p.named = nil
		p.registry.BagsChanged()
		p.bags.Offer()
		synctest.Wait()
		if w := sent(t, p.bags, "/mine", ping, own...); w.Code != http.StatusNotFound {
			t.Errorf("the bag that has gone: %d %s", w.Code, w.Body)
		}
		for name, answer := range answers {
			wantsWell(t, name, answer)
		}
		synctest.Wait()
		for range gone.server.sdk.Sessions() {
			t.Error("a session of the bag goes on")
		}
		if n := sessionCount(gone.handler); n > 0 {
			t.Errorf("the bag has %d sessions", n)
		}
		late := sent(t, gone.handler, "/", ping, streams(headerSession, "late")...)
		if late.Code != http.StatusNotFound || !strings.Contains(late.Body.String(), `"code":-32001`) {
			t.Errorf("a session of a bag that has ended: %d %s", late.Code, late.Body)
		}
	})
}

// TestUnusedSessions: a session ends after an hour without a request, and not during one.
func TestUnusedSessions(t *testing.T) {
	for name, earlier := range map[string]string{"begun here": "", "of an earlier process": "earlier"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProcess(t)
				check.OK(t, p.tools.Replace([]tools.Tool{askTool()}))
				headers := sessionHeaders(t, p.handler, "/", earlier)
				answer := asked(t, p.handler, "/", headers...)
				sent(t, p.handler, "/", ping, headers...)
				wantsWell(t, "a long call", answer)
				count := func() (n int) {
					synctest.Wait()
					for range p.server.sdk.Sessions() {
						n++
					}
					if known := sessionCount(p.handler); known != n {
						t.Errorf("there are %d sessions, and %d are known", n, known)
					}
					return n
				}
				time.Sleep(sessionTimeout - time.Second)
				if count() != 1 {
					t.Error("the session ends before an hour")
				}
				sent(t, p.handler, "/", ping, headers...)
				time.Sleep(sessionTimeout - time.Second)
				if count() != 1 {
					t.Error("the session ends an hour after the request before the last one")
				}
				time.Sleep(time.Second)
				if count() != 0 {
					t.Error("the session goes on without requests")
				}
			})
		})
	}
}

// TestFullDuringCall: many other sessions do not end one with a request under way.
func TestFullDuringCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t)
		check.OK(t, p.tools.Replace([]tools.Tool{askTool()}))
		answer := asked(t, p.handler, "/", sessionHeaders(t, p.handler, "/", "first")...)
		for i := range maxSessions + 20 {
			time.Sleep(time.Second)
			sent(t, p.handler, "/", ping, sessionHeaders(t, p.handler, "/", fmt.Sprint("other-", i))...)
		}
		synctest.Wait()
		if n := sessionCount(p.handler); n != maxSessions {
			t.Errorf("there are %d sessions", n)
		}
		wantsWell(t, "the first session", answer)
	})
}
