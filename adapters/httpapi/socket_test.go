package httpapi

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"

	"bareclaw/core"
	"bareclaw/core/lanes"
	"bareclaw/core/settings"
	"bareclaw/docs"
	"bareclaw/internal/testkit/check"
)

// TestTheSocketRefusesWhatIsDocumented sends every operation of the document, with each member that
// its body may have, over the Unix socket, on a channel that lets its agent do more than the gateway's
// own settings do: refused is what the document says, and that is served over TCP. Every other
// operation reads, or is harmless by its nature.
func TestTheSocketRefusesWhatIsDocumented(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI())
	check.OK(t, err)
	r := newRig(t, func(o *Options) { o.RestartBuilds = true })
	r.want(r.send("POST", "/message", `{"text":"a"}`), http.StatusOK, "")
	message := r.accepted(t)[0].ID
	approval := r.asks("Bash", `{"command":"ls"}`)
	harmless := map[string]string{
		"DELETE /channels/{key}/rules/{id}":          "takes a permission away",
		"POST /mcp":                                  "tools look at the caller's rights",
		"POST /send":                                 "makes no agent act",
		"DELETE /mcp":                                "ends a session of the caller",
		"POST /mcp/bags/{bag}":                       "tools look at the caller's rights",
		"DELETE /mcp/bags/{bag}":                     "ends a session of the caller",
		"POST /toolhost/call":                        "tools look at the caller's rights",
		"POST /toolhost/reload":                      "reads the files as they are",
		"POST /observers":                            "passes requests on to an app that the caller reaches itself",
		"DELETE /observers/{id}":                     "ends a process that serves the callers' apps",
		"POST /observers/{id}/api/{resource}":        "changes what is known of an app, and makes no agent act",
		"POST /observers/{id}/api/{resource}/{part}": "changes what is known of an app, and makes no agent act",
	}
	var refused, documented []string
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			if strings.Contains(*op.Responses.Value("403").Value.Description, "`not_on_socket`") {
				documented = append(documented, name)
			}
			if strings.HasSuffix(path, "/events") {
				method = http.MethodHead
			}
			for _, body := range bodies(t, op) {
				id := approval
				switch {
				case name == "POST /messages/{id}/retry":
					id = r.failed("http")
				case strings.HasPrefix(path, "/messages/"):
					id = string(message)
				case name == "DELETE /schedules/{id}", name == "POST /schedules/{id}/pause", name == "POST /schedules/{id}/resume":
					id = r.addJob("http")
				case name == "POST /schedules/{id}/run":
					id = "heartbeat"
				}
				for _, channel := range []core.ChannelKey{"http", "heartbeat"} {
					check.OK(t, r.ChannelSettings.ChangeSettings(t.Context(), channel, settings.Choice{PermissionMode: new("acceptEdits")}))
				}
				key := "http"
				if name == "POST /channels/{key}/remove" { // would remove what others act on
					key = "nobody"
				}
				target := strings.NewReplacer("{key}", key, "{id}", id).Replace(path)
				switch a := r.do(r.local, r.request(method, target, body)); {
				case a.status == http.StatusForbidden && a.field(t, "code") == "not_on_socket":
					if !slices.Contains(refused, name) {
						refused = append(refused, name)
					}
					if a := r.send(method, target, body); a.status == http.StatusForbidden {
						t.Errorf("%s %s over TCP: got %s", name, body, a.body)
					}
				case a.status == http.StatusForbidden:
					t.Errorf("%s %s: got %s", name, body, a.body)
				case method != http.MethodGet && method != http.MethodHead && harmless[name] == "":
					t.Errorf("%s %s is not refused: got %d %s", name, body, a.status, a.body)
				}
			}
		}
	}
	slices.Sort(refused)
	slices.Sort(documented)
	if !slices.Equal(refused, documented) || len(refused) == 0 {
		t.Errorf("the socket refuses %q, the document says %q", refused, documented)
	}
}

// TestTheSocketServesWhatIsWithinTheGatewaysRights sends over the Unix socket what it refuses for
// other channels, or of a gateway whose restarts build a program.
func TestTheSocketServesWhatIsWithinTheGatewaysRights(t *testing.T) {
	t.Parallel()
	for name, modes := range map[string][2]string{"no choice": {"", ""}, "narrower": {"acceptEdits", "plan"}, "the same": {"auto", "auto"}, "the default": {"", "default"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRigOn(t, func(o *lanes.Options) { o.Defaults.PermissionMode = modes[0] }, func(o *Options) {
				o.Push.Register("tg-", func(context.Context, core.Push) error { return nil })
			})
			for _, channel := range []core.ChannelKey{"http", "tg-1", "heartbeat"} {
				check.OK(t, r.ChannelSettings.ChangeSettings(t.Context(), channel, settings.Choice{PermissionMode: new(modes[1])}))
			}
			job, failed := r.addJob("http"), r.failed("http")
			for _, op := range [][3]string{
				{"POST", "/message", `{"text":"a"}`}, {"POST", "/messages/" + failed + "/retry"}, {"POST", "/schedules", `{"channel":"http","text":"a","when":"in 1h"}`},
				{"POST", "/send", `{"channel":"tg-1","text":"a"}`}, {"POST", "/schedules/heartbeat/run", `{"due":"2026-01-02T03:04:05Z"}`},
				{"DELETE", "/schedules/" + job}, {"DELETE", "/channels/http"}, {"POST", "/restart"}, {"POST", "/toolhost/shutdown"}, {"DELETE", "/toolhost/tools/mine"},
			} {
				if a := r.do(r.local, r.request(op[0], op[1], op[2])); a.status >= http.StatusBadRequest {
					t.Errorf("%s %s: got %d %s", op[0], op[1], a.status, a.body)
				}
			}
		})
	}
}

