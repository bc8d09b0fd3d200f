package sessionhost

import (
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/core"
	"bareclaw/internal/atomicfile"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

const (
	// absentFor is how long starts may fail before a claude that has worked counts as broken,
	// and not as being updated.
	absentFor = 2 * time.Minute
	// newAbsence is the time without a failed start after which the next one has nothing to do
	// with those before.
	newAbsence = 30 * time.Second
)

// waitForClaude is the reason, for a person, for which a later start of a claude that is away may succeed.
const waitForClaude = "Claude cannot be started just now, and is probably being updated. It is tried again for two minutes."

// waitForMachine is waitForClaude for a machine that lacks something.
func waitForMachine(what string) string {
	return "Claude cannot be started, because the machine lacks something: " + what + ". The turn waits, and goes on by itself."
}

// A programFile identifies the contents of a file of claude's program. The zero value is unknown.
type programFile struct {
	Size    int64 `json:"size,omitempty"`
	ModTime int64 `json:"mod_time,omitempty"` // nanoseconds since 1970
}

// fileOf identifies the file of a program; links are followed.
func fileOf(path string) programFile {
	st, err := os.Stat(path)
	if err != nil {
		return programFile{}
	}
	return programFile{st.Size(), st.ModTime().UnixNano()}
}

// A working is the program that became ready last, as it is on record.
type working struct {
	programFile

	Version string `json:"version,omitempty"`
}

// A presence knows whether claude can be started: which program became ready last, and for how
// long starts have failed since. The record outlives the daemon, so a daemon that begins while
// claude is being updated knows that there was one.
type presence struct {
	path    string     // of the record
	writing sync.Mutex // held during a write of the record
	log     *slog.Logger

	mu          sync.Mutex // guards the fields below
	worked      working
	since, last time.Time // the first and the last failed start in a row; zero: none
}

func newPresence(path string, log *slog.Logger) *presence {
	p := &presence{path: path, log: log}
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &p.worked)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("not known which claude worked last", "err", err)
	}
	return p
}

// ready records that a program has become ready. An unknown file only ends the failures.
func (p *presence) ready(file programFile, version string) {
	now := working{file, version}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since, p.last = time.Time{}, time.Time{}
	if file == (programFile{}) || p.worked == now || p.worked.programFile == file && version == "" {
		return
	}
	p.worked = now
	go func() { // ends with the write, for which no turn waits
		p.writing.Lock()
		defer p.writing.Unlock()
		if err := atomicfile.WriteJSON(p.path, p.lastWorking()); err != nil { // costs only a wait
			p.log.Warn("not recorded which claude worked last", "err", err)
		}
	}()
}

func (p *presence) lastWorking() working {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.worked
}

// versionOf returns the version of a program; empty unless it is the one that worked last.
func (p *presence) versionOf(file programFile) string {
	if w := p.lastWorking(); w.programFile == file {
		return w.Version
	}
	return ""
}

// isKnown reports whether a program is the one that worked last.
func (p *presence) isKnown(file programFile) bool {
	return file != (programFile{}) && p.lastWorking().programFile == file
}

// absent counts a failed start, and reports whether a later one may succeed: a claude has worked
// before, and has not been away for too long.
func (p *presence) absent(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	gaveUp := p.last.Sub(p.since) >= absentFor
	if p.since.IsZero() || !gaveUp && now.Sub(p.last) > newAbsence {
		p.since = now
	}
	p.last = now
	return p.worked.programFile != (programFile{}) && now.Sub(p.since) < absentFor
}

// A startedProgram is the program of a session: what becomes of it says whether claude can be
// started. The zero value knows nothing.
type startedProgram struct {
	presence *presence
	file     programFile              // unknown for a session of an earlier daemon
	command  func() ([]string, error) // as a start would use now
}

func (s *session) setProgram(p startedProgram) { s.tr.program = p }

// ready records that the program has become ready.
func (s startedProgram) ready(version string) {
	if s.presence != nil {
		s.presence.ready(s.file, version)
	}
}

// exit returns the end of the program for a lane.
func (s startedProgram) exit(e *claude.Exit) *core.Exit {
	if s.presence == nil || e.Ready {
		return e.Core()
	}
	var now programFile
	if argv, err := s.command(); err == nil {
		now = fileOf(argv[0])
	}
	return s.presence.exit(e, s.file, now)
}

// waitAfter returns why a later start may succeed after a start that has failed before claude
// ran; empty if none would.
func (p *presence) waitAfter(err error) string {
	what := shortage(err)
	switch agent, ok := errors.AsType[*core.AgentError](err); {
	case what != "":
		return waitForMachine(what)
	case ok && agent.Code != core.CodeAgentMissing:
		return ""
	case (ok || errors.Is(err, fs.ErrNotExist) || protocol.IsDisconnect(err)) && p.absent(time.Now()):
		return waitForClaude
	}
	return ""
}

// exit returns the end of a claude for a lane. file is the program that was started, and now the
// program that a start would take.
func (p *presence) exit(e *claude.Exit, file, now programFile) *core.Exit {
	x := e.Core()
	if e.Ready || x.Reason == core.ExitUnknownSession || x.Reason == core.ExitSessionInUse {
		return x
	}
	if what := shortageNamed(e.Error + "\n" + e.Stderr); what != "" {
		x.Reason, x.Wait = core.ExitStartFailed, waitForMachine(what)
		return x
	}
	// A program that worked before and is still the same is not being updated.
	replaced := e.IsNotProgram() || !p.isKnown(file) || !p.isKnown(now)
	if replaced && !e.Timeout && p.absent(time.Now()) {
		x.Reason, x.Wait = core.ExitStartFailed, waitForClaude
	}
	return x
}

// shortages are the errors of a system that lacks something for a while.
var shortages = []syscall.Errno{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC, syscall.EDQUOT, syscall.ENOMEM, syscall.EAGAIN,
}

// shortage returns what the system lacks, in its own words; empty for any other error.
func shortage(err error) string {
	if i := slices.IndexFunc(shortages, func(e syscall.Errno) bool { return errors.Is(err, e) }); i >= 0 {
		return shortages[i].Error()
	}
	return ""
}

// shortageNamed is shortage for the words of a host or of claude.
func shortageNamed(words string) string {
	for _, e := range shortages {
		if strings.Contains(words, e.Error()) || strings.Contains(words, unix.ErrnoName(e)+":") { // the latter as Node says it
			return e.Error()
		}
	}
	return ""
}
