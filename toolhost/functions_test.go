package toolhost

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
)

// TestFetchRefused: fetch reaches granted hosts at public addresses only.
func TestFetchRefused(t *testing.T) {
	t.Parallel()
	private := []string{
		"127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "224.0.0.1", "255.255.255.255",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[fd00::1]", "[fe80::1]", "[64:ff9b::7f00:1]", "localhost",
	}
	granted := []string{"*.example.com", "plain.example.org"}
	for _, host := range private {
		granted = append(granted, strings.Trim(host, "[]"))
	}
	f := newFunctions(Grants{Hosts: granted}, nil)
	defer f.client.CloseIdleConnections()
	refuses := func(url, says string) {
		t.Helper()
		began := time.Now()
		_, err := f.Fetch(t.Context(), api.FetchRequest{URL: url, Method: "GET"})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", url, err, says)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: refused after %s", url, took)
		}
	}
	for _, host := range private {
		refuses("http://"+host+"/", "public addresses only")
		refuses("https://"+host+":8443/", "public addresses only")
	}
	for url, says := range map[string]string{
		"http://other.example.org/":               `"other.example.org" is not granted; the gateway's owner adds network:other.example.org to BARECLAW_TOOL_GRANTS`,
		"http://example.com/":                     "is not granted",
		"http://badexample.com/":                  "is not granted",
		"http://a.example.com.evil.org/":          "is not granted",
		"http://plain.example.org.":               "is not granted",
		"http://plain.example.org@evil.org/":      "user name",
		"http://evil.org\\@plain.example.org/":    "",
		"http://user:secret@plain.example.org/":   "user name",
		"ftp://plain.example.org/":                `not "ftp"`,
		"file:///etc/passwd":                      `not "file"`,
		"//plain.example.org/":                    `not ""`,
		"/only/a/path":                            `not ""`,
		"http://":                                 "is not granted",
		"http://%zz/":                             "invalid URL escape",
		"http://plain.example.org\x00.evil.org/":  "invalid control character",
		"http://127.0.0.1%2f.plain.example.org":   "",
		"javascript:alert(1)":                     `not "javascript"`,
		"http://[::1%25eth0]/":                    "is not granted",
		"http://PLAIN.example.org:99999999/":      "",
		"unix:///var/run/docker.sock":             `not "unix"`,
		"http://plain.example.org:80:80/":         "",
		"http://xn--lain-.example.org/":           "is not granted",
		"http://plain.example.org%00.evil.org":    "",
		"http://plain.example.org#@evil.org:port": "",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 0) // nothing may be sent
		if _, err := f.Fetch(ctx, api.FetchRequest{URL: url, Method: "GET"}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", url, err, says)
		}
		cancel()
	}
}

// reaching has fetch connect to a server, whatever the name.
func reaching(t *testing.T, f *functions, handler http.HandlerFunc) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	transport := f.client.Transport.(*http.Transport)
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	t.Cleanup(transport.CloseIdleConnections)
}