// TestCutTurnsAreNotContinuedOverTheSocket: that would answer a question to a person.
func TestCutTurnsAreNotContinuedOverTheSocket(t *testing.T) {
	r := startRig(t, nil)
	cut := r.ended("cut", "http")
	path := "/messages/" + cut + "/retry"
	r.want(r.do(r.local, r.request("POST", path, "")), http.StatusForbidden, "not_on_socket")
	if all, err := r.Decider.Approvals(t.Context()); err != nil || len(all) != 1 || all[0].Kind != core.ApprovalContinue {
		t.Errorf("%d approvals wait: %v", len(all), err)
	}
	r.want(r.send("POST", path, ""), http.StatusOK, "")
}

// TestToolsHearOfTheSocket: tools keep to the gateway's own rights there.
func TestToolsHearOfTheSocket(t *testing.T) {
	t.Parallel()
	says := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%t", core.IsLocal(r.Context())) // the client reads it
	})
	r := newRig(t, func(o *Options) { o.Mounts = mounts(says, says) })
	for network, want := range map[string]string{"unix": "true", "tcp": "false"} {
		address := map[string]string{"unix": r.socket, "tcp": strings.TrimPrefix(r.url, "http://")}[network]
		c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}}}
		t.Cleanup(c.CloseIdleConnections)
		for _, path := range []string{"/mcp", "/mcp/bags/all", "/toolhost/call"} {
			if a := r.do(c, r.request("POST", path, "{}")); a.body != want {
				t.Errorf("%s over %s: got %s", path, network, a.body)
			}
		}
	}
}

// TestEachRouteSaysWhatTheSocketMayDo: one that does not would be served.
func TestEachRouteSaysWhatTheSocketMayDo(t *testing.T) {
	t.Parallel()
	for _, rt := range allRoutes() {
		if rt.onSocket < socketServes || rt.onSocket > socketRefuses {
			t.Errorf("%s %s says nothing", rt.method, rt.pattern)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a route that says nothing is served")
		}
	}()
	route{method: http.MethodGet, pattern: "/new"}.guarded()
}

// addJob makes a schedule for a channel, and returns its id.
func (r *rig) addJob(channel string) (id string) {
	r.Helper()
	a := r.send("POST", "/schedules", `{"channel":"`+channel+`","text":"a","when":"in 1h"}`)
	r.want(a, http.StatusCreated, "")
	return a.field(r, "id").(string)
}

// failed returns a message on a channel that has failed, and asks nobody.
func (r *rig) failed(channel string) (id string) {
	r.Helper()
	return r.ended("fail", channel)
}

// ended returns a message of a text on a channel, with an outcome.
func (r *rig) ended(text, channel string) (id string) {
	r.Helper()
	a := r.send("POST", "/message", `{"text":"`+text+`","channel":"`+channel+`"}`)
	r.want(a, http.StatusOK, "")
	return a.field(r, "message_id").(string)
}

// bodies returns bodies for an operation: one with the members that are required, and one for
// each other member. Where it takes none there is one, which is empty.
func bodies(t *testing.T, op *openapi3.Operation) []string {
	t.Helper()
	if op.RequestBody == nil {
		return []string{""}
	}
	schema := op.RequestBody.Value.Content.Get("application/json").Schema.Value
	least := map[string]any{}
	for _, name := range append([]string{"text", "rollback"}, schema.Required...) { // of text and content one is required, and of rollback and path
		if ref := schema.Properties[name]; ref != nil {
			least[name] = sample(name, ref.Value)
		}
	}
	all := []string{encoded(t, least)}
	for name, ref := range schema.Properties {
		if _, there := least[name]; there {
			continue
		}
		least[name] = sample(name, ref.Value)
		all = append(all, encoded(t, least))
		delete(least, name)
	}
	return all
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	check.OK(t, err)
	return string(b)
}

// sample returns a value that a member of a body may have.
func sample(name string, schema *openapi3.Schema) any {
	values := map[string]any{
		"when": "in 1h", "tz": "UTC", "missed": "skip", "precheck": "true", "channel": "http", "path": "/bin/true", "can_ask": false,
		"media":   map[string]any{"filePath": "/bin/true"},
		"content": []any{map[string]any{"type": "text", "text": "a"}},
	}
	switch v, known := values[name]; {
	case schema.Example != nil:
		return schema.Example
	case known:
		return v
	case len(schema.Enum) > 0:
		return schema.Enum[0]
	case schema.Type.Is("boolean"):
		return true
	case schema.Type.Is("number"), schema.Type.Is("integer"):
		return 1
	case schema.Type.Is("object"):
		return map[string]any{}
	default:
		return "a"
	}
}
