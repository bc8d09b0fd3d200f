package realclaude

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
	"bareclaw/observe/discovery"
)

// leakyApp is a web app that answers with all that it knows.
const leakyApp = `import http from "node:http"
import { readFileSync } from "node:fs"

const account = JSON.parse(readFileSync("account.json"))

http.createServer((request, response) => {
  response.setHeader("Content-Type", "application/json")
  response.end(JSON.stringify(account))
}).listen(process.env.PORT, "127.0.0.1")
`

// apiKey is what the app must not answer with.
const apiKey = "q8Zr2Lw0Vt6Ny4Kd1Bx7"

// A phone is that of Anna, who has an app built in a chat and opens it.
type phone struct {
	m    *harness.RealMachine
	anna *botapi.User
	chat *botapi.Chat
}

func newPhone(t *testing.T) *phone {
	t.Helper()
	api := botapi.New(t, botapi.WithoutRates())
	anna := api.User(7, "Anna", "Arden", "anna")
	m := harness.NewRealMachine(t, harness.BotSettings(api, anna)...)
	t.Cleanup(func() {
		for _, r := range observersOf(m) {
			_ = proc.Signal(r.PID, r.Start, syscall.SIGTERM)
		}
		m.Eventually("the observers have ended", func() bool { return len(observersOf(m)) == 0 })
	})
	return &phone{
		m:    m,
		anna: anna,
		chat: api.Private(anna),
	}
}

func observersOf(m *harness.RealMachine) []discovery.Record {
	all, err := discovery.Records(m.Path("state/observe")).Live()
	if err != nil {
		m.T.Error(err)
	}
	return all
}

// writes writes a file of the app.
func (p *phone) writes(name, content string) {
	p.m.T.Helper()
	check.OK(p.m.T, os.WriteFile(p.m.Path("work/"+name), []byte(content), 0o600))
}

// A call is one of a tool by claude.
type call struct {
	Tool  string      `json:"tool"`
	Input harness.Obj `json:"input"`
}

// asks writes words into the chat, on which claude makes the calls.
func (p *phone) asks(words string, calls ...call) {
	p.m.T.Helper()
	script, err := json.Marshal(calls)
	check.OK(p.m.T, err)
	sent := p.chat.Send(p.anna, fmt.Sprintf("%s\ncalls %s", words, script))
	final := fmt.Sprintf("final after %d call(s)", len(calls))
	p.chat.AwaitMessage(final, func(m botapi.Message) bool {
		return m.FromBot && m.ID > sent.MessageID && strings.Contains(m.Text, final)
	})
}

// opens returns what the app answers.
func (p *phone) opens(address string) string {
	p.m.T.Helper()
	res, err := http.Get(address)
	check.OK(p.m.T, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	check.OK(p.m.T, err)
	return string(body)
}

// results returns what tools have answered claude.
func (p *phone) results() string {
	var all strings.Builder
	for _, r := range p.m.Requests() {
		all.WriteString(strings.Join(r.ToolResults, "\n") + "\n")
	}
	return all.String()
}

// bash is a call of Bash.
func bash(command string) call {
	return call{"Bash", harness.Obj{"command": command, "description": "a step"}}
}

// observeTool is a call of a tool about observed apps.
func observeTool(name string, input harness.Obj) call { return call{"mcp__bareclaw__" + name, input} }

// TestRealFix: Anna has claude start an app, opens it on her phone, and is told what is wrong. She asks for a fix; claude
// looks at the finding, edits the app, which starts anew, and proves the fix. Then she is told that the problem is gone. The
// secret that the app gave away is shown to nobody.
func TestRealFix(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.writes("server.mjs", leakyApp)
	p.writes("account.json", `{"name":"Anna","api_key":"`+apiKey+`"}`)
	g := p.m.Start()
	program := harness.Bareclaw(t)
	p.asks("start the app", bash(program+" observe --detach -- node --watch server.mjs"))
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(p.results())
	if !strings.Contains(p.opens(address+"/account"), apiKey) {
		t.Fatal("the app has no problem")
	}
	told := p.chat.AwaitText("1 problem in work", `critical: The response contains a value of "api_key", on GET /account`).Text
	id := regexp.MustCompile(`\b[0-9a-f]{16}\b`).FindString(told)

	source := p.m.Path("work/server.mjs")
	p.asks("fix it",
		call{"ToolSearch", harness.Obj{"query": "select:mcp__bareclaw__get_findings,mcp__bareclaw__get_request_detail,mcp__bareclaw__report_fix,mcp__bareclaw__verify_fix"}},
		observeTool("get_findings", harness.Obj{}),
		observeTool("get_request_detail", harness.Obj{"endpoint": "GET /account"}),
		call{"Read", harness.Obj{"file_path": source}},
		call{"Edit", harness.Obj{
			"file_path":  source,
			"old_string": "JSON.stringify(account)",
			"new_string": "JSON.stringify({ name: account.name })",
		}},
		observeTool("report_fix", harness.Obj{"finding_id": id, "status": "fixed", "note": "only the name is answered"}),
		bash("until node -e 'fetch(process.argv[1]).then(r => r.text()).then(t => process.exit(t.includes(\"api_key\") ? 1 : 0))' "+address+"/; do :; done"),
		observeTool("verify_fix", harness.Obj{"finding_id": id, "replay": true}),
	)
	results := p.results()
	for _, want := range []string{"Secret in a response", "id " + id, "RESOLVED"} {
		if !strings.Contains(results, want) {
			t.Errorf("claude is not told %q:\n%s", want, results)
		}
	}
	p.chat.AwaitText("Resolved in work: Secret in a response on GET /account")
	if got := p.opens(address + "/account"); got != `{"name":"Anna"}` {
		t.Errorf("the app answers %s", got)
	}
	for _, once := range []string{"1 problem in work", "Resolved in work"} {
		if n := harness.CountText(p.chat, once); n != 1 {
			t.Errorf("Anna is told %q %d times", once, n)
		}
	}
	everything := results + fmt.Sprint(p.chat.Messages()) + p.m.Log.String() + p.m.Contents("work/.brakit/findings.json")
	if strings.Contains(everything, apiKey) {
		t.Error("the secret is shown")
	}
	p.asks("stop it", bash(program+" observe stop"))
	g.Balanced()
}
