package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"bareclaw/core/tools"
	"bareclaw/toolhost/api"
)

// A server answers the daemon.
type server struct {
	loader    *loader
	startedAt time.Time
	ending    context.Context // ends when the process is to end
	end       context.CancelFunc
}

func newServer(l *loader) *server {
	s := &server{loader: l, startedAt: time.Now()}
	s.ending, s.end = context.WithCancel(context.Background())
	return s
}

func (s *server) routes() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET "+api.PathHealth, s.health)
	m.HandleFunc("GET "+api.PathTools, s.list)
	m.HandleFunc("DELETE "+api.PathTools+"/{name}", s.forget)
	m.HandleFunc("POST "+api.PathCall, s.call)
	m.HandleFunc("POST "+api.PathReload, s.reload)
	m.HandleFunc("POST "+api.PathShutdown, s.shutdown)
	return m
}

func (s *server) health(w http.ResponseWriter, _ *http.Request) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h := api.Health{
		Status:      api.Healthy,
		Uptime:      time.Since(s.startedAt).Milliseconds(),
		ToolCount:   len(s.loader.registry.List(tools.View{})),
		MemoryUsage: api.Memory{HeapUsed: m.HeapAlloc, HeapTotal: m.HeapSys},
		Busy:        s.loader.shown.busy(),
	}
	h.Problems, h.Loading = s.loader.shown.state()
	if problem := summary(h.Problems); problem != "" {
		h.LastError = &problem
	}
	api.Write(w, http.StatusOK, h)
}

// list answers with the tools. A client that has a list, which the header If-None-Match names,
// waits for another one for as many seconds as the header Prefer says.
func (s *server) list(w http.ResponseWriter, r *http.Request) {
	if has := r.Header.Get("If-None-Match"); has != "" {
		seconds, _ := strconv.Atoi(strings.TrimPrefix(r.Header.Get("Prefer"), "wait=")) // 0: do not wait
		ctx, cancel := context.WithTimeout(r.Context(), time.Duration(seconds)*time.Second)
		defer cancel()
		defer context.AfterFunc(s.ending, cancel)()
		if !s.loader.shown.awaitOther(ctx, has) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	list, version, partial := s.loader.shown.list(r.Context())
	w.Header().Set("ETag", version)
	if partial {
		w.Header().Set(api.HeaderLoading, "true")
	}
	api.Write(w, http.StatusOK, list)
}

func (s *server) call(w http.ResponseWriter, r *http.Request) {
	var c api.CallRequest
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, api.MaxRequest))
	if err == nil {
		err = json.Unmarshal(body, &c)
	}
	if err == nil && c.Tool == "" {
		err = errors.New(`"tool" is missing`)
	}
	if err != nil {
		api.Write(w, http.StatusBadRequest, api.Done{Error: "the request is not {tool, args}: " + err.Error()})
		return
	}
	ctx, notes := withNotes(r.Context())
	s.loader.shown.awaitOther(ctx, "") // the first load
	if _, known := s.loader.registry.Find(c.Tool); !known {
		s.loader.shown.awaitWhole(ctx)
	}
	result, err := s.loader.registry.Call(ctx, c.Tool, tools.Call{Args: c.Args})
	if err != nil {
		result = tools.Result{Text: err.Error(), IsError: true}
	}
	reply := api.CallReply{CallResult: api.ResultOf(c.Tool, result)}
	reply.Console, reply.Stuck = notes.read()
	api.Write(w, http.StatusOK, reply)
}

func (s *server) reload(w http.ResponseWriter, r *http.Request) {
	s.loader.loadAll()
	list, _, _ := s.loader.shown.list(r.Context())
	loaded := make([]string, len(list))
	for i, t := range list {
		loaded[i] = t.Name
	}
	api.Write(w, http.StatusOK, api.Reloaded{Success: true, Loaded: loaded})
}

// forget drops a tool whose file is gone.
func (s *server) forget(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	_, known := s.loader.registry.Find(name)
	s.loader.loadAll()
	t, there := s.loader.registry.Find(name)
	switch {
	case there && t.Source == api.Dynamic:
		api.Write(w, http.StatusConflict, api.Done{Error: fmt.Sprintf("a file in the tools directory still defines %q", name)})
	case there:
		api.Write(w, http.StatusConflict, api.Done{Error: fmt.Sprintf("%q is built in; the gateway deletes it", name)})
	case !known:
		api.Write(w, http.StatusNotFound, api.Done{Error: fmt.Sprintf("there is no tool %.120q", name)})
	default:
		api.Write(w, http.StatusOK, api.Done{Success: true})
	}
}

func (s *server) shutdown(w http.ResponseWriter, _ *http.Request) {
	api.Write(w, http.StatusOK, api.Done{Success: true})
	s.end()
}
