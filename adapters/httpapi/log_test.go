package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

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
