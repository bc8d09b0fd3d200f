package toolhost

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"bareclaw/core/tools"
	"bareclaw/internal/socketpair"
	"bareclaw/toolhost/api"
)

// The roles of this program, beside the tool host.
const (
	daemonRole = "a-daemon"
	silentRole = "a-silent-tool-host"
)

// beDaemon runs a Keeper until the process is killed, and prints the process id of its tool host.
func beDaemon(dir string) {
	o := hostOptions(filepath.Join(dir, "tools"), slog.New(slog.NewTextHandler(os.Stderr, nil)))
	h := New(o)
	go func() {
		<-h.Settled()
		fmt.Println(h.state.statusNow(context.Background()).PID)
	}()
	registry, err := tools.NewRegistry(tools.Options{Log: o.Log, Sources: h.Sources()})
	if err != nil {
		panic(err)
	}
	h.Run(context.Background(), registry)
}

// beSilent is a tool host that answers everything but calls.
func beSilent() {
	forever := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	m := http.NewServeMux()
	m.HandleFunc("POST "+api.PathCall, forever)
	m.HandleFunc("GET "+api.PathHealth, func(w http.ResponseWriter, _ *http.Request) {
		api.Write(w, http.StatusOK, api.Health{Status: api.Healthy})
	})
	m.HandleFunc("GET "+api.PathTools, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != "" {
			forever(w, r)
			return
		}
		w.Header().Set("ETag", `"1"`)
		api.Write(w, http.StatusOK, []api.Tool{{Tool: tools.Tool{Name: "silent", Description: "Silent", Input: json.RawMessage(`{"type":"object"}`)}, TimeoutMS: 1000}})
	})
	s := api.NewServer(m, slog.New(slog.DiscardHandler))
	for _, fd := range []uintptr{api.CallsFD, api.ControlFD} {
		conn, err := socketpair.Conn(os.NewFile(fd, "daemon"))
		if err != nil {
			panic(err)
		}
		go func() { _ = api.Serve(s, conn) }()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}
