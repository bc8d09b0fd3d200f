package client

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/core/config"
	"bareclaw/internal/testkit/check"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// TestNothingForUnknownPrograms: of an address of another machine, and on systems that do not tell
// of any, the kernel does not say whose it is; then a gateway has to be on record.
func TestNothingForUnknownPrograms(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	t.Cleanup(func() { _, _ = here.Close(), there.Close() })
	if err := (trust{}).look(t.Context(), here); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "nothing was sent") {
		t.Errorf("without a gateway on record: %v", err)
	}
	check.OK(t, trust{live: true}.look(t.Context(), here))
}

// TestSocketRefusalIsAskedOverTCP: what the Unix socket refuses because claude can reach it, the
// user's commands ask over TCP, once, with everything that the request had.
func TestSocketRefusalIsAskedOverTCP(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.sock")
	l, err := net.Listen("unix", path)
	check.OK(t, err)
	var asked []string
	answer := func(listener, body string, status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			said := make([]byte, 100)
			n, _ := r.Body.Read(said)
			asked = append(asked, strings.Join([]string{listener, r.Method, r.URL.Path, r.Header.Get("Prefer"), r.Header.Get("Authorization"), string(said[:n])}, " "))
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	socket := &httptest.Server{Listener: l, Config: &http.Server{Handler: answer("socket", `{"error":"Over TCP alone.","code":"not_on_socket"}`, 403)}}
	socket.Start()
	t.Cleanup(socket.Close)
	tcp := httptest.NewServer(answer("tcp", `{}`, 200))
	t.Cleanup(tcp.Close)
	cfg := config.Config{
		HTTP:  config.HTTP{Token: config.HTTPToken{Secret: config.NewSecret("sesame")}},
		Files: config.Files{RuntimeDir: config.Path(filepath.Dir(path))},
	}
	check.OK(t, setAddress(&cfg, tcp.Listener.Addr().String()))
	for _, inSession := range []bool{false, true} {
		if asked = nil; inSession {
			t.Setenv(SocketVariable, path)
		}
		c := Local(cfg)
		_ = c.CallTool(t.Context(), "channel_send", nil, nil, nil) // it is only looked where it arrives
		if first := strings.Join(asked, "\n"); strings.HasPrefix(first, "socket ") != inSession || len(asked) != 1 {
			t.Errorf("in a session %t: a tool was called by\n%s", inSession, first)
		}
		asked = nil
		err := c.DoWith(t.Context(), "POST", "/upgrade", http.Header{"Prefer": {"x"}}, map[string]int{"n": 1}, nil)
		refused, isRefusal := errors.AsType[*Error](err)
		want := []string{`socket POST /upgrade x  {"n":1}`, `tcp POST /upgrade x Bearer sesame {"n":1}`}
		if inSession {
			want = want[:1]
		}
		if isRefusal != inSession || strings.Join(asked, "\n") != strings.Join(want, "\n") || inSession && refused.Text != "Over TCP alone." {
			t.Errorf("in a session %t: %v; asked\n%s\nwant\n%s", inSession, err, strings.Join(asked, "\n"), strings.Join(want, "\n"))
		}
	}
}

func setAddress(cfg *config.Config, address string) error {
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err == nil {
		cfg.HTTP.Host, cfg.HTTP.Port = "127.0.0.1", config.Port(addr.Port)
	}
	return err
}