// TestFetch: a request arrives as it is, and its answer comes back, after redirects to granted
// hosts only.
func TestFetch(t *testing.T) {
	t.Parallel()
	f := newFunctions(Grants{Hosts: []string{"*.example.com", "example.org"}}, nil)
	reaching(t, f, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/echo":
			w.Header().Set("X-Got", r.Header.Get("X-Sent")+" at "+r.Host)
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.Copy(w, r.Body)
		case "/good":
			http.Redirect(w, r, "http://example.org/echo", http.StatusTemporaryRedirect)
		case "/bad":
			http.Redirect(w, r, "http://example.net/echo", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/again":
			http.Redirect(w, r, "/again", http.StatusFound)
		case "/big":
			_, _ = w.Write(make([]byte, maxFetched+1))
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}
	})
	got, err := f.Fetch(t.Context(), api.FetchRequest{URL: "http://a.example.com/good", Method: "PUT", Header: http.Header{"X-Sent": {"x"}}, Body: []byte("data")})
	if err != nil || got.Status != http.StatusTeapot || string(got.Body) != "data" || got.URL != "http://example.org/echo" || got.Header.Get("X-Got") != "x at example.org" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got.StatusText != "I'm a teapot" || !got.Redirected {
		t.Errorf("got %+v", got)
	}
	got, err = f.Fetch(t.Context(), api.FetchRequest{URL: "http://a.example.com/bad", Method: "GET", Redirect: "manual"})
	if err != nil || got.Status != http.StatusFound || got.Header.Get("Location") != "http://example.net/echo" || got.Redirected {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err = f.Fetch(t.Context(), api.FetchRequest{URL: "http://a.example.com/good", Method: "GET", Redirect: "error"}); err == nil || !strings.Contains(err.Error(), "leads to http://example.org/echo") {
		t.Errorf("got %v", err)
	}
	for path, says := range map[string]string{
		"/bad": `"example.net" is not granted`, "/file": `not "file"`, "/again": "10 redirects", "/big": "more than 4194304 bytes", "/endless": "more than 4194304 bytes",
	} {
		if _, err := f.Fetch(t.Context(), api.FetchRequest{URL: "http://a.example.com" + path, Method: "GET"}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", path, err, says)
		}
	}
}

// TestFiles: fs reaches regular files in granted directories, and nothing by way of them.
func TestFiles(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	in := func(path string) string { return filepath.Join(base, path) }
	for _, dir := range []string{"rw/sub", "ro/inner", "rwother"} {
		check.OK(t, os.MkdirAll(in(dir), 0o700))
	}
	for _, path := range []string{"secret", "rw/here", "ro/here", "ro/inner/here", "rwother/here"} {
		check.OK(t, os.WriteFile(in(path), []byte(path), 0o600))
	}
	for link, to := range map[string]string{"rw/out": "../secret", "rw/outdir": "..", "rw/abs": in("secret"), "rw/inside": "here", "rw/new": "../made"} {
		check.OK(t, os.Symlink(to, in(link)))
	}
	mkfifo(t, in("rw/fifo"))
	check.OK(t, os.WriteFile(in("rw/big"), nil, 0o600))
	check.OK(t, os.Truncate(in("rw/big"), maxFile+1))
	f := newFunctions(Grants{Dirs: []Directory{{Path: in("ro"), ReadOnly: true}, {Path: in("ro/inner")}, {Path: in("rw")}, {Path: in("missing")}}}, nil)
	const ungranted = "is not granted; the gateway's owner adds filesystem:PATH to BARECLAW_TOOL_GRANTS"
	for path, want := range map[string]struct{ read, write string }{ // what the errors say; empty: none
		in("rw/here"):            {},
		in("rw/sub/../here"):     {},
		in("rw/inside"):          {},
		in("ro/here"):            {"", "granted for reading only"},
		in("ro/inner/here"):      {},
		in("secret"):             {ungranted, ungranted},
		in("rw/../secret"):       {ungranted, ungranted},
		in("rwother/here"):       {ungranted, ungranted},
		in("rw/out"):             {"escapes", "escapes"},
		in("rw/abs"):             {"escapes", "escapes"},
		in("rw/outdir/secret"):   {"escapes", "escapes"},
		in("rw/new"):             {"no such file", "too many levels"},
		in("rw/fifo"):            {"not a regular file", "no such device"},
		in("rw/sub"):             {"not a regular file", "is a directory"},
		in("rw"):                 {"not a regular file", "is a directory"},
		in("rw/none/none"):       {"no such file", "no such file"},
		in("missing/x"):          {"no such file", "no such file"},
		"rw/here":                {"must be an absolute path", "must be an absolute path"},
		"":                       {"must be an absolute path", "must be an absolute path"},
		"/etc/passwd":            {ungranted, ungranted},
		"/proc/self/environ":     {ungranted, ungranted},
		in("rw/here\x00"):        {"invalid argument", "invalid argument"},
		in("rw/big"):             {"more than 4194304 bytes", ""},
		in("rw/made"):            {"no such file", ""},
		in("ro") + "/../rw/sub/": {"not a regular file", "is a directory"},
	} {
		_, err := f.ReadFile(t.Context(), path)
		expectError(t, "read "+path, err, want.read)
		err = f.WriteFile(t.Context(), path, []byte("new"))
		expectError(t, "write "+path, err, want.write)
		if b, err := f.ReadFile(t.Context(), path); want.write == "" && (err != nil || string(b) != "new") {
			t.Errorf("%s has %q, %v", path, b, err)
		}
	}
	for _, path := range []string{"secret", "rwother/here", "ro/here"} {
		if b, err := os.ReadFile(in(path)); err != nil || string(b) != path {
			t.Errorf("%s has %q, %v", path, b, err)
		}
	}
	if _, err := os.Lstat(in("made")); err == nil {
		t.Error("a file was made outside")
	}
	expectError(t, "write too much", f.WriteFile(t.Context(), in("rw/here"), make([]byte, maxFile+1)), "at most 4194304")
	names, err := f.ListFiles(t.Context(), in("ro"))
	if err != nil || fmt.Sprint(names) != "[here inner]" {
		t.Errorf("the names are %v, %v", names, err)
	}
	for path, says := range map[string]string{base: ungranted, in("rw/outdir"): "escapes", in("rw/here"): "not a directory", in("rw/fifo"): "not a directory"} {
		_, err := f.ListFiles(t.Context(), path)
		expectError(t, "list "+path, err, says)
	}
}

