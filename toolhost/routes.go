package toolhost

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/toolhost/api"
)

// A server serves the paths of the tool host to other programs.
type server struct{ *manager }

func (s *server) routes() http.Handler {
	m := http.NewServeMux()
	for pattern, answer := range map[string]func(c *child, r *http.Request) (any, error){
		"GET " + api.PathHealth:               s.serveHealth,
		"GET " + api.PathTools:                s.serveList,
		"DELETE " + api.PathTools + "/{name}": s.serveDelete,
		"POST " + api.PathCall:                s.serveCall,
		"POST " + api.PathReload:              s.serveReload,
		"POST " + api.PathShutdown:            s.serveShutdown,
	} {
		m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			c, problem := s.state.now()
			if c == nil {
				w.Header().Set("Retry-After", "1")
				api.Write(w, http.StatusServiceUnavailable, api.Done{Error: cmp.Or(problem, "The tool host is starting.")})
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, api.MaxRequest)
			reply, err := answer(c, r)
			if err != nil {
				api.Write(w, http.StatusBadRequest, api.Done{Error: err.Error()})
				return
			}
			api.Write(w, http.StatusOK, reply)
		})
	}
	return m
}

func (s *server) serveHealth(c *child, r *http.Request) (any, error) {
	return c.client.health(r.Context())
}

// serveList answers with the tools; dynamic_tool_create is described as it works here.
func (s *server) serveList(c *child, r *http.Request) (any, error) {
	l, err := c.client.list(r.Context())
	if i := slices.IndexFunc(l.tools, func(t api.Tool) bool { return t.Name == api.CreateTool }); i >= 0 {
		whole := createTool(s.files.tools, nil)
		l.tools[i] = api.Tool{Tool: tools.Tool{Name: whole.Name, Description: whole.Description, Input: whole.Input}}
	}
	return l.tools, err
}

func (s *server) serveDelete(_ *child, r *http.Request) (any, error) {
	return api.Done{Success: true}, s.deleteTool(r.Context(), r.PathValue("name"))
}

func (s *server) serveCall(_ *child, r *http.Request) (any, error) {
	var c api.CallRequest
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		return nil, fmt.Errorf("the request is not {tool, args}: %w", err)
	}
	if c.Tool == "" {
		return nil, fmt.Errorf("the request is not {tool, args}: %q is missing", "tool")
	}
	result, err := tools.Result{}, s.registry.Unknown(c.Tool, tools.View{})
	if _, ok := s.offer.find(c.Tool); ok {
		result, err = s.registry.Call(r.Context(), c.Tool, tools.Call{Caller: tools.Caller{Local: core.IsLocal(r.Context())}, Args: c.Args})
	}
	if err != nil {
		result = tools.Result{Text: err.Error(), IsError: true}
	}
	return api.ResultOf(c.Tool, result), nil
}

func (s *server) serveReload(c *child, r *http.Request) (any, error) {
	return s.offer.reload(r.Context(), c)
}

func (s *server) serveShutdown(c *child, r *http.Request) (any, error) {
	return api.Done{Success: true}, c.client.shutdown(r.Context())
}
