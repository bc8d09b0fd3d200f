package runner

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
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
	good      string // see api.GoodDir
	reserved  []string
	skipped   map[api.File]string // why
	functions api.Functions
	log       *slog.Logger
	onStuck   func(tool string, f api.File) // is told of a script that does not stop
	registry  *tools.Registry
	program   *tools.List // the built-in tools that are offered
	scripts   *tools.List
	builtin   []tools.Tool

	shown   *listing
	longest time.Duration // of a load; see longestLoad

	loading sync.Mutex       // held while the directory is read; guards the fields below
	files   map[string]*file // by name
	strays  []string         // names of files that look like tools and are none
	deleted []string         // built-in tools
	stale   bool             // the tools differ from those that are offered
	partial bool             // files were left for another time when the tools were offered
}

// A file is a file of the tools directory.
type file struct {
	sum     [sha256.Size]byte
	script  *script.Script // the last version that could be loaded; nil: none
	loaded  api.File       // which the script was made from
	tool    tools.Tool     // which the script defines
	problem string         // why the present contents are not loaded
	clash   string         // why the tool is not offered

	triedGood bool // the last good version of an earlier process was looked for
}

func newLoader(boot api.Bootstrap, functions api.Functions, log *slog.Logger, onStuck func(tool string, f api.File)) *loader {
	quiet := slog.New(problemsOnly{log.Handler()}) // the daemon logs the calls
	skipped := map[api.File]string{}
	for _, s := range boot.Skipped {
		skipped[s.File] = s.Why
	}
	l := &loader{
		dir:       boot.ToolsDir,
		good:      boot.GoodDir,
		reserved:  boot.Reserved,
		skipped:   skipped,
		log:       log,
		onStuck:   onStuck,
		functions: functions,
		program:   tools.NewList(api.Builtin),
		scripts:   tools.NewList(api.Dynamic),
		builtin:   builtin.Tools(),
		files:     map[string]*file{},
		stale:     true,
		shown:     newListing(),
		longest:   longestLoad,
	}
	var err error
	l.registry, err = tools.NewRegistry(tools.Options{
		Log:     quiet,
		Sources: []tools.Source{l.program, l.scripts},
	})
	if err != nil {
		log.Error("there are no tools", "err", err) // impossible: the lists are empty
	}
	return l
}

// A problemsOnly handler leaves out records that tell of no problem.
type problemsOnly struct{ slog.Handler }

// Enabled implements slog.Handler.
func (problemsOnly) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// longestLoad is how long files are read until the tools found so far are offered: files that
// cannot be loaded take seconds each, and calls of other tools must not wait for them.
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
	var offered *offering // nil: as before
	if l.stale || more != l.partial {
		l.stale, l.partial, offered = false, more, l.offer()
	}
	l.shown.publish(offered, l.problems(err), more, l.log)
	return more
}

// problems returns what people should know of the files, and of a directory that cannot be read.
func (l *loader) problems(err error) (all []api.Problem) {
	if err != nil {
		all = append(all, api.Problem{Text: err.Error()})
	}
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		f := l.files[name]
		for _, text := range []string{f.problem, f.clash} {
			if text != "" {
				all = append(all, api.Problem{File: name, Text: text, Serves: f.serves()})
			}
		}
	}
	for _, name := range l.strays {
		all = append(all, api.Problem{File: name, Text: name + ": not loaded, because a tool is a file whose name ends in .ts; rename it"})
	}
	return all
}

// serves returns the name of the tool that an earlier version of the file defines; empty: none.
func (f *file) serves() string {
	if f.script == nil || f.clash != "" {
		return ""
	}
	return f.tool.Name
}

// offer offers the tools of all files, and the built-in tools that are neither deleted nor replaced
// by a file. It returns what the daemon sees.
func (l *loader) offer() *offering {
	dynamic, files := l.dynamicTools()
	own := []tools.Tool{l.checkTool()}
	for _, t := range l.builtin {
		if files[t.Name].Name == "" && !slices.Contains(l.deleted, t.Name) {
			own = append(own, t)
		}
	}
	if err := tools.ReplaceAll(map[*tools.List][]tools.Tool{l.program: own, l.scripts: dynamic}); err != nil {
		l.log.Error("the tools stay as they are", "err", err) // impossible: each tool was checked
	}
	all := l.registry.List(tools.View{})
	list := make([]api.Tool, len(all))
	for i, t := range all {
		timeout := t.Timeout
		if t.Source == api.Dynamic {
			timeout -= api.MachineWait
		}
		list[i] = api.Tool{
			Tool:      t,
			TimeoutMS: timeout.Milliseconds(),
			File:      files[t.Name].Name,
			Sum:       files[t.Name].Sum,
		}
	}
	return &offering{list, l.scriptsOf(files)}
}

// tryReplace is replace, and makes an error of a panic.
func (l *loader) tryReplace(f *file, contents api.File, source []byte) error {
	err := guard.Do(l.log, "loading a tool", func() error { return l.replace(f, contents, source) }, "file", contents.Name)
	if errors.Is(err, guard.ErrPanic) {
		err = fmt.Errorf("%s: %w", contents.Name, err)
	}
	return err
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
	if l.shown.isReady() { // at the start the daemon logs how many there are
		l.log.Info("tool loaded", "tool", t.Name, "file", contents.Name)
	}
	return nil
}

// compile is script.Compile, but ends the process if the code cannot be stopped.
func (l *loader) compile(ctx context.Context, name string, file api.File, source []byte) (*script.Script, error) {
	s, err := script.Compile(ctx, name, source)
	if errors.Is(err, script.ErrStuck) {
		notesOf(ctx).markStuck()
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
	if err := checkHeaders(t.Input); err != nil {
		return fmt.Errorf("the schema of the tool is wrong: %w", err)
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
	t := s.Tool(nil, nil) // what is said of the tool
	args, output := tools.NewArgsSchema(s.Input), tools.NewOutputSchema(s.Output)
	check := func(ctx context.Context, against *tools.Schema, value json.RawMessage) error {
		ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, fmt.Errorf("%s did not end within %s", s.Name, s.Timeout))
		defer cancel()
		return against.Check(ctx, s.Name, value)
	}
	t.ChecksArgs = true
	t.Handle = func(ctx context.Context, c tools.Call) (tools.Result, error) {
		if err := check(ctx, args, c.Args); err != nil {
			return tools.Result{}, err
		}
		notes := notesOf(ctx)
		says := func(line string) {
			l.log.Info("script says", "tool", s.Name, "line", line)
			notes.write(line)
		}
		result, err := s.Tool(l.functions, says).Handle(ctx, c)
		switch {
		case errors.Is(err, script.ErrStuck):
			notes.markStuck()
			l.onStuck(s.Name, file)
		case err == nil && s.Output != nil && result.Structured == nil:
			err = fmt.Errorf("%s has an outputSchema, but its handler has returned no object: return an object that fits the outputSchema", s.Name)
		case err == nil && s.Output != nil: // clients of MCP refuse a result that does not fit
			err = check(ctx, output, result.Structured)
		}
		return result, err
	}
	return t
}
