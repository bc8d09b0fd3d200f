package realclaude

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// realToolCall writes a reply of the model that the scripts do not have: a call
// of Bash, which is whole, or is followed by words without end.
func realToolCall(w http.ResponseWriter, command string, whole bool) {
	input, err := json.Marshal(map[string]string{"command": command, "description": "a test"})
	if err != nil {
		panic(err) // two strings
	}
	delta, err := json.Marshal(string(input))
	if err != nil {
		panic(err) // a string
	}
	events := []string{
		`{"type":"message_start","message":{"id":"msg_call","type":"message","role":"assistant","model":"claude-test","content":[],` +
			`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_call","name":"Bash","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":` + string(delta) + `}}`,
		`{"type":"content_block_stop","index":0}`,
	}
	if whole {
		events = append(events, `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}`,
			`{"type":"message_stop"}`)
	} else {
		events = append(events, `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"And so"}}`)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		kind, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, e) // claude may be gone
	}
	_ = http.NewResponseController(w).Flush()
}
