package observe

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// appVariable makes a process of this test binary the app, and says of which kind.
const appVariable = "OBSERVED_APP"

// TestApp is the app that is observed: see [webApp.run].
func TestApp(t *testing.T) {
	kind := os.Getenv(appVariable)
	if kind == "" {
		t.Skip("is a process of the other tests")
	}
	a := &webApp{
		kind:  kind,
		moves: make(chan struct{}, 1),
	}
	a.run()
	os.Exit(0)
}

// A webApp answers with its process id, on PORT.
type webApp struct {
	kind  string        // plain, tls, or polite: is slow to end
	moves chan struct{} // has a value when it is to listen on another port
}

// run answers until SIGINT.
func (a *webApp) run() {
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt)
	address := net.JoinHostPort("127.0.0.1", os.Getenv("PORT"))
	for {
		server := a.listen(address)
		select {
		case <-a.moves:
			_ = server.Close()
			address = "127.0.0.1:0"
			continue
		case <-interrupts:
		}
		if a.kind != "polite" {
			os.Exit(0)
		}
		fmt.Println("interrupted once")
		select {
		case <-interrupts:
			fmt.Println("interrupted twice")
			os.Exit(1)
		case <-time.After(time.Second):
			fmt.Println("ended politely")
			os.Exit(0)
		}
	}
}

// listen starts a server.
func (a *webApp) listen(address string) *http.Server {
	l, err := net.Listen("tcp", address)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if a.kind == "tls" {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{certificate()}})
	}
	var served atomic.Int64
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/exit":
				status, _ := strconv.Atoi(r.URL.RawQuery)
				os.Exit(status)
			case "/move":
				a.moves <- struct{}{}
			case "/secret":
				w.Header().Set("Content-Type", "application/json")
				answer := `{"api_key":"` + secret + `"}`
				if _, err := os.Stat(filepath.Join(os.Getenv("BC_MACHINE"), "work", "fixed")); err == nil {
					answer = `{"name":"Anna"}`
				}
				_, _ = io.WriteString(w, answer)
			default:
				_, _ = fmt.Fprintf(w, "pid %d, answer %d", os.Getpid(), served.Add(1))
			}
		}),
	}
	go func() { _ = server.Serve(l) }() // ends by Close, or with the process
	return server
}

// secret is what the app must not answer.
const secret = "q8Zr2Lw0Vt6Ny4Kd1Bx7"

// certificate returns one that nobody trusts.
func certificate() tls.Certificate {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	return s.TLS.Certificates[0]
}
