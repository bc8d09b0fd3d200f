package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/metrics"
)

// TestRefusalsAreCounted has a stranger ask 60,000 times: others' lines stay in the log.
func TestRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &lockedBuffer{}
		_, s := pipeTo(t, newGateway(t, nil), log)
		request := func(host string) *http.Request {
			r := httptest.NewRequest(http.MethodGet, "http://"+host+"/", nil)
			r.Header.Set("Origin", "http://\"evil\".example "+strings.Repeat("x", 500))
			return r
		}
		ask := func(host string) {
			w := httptest.NewRecorder()
			if s.http.Handler.ServeHTTP(w, request(host)); w.Code != http.StatusForbidden {
				t.Fatalf("got %d %s", w.Code, w.Body)
			}
		}
		ask("evil.example")
		flood := request("evil.example")
		for range 60_000 - 1 {
			s.refusals.note(flood, api.ForeignHost)
		}
		ask("localhost")
		if n := strings.Count(log.String(), "\n"); n != 2 || len(log.String()) > 2000 {
			t.Errorf("the log has %d lines:\n%s", n, log)
		}
		for _, want := range []string{`"http request refused" code=foreign_host`, `"http request refused" code=foreign_origin`} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log has no %s:\n%s", want, log)
			}
		}
		time.Sleep(refusalPeriod)
		synctest.Wait()
		if want := `"http requests refused" code=foreign_host more=59999 within=1m0s`; !strings.Contains(log.String(), want) || strings.Count(log.String(), "\n") != 3 {
			t.Errorf("no %s in\n%s", want, log)
		}
		ask("evil.example")
		ask("evil.example")
		s.refusals.close() // as at the end
		if n := strings.Count(log.String(), "code=foreign_host more=1 "); n != 1 {
			t.Errorf("%d lines for the last minute:\n%s", n, log)
		}
		counts, err := metrics.Text(metrics.NewRegistry(metrics.Func(s.refusals.writeMetrics)))
		if want := `bareclaw_http_refused_total{code="foreign_host"} 60002` + "\n"; err != nil || !strings.Contains(string(counts), want) {
			t.Errorf("%v, no %s in\n%s", err, want, counts)
		}
	})
}

func TestLogHasRoutesAndNoSecrets(t *testing.T) {
	r := startRig(t, func(o *Options) { o.Token = "s3cret-token" })
	auth := []string{"Authorization", "Bearer s3cret-token"}
	r.want(r.send("POST", "/message", `{"text":"my private words","channel":"secret-channel"}`, auth...), http.StatusOK, "")
	r.want(r.send("GET", "/channels/secret-channel?token=query-token", "", "Authorization", "Bearer wrong-token"), http.StatusUnauthorized, "unauthorized")
	r.want(r.send("GET", "/health", "", "Host", "evil.example"), http.StatusForbidden, "foreign_host")
	r.log.await("http request", 3)
	log := r.log.String()
	for _, want := range []string{`level=DEBUG msg="http request" method=POST route=/message status=200 ms=`, `level=INFO msg="http request refused" code=unauthorized`, `host=evil.example`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
	for _, secret := range []string{"s3cret-token", "wrong-token", "query-token", "my private words", "secret-channel"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q:\n%s", secret, log)
		}
	}
}
