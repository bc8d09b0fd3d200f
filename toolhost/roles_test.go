package toolhost

import (
	"encoding/json"
	"net"
	"net/http"
	"os"

	"bareclaw/toolhost/api"
)

// The roles of this program, beside the tool host.
const (
	daemonRole = "a-daemon"
	silentRole = "a-silent-tool-host"
)

func beDaemon(string) {}

// beSilent is a tool host that answers everything but calls.
func beSilent() {
	l, err := net.FileListener(os.NewFile(api.ListenerFD, "listener"))
	if err != nil {
		panic(err)
	}
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
		api.Write(w, http.StatusOK, []api.Tool{{Name: "silent", Description: "Silent", InputSchema: json.RawMessage(`{"type":"object"}`), TimeoutMS: 1000}})
	})
	_ = http.Serve(l, m)
	os.Exit(1)
}
