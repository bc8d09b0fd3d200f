package realclaude

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// reply writes a reply of the model that the scripts do not have: a text in pieces, if there is
// one, and a call of a tool, which is whole, or is followed by words without end.
func reply(w http.ResponseWriter, text, tool string, input map[string]string, whole bool) {
	quoted := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // strings
		}
		return string(b)
	}
	event := func(kind, rest string) {
		_, _ = fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest) // claude may be gone
	}
	block := 0
	begin := func(content string) {
		event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":%s`, block, content))
	}
	delta := func(change string) {
		event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":%s`, block, change))
	}
	end := func() {
		event("content_block_stop", fmt.Sprintf(`,"index":%d`, block))
		block++
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event("message_start", `,"message":{"id":"msg_call","type":"message","role":"assistant","model":"claude-test","content":[],`+
		`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`)
	if text != "" {
		begin(`{"type":"text","text":""}`)
		for _, piece := range strings.SplitAfter(text, " ") {
			delta(`{"type":"text_delta","text":` + quoted(piece) + `}`)
		}
		end()
	}
	begin(`{"type":"tool_use","id":"toolu_call","name":` + quoted(tool) + `,"input":{}}`)
	delta(`{"type":"input_json_delta","partial_json":` + quoted(quoted(input)) + `}`)
	end()
	if whole {
		event("message_delta", `,"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}`)
		event("message_stop", "")
	} else {
		begin(`{"type":"text","text":""}`)
		delta(`{"type":"text_delta","text":"And so"}`)
	}
	_ = http.NewResponseController(w).Flush()
}

// bash is the input of a call of Bash.
func bash(command string) map[string]string {
	return map[string]string{"command": command, "description": "a test"}
}
