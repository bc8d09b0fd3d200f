package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/internal/wait"

	"github.com/go-telegram/bot"
	"github.com/google/renameio/v2"
)

const (
	maxAttempts = 5
	attemptTime = time.Minute // timeout of a single attempt
	pruneEvery  = time.Hour
	// partAge is the age beyond which no download can still be writing a file.
	partAge = time.Hour
)

// An Error is the reason for a failed download, worded for the sender of the file.
type Error struct {
	Why string
	Err error
}

func (e *Error) Error() string { return e.Why }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

const gone = "Telegram no longer has it"

var errTooLarge = &Error{Why: "it is larger than 20 MB, the most that Telegram gives to bots"}

// A Downloader saves the files attached to messages in a directory. The methods of a
// Downloader are safe for concurrent use.
type Downloader struct {
	Client    *botapi.Client
	Cooldowns *outbox.Cooldowns
	Dir       string
	Log       *slog.Logger
}

// Download downloads a file unless already present, and returns the size in bytes. The
// error is an *Error unless ctx has ended.
func (d *Downloader) Download(ctx context.Context, f *File, to string) (int64, error) {
	if f.Bytes > MaxFileBytes {
		return 0, errTooLarge
	}
	if st, err := os.Stat(to); err == nil && st.Mode().IsRegular() && (f.Bytes == 0 || st.Size() == f.Bytes) {
		return st.Size(), nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return 0, &Error{Why: "the gateway cannot make a directory for it", Err: err}
	}
	part, err := renameio.NewPendingFile(to, renameio.WithTempDir(filepath.Dir(to)), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return 0, &Error{Why: "the gateway cannot make a file for it", Err: err}
	}
	defer func() { _ = part.Cleanup() }() // does nothing after the replacement
	n, err := d.load(ctx, f.ID, part.File)
	if err != nil {
		return n, err
	}
	if err := part.CloseAtomicallyReplace(); err != nil {
		return n, &Error{Why: "the gateway cannot write it", Err: err}
	}
	return n, nil
}

// load downloads a file with several attempts, resuming after the last received byte.
func (d *Downloader) load(ctx context.Context, id string, to *os.File) (int64, error) {
	var have int64
	pauses := throttle.NewBackoff(attemptTime)
	for try := 1; ; try++ {
		d.Cooldowns.Await(ctx, outbox.Files)
		n, err := d.loadMore(ctx, id, to, have)
		if have = n; err == nil {
			return have, nil
		}
		final := (*Error)(nil)
		if errors.As(err, &final) || ctx.Err() != nil {
			return have, err
		}
		d.Cooldowns.Note(outbox.Files, err)
		d.Log.Warn("telegram: an attempt to download a file failed", "try", try, "bytes", have, "err", err)
		if try == maxAttempts {
			why := "Telegram did not deliver it after several attempts"
			if errors.Is(err, bot.ErrorBadRequest) {
				why = gone
			}
			return have, &Error{Why: why, Err: err}
		}
		_ = wait.Sleep(ctx, max(pauses.Next(), botapi.RetryAfter(err)))
	}
}

// loadMore downloads a file from byte have on, and returns the total number of bytes
// received and kept.
func (d *Downloader) loadMore(ctx context.Context, id string, to *os.File, have int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	f, err := d.Client.GetFile(ctx, &bot.GetFileParams{FileID: id})
	switch {
	case botapi.Refused(err, "too big"):
		return have, errTooLarge
	case botapi.Refused(err, "temporarily unavailable"): // or gone: only a later attempt tells
		return have, fmt.Errorf("getFile: %w", err)
	case errors.Is(err, bot.ErrorBadRequest), errors.Is(err, bot.ErrorForbidden):
		return have, &Error{Why: gone, Err: err}
	case err != nil:
		return have, fmt.Errorf("getFile: %w", err)
	}
	at := url.URL{Path: f.FilePath}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.Client.Files+strings.TrimPrefix(at.EscapedPath(), "/"), nil)
	if err != nil {
		return have, &Error{Why: "Telegram gives no address for it", Err: err}
	}
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	res, err := d.Client.Http.Do(req)
	if err != nil {
		return have, d.Client.CleanError("download", err)
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

func appendTo(to *os.File, have int64, res *http.Response) (int64, error) {
	if err := to.Truncate(have); err != nil {
		return have, &Error{Why: "the gateway cannot write it", Err: err}
	}
	n, err := io.Copy(io.NewOffsetWriter(to, have), io.LimitReader(res.Body, MaxFileBytes-have+1))
	have += n
	unwritten := (*fs.PathError)(nil) // of the file, not of the connection
	switch {
	case errors.As(err, &unwritten):
		return have, &Error{Why: "the gateway cannot write it", Err: err}
	case err != nil:
		return have, fmt.Errorf("download: %w", err)
	case have > MaxFileBytes:
		return have, errTooLarge
	}
	return have, nil
}

// Prune removes old files once per hour until ctx ends. A maxAge of 0 keeps files of any
// age.
func (d *Downloader) Prune(ctx context.Context, maxAge time.Duration) {
	for ctx.Err() == nil {
		if err := prune(d.Dir, maxAge, time.Now()); err != nil {
			d.Log.Warn("telegram: old files are not removed", "err", err)
		}
		_ = wait.Sleep(ctx, pruneEvery)
	}
}

// unfinished matches the names that renameio gives to pending files.
var unfinished = regexp.MustCompile(`^\..+[0-9]{8,}$`)

// prune removes files older than maxAge unless maxAge is 0, stale unfinished files, and
// empty directories.
func prune(dir string, maxAge time.Duration, now time.Time) error {
	var dirs []string
	if at, err := filepath.EvalSymlinks(dir); err == nil {
		dir = at // resolve a link to another disk instead of removing the link
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if path != dir {
				dirs = append(dirs, path)
			}
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		age := now.Sub(info.ModTime())
		if maxAge > 0 && age > maxAge || unfinished.MatchString(e.Name()) && age > partAge {
			return os.Remove(path) //nolint:gosec // nobody else writes in this directory
		}
		return nil
	})
	for _, d := range dirs {
		if st, err := os.Stat(d); err == nil && now.Sub(st.ModTime()) > partAge { // a download may be about to use a new directory
			_ = os.Remove(d) // fails unless the directory is empty
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no directory yet, or another process removes files too
	}
	return err
}
