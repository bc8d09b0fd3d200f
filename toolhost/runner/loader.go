package runner

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/guard"
	"bareclaw/internal/schema"
	"bareclaw/toolhost/api"
	"bareclaw/toolhost/builtin"
	"bareclaw/toolhost/script"
)

// A loader keeps the tools as the tools directory defines them.
type loader struct {
	dir       string
	reserved  []string
	skipped   []api.File
	functions api.Functions
	log       *slog.Logger
	onStuck   func(tool string, f api.File) // is told of a script that does not stop
	registry  *tools.Registry
	builtin   []tools.Tool

	loading sync.Mutex       // held while the directory is read; guards the fields below
	files   map[string]*file // by name
	deleted []string         // built-in tools
	stale   bool             // the tools differ from those that are offered

	mu       sync.Mutex       // guards the fields below
	problems []string         // why files could not be loaded, sorted by file
	tools    []api.Tool       // sorted by name
	scripts  []*script.Script // of tools, sorted by name
	version  string           // of tools; empty before the first load
	changed  chan struct{}    // closed when there is another version
}

// A file is a file of the tools directory.
type file struct {
	sum     [sha256.Size]byte
	script  *script.Script // the last version that could be loaded; nil: none
	loaded  api.File       // which the script was made from
	tool    tools.Tool     // which the script defines
	problem string         // why the present contents are not loaded
	clash   string         // why the tool is not offered
}

func newLoader(boot api.Bootstrap, functions api.Functions, log *slog.Logger, onStuck func(tool string, f api.File)) *loader {
	quiet := slog.New(problemsOnly{log.Handler()}) // the daemon logs the calls
	return &loader{
		dir: boot.ToolsDir, reserved: boot.Reserved, skipped: boot.Skipped, log: log, onStuck: onStuck, functions: functions,
		registry: tools.NewRegistry(quiet), builtin: builtin.Tools(), files: map[string]*file{}, stale: true, changed: make(chan struct{}),
	}
}

// A problemsOnly handler leaves out records that tell of no problem.
type problemsOnly struct{ slog.Handler }

// Enabled implements slog.Handler.
func (problemsOnly) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// longestLoad is how long files are read until the tools found so far are offered: files that
// cannot be loaded take seconds each, and the daemon must not take the start for a crash.
const longestLoad = 4 * time.Second

// loadAll is load for all files, however long they take.
func (l *loader) loadAll() {
	for l.load() {
	}
}

// load reads the tools directory and replaces the tools whose files have changed. A file that
// cannot be loaded keeps its earlier tool. Load reports whether files are left for another time.
// Load takes no context, because a file whose check is cut would count as broken until it changes.
func (l *loader) load() (more bool) {
	l.loading.Lock()
	defer l.loading.Unlock()
	more, err := l.readFiles()
	offered := func() {} // tells those who wait
	if l.stale {
		l.stale, offered = false, l.offer()
	}
	var problems []string
	if err != nil {
		problems = append(problems, err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		for _, problem := range []string{l.files[name].problem, l.files[name].clash} {
			if problem != "" {
				problems = append(problems, problem)
			}
		}
	}
	l.mu.Lock()
	l.problems = problems
	l.mu.Unlock()
	offered()
	return more
}

// offer offers the tools of all files, and the built-in tools that are neither deleted nor replaced
// by a file. The returned function tells those who wait for another list.
func (l *loader) offer() (publish func()) {
	dynamic, files := l.dynamicTools()
	scripts := l.scriptsOf(files)
	own := []tools.Tool{l.checkTool()}
	for _, t := range l.builtin {
		if files[t.Name].Name == "" && !slices.Contains(l.deleted, t.Name) {
			own = append(own, t)
		}
	}
	if err := l.registry.SetAll(map[tools.Source][]tools.Tool{tools.Builtin: own, tools.Dynamic: dynamic}); err != nil {
		l.log.Error("the tools stay as they are", "err", err) // impossible: each tool was checked
	}
	return func() { l.publish(files, scripts) }
}

// publish describes the tools of the registry, and wakes those who wait for another list.
func (l *loader) publish(files map[string]api.File, scripts []*script.Script) {
	all := l.registry.List()
	list := make([]api.Tool, len(all))
	for i, t := range all {
		timeout := t.Timeout
		if t.Source == tools.Dynamic {
			timeout -= api.MachineWait
		}
		list[i] = api.Tool{
			Name: t.Name, Description: t.Description, InputSchema: t.Input, OutputSchema: t.Output, TimeoutMS: timeout.Milliseconds(), File: files[t.Name].Name, Sum: files[t.Name].Sum,
			Annotations: &api.Annotations{Title: t.Annotations.Title, ReadOnlyHint: t.Annotations.ReadOnly, IdempotentHint: t.Annotations.Idempotent, DestructiveHint: t.Annotations.Destructive},
		}
	}
	b, err := json.Marshal(list)
	if err != nil {
		l.log.Error("list of tools not encoded", "err", err) // impossible: the schemas were checked
	}
	sum := sha256.Sum256(b)
	version := `"` + hex.EncodeToString(sum[:8]) + `"`
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tools, l.scripts = list, scripts
	if version != l.version {
		l.version = version
		close(l.changed)
		l.changed = make(chan struct{})
	}
}

// readFiles compiles the files of the tools directory whose contents have changed, for some time. It
// reports whether files are left, and why the directory could not be read.
func (l *loader) readFiles() (more bool, err error) {
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return false, fmt.Errorf("read the tools directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return false, fmt.Errorf("read the tools directory: %w", err)
	}
	present, compiled, began := map[string]bool{}, 0, time.Now()
	for _, e := range entries {
		if !isToolFile(e.Name()) {
			continue
		}
		present[e.Name()] = true
		if l.files[e.Name()] == nil {
			l.files[e.Name()] = &file{}
		}
		switch l.readFile(root, e.Name(), compiled > 0 && time.Since(began) > longestLoad) {
		case isCompiled:
			compiled++
			l.stale = true
		case isLeft:
			more = true
		}
	}
	for name, f := range l.files {
		if !present[name] {
			f.replace(nil)
			delete(l.files, name)
			l.stale = true
			l.log.Info("tool file gone", "file", name)
		}
	}
	b, err := readSource(root, api.DeletedFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return more, fmt.Errorf("read the list of deleted tools: %w", err)
	}
	var deleted []string
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		deleted = append(deleted, strings.TrimSpace(s.Text()))
	}
	if !slices.Equal(deleted, l.deleted) {
		l.deleted, l.stale = deleted, true
	}
	return more, nil
}

