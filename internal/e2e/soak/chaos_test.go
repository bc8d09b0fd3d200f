package soak

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bareclaw/heartbeat/supervisor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
)

// A soakBlow is something that happens to the gateway.
type soakBlow struct {
	name   string
	weight int
	hit    func(*soakRun, soakStep)
}

// A soakStep is one step of the chaos loop. All of it is drawn beforehand, so that
// the same seed gives the same steps whatever the time they take.
type soakStep struct {
	after time.Duration // since the step before
	blow  soakBlow
	lines []int // channels that are meant, if any are
	n     int   // for any use
	later time.Duration
}

var soakBlows = []soakBlow{
	{"kill the daemon", 8, func(r *soakRun, _ soakStep) { r.down(func() { r.killDaemon() }) }},
	{"kill hosts", 6, func(r *soakRun, s soakStep) { r.slay(s, true, false) }},
	{"kill claudes", 6, func(r *soakRun, s soakStep) { r.slay(s, false, true) }},
	{"kill hosts and claudes", 2, func(r *soakRun, s soakStep) { r.slay(s, true, true) }},
	{"kill the daemon and hosts", 3, func(r *soakRun, s soakStep) { r.down(func() { r.killDaemon(); r.slay(s, true, false) }) }},
	{"kill hosts and the daemon", 2, func(r *soakRun, s soakStep) { r.down(func() { r.slay(s, true, s.n%2 == 0); r.killDaemon() }) }},
	{"kill everything", 2, func(r *soakRun, _ soakStep) { r.down(func() { r.killDaemon(); r.EndHosts() }) }},
	{"SIGHUP", 8, func(r *soakRun, _ soakStep) { r.sighup() }},
	{"POST /restart", 8, (*soakRun).restart},
	{"SIGHUP, kill the daemon", 5, func(r *soakRun, s soakStep) { r.sighup(); r.down(func() { r.wait(s.later); r.killDaemon() }) }},
	{"SIGHUP, kill a daemon", 5, func(r *soakRun, s soakStep) { r.sighup(); r.down(func() { r.wait(s.later); r.killOne(s.n) }) }},
	{"SIGHUP, kill hosts", 3, func(r *soakRun, s soakStep) { r.sighup(); r.wait(s.later); r.slay(s, true, s.n%2 == 0) }},
	{"SIGTERM", 6, func(r *soakRun, _ soakStep) { r.down(func() { r.end(syscall.SIGTERM) }) }},
	{"SIGHUP, SIGTERM", 4, func(r *soakRun, s soakStep) { r.sighup(); r.down(func() { r.wait(s.later); r.end(syscall.SIGTERM) }) }},
	{"SIGTERM, kill hosts", 3, func(r *soakRun, s soakStep) { r.down(func() { r.end(syscall.SIGTERM); r.slay(s, true, true) }) }},
	{"SIGINT", 2, func(r *soakRun, _ soakStep) { r.down(func() { r.end(syscall.SIGINT); r.NobodyLeft() }) }},
	{"SIGHUP, SIGINT", 1, func(r *soakRun, s soakStep) {
		r.sighup()
		r.down(func() { r.wait(s.later); r.end(syscall.SIGINT); r.NobodyLeft() })
	}},
	{"stop processes for a while", 4, (*soakRun).freezeSome},
}

// steps draws the steps of the run, without an end.
func (r *soakRun) steps(channels int) iter.Seq[soakStep] {
	return func(yield func(soakStep) bool) {
		rnd := r.rand(0)
		all := 0
		for _, b := range r.blows {
			all += b.weight
		}
		for {
			s := soakStep{after: time.Duration(rnd.IntN(500)) * time.Millisecond, lines: rnd.Perm(channels)[:1+rnd.IntN(max(1, channels/2))],
				n: rnd.IntN(1 << 16), later: time.Duration(rnd.IntN(300)) * time.Millisecond}
			w := rnd.IntN(all)
			for _, b := range r.blows {
				if w -= b.weight; w < 0 {
					s.blow = b
					break
				}
			}
			if !yield(s) {
				return
			}
		}
	}
}

// chaos does one thing after the other until the time is over, or it has been so
// many.
func (r *soakRun) chaos(length time.Duration, most int) {
	end, n := time.Now().Add(length), 0
	for s := range r.steps(len(r.lines)) {
		if time.Now().After(end) || n == most || r.T.Failed() {
			return
		}
		r.wait(time.Duration(r.pace) * s.after)
		n++
		_, _ = fmt.Fprintf(r.Log, "{\"soak\":%d,\"time\":%q,\"blow\":%q,\"lines\":\"%v\",\"later\":%q}\n", n, time.Now().Format(time.RFC3339Nano), s.blow.name, s.lines, s.later)
		r.count(s.blow.name)
		s.blow.hit(r, s)
	}
}

