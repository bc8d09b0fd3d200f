package oddserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// A call is a call of one of the server's tools.
type call struct {
	server *server
	id     json.RawMessage
	args   Args
}

// actions are what a call can do, by the word in its arguments.
var actions = map[string]func(c call){
	// answer: answers with Text.
	"answer": func(c call) { c.say(c.args.Text) },
	// fail: answers with Text, as the failure of the tool.
	"fail": func(c call) {
		c.server.answer(c.id, map[string]any{"content": []any{text(c.args.Text)}, "isError": true})
	},
	// refuse: answers with an error of the protocol, Text.
	"refuse": func(c call) { c.server.refuse(c.id, -32000, c.args.Text) },
	// die: the server ends.
	"die": func(call) { os.Exit(exitDied) },
	// half: the server ends in the middle of the answer.
	"half": func(c call) {
		whole := response(c.id, result(text(c.args.Text)))
		_, _ = os.Stdout.Write(whole[:len(whole)/2])
		os.Exit(exitDied)
	},
	// hang: there is no answer.
	"hang": func(call) {},
	// wait: answers with Text once File exists.
	"wait": func(c call) {
		for !exists(c.args.File) {
			<-time.After(pollPause)
		}
		c.say(c.args.Text)
	},
	// twice: answers with Text, and again with "again".
	"twice": func(c call) {
		c.say(c.args.Text)
		c.say("again")
	},
	// stranger: answers with "nobody" what nobody has asked, and with Text.
	"stranger": func(c call) {
		c.server.answer(encode("nobody"), result(text("nobody")))
		c.say(c.args.Text)
	},
	// late: answers with Text after the answer of the next request.
	"late": func(c call) { c.server.keep(c.id, result(text(c.args.Text))) },
	// big: answers with a text of Bytes.
	"big": func(c call) { c.server.writeBig(c.id, c.args.Bytes) },
	// stderr: writes Bytes on stderr, and answers with Text.
	"stderr": func(c call) {
		flood(c.args.Bytes)
		c.say(c.args.Text)
	},
	// rubbish: writes lines that are not messages, and answers with Text.
	"rubbish": func(c call) {
		for _, line := range []string{"", "null", "7", "[]", "[1]", "{}", `{"jsonrpc":"2.0"}`, "Listening...", "\x00\xff"} {
			c.server.write([]byte(line))
		}
		for _, id := range []string{"null", "{}", "true"} {
			c.server.refuse(json.RawMessage(id), -32700, "parse error")
		}
		c.say(c.args.Text)
	},
	// fork: starts a child that stays, whose process id File has, and answers with Text.
	"fork": func(c call) {
		c.server.must(fork(c.args.File, false))
		c.say(c.args.Text)
	},
	// change: the description of act becomes Text, of which the client hears.
	"change": func(c call) {
		c.server.mu.Lock()
		c.server.description = c.args.Text
		c.server.mu.Unlock()
		c.server.notify("notifications/tools/list_changed")
		c.say("changed")
	},
	// environment: answers with the server's environment, a variable a line.
	"environment": func(c call) { c.say(string(environment())) },
	// process: answers with the server's process id.
	"process": func(c call) { c.say(fmt.Sprint(os.Getpid())) },
	// ask: sends the client a request of the method Text, and answers with its answer.
	"ask": func(c call) { c.say(string(c.server.ask(c.args.Text))) },
	// image: answers with an image of Bytes, and Text.
	"image": func(c call) {
		c.server.answer(c.id, result(text(c.args.Text), map[string]string{
			"type":     "image",
			"mimeType": "image/png",
			"data":     base64.StdEncoding.EncodeToString(make([]byte, c.args.Bytes)),
		}))
	},
	// link: answers with a link to a resource.
	"link": func(c call) {
		c.server.answer(c.id, result(map[string]string{
			"type":        "resource_link",
			"uri":         "file:///report.txt",
			"name":        "report.txt",
			"description": c.args.Text,
			"mimeType":    "text/plain",
		}))
	},
	// resource: answers with a resource, whose text is Text.
	"resource": func(c call) {
		c.server.answer(c.id, result(map[string]any{
			"type": "resource",
			"resource": map[string]string{
				"uri":      "file:///report.txt",
				"mimeType": "text/plain",
				"text":     c.args.Text,
			},
		}))
	},
	// structured: answers with a structure that has Text.
	"structured": func(c call) {
		structure := map[string]string{"text": c.args.Text}
		c.server.answer(c.id, map[string]any{
			"content":           []any{text(string(encode(structure)))},
			"structuredContent": structure,
		})
	},
	// unknown: answers with a block of a type that does not exist.
	"unknown": func(c call) {
		c.server.answer(c.id, result(map[string]string{"type": "hologram", "text": c.args.Text}))
	},
	// shapeless: answers with what is not the result of a tool.
	"shapeless": func(c call) { c.server.answer(c.id, map[string]any{"content": c.args.Text}) },
}

// pollPause is how often a file is looked for.
const pollPause = 5 * time.Millisecond

// call carries out a call.
func (s *server) call(m message) {
	var params struct {
		Name      string `json:"name"`
		Arguments Args   `json:"arguments"`
	}
	s.must(json.Unmarshal(m.Params, &params))
	c := call{
		server: s,
		id:     m.ID,
		args:   params.Arguments,
	}
	if c.args.Log != "" {
		s.must(appendTo(c.args.Log, []byte(c.args.Text+"\n")))
	}
	if c.args.Once != "" && !create(c.args.Once) {
		c.say("again")
		return
	}
	if c.args.Action == "" {
		c.args.Action = "answer"
	}
	do, known := actions[c.args.Action]
	if !known {
		s.refuse(m.ID, -32602, fmt.Sprintf("%q is not an action", c.args.Action))
		return
	}
	do(c)
}

// say answers the call with a text.
func (c call) say(words string) { c.server.answer(c.id, result(text(words))) }

// result returns the result of a call with blocks.
func result(blocks ...any) any { return map[string]any{"content": blocks} }

// text returns a block.
func text(words string) any { return map[string]string{"type": "text", "text": words} }
