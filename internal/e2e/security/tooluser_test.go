package security

import "bareclaw/internal/e2e/harness"

// A toolUser makes and calls tools, as a session does.
type toolUser struct{ *harness.Gateway }

// make makes a tool with the given permissions.
func (u toolUser) make(name, code string, permissions ...string) {
	u.T.Helper()
	a := u.call("dynamic_tool_create", harness.Obj{"name": name, "description": name, "schema": harness.Obj{"type": "object"}, "code": code, "permissions": append([]string{}, permissions...)})
	if a.JSON["isError"] == true {
		u.T.Fatalf("%s is not made: %s", name, a.Body)
	}
}

func (u toolUser) call(name string, args harness.Obj) harness.Answer {
	u.T.Helper()
	return u.Must("POST", "/toolhost/call", harness.Obj{"tool": name, "args": args}, 200)
}

// host returns what GET /health says of the tool host, once one runs.
func (u toolUser) host() (host map[string]any) {
	u.T.Helper()
	u.Eventually("the tool host runs", func() bool {
		tools, _ := u.Must("GET", "/health", nil, 200).JSON["tools"].(map[string]any)
		host, _ = tools["host"].(map[string]any)
		return host["healthy"] == true
	})
	return host
}
