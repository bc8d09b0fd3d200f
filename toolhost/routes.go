package toolhost

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"bareclaw/core/tools"
	"bareclaw/toolhost/api"
)

// maxRequest bounds the body of a request, in bytes.
const maxRequest = 4 << 20

// Handler serves the paths of the tool host to other programs, with status 503 while no tool
// host runs. Calls and deletions take the same way as those of sessions. The caller checks the
// clients.
func (h *Host) Handler() http.Handler {
	m := http.NewServeMux()
	for pattern, answer := range map[string]func(c *child, r *http.Request) (any, error){
		"GET " + api.PathHealth:               h.serveHealth,
		"GET " + api.PathTools:                h.serveList,
		"DELETE " + api.PathTools + "/{name}": h.serveDelete,
		"POST " + api.PathCall:                h.serveCall,
		"POST " + api.PathReload:              h.serveReload,
		"POST " + api.PathShutdown:            h.serveShutdown,
	} {
		m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			h.mu.Lock()
			c, problem := h.child, h.problem
			h.mu.Unlock()
			if c == nil {
				w.Header().Set("Retry-After", "1")
				api.Write(w, http.StatusServiceUnavailable, api.Done{Error: cmp.Or(problem, "The tool host is starting.")})
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
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

func (h *Host) serveHealth(c *child, r *http.Request) (any, error) {
	return c.client.health(r.Context())
}

// serveList answers with the tools; dynamic_tool_create is described as it works here.
func (h *Host) serveList(c *child, r *http.Request) (any, error) {
	list, _, err := c.client.list(r.Context())
	if i := slices.IndexFunc(list, func(t api.Tool) bool { return t.Name == api.CreateTool }); i >= 0 {
		whole := createTool(nil)
		list[i] = api.Tool{Name: whole.Name, Description: whole.Description, InputSchema: whole.Input}
	}
	return list, err
}

func (h *Host) serveDelete(_ *child, r *http.Request) (any, error) {
	return api.Done{Success: true}, h.deleteTool(r.Context(), r.PathValue("name"))
}

func (h *Host) serveCall(_ *child, r *http.Request) (any, error) {
	var c api.CallRequest
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		return nil, fmt.Errorf("the request is not {tool, args}: %w", err)
	}
	if c.Tool == "" {
		return nil, fmt.Errorf("the request is not {tool, args}: %q is missing", "tool")
	}
	result, err := tools.Result{}, fmt.Errorf("%w: %q", tools.ErrUnknown, c.Tool)
	if _, ok := h.tools()[c.Tool]; ok {
		result, err = h.o.Registry.Call(r.Context(), c.Tool, tools.Call{Args: c.Args})
	}
	if err != nil {
		result = tools.Result{Text: err.Error(), IsError: true}
	}
	return api.ResultOf(c.Tool, result), nil
}

func (h *Host) serveReload(c *child, r *http.Request) (any, error) {
	reloaded, err := c.client.reload(r.Context())
	if err == nil {
		err = h.refresh(r.Context(), c)
	}
	return reloaded, err
}

func (h *Host) serveShutdown(c *child, r *http.Request) (any, error) {
	return api.Done{Success: true}, c.client.shutdown(r.Context())
}