// wait lets a drawn time pass: any moment will do.
func (r *soakRun) wait(d time.Duration) { <-time.After(d) }

// down does something that may leave no gateway, and sees to it that there is one
// again, as a service manager would.
func (r *soakRun) down(what func()) {
	r.downs.Lock()
	defer r.downs.Unlock()
	r.epoch.Add(1)
	what()
	r.revive()
	r.epoch.Add(1)
}

// lookedAfter does something, and starts a gateway again where one has ended meanwhile: the
// supervisor may notice the end of a worker late.
func (r *soakRun) lookedAfter(do func()) {
	calm, looked := make(chan struct{}), make(chan struct{})
	go func() { // ends with calm
		defer close(looked)
		for {
			select {
			case <-r.daemon.Load().Done:
				r.down(func() {})
			case <-time.After(50 * time.Millisecond): // it may be another one by now
			case <-calm:
				return
			}
		}
	}()
	do()
	close(calm)
	<-looked
}

// holder returns the daemon that has the state directory, if one has.
func (r *soakRun) holder() (h lockfile.Holder, ok bool) {
	h, err := lockfile.ReadHolder(r.Path("state/" + lockfile.StateLockName))
	return h, err == nil && proc.Alive(h.PID, h.Start)
}

// revive returns when a daemon serves: the one that has taken over, or a new one.
func (r *soakRun) revive() {
	deadline := time.Now().Add(harness.Patience)
	for ; time.Now().Before(deadline); r.wait(5 * time.Millisecond) {
		g := r.daemon.Load()
		h, held := r.holder()
		switch ended := over(g); {
		case held && !ended && h.Address != "":
			if r.serves(g, h) {
				return
			}
		case held, !ended: // which ends with the first process, or the other way round
		default:
			if g := r.Launch(); g.Base != "" {
				r.daemon.Store(g)
				return
			}
		}
	}
	r.T.Errorf("there is no gateway any more; the last one's first process ended: %v", r.daemon.Load().Cmd.ProcessState)
}

// serves reports whether the holder serves, and notes where.
func (r *soakRun) serves(g *harness.Gateway, h lockfile.Holder) bool {
	if "http://"+h.Address != g.Base {
		g = &harness.Gateway{Machine: r.Machine, Base: "http://" + h.Address, Sock: g.Sock, Done: g.Done, Cmd: g.Cmd, HTTP: harness.NewClient(r.T)}
	}
	a, err := g.Do("GET", "/health", nil)
	if err != nil || !a.Flag("ready") {
		return false
	}
	r.daemon.Store(g)
	return true
}

// over reports whether the gateway's first process has ended.
func over(g *harness.Gateway) bool {
	select {
	case <-g.Done:
		return true
	default:
		return false
	}
}

// first returns whom the gateway's user knows: the process that was started, or
// where that has gone the one that serves.
func (r *soakRun) first() (proc.Process, bool) {
	g := r.daemon.Load()
	select {
	case <-g.Done:
		h, ok := r.holder()
		return proc.Process{PID: h.PID, Start: h.Start}, ok
	default:
	}
	start, err := proc.StartTime(g.Cmd.Process.Pid)
	return proc.Process{PID: g.Cmd.Process.Pid, Start: start}, err == nil
}

func (r *soakRun) killDaemon() {
	if h, ok := r.holder(); ok {
		r.KillHolder()
		r.Eventually("the gateway is gone", func() bool { return !proc.Alive(h.PID, h.Start) && !proc.Alive(h.Worker, h.WorkerStart) })
	}
}

// killOne kills any of the gateway's processes: the supervisor, the worker, or one that
// takes over or has been taken over from.
func (r *soakRun) killOne(n int) {
	all := r.roles("serve", supervisor.Subcommand)
	if len(all) == 0 {
		return
	}
	p := all[n%len(all)]
	h, held := r.holder()
	before := r.Log.String()
	_ = proc.Signal(p.PID, p.Start, syscall.SIGKILL)
	r.Eventually("the process is gone", func() bool { return !proc.Alive(p.PID, p.Start) })
	switch {
	case !held:
	case p.PID == h.PID, p.PID == h.Worker: // neither goes on without the other, unless the worker had just handed over
		r.Eventually("the gateway ends", func() bool {
			now, ok := r.holder()
			handedOver := ok && now.PID == h.PID && now.Worker != h.Worker
			return handedOver || !proc.Alive(h.PID, h.Start) && !proc.Alive(h.Worker, h.WorkerStart)
		})
	case !strings.Contains(before, fmt.Sprintf(`"pid":%d,"took"`, p.PID)):
		// The worker was to take over, and never served.
		r.Eventually("the gateway notices", func() bool {
			now := r.Log.String()[len(before):]
			return strings.Contains(now, `"msg":"not restarted"`) || strings.Contains(now, "the program before goes on") || !proc.Alive(h.PID, h.Start)
		})
	}
}

