package toolhost

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bareclaw/internal/socketpair"
	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
)

// TestStrangeAnswers: the daemon takes no harm from a tool host that answers wrongly, and does not
// take that for the end of the tool host.
func TestStrangeAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		says   string
		gone   bool
	}{
		"no JSON":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }, "invalid character 'h'", false},
		"other JSON": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"content":7}`)) }, "cannot unmarshal", false},
		"no content": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"content":[]}`)) }, "no content", false},
		"nothing":    {func(http.ResponseWriter, *http.Request) {}, "unexpected end", false},
		"a status":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "500 Internal Server Error", false},
		"a reason": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":"no luck"}`, http.StatusInternalServerError)
		}, "no luck", false},
		"an end": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "does not answer", true},
		"half": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"content":`))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "does not answer", true},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for err := error(nil); err == nil; {
				_, err = w.Write(make([]byte, 1<<20))
			}
		}, "more than 33554432 bytes", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := connectTo(t, c.answer)
			client := &client{calls, calls}
			_, err := client.call(t.Context(), "any", nil)
			if err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, errNoAnswer) != c.gone {
				t.Errorf("got %v", err)
			}
		})
	}
}

// connectTo returns a client of a handler at the other end of a connection.
func connectTo(t *testing.T, h http.Handler) *http.ClientConn {
	t.Helper()
	ours, theirs, err := socketpair.New("test")
	check.OK(t, err)
	conn, err := socketpair.Conn(theirs)
	check.OK(t, err)
	server := api.NewServer(h, slog.New(slog.DiscardHandler))
	var serving sync.WaitGroup
	serving.Go(func() { _ = api.Serve(server, conn) })
	client, err := api.Connect(ours, func() {})
	check.OK(t, err)
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
		serving.Wait()
	})
	return client
}

// TestLogWriter: records keep their level, other output is kept for the reason of a crash, and no
// output fills the memory.
func TestLogWriter(t *testing.T) {
	t.Parallel()
	book := &logbook{}
	w := &logWriter{log: slog.New(slog.NewTextHandler(book, nil))}
	write := func(text string) {
		t.Helper()
		if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
	}
	write(`{"level":"WARN","msg":"a","b":1,"a":"x"}` + "\n" + `{"level":"ERR`)
	write(`OR","msg":"b"}` + "\npanic: no luck\n\n" + `{"level":"none","msg":"c"}` + "\n[1]\nlast")
	for _, line := range []string{`level=WARN msg="tool host" says=a a=x b=1`, `level=ERROR msg="tool host" says=b`, `level=ERROR msg="tool host" says="panic: no luck"`} {
		if !book.has(line) {
			t.Errorf("there is no %s in\n%s", line, book)
		}
	}
	if w.reason != "panic: no luck" {
		t.Errorf("the reason is %q", w.reason)
	}
	write("\n")
	for i := range 100 {
		write(strings.Repeat(string(rune('a'+i%26)), 10_000))
	}
	if len(w.rest) > maxLine || cap(w.rest) > 4*maxLine {
		t.Errorf("%d bytes of %d are kept", len(w.rest), cap(w.rest))
	}
	write("\n")
	long := strings.Builder{}
	for line := range strings.Lines(book.String()) {
		if _, says, ok := strings.Cut(line, "says="); ok && len(says) > 1000 || ok && long.Len() > 0 {
			long.WriteString(strings.TrimSpace(says))
		}
	}
	var want strings.Builder
	for i := range 100 {
		want.WriteString(strings.Repeat(string(rune('a'+i%26)), 10_000))
	}
	if long.String() != want.String() {
		t.Errorf("%d bytes are logged of %d", long.Len(), want.Len())
	}
}

// TestPlanRead: plan_read reads regular Markdown files, whatever way leads to them.
func TestPlanRead(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, contents := range map[string]string{"plan.md": "# Plän", "UPPER.MD": "upper", "secret.txt": "secret", "bytes.md": "a\xffb", "empty.md": ""} {
		check.OK(t, os.WriteFile(in(name), []byte(contents), 0o600))
	}
	check.OK(t, os.Symlink("plan.md", in("link.txt")))
	check.OK(t, os.Symlink("secret.txt", in("link.md")))
	check.OK(t, os.Symlink("none.md", in("dangling.md")))
	check.OK(t, os.Mkdir(in("dir.md"), 0o700))
	mkfifo(t, in("pipe.md"))
	check.OK(t, os.WriteFile(in("big.md"), nil, 0o600))
	check.OK(t, os.Truncate(in("big.md"), maxPlan+1))
	read := func(path string) string { return fmt.Sprintf(`{"path":%q}`, path) }
	r.gives("plan_read", read(in("plan.md")), "# Plän")
	r.gives("plan_read", read(in("UPPER.MD")), "upper")
	r.gives("plan_read", read(in("link.txt")), "# Plän")
	r.gives("plan_read", read(in("bytes.md")), "a\uFFFDb")
	r.gives("plan_read", read(in("empty.md")), "")
	for path, says := range map[string]string{
		in("secret.txt"): "only regular .md files", in("link.md"): "only regular .md files", in("dir.md"): "only regular .md files", in("pipe.md"): "only regular .md files",
		in("dangling.md"): "no such file", in("none.md"): "no such file", in("big.md"): "at most 1048576", "plan.md": "absolute", "": "absolute",
		dir + "/../" + filepath.Base(dir) + "/plan.md": "must not lead upwards", "/..": "must not lead upwards", "/etc/passwd": "only regular .md files",
		"/dev/null": "only regular .md files", in("plan.md/x"): "not a directory", "~/plan.md": "absolute",
	} {
		r.refuses("plan_read", read(path), says)
	}
	r.refuses("plan_read", `{}`, `"path"`)
	r.refuses("plan_read", `{"path":7}`, "path")
}
