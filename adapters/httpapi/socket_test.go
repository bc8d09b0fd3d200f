package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"

	"bareclaw/docs"
	"bareclaw/internal/testkit/check"
)

// TestTheSocketRefusesWhatIsDocumented sends every operation of the document, with each member that
// its body may have, over the Unix socket: refused is what the document says, and that is served over TCP.
func TestTheSocketRefusesWhatIsDocumented(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI())
	check.OK(t, err)
	r := newRig(t, nil)
	r.want(r.send("POST", "/message", `{"text":"a"}`), http.StatusOK, "")
	approval := r.asks("Bash", `{"command":"ls"}`)
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
			target := strings.NewReplacer("{key}", "http", "{id}", approval).Replace(path)
			for _, body := range bodies(t, op) {
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
		"content": []any{map[string]any{"type": "text", "text": "a"}},
	}
	switch v, known := values[name]; {
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