// roles returns the processes of this program that have one of the roles.
func (r *soakRun) roles(roles ...string) []proc.Process {
	return slices.DeleteFunc(r.Processes(), func(p proc.Process) bool {
		cmdline, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "cmdline"))
		args := bytes.Split(cmdline, []byte{0})
		return len(args) < 2 || !slices.Contains(roles, string(args[1])) || forked(p.PID)
	})
}

// forked reports whether a process is a child that has not executed its program yet. Until
// then it shares its parent's memory, and so shows the parent's command line.
func forked(pid int) bool {
	parent, args := memoryOf(pid)
	_, parents := memoryOf(parent)
	return args != "" && args != "0" && args == parents
}

// memoryOf returns the parent of a process, and where in memory its arguments begin, which
// differs between programs: proc_pid_stat(5). They are empty of a process that has ended.
func memoryOf(pid int) (parent int, args string) {
	const first, parentField, argsField = 3, 4, 48 // the fields are counted from 1; the third follows the name
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= argsField-first {
		return 0, ""
	}
	parent, _ = strconv.Atoi(fields[parentField-first]) // the kernel writes a number
	return parent, fields[argsField-first]
}

// end ends the gateway as its user would.
func (r *soakRun) end(sig syscall.Signal) {
	p, ok := r.first()
	if !ok {
		return
	}
	_ = proc.Signal(p.PID, p.Start, sig)
	r.Eventually("the gateway ends", func() bool { return !proc.Alive(p.PID, p.Start) && len(r.roles("serve", supervisor.Subcommand)) == 0 })
}

func (r *soakRun) sighup() {
	if p, ok := r.first(); ok {
		_ = proc.Signal(p.PID, p.Start, syscall.SIGHUP)
	}
}

// restart asks for a restart, and waits for it or not.
func (r *soakRun) restart(s soakStep) {
	h, err := r.request("GET", "/health", nil)
	if err != nil {
		return // it has ended by itself, or there is a complaint
	}
	if a, err := r.request("POST", "/restart", nil); err == nil && a.Status == 200 && s.n%2 == 0 {
		r.Eventually("the restart is over", func() bool { // of whichever gateway there is: it may end of an earlier blow
			now, err := r.daemon.Load().Do("GET", "/health", nil)
			return err == nil && now.Flag("ready") && now.Number("generation") > h.Number("generation")
		})
	} else if err == nil && a.Status != 200 {
		r.T.Errorf("POST /restart: status %d: %s", a.Status, a.Body)
	}
}

// slay kills the hosts of some channels, or their claudes, or both.
func (r *soakRun) slay(s soakStep, hosts, claudes bool) {
	live := r.Hosts()
	for _, n := range s.lines {
		h, ok := live[r.lines[n].key]
		if ok && claudes && h.ClaudePID > 0 {
			_ = proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL)
			r.count("claudes killed")
		}
		if ok && hosts {
			_ = proc.Signal(h.PID, h.Start, syscall.SIGKILL)
			r.count("hosts killed")
		}
	}
}

// freezeSome stops some processes, which then go on.
func (r *soakRun) freezeSome(s soakStep) {
	live := r.Hosts()
	var some []proc.Process
	for _, n := range s.lines {
		if h, ok := live[r.lines[n].key]; ok {
			some = append(some, proc.Process{PID: h.PID, Start: h.Start}, proc.Process{PID: h.ClaudePID, Start: h.ClaudeStart})
		}
	}
	if h, ok := r.holder(); ok && s.n%2 == 0 {
		some = append(some, proc.Process{PID: h.PID, Start: h.Start})
	}
	for i, p := range some {
		if i%3 != s.n%3 {
			_ = proc.Signal(p.PID, p.Start, syscall.SIGSTOP)
		}
	}
	r.wait(s.later)
	for _, p := range some {
		_ = proc.Signal(p.PID, p.Start, syscall.SIGCONT)
	}
}
