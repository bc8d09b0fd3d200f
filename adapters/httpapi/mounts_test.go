package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

// TestMountedServers lists them, and tests them over TCP alone: the agent must not start programs.
func TestMountedServers(t *testing.T) {
	r := startRig(t, nil)
	all := r.send("GET", "/mounts", "").object(t)["mounts"].([]any)
	if len(all) != 2 || all[1].(map[string]any)["asks"] != 1.0 {
		t.Errorf("got %v", all)
	}
	tested := r.send("POST", "/mounts/github/test", "")
	if tested.field(t, "name") != "github" || !strings.Contains(tested.body, `"tool_list":[{"name":"github_get"`) {
		t.Errorf("got %s", tested.body)
	}
	unknown := r.send("POST", "/mounts/gitlab/test", "")
	r.want(unknown, http.StatusNotFound, "not_found")
	if !strings.Contains(unknown.body, "broken, github") {
		t.Errorf("got %s", unknown.body)
	}
	r.want(r.send("POST", "/mounts/broken/test", ""), http.StatusBadGateway, "mount_failed")
	r.want(r.do(r.local, r.request("POST", "/mounts/github/test", "")), http.StatusForbidden, "not_on_socket")
	r.want(r.do(r.local, r.request("GET", "/mounts", "")), http.StatusOK, "")
}
