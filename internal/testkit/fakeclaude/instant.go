package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
)

// runInstant answers every user message "ok" on the shortest way that is still
// the protocol: lifecycle queued and started, assistant, result, lifecycle
// completed, all in one write. A message that ends with the word "realistic" is
// answered by a turn of 30 events, each in a write of its own. There are no other
// directives, no merging, no transcript and no journal. It allocates nothing per message.
func runInstant(f flags, stdin io.Reader, stdout io.Writer) int {
	i := &instant{answer: newAnswer(f.sessionID), stdout: stdout}
	if eachChunk(stdin, i.take) != nil || i.line(i.begun) != nil {
		return exitBroken
	}
	return 0
}

// instant answers lines that arrive in chunks.
type instant struct {
	answer *answer
	stdout io.Writer
	begun  []byte // a line whose end has not arrived
}

// take answers the lines that the chunk completes.
func (i *instant) take(chunk []byte) error {
	for {
		n := bytes.IndexByte(chunk, '\n') + 1
		if n == 0 {
			i.begun = append(i.begun, chunk...)
			return nil
		}
		line := chunk[:n]
		if len(i.begun) > 0 {
			line = append(i.begun, line...)
			i.begun = line[:0]
		}
		if err := i.line(line); err != nil {
			return err
		}
		chunk = chunk[n:]
	}
}

func (i *instant) line(line []byte) error {
	out, apart := i.answer.to(line)
	for apart && len(out) > 0 {
		n := bytes.IndexByte(out, '\n') + 1
		if err := write(i.stdout, out[:n]); err != nil {
			return err
		}
		out = out[n:]
	}
	if len(out) == 0 {
		return nil
	}
	return write(i.stdout, out)
}

// readChunks gives take what r has, until that ends or take fails.
func readChunks(r io.Reader, take func(chunk []byte) error) error {
	buf := make([]byte, chunkBytes)
	for end := error(nil); end == nil; { // a broken stdin is no different from its end
		var n int
		n, end = r.Read(buf)
		if err := take(buf[:n]); err != nil {
			return err
		}
	}
	return nil
}

const chunkBytes = 1 << 16 // what a pipe holds

// answer holds the constant parts of the two answers, between the places where the
// message's uuid goes, and the buffer in which an answer is built.
type answer struct {
	short, realistic [][]byte
	out              []byte
}

func newAnswer(session string) *answer {
	id := newID()
	started := `{"type":"command_lifecycle","command_uuid":"` + mark + `","state":"queued","uuid":"` + id + `","session_id":"` + session + `"}` + "\n" +
		`{"type":"command_lifecycle","command_uuid":"` + mark + `","state":"started","uuid":"` + id + `","session_id":"` + session + `"}` + "\n"
	ended := `{"type":"assistant","message":{"content":[{"text":"ok","type":"text"}],"id":"msg_fake","model":"fake","role":"assistant","stop_reason":null,"type":"message"},"parent_tool_use_id":null,"session_id":"` + session + `","uuid":"` + id + `"}` + "\n" +
		`{"duration_api_ms":0,"stop_reason":"end_turn","session_id":"` + session + `","total_cost_usd":0,"permission_denials":[],"terminal_reason":"completed","is_error":false,"num_turns":1,"subtype":"success","result":"ok","type":"result","duration_ms":0,"uuid":"` + id + `","user_message_uuid":"` + mark + `","user_message_uuids":["` + mark + `"],"queued_turn_count":0,"result_index":0}` + "\n" +
		`{"type":"command_lifecycle","command_uuid":"` + mark + `","state":"completed","uuid":"` + id + `","session_id":"` + session + `"}` + "\n"
	cut := func(whole string) [][]byte { return bytes.Split([]byte(whole), []byte(mark)) }
	return &answer{short: cut(started + ended), realistic: cut(started + work(session, id) + ended)}
}

// mark stands for the message's uuid.
const mark = "\x00"

// work returns the middle of a realistic turn: init, the replayed message, a text in 20
// pieces, and a tool.
func work(session, id string) string {
	tail := `,"parent_tool_use_id":null,"session_id":"` + session + `","uuid":"` + id + `"}` + "\n"
	var b strings.Builder
	b.WriteString(`{"type":"system","subtype":"init","cwd":"/home/user","session_id":"` + session + `","tools":["Task","Bash","Glob","Grep","Read","Edit","Write","WebFetch","TodoWrite","WebSearch"],"mcp_servers":[],"model":"fake","permissionMode":"default","slash_commands":["clear","compact","context","cost","init","review"],"apiKeySource":"none","claude_code_version":"` + version + `","output_style":"default","agents":["general-purpose"],"uuid":"` + id + `"}` + "\n")
	b.WriteString(`{"type":"user","message":{"role":"user","content":"realistic"},"session_id":"` + session + `","parent_tool_use_id":null,"uuid":"` + mark + `","isReplay":true}` + "\n")
	for range 20 {
		b.WriteString(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a few words of the answer "}},"api_message_id":"msg_fake"` + tail)
	}
	b.WriteString(`{"type":"stream_event","event":{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_fake","name":"Bash","input":{}}},"api_message_id":"msg_fake"` + tail)
	b.WriteString(`{"type":"assistant","message":{"id":"msg_fake","type":"message","role":"assistant","model":"fake","content":[{"type":"tool_use","id":"toolu_fake","name":"Bash","input":{"command":"ls -l","description":"List files"}}],"stop_reason":null}` + tail)
	b.WriteString(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_fake","content":"total 0","is_error":false}]}` + tail)
	return b.String()
}

// to returns the answer to one line of stdin, or nil. apart says that each line of the
// answer is to be written by itself. The answer is valid until the next call.
func (a *answer) to(line []byte) (out []byte, apart bool) {
	// Within a JSON string a quote is escaped, so these cannot be part of a text.
	if bytes.Contains(line, []byte(`"type":"control_request"`)) {
		return a.toControl(line), false
	}
	if !bytes.Contains(line, []byte(`"type":"user"`)) {
		return nil, false
	}
	key := []byte(`"uuid":"`)
	i := bytes.Index(line, key)
	if i < 0 {
		return nil, false
	}
	uuid := line[i+len(key):]
	end := bytes.IndexByte(uuid, '"')
	if end < 0 {
		return nil, false
	}
	parts := a.short
	if apart = bytes.Contains(line, []byte(`realistic"`)); apart {
		parts = a.realistic
	}
	a.out = a.out[:0]
	for i, part := range parts {
		if i > 0 {
			a.out = append(a.out, uuid[:end]...)
		}
		a.out = append(a.out, part...)
	}
	return a.out, apart
}

func (a *answer) toControl(line []byte) []byte {
	var e struct {
		RequestID string `json:"request_id"`
	}
	if json.Unmarshal(line, &e) != nil {
		return nil
	}
	return encode(respond(e.RequestID, "success", "response", object{"pid": os.Getpid(), "still_queued": []string{}, "claude_code_version": version}))
}
