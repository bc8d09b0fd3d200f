package toolhost

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"bareclaw/internal/withheld"
	"bareclaw/toolhost/api"
)

// Grants are what scripts may use, beside computing, if they declare the permission. The zero
// value grants nothing.
type Grants struct {
	Hosts []string    // that fetch reaches; "*.example.com" is each name below example.com
	Dirs  []Directory // whose files fs reaches
}

// A Directory is a granted directory.
type Directory struct {
	Path     string // absolute
	ReadOnly bool
}

const (
	// maxFetched bounds the body that fetch returns, in bytes.
	maxFetched = 4 << 20
	// maxFile bounds a file that a script reads or writes, in bytes.
	maxFile = 4 << 20
	// maxNames bounds the names that a script gets of a directory.
	maxNames = 10_000
	// fetchTimeout bounds a fetch with all its redirects.
	fetchTimeout = 30 * time.Second
)

// functions carry out what scripts may use.
type functions struct {
	grants   Grants
	withheld withheld.Dirs
	client   *http.Client
}

var _ api.Functions = (*functions)(nil)

// newFunctions returns the functions that reach what is granted, but for files in withheld directories.
func newFunctions(g Grants, never withheld.Dirs) *functions {
	f := &functions{grants: g, withheld: never}
	// The guard sees each address after its name was resolved: a name cannot lead to a private one.
	guard := ssrf.New(ssrf.WithAnyPort())
	dialer := &net.Dialer{
		Timeout: 10 * time.Second,
		Control: func(network, address string, c syscall.RawConn) error {
			return cmp.Or(guard.Safe(network, address, c), refuseOwn(address))
		},
	}
	f.client = &http.Client{
		Timeout:   fetchTimeout,
		Transport: &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, MaxIdleConns: 8, IdleConnTimeout: time.Minute},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) >= 10 {
				return errors.New("stopped after 10 redirects")
			}
			return f.checkURL(r.URL)
		},
	}
	return f
}

// refuseOwn refuses the addresses of this machine, some of which may be public.
func refuseOwn(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, a := range own {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Unmap() == to.Addr().WithZone("").Unmap() {
			return fmt.Errorf("%s is an address of this machine", to.Addr())
		}
	}
	return nil
}

func (f *functions) checkURL(u *url.URL) error {
	host := strings.ToLower(u.Hostname())
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("fetch knows http and https, not %q", u.Scheme)
	case u.User != nil:
		return errors.New("a URL with a user name is refused")
	case !slices.ContainsFunc(f.grants.Hosts, func(g string) bool {
		domain, isDomain := strings.CutPrefix(g, "*")
		return g == host || isDomain && strings.HasSuffix(host, domain)
	}):
		return fmt.Errorf("the host %q is not granted; the gateway's owner adds network:%s to BARECLAW_TOOL_GRANTS", host, host)
	}
	return nil
}

// Fetch sends a request to a granted host.
func (f *functions) Fetch(ctx context.Context, in api.FetchRequest) (out api.FetchResponse, err error) {
	r, err := http.NewRequestWithContext(ctx, in.Method, in.URL, bytes.NewReader(in.Body))
	if err != nil {
		return out, err
	}
	if err := f.checkURL(r.URL); err != nil {
		return out, err
	}
	if in.Header != nil {
		r.Header = in.Header
	}
	client := *f.client
	switch in.Redirect {
	case "manual":
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	case "error":
		client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			return fmt.Errorf("the answer leads to %s, and fetch was told to refuse that", r.URL)
		}
	}
	answer, err := client.Do(r)
	if errors.Is(err, ssrf.ErrProhibitedIP) {
		err = fmt.Errorf("fetch reaches public addresses only: %w", err)
	}
	if err != nil {
		return out, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := readAtMost(answer.Body, maxFetched)
	if err != nil {
		return out, fmt.Errorf("fetch %s: %w", in.URL, err)
	}
	return api.FetchResponse{
		URL:        answer.Request.URL.String(),
		Status:     answer.StatusCode,
		StatusText: http.StatusText(answer.StatusCode),
		Redirected: answer.Request.URL.String() != r.URL.String(),
		Header:     answer.Header,
		Body:       body,
	}, nil
}

func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("there are more than %d bytes", limit)
	}
	return b, err
}

