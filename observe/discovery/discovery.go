// Package discovery finds the apps that are observed, from a directory: by the port files of observers and
// of apps that contain brakit, and by the records of observers.
package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bareclaw/internal/wait"
)

// An App is an app whose API may answer.
type App struct {
	Dir      string
	Port     int    // of the API, on loopback
	Observer string // the id of its observer; empty: the app contains brakit, or has an observer of others
	// Target and Proxy are those of the observer's record.
	Target string
	Proxy  string
}

// BaseURL returns the URL of the API. Only an observer is known to listen on IPv4.
func (a *App) BaseURL() string {
	host := "127.0.0.1"
	if a.Observer == "" {
		host = "localhost"
	}
	return fmt.Sprintf("http://%s:%d", host, a.Port)
}

// appOf returns the app of an observer.
func appOf(r *Record) App {
	return App{
		Dir:      r.Dir,
		Port:     r.Port,
		Observer: r.ID,
		Target:   r.Target,
		Proxy:    r.Proxy,
	}
}

// A Search looks for apps. All fields are required. All methods are safe for concurrent use.
type Search struct {
	// Records returns the records of observers that run.
	Records func() ([]Record, error)
	// Alive returns why the API of an app does not answer.
	Alive func(ctx context.Context, a App) error
	// MaxDepth is how many directories above are searched.
	MaxDepth int
}

// A Result is what a search has found.
type Result struct {
	Apps []App // that answer, by directory
	// Notes say in sentences what is wrong with the files on the way: a port file that is left over, or two
	// observers in one directory.
	Notes []string
}

// Find returns the apps that are the nearest to a directory: in the directory itself, else in those directly
// in it, else likewise from the directory above, and so on. Port files whose app does not answer are noted
// and passed over.
func (s *Search) Find(ctx context.Context, dir string) Result {
	var result Result
	records, err := s.Records()
	if err != nil {
		result.note(err.Error())
	}
	for level := range levels(realDir(dir), s.MaxDepth) {
		if ctx.Err() != nil {
			return result
		}
		for _, place := range level {
			s.findIn(ctx, place, records, &result)
		}
		if len(result.Apps) > 0 {
			return result
		}
	}
	return result
}

// Running returns the apps of all observers that answer.
func (s *Search) Running(ctx context.Context) Result {
	var result Result
	records, err := s.Records()
	if err != nil {
		result.note(err.Error())
	}
	for i := range records {
		s.add(ctx, appOf(&records[i]), &result)
	}
	return result
}

// Await is Find, again in each interval until there is an app, for at most a time.
func (s *Search) Await(ctx context.Context, dir string, atMost, interval time.Duration) Result {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	var latest Result
	for {
		result := s.Find(ctx, dir)
		if len(result.Apps) > 0 {
			return result
		}
		if ctx.Err() == nil { // else the search was cut
			latest = result
		}
		if wait.Sleep(ctx, interval) != nil {
			return latest
		}
	}
}

// findIn adds the apps of a directory.
func (s *Search) findIn(ctx context.Context, dir string, records []Record, result *Result) {
	var apps []App
	for i := range records {
		if realDir(records[i].Dir) == dir {
			apps = append(apps, appOf(&records[i]))
		}
	}
	port, err := readPort(dir)
	if bad := (*portError)(nil); errors.As(err, &bad) {
		result.note(bad.Error() + ".")
	}
	named := func(a App) bool { return a.Port == port }
	if err == nil && !slices.ContainsFunc(apps, named) {
		apps = append(apps, App{Dir: dir, Port: port})
	}
	before := len(result.Apps)
	for _, a := range apps {
		s.add(ctx, a, result)
	}
	if found := result.Apps[before:]; len(found) > 1 {
		var ports []string
		for _, a := range found {
			ports = append(ports, cmp.Or(a.Observer, "brakit")+" on port "+fmt.Sprint(a.Port))
		}
		result.note(fmt.Sprintf("%d observers run in %s: %s. Stop all but one.", len(found), dir, strings.Join(ports, ", ")))
	}
}

// add adds an app that answers, and notes one that does not.
func (s *Search) add(ctx context.Context, a App, result *Result) {
	known := func(other App) bool { return other.Port == a.Port }
	if slices.ContainsFunc(result.Apps, known) { // a link leads to the same directory
		return
	}
	if a.Observer == "" { // else its record, which is this user's own, names a process that runs
		if err := checkOwner(ctx, a.Port); err != nil {
			result.note(fmt.Sprintf("%s is not believed: %v.", portPath(a.Dir), err))
			return
		}
	}
	err := s.Alive(ctx, a)
	switch {
	case err == nil:
		result.Apps = append(result.Apps, a)
	case ctx.Err() != nil:
	case a.Observer != "":
		result.note(fmt.Sprintf("The observer %s of %s does not answer: %v.", a.Observer, a.Dir, err))
	default:
		result.note(fmt.Sprintf("%s is left over: its app does not answer on port %d any more.", portPath(a.Dir), a.Port))
	}
}

func (r *Result) note(text string) {
	if !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// maxChildren bounds how many entries of a directory are looked at.
const maxChildren = 1000

// levels returns the directories in which to look, the nearest first. Those of one level are as near as each
// other.
func levels(dir string, depth int) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for range depth + 1 {
			if !yield([]string{dir}) || !yield(children(dir)) {
				return
			}
			above := filepath.Dir(dir)
			if above == dir {
				return
			}
			dir = above
		}
	}
}

// children returns the directories in a directory in which an app may be, by name.
func children(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	entries, _ := f.ReadDir(maxChildren) // what could be read counts
	var dirs []string
	for _, e := range entries {
		isDir := e.IsDir() || e.Type()&fs.ModeSymlink != 0
		if isDir && !strings.HasPrefix(e.Name(), ".") && e.Name() != "node_modules" {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(dirs)
	return dirs
}

// realDir returns a directory without symbolic links, as far as it is there.
func realDir(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if followed, err := filepath.EvalSymlinks(dir); err == nil {
		return followed
	}
	return dir
}