// isToolFile reports whether a file may define a tool, by its name.
func isToolFile(name string) bool {
	return strings.HasSuffix(name, ".ts") && !strings.HasSuffix(name, ".d.ts") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_")
}

// A reading is what was done about a file.
type reading int

const (
	isKnown    reading = iota // the file is as it was, or cannot be read
	isCompiled                // the file has changed
	isLeft                    // the same, and it is not loaded yet
)

// readFile loads a file if its contents have changed, or leaves it for another time.
func (l *loader) readFile(root *os.Root, name string, leave bool) reading {
	f := l.files[name]
	source, err := readSource(root, name)
	if err != nil {
		f.sum = [sha256.Size]byte{}
		l.fail(f, fmt.Sprintf("%s: %v", name, err))
		return isKnown
	}
	sum := sha256.Sum256(source)
	switch {
	case f.sum == sum:
		return isKnown
	case leave:
		return isLeft
	}
	f.sum = sum
	contents := api.File{Name: name, Sum: hex.EncodeToString(sum[:])}
	if slices.Contains(l.skipped, contents) {
		l.fail(f, name+": the tool host has ended twice while it loaded or ran this file, which is left out until it changes")
		return isKnown
	}
	err = guard.Do(l.log, "loading a tool", func() error { return l.replace(f, contents, source) }, "file", name)
	if errors.Is(err, guard.ErrPanic) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	if err != nil {
		l.fail(f, err.Error())
	}
	return isCompiled
}

// replace makes a file's tool anew of its contents. The error names the file.
func (l *loader) replace(f *file, contents api.File, source []byte) error {
	l.log.Info(api.MessageLoading, "file", contents)         //nolint:sloglint // a constant of both ends
	defer l.log.Info(api.MessageLoading, "file", api.File{}) //nolint:sloglint // likewise
	s, err := l.compile(context.Background(), contents.Name, contents, source)
	if err != nil {
		return err
	}
	t := l.toolOf(s, contents)
	if err := l.check(&t); err != nil {
		s.Close()
		return fmt.Errorf("%s: %w", contents.Name, err)
	}
	f.replace(s)
	f.loaded, f.tool, f.problem = contents, t, ""
	if l.version != "" { // at the start the daemon logs how many there are
		l.log.Info("tool loaded", "tool", t.Name, "file", contents.Name)
	}
	return nil
}

