package harness

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
)

// A PushTest is a gateway whose bot knows Anna, who is listened to, and Bob, who is
// not.
type PushTest struct {
	*Gateway
	API       *botapi.Server
	Anna, Bob *botapi.User
	Chat      *botapi.Chat // Anna's
}

// NewPushTest starts a gateway with a bot.
func NewPushTest(t *testing.T, settings ...string) *PushTest {
	t.Helper()
	m, api, anna, chat := NewChat(t, settings...)
	return &PushTest{Gateway: m.Start(), API: api, Anna: anna, Bob: api.User(8, "Bob", "", ""), Chat: chat}
}

// File writes a file into the agent's directory, or elsewhere on the machine.
func (p *PushTest) File(name string, content []byte) string {
	p.T.Helper()
	path := name
	if !filepath.IsAbs(name) {
		path = p.Path("work/" + name)
	}
	check.OK(p.T, os.MkdirAll(filepath.Dir(path), 0o700))
	check.OK(p.T, os.WriteFile(path, content, 0o600))
	return path
}

// Send posts a push with a file.
func (p *PushTest) Send(channel, path, kind, text string, status int) Answer {
	p.T.Helper()
	return p.Must("POST", "/send", Obj{"channel": channel, "text": text, "media": Obj{"filePath": path, "type": kind}}, status)
}

// Newest returns the last n messages of the bot in a chat.
func (p *PushTest) Newest(chat *botapi.Chat, n int) []botapi.Message {
	p.T.Helper()
	all := chat.FromBot()
	if len(all) < n {
		p.T.Fatalf("%d messages, want at least %d:\n%s", len(all), n, p.API.Dump())
	}
	return all[len(all)-n:]
}

// LedgerFile opens the ledger beside the daemon.
func (m *Machine) LedgerFile() *sql.DB {
	m.T.Helper()
	db, err := sql.Open("sqlite", m.Path("state/ledger.db")+"?_pragma=busy_timeout(60000)")
	check.OK(m.T, err)
	return db
}

// Pushes returns how many pushes are in a state.
func (p *PushTest) Pushes(state string) (n int) {
	p.T.Helper()
	db := p.LedgerFile()
	defer func() { _ = db.Close() }()
	check.OK(p.T, db.QueryRow(`SELECT count(*) FROM deliveries WHERE id LIKE 'push:%' AND state=?`, state).Scan(&n))
	return n
}

// Post sends a push from a caller who may leave.
func (p *PushTest) Post(ctx context.Context, body Obj) *Held {
	p.T.Helper()
	b, err := json.Marshal(body)
	check.OK(p.T, err)
	req, err := p.request(ctx, http.MethodPost, "/send", bytes.NewReader(b), nil)
	check.OK(p.T, err)
	return p.held(func() (Answer, error) { return p.Gateway.Send(req) })
}
