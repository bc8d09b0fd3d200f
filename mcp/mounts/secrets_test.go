package mounts

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"bareclaw/internal/testkit/oddserver"
)

// The secrets of the tests below.
const (
	keySecret    = "key-of/the service"
	tokenSecret  = "token-of-the-service"
	literalValue = "written-in-the-file"
)

// wantHidden reports what of the secrets a text has.
func wantHidden(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range []string{keySecret, tokenSecret, literalValue, "key-of%2Fthe", "short-1"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s has the secret %q: %q", what, secret, text)
		}
	}
}

// TestSecretsOfAddressAreHidden: neither a problem, nor the error of a call, nor a target has what the URL and the headers
// of a server have.
func TestSecretsOfAddressAreHidden(t *testing.T) {
	t.Setenv("SERVICE_KEY", keySecret)
	t.Setenv("SERVICE_TOKEN", tokenSecret)
	h := newHouse(t)
	h.mountURL("nowhere", "http://127.0.0.1:1/"+literalValue+"/mcp?short=short-1&key=${SERVICE_KEY}", nil)
	h.mountWeb("web", &webServer{call: func(w http.ResponseWriter, r *http.Request, _ string, _ int) bool {
		refuse(w, http.StatusBadRequest, nil, -32000, "who is "+r.Header.Get("Authorization")+" with "+r.Header.Get("X-Key")+"?")
		return true
	}}, func(s *Server) {
		s.Headers = map[string]string{"Authorization": "Bearer ${SERVICE_TOKEN}", "X-Key": literalValue}
	})
	p := h.start()
	p.await("the problem is told", func() bool { return p.statusOf("nowhere").Problem != "" })
	s := p.statusOf("nowhere")
	wantHidden(t, "the problem", s.Problem)
	wantHidden(t, "a call", p.room.WhyMissing("nowhere_pay"))
	if s.Target != "http://127.0.0.1:1" {
		t.Errorf("the target is %q", s.Target)
	}
	p.awaitTools("web_pay")
	text, failed := p.call("web_pay", oddserver.Args{})
	wantHidden(t, "the answer", text)
	if !failed || !strings.Contains(text, "who is") {
		t.Errorf("the tool says %q", text)
	}
}

// TestSecretsOfProcessAreHidden: what a server says that does not start is told without its secrets.
func TestSecretsOfProcessAreHidden(t *testing.T) {
	t.Setenv("SERVICE_TOKEN", tokenSecret)
	h := newHouse(t)
	h.mount("odd", func(s *Server) {
		s.Command = "sh"
		s.Args = []string{"-c", `echo "bad token $TOKEN, or $OTHER, or $0" >&2; exit 1`, "${SERVICE_TOKEN}"}
		s.Env = map[string]string{"TOKEN": "${SERVICE_TOKEN}", "OTHER": literalValue}
	})
	p := h.start()
	p.await("the problem is told", func() bool { return p.statusOf("odd").Problem != "" })
	problem := p.statusOf("odd").Problem
	wantHidden(t, "the problem", problem)
	if !strings.Contains(problem, "bad token ***, or ***, or ***") {
		t.Errorf("the problem is %q", problem)
	}
}

// TestStderrIsLoggedWithoutSecrets: the log has what a server says, and none of its secrets.
func TestStderrIsLoggedWithoutSecrets(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	l := &stderrLog{
		log:     slog.New(slog.NewTextHandler(&logged, nil)),
		secrets: newRedactor(&Server{Env: map[string]string{"TOKEN": tokenSecret, "LEVEL": "debug"}}, nil),
	}
	_, _ = l.Write([]byte("debug: " + tokenSecret[:5]))
	_, _ = l.Write([]byte(tokenSecret[5:] + " is bad\n"))
	wantHidden(t, "the log", logged.String())
	if want := "debug: *** is bad"; l.reason() != want || !strings.Contains(logged.String(), want) {
		t.Errorf("the log is %q", logged.String())
	}
}

// TestLastWords: what a server has said follows an error in one sentence.
func TestLastWords(t *testing.T) {
	t.Parallel()
	secrets := newRedactor(&Server{}, nil)
	l := &link{
		secrets: secrets,
		says:    &stderrLog{log: slog.New(slog.DiscardHandler), secrets: secrets},
		life:    t.Context(),
	}
	_, _ = l.says.Write([]byte("too early\n"))
	const sentence = "call again in a moment." // of the server
	err := l.explain(t.Context(), errors.New(sentence))
	if want := "call again in a moment; it has said: too early"; err.Error() != want {
		t.Errorf("it says %q", err)
	}
}

// TestLongErrors: of an error that a server answers, no more is told than fits.
func TestLongErrors(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mount("odd", func(s *Server) { s.Allow = []string{"*"} })
	p := h.start()
	p.awaitTools("odd_act")
	text, failed := p.call("odd_act", oddserver.Args{Action: "refuse", Text: "no: " + strings.Repeat("x", 3<<20)})
	if !failed || len(text) > maxErrorWords+100 || !strings.Contains(text, "no: xxx") {
		t.Errorf("the tool says, in %d bytes, %.100q", len(text), text)
	}
}
