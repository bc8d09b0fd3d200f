package observe

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
)

// TestReadOnlyDirectory: an app is observed in a directory where nothing can be written.
func TestReadOnlyDirectory(t *testing.T) {
	m := newMachine(t, "plain")
	dir := m.Path("work")
	m.SmallDisk("work", "1m")
	check.OK(t, remountReadOnly(dir))
	o := m.observe()
	r := m.answers(0)
	m.isServed(r)
	m.get(r, "/secret")
	answer := fmt.Sprintf("http://127.0.0.1:%d/__brakit/api/findings", r.Port)
	m.Eventually("something is found", func() bool {
		res, err := http.Get(answer)
		check.OK(t, err)
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		check.OK(t, err)
		return strings.Contains(string(text), "GET /secret")
	})
	m.Command(exitcode.OK, "observe", "stop")
	o.Wait(exitcode.OK)
}