// open opens a file or directory by the flags of open(2), if the path is in a granted directory, and
// leads to a place there that is not withheld.
func (f *functions) open(path string, flag int) (*os.File, error) {
	root, err := f.rootOf(path, flag&syscall.O_ACCMODE != syscall.O_RDONLY)
	if err != nil {
		return nil, err
	}
	resolved, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
		var dir string
		dir, err = filepath.EvalSymlinks(filepath.Dir(path))
		resolved = filepath.Join(dir, filepath.Base(path))
	}
	if err != nil {
		return nil, err
	}
	rel, ok := withheld.Below(root, resolved)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s escapes from the granted directory %s", path, root)
	case f.withheld.Contain(resolved):
		err = withheld.ErrWithheld
	default:
		var file *os.File
		if file, err = f.withheld.Open(root, rel, flag, 0o600); err == nil {
			return file, nil
		}
	}
	if errors.Is(err, withheld.ErrWithheld) {
		err = fmt.Errorf("%s is out of reach, whatever is granted: %w", path, err)
	}
	return nil, err
}

// rootOf returns the granted directory that a path is in, without symbolic links.
func (f *functions) rootOf(path string, write bool) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%q must be an absolute path", path)
	}
	refused := fmt.Errorf("%q is not granted; the gateway's owner adds filesystem:PATH to BARECLAW_TOOL_GRANTS", filepath.Clean(path))
	for _, d := range f.grants.Dirs {
		_, ok := withheld.Below(d.Path, path)
		switch {
		case !ok:
		case write && d.ReadOnly: // another grant may allow more
			refused = fmt.Errorf("%s is granted for reading only", d.Path)
		default:
			return filepath.EvalSymlinks(d.Path)
		}
	}
	return "", refused
}

// openFile opens a regular file.
func (f *functions) openFile(path string, flag int) (*os.File, error) {
	file, err := f.open(path, flag)
	if err != nil {
		return nil, err
	}
	if st, err := file.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", path), err, file.Close())
	}
	return file, nil
}

// ReadFile reads a file of a granted directory.
func (f *functions) ReadFile(_ context.Context, path string) ([]byte, error) {
	file, err := f.openFile(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return readAtMost(file, maxFile)
}

// WriteFile replaces the contents of a file in a granted directory.
func (f *functions) WriteFile(_ context.Context, path string, data []byte) error {
	if len(data) > maxFile {
		return fmt.Errorf("%s: %d bytes are too many; at most %d are written", path, len(data), maxFile)
	}
	file, err := f.openFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// ListFiles returns the names in a granted directory, sorted; of a directory with more than
// maxNames only some.
func (f *functions) ListFiles(_ context.Context, path string) (names []string, err error) {
	dir, err := f.open(path, os.O_RDONLY|syscall.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	names, err = dir.Readdirnames(maxNames)
	if errors.Is(err, io.EOF) {
		err = nil // the directory is empty
	}
	slices.Sort(names)
	return names, err
}

// handler serves the functions to the tool host.
func (f *functions) handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("POST "+api.PathFetch, serve(f.Fetch))
	m.HandleFunc("POST "+api.PathReadFile, serve(func(ctx context.Context, r api.FileRequest) (api.FileResult, error) {
		data, err := f.ReadFile(ctx, r.Path)
		return api.FileResult{Data: data}, err
	}))
	m.HandleFunc("POST "+api.PathWriteFile, serve(func(ctx context.Context, r api.FileRequest) (api.FileResult, error) {
		return api.FileResult{}, f.WriteFile(ctx, r.Path, r.Data)
	}))
	m.HandleFunc("POST "+api.PathListFiles, serve(func(ctx context.Context, r api.FileRequest) (api.FileResult, error) {
		names, err := f.ListFiles(ctx, r.Path)
		return api.FileResult{Names: names}, err
	}))
	return m
}

// serve returns a handler that decodes a request and encodes the outcome.
func serve[In, Out any](do func(ctx context.Context, in In) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 2*maxFile)).Decode(&in)
		var out Out
		if err == nil {
			out, err = do(r.Context(), in)
		}
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(api.Done{Error: err.Error()}) // the tool host has gone otherwise
			return
		}
		_ = json.NewEncoder(w).Encode(out) // likewise
	}
}