// compile is script.Compile, but ends the process if the code cannot be stopped.
func (l *loader) compile(ctx context.Context, name string, file api.File, source []byte) (*script.Script, error) {
	s, err := script.Compile(ctx, name, source)
	if errors.Is(err, script.ErrStuck) {
		l.onStuck(name, file)
	}
	return s, err
}

// fail notes why the file's contents are not loaded, and logs a new reason.
func (l *loader) fail(f *file, problem string) {
	if f.problem != problem {
		l.log.Error("tool not loaded", "err", problem, "earlier_version_serves", f.script != nil)
	}
	f.problem = problem
}

// replace replaces the script; calls under way go on with the earlier one.
func (f *file) replace(s *script.Script) {
	if f.script != nil {
		f.script.Close()
	}
	f.script = s
}

// readSource reads a file, unless a symbolic link leads out of the directory.
func readSource(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block the start
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case st.Size() > script.MaxSource:
		return nil, fmt.Errorf("the file has %d bytes; at most %d are loaded", st.Size(), script.MaxSource)
	}
	return io.ReadAll(io.LimitReader(f, script.MaxSource+1))
}

// check returns why a tool cannot be offered.
func (l *loader) check(t *tools.Tool) error {
	if slices.Contains(l.reserved, t.Name) || t.Name == api.CreateTool {
		return fmt.Errorf("the name %q is reserved for a tool of the gateway; choose another one", t.Name)
	}
	for member, text := range map[string]json.RawMessage{"schema": t.Input, "outputSchema": t.Output} {
		if err := checkSchema(text); err != nil {
			return fmt.Errorf("the %s of the tool is wrong: %w", member, err)
		}
	}
	return t.Check()
}

// checkSchema returns what is wrong with a schema, if there is one. A model may refuse all tools
// because of one wrong schema.
func checkSchema(text json.RawMessage) error {
	if text == nil {
		return nil
	}
	_, err := schema.CompileJSON(text)
	return err
}

// dynamicTools returns the tools of all files, and by name the file of each tool. Where two
// files define a tool of the same name, the file with that name counts, or else the first.
func (l *loader) dynamicTools() (all []tools.Tool, files map[string]api.File) {
	files = map[string]api.File{}
	names := slices.Sorted(maps.Keys(l.files))
	for _, name := range names {
		if f := l.files[name]; f.script != nil && (files[f.tool.Name].Name == "" || name == f.tool.Name+".ts") {
			files[f.tool.Name] = f.loaded
		}
	}
	for _, name := range names {
		f := l.files[name]
		switch {
		case f.script == nil:
		case files[f.tool.Name].Name == name:
			f.clash = ""
			all = append(all, f.tool)
		default:
			clash := fmt.Sprintf("%s: %s defines the tool %q already", name, files[f.tool.Name].Name, f.tool.Name)
			if clash != f.clash {
				f.clash = clash
				l.log.Error("tool not offered", "file", name, "err", clash)
			}
		}
	}
	return all, files
}

// toolOf returns the tool of a script that was made from a file.
func (l *loader) toolOf(s *script.Script, file api.File) tools.Tool {
	t := s.Tool(l.functions, func(line string) { l.log.Info("script says", "tool", s.Name, "line", line) })
	handle := t.Handle
	args := tools.NewArgsSchema(s.Input)
	t.ChecksArgs = true
	t.Handle = func(ctx context.Context, c tools.Call) (tools.Result, error) {
		checking, cancel := context.WithTimeoutCause(ctx, s.Timeout, fmt.Errorf("%s did not end within %s", s.Name, s.Timeout))
		defer cancel()
		if err := args.Check(checking, s.Name, c.Args); err != nil {
			return tools.Result{}, err
		}
		result, err := handle(ctx, c)
		if errors.Is(err, script.ErrStuck) {
			l.onStuck(s.Name, file)
		}
		return result, err
	}
	return t
}

// list returns the tools, sorted by name, and the version of the list. It waits for the first load.
func (l *loader) list(ctx context.Context) (list []api.Tool, version string) {
	l.awaitOther(ctx, "")
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tools, l.version
}

// awaitOther waits until there is another version, and reports whether there is one.
func (l *loader) awaitOther(ctx context.Context, version string) bool {
	for {
		l.mu.Lock()
		now, changed := l.version, l.changed
		l.mu.Unlock()
		if now != version {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// problem returns why files could not be loaded; empty if all could.
func (l *loader) problem() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch n := len(l.problems); n {
	case 0:
		return ""
	case 1:
		return l.problems[0]
	default:
		return fmt.Sprintf("%s (and %d more)", l.problems[0], n-1)
	}
}