// TestWithheld: the gateway's own directories are out of reach, whatever is granted and whichever way
// leads there.
func TestWithheld(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	in := func(path string) string { return filepath.Join(base, path) }
	for _, dir := range []string{"state", "config/sub", "other", "mine"} {
		check.OK(t, os.MkdirAll(in(dir), 0o700))
	}
	for _, path := range []string{"state/ledger.db", "config/.env", "config/sub/x", "mine/here"} {
		check.OK(t, os.WriteFile(in(path), []byte(path), 0o600))
	}
	check.OK(t, os.Symlink(in("config"), in("mine/link")))
	check.OK(t, os.Symlink("../config/.env", in("mine/env")))
	check.OK(t, os.Symlink(in("state"), in("statelink")))
	for _, granted := range [][]string{{"/"}, {base}, {in("config"), in("state"), in("statelink"), base}} {
		var g Grants
		for _, dir := range granted {
			g.Dirs = append(g.Dirs, Directory{Path: dir})
		}
		f := newFunctions(g, []string{in("state"), in("config"), in("missing")})
		for _, path := range []string{
			"state/ledger.db", "config/.env", "config/sub/x", "config/new", "mine/link/.env", "mine/link/sub/x", "mine/env", "statelink/ledger.db", "mine/../config/.env",
			"other/../state/ledger.db", "mine/link/new",
		} {
			err := f.WriteFile(t.Context(), in(path), nil)
			expectError(t, "write "+path, err, "out of reach")
			if _, err = f.ReadFile(t.Context(), in(path)); !strings.HasSuffix(path, "new") {
				expectError(t, "read "+path, err, "out of reach")
			}
		}
		for _, path := range []string{"state", "config", "config/sub", "mine/link", "statelink"} {
			_, err := f.ListFiles(t.Context(), in(path))
			expectError(t, "list "+path, err, "out of reach")
		}
		_, err := f.ReadFile(t.Context(), in("mine/here"))
		expectError(t, "read mine/here", err, "")
	}
	for _, path := range []string{"state/ledger.db", "config/.env", "config/sub/x"} {
		if b, err := os.ReadFile(in(path)); err != nil || string(b) != path {
			t.Errorf("%s has %q, %v", path, b, err)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	f := newFunctions(Grants{Dirs: []Directory{{Path: "/"}}}, []string{in("state")})
	open, err := os.Open(in("state/ledger.db"))
	check.OK(t, err)
	defer func() { _ = open.Close() }()
	for _, path := range []string{
		"/proc/self/environ", "/proc/thread-self/environ", fmt.Sprintf("/proc/%d/environ", os.Getppid()), "/proc/self/root" + in("state/ledger.db"),
		fmt.Sprintf("/proc/self/fd/%d", open.Fd()), "/proc/self/cwd/functions.go/../../../proc/self/mem",
	} {
		if _, err := f.ReadFile(t.Context(), path); err == nil {
			t.Errorf("%s was read", path)
		}
	}
	_, err = f.ReadFile(t.Context(), "/proc/meminfo")
	expectError(t, "read /proc/meminfo", err, "")
}

func expectError(t *testing.T, what string, err error, says string) {
	t.Helper()
	if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, want %q", what, err, says)
	}
}

// TestScriptsUse: scripts use what is granted, and are told how to be granted the rest.
func TestScriptsUse(t *testing.T) {
	t.Parallel()
	granted := t.TempDir()
	r := prepare(t, func(o *Options) {
		o.Grants = Grants{Dirs: []Directory{{Path: granted}}, Hosts: []string{"localhost"}}
	})
	r.write("files.ts", fileWith("files", "Files", "permissions: ['filesystem'],", `
    await fs.writeFile(args.dir + '/a.txt', 'über');
    return { names: await fs.list(args.dir), text: await fs.readFile(args.dir + '/a.txt', 'utf8') };`))
	r.write("reads.ts", fileWith("reads", "Reads", "permissions: ['filesystem'],", `return await fs.readFile(args.path);`))
	r.write("gets.ts", fileWith("gets", "Gets", "permissions: ['network'],", `return (await fetch(args.url)).status;`))
	r.write("undeclared.ts", file("undeclared", "Undeclared", `return typeof fetch + typeof fs;`))
	r.run()
	<-r.Settled()
	r.gives("files", `{"dir":"`+granted+`"}`, `{"names":["a.txt"],"text":"über"}`)
	r.refuses("reads", `{"path":"/etc/passwd"}`, "is not granted", "BARECLAW_TOOL_GRANTS")
	r.refuses("gets", `{"url":"http://example.org"}`, "network:example.org", "BARECLAW_TOOL_GRANTS")
	r.refuses("gets", `{"url":"http://localhost:1"}`, "public addresses only")
	r.gives("undeclared", `{}`, "undefinedundefined")
}

// TestFunctionsTogether: large files pass over the connection while many other requests are begun and
// given up, and none of that harms the connection.
func TestFunctionsTogether(t *testing.T) {
	t.Parallel()
	granted := t.TempDir()
	client := connectTo(t, newFunctions(Grants{Dirs: []Directory{{Path: granted}}}, nil).handler())
	large := []byte(strings.Repeat("0123456789abcdef", maxFile/16))
	var asking sync.WaitGroup
	for i := range 3 {
		path := filepath.Join(granted, fmt.Sprint(i))
		asking.Go(func() {
			var got api.FileResult
			_, err := ask(t.Context(), client, http.MethodPost, api.PathWriteFile, nil, api.FileRequest{Path: path, Data: large}, &got)
			expectError(t, "write", err, "")
			_, err = ask(t.Context(), client, http.MethodPost, api.PathReadFile, nil, api.FileRequest{Path: path}, &got)
			if expectError(t, "read", err, ""); !bytes.Equal(got.Data, large) {
				t.Errorf("%s has %d bytes", path, len(got.Data))
			}
		})
		asking.Go(func() {
			for n := range 300 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n%7)*100*time.Microsecond)
				_, _ = ask(ctx, client, http.MethodPost, api.PathListFiles, nil, api.FileRequest{Path: granted}, new(api.FileResult))
				cancel()
			}
		})
	}
	asking.Wait()
	var got api.FileResult
	_, err := ask(t.Context(), client, http.MethodPost, api.PathListFiles, nil, api.FileRequest{Path: granted}, &got)
	if expectError(t, "list", err, ""); len(got.Names) != 3 {
		t.Errorf("the names are %v", got.Names)
	}
}
