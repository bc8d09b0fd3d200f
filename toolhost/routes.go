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
func (k *Keeper) Handler() http.Handler {
	m := http.NewServeMux()
	for pattern, answer := range map[string]func(c *child, r *http.Request) (any, error){
		"GET " + api.PathHealth:               k.serveHealth,
		"GET " + api.PathTools:                k.serveList,
		"DELETE " + api.PathTools + "/{name}": k.serveDelete,
		"POST " + api.PathCall:                k.serveCall,
		"POST " + api.PathReload:              k.serveReload,
		"POST " + api.PathShutdown:            k.serveShutdown,
	} {
		m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			k.mu.Lock()
			c, problem := k.child, k.problem
			k.mu.Unlock()
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

func (k *Keeper) serveHealth(c *child, r *http.Request) (any, error) {
	return c.client.health(r.Context())
}

// serveList answers with the tools; dynamic_tool_create is described as it works here.
func (k *Keeper) serveList(c *child, r *http.Request) (any, error) {
	list, _, err := c.client.list(r.Context())
	if i := slices.IndexFunc(list, func(t api.Tool) bool { return t.Name == api.CreateTool }); i >= 0 {
		whole := createTool(nil)
		list[i] = api.Tool{Name: whole.Name, Description: whole.Description, InputSchema: whole.Input}
	}
	return list, err
}

func (k *Keeper) serveDelete(_ *child, r *http.Request) (any, error) {
	return api.Done{Success: true}, k.deleteTool(r.Context(), r.PathValue("name"))
}

func (k *Keeper) serveCall(_ *child, r *http.Request) (any, error) {
	var c api.CallRequest
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		return nil, fmt.Errorf("the request is not {tool, args}: %w", err)
	}
	if c.Tool == "" {
		return nil, fmt.Errorf("the request is not {tool, args}: %q is missing", "tool")
	}
	result, err := tools.Result{}, fmt.Errorf("%w: %q", tools.ErrUnknown, c.Tool)
	if _, ok := k.tools()[c.Tool]; ok {
		result, err = k.o.Registry.Call(r.Context(), c.Tool, tools.Call{Args: c.Args})
	}
	if err != nil {
		result = tools.Result{Text: err.Error(), IsError: true}
	}
	return api.ResultOf(c.Tool, result), nil
}

func (k *Keeper) serveReload(c *child, r *http.Request) (any, error) {
	reloaded, err := c.client.reload(r.Context())
	if err == nil {
		err = k.refresh(r.Context(), c)
	}
	return reloaded, err
}

func (k *Keeper) serveShutdown(c *child, r *http.Request) (any, error) {
	return api.Done{Success: true}, c.client.shutdown(r.Context())
}
