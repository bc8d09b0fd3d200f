package telegram

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/tasks"

	"github.com/go-telegram/bot"
)

const (
	fetchTries   = 5
	fetchPause   = time.Second // after the first failure; twice as long after each further one
	fetchTimeout = time.Minute // of one try
	// unfinished ends the name of a file that is being fetched.
	unfinished = ".part"
)

// A fileError says in words, for whoever sent a file, why it is not here.
type fileError struct {
	why string
	err error
}

func (e *fileError) Error() string { return e.why }
func (e *fileError) Unwrap() error { return e.err }

var errTooLarge = &fileError{why: "it is larger than 20 MB, which is all that Telegram gives bots"}

// loading keeps two fetches of one file apart.
type loading [8]sync.Mutex

var loadingSeed = maphash.MakeSeed()

func (l *loading) of(path string) *sync.Mutex {
	return &l[maphash.String(loadingSeed, path)%uint64(len(l))]
}

// fetch brings a file here, unless it is here, and returns its size. The error is a
// *fileError unless ctx ended.
func (a *Adapter) fetch(ctx context.Context, f *media, to string) (int64, error) {
	if f.bytes > maxFileBytes {
		return 0, errTooLarge
	}
	turn := a.loading.of(to)
	turn.Lock()
	defer turn.Unlock()
	if st, err := os.Stat(to); err == nil && st.Mode().IsRegular() && (f.bytes == 0 || st.Size() == f.bytes) {
		return st.Size(), nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return 0, &fileError{why: "it cannot be kept here: no directory can be made for it", err: err}
	}
	part, err := os.OpenFile(filepath.Join(filepath.Dir(to), "."+filepath.Base(to)+unfinished), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, &fileError{why: "it cannot be kept here: no file can be made", err: err}
	}
	n, err := a.load(ctx, f.id, part)
	if err == nil {
		err = settle(part, to)
	} else {
		_ = part.Close()
	}
	if err != nil {
		_ = os.Remove(part.Name())
	}
	return n, err
}

// settle gives a file that is whole its name.
func settle(part *os.File, to string) error {
	err := part.Sync()
	if closeErr := part.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(part.Name(), to)
	}
	if err != nil {
		return &fileError{why: "it cannot be kept here: it cannot be written", err: err}
	}
	return nil
}

// load downloads a file, going on where a connection broke.
func (a *Adapter) load(ctx context.Context, id string, to *os.File) (int64, error) {
	var have int64
	for try := 0; ; try++ {
		a.cooldowns.await(ctx, scopeFiles) // which is true for all files
		n, err := a.loadMore(ctx, id, to, have)
		if have = n; err == nil {
			return have, nil
		}
		final := (*fileError)(nil)
		if errors.As(err, &final) || ctx.Err() != nil {
			return have, err
		}
		if d := botapi.RetryAfter(err); d > 0 {
			a.coolDown(scopeFiles, d)
		}
		a.o.Log.Warn("telegram: a file is not fetched yet", "try", try+1, "bytes", have, "err", err)
		if try+1 == fetchTries {
			return have, &fileError{why: "Telegram did not give it, after several tries", err: err}
		}
		tasks.Pause(ctx, fetchWait(err, try))
	}
}

func fetchWait(err error, try int) time.Duration {
	if d := botapi.RetryAfter(err); d > 0 {
		return d
	}
	return fetchPause << try
}

// loadMore downloads a file from a byte on, and returns how many bytes there are
// then.
func (a *Adapter) loadMore(ctx context.Context, id string, to *os.File, have int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	f, err := a.client.GetFile(ctx, &bot.GetFileParams{FileID: id})
	if errors.Is(err, bot.ErrorBadRequest) || errors.Is(err, bot.ErrorForbidden) {
		if strings.Contains(err.Error(), "too big") {
			return have, errTooLarge
		}
		return have, &fileError{why: "Telegram has it no more", err: err}
	}
	if err != nil {
		return have, fmt.Errorf("getFile: %w", err)
	}
	at := url.URL{Path: f.FilePath}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.client.Files+strings.TrimPrefix(at.EscapedPath(), "/"), nil)
	if err != nil {
		return have, &fileError{why: "Telegram names no place for it", err: err}
	}
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	res, err := a.client.Http.Do(req)
	if err != nil {
		return have, a.client.CleanError("download", err)
	}
	defer func() { _ = res.Body.Close() }()
	switch res.StatusCode {
	case http.StatusPartialContent:
	case http.StatusOK:
		have = 0
	default:
		return have, fmt.Errorf("download: status %s", res.Status)
	}
	return appendTo(to, have, res)
}

// appendTo writes a response's body to a file from a byte on.
func appendTo(to *os.File, have int64, res *http.Response) (int64, error) {
	if err := to.Truncate(have); err != nil {
		return have, &fileError{why: "it cannot be kept here: it cannot be written", err: err}
	}
	w := &fileWriter{f: to, at: have}
	n, err := io.Copy(w, io.LimitReader(res.Body, maxFileBytes-have+1))
	have += n
	switch {
	case w.err != nil:
		return have, &fileError{why: "it cannot be kept here: it cannot be written", err: w.err}
	case err != nil:
		return have, fmt.Errorf("download: %w", err)
	case have > maxFileBytes:
		return have, errTooLarge
	}
	return have, nil
}

// A fileWriter tells a failure to write from one to read.
type fileWriter struct {
	f   *os.File
	at  int64
	err error
}

func (w *fileWriter) Write(p []byte) (int, error) {
	n, err := w.f.WriteAt(p, w.at)
	w.at += int64(n)
	w.err = err
	return n, err
}
