package harness

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/internal/testkit/check"
)

// NeedStrace skips the test, saying so, where there is no strace. In CI there
// must be.
func NeedStrace(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err == nil {
		return
	}
	if os.Getenv("BARECLAW_REQUIRE_CLAUDE") == "1" {
		t.Fatal("strace is missing; it must be there in CI")
	}
	t.Skip("NOT TESTED: faults at a chosen system call: strace is missing")
}

// A Tracer is an strace that meddles with the system calls of one process.
type Tracer struct {
	t    testing.TB
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// Trace attaches strace to all threads of a running process, present and future
// ones, but not to the programs that it starts. The injection is strace's
// -e inject=; each thread counts its calls by itself. More are further arguments.
func (m *Machine) Trace(pid int, inject string, more ...string) *Tracer {
	m.T.Helper()
	return m.trace(pid, inject, append([]string{"-b", "execve"}, more...)...)
}

// HoldExec has the process, which may replace its own program, take three seconds to begin with
// that. Those that it starts take as long.
func (m *Machine) HoldExec(pid int) *Tracer {
	m.T.Helper()
	return m.trace(pid, "execve:delay_enter=3000000")
}

func (m *Machine) trace(pid int, inject string, more ...string) *Tracer {
	m.T.Helper()
	NeedStrace(m.T)
	calls, _, _ := strings.Cut(inject, ":")
	tr := &Tracer{t: m.T, done: make(chan struct{})}
	args := append([]string{"-f", "-o", os.DevNull, "-e", "trace=" + calls, "-e", "inject=" + inject, "-p", strconv.Itoa(pid)}, more...)
	tr.cmd = exec.Command("strace", args...)
	stderr, err := tr.cmd.StderrPipe()
	check.OK(m.T, err)
	check.OK(m.T, tr.cmd.Start())
	attached := make(chan string, 1)
	go func() { // ends with strace
		defer close(tr.done)
		said := ""
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if said += lines.Text() + "\n"; strings.Contains(lines.Text(), " attached") {
				select {
				case attached <- "":
				default: // a thread that was started since
				}
			}
		}
		_ = tr.cmd.Wait() // it ends as the traced process did
		select {
		case attached <- said:
		default:
		}
	}()
	m.T.Cleanup(tr.Detach)
	select {
	case said := <-attached:
		if said != "" {
			m.T.Fatalf("strace -p %d: %s", pid, said)
		}
	case <-time.After(Patience):
		m.T.Fatalf("strace did not attach to process %d", pid)
	}
	return tr
}

// Detach lets go of the process and returns when nothing is meddled with any
// more. It does not ask strace to: that may wait for ever for a thread of a
// process that was killed.
func (tr *Tracer) Detach() {
	_ = tr.cmd.Process.Kill() // the kernel then lets go of what was traced
	<-tr.done
}

// InCall reports whether a thread of the process is in one of the system calls, or kept from it.
func InCall(pid int, calls ...int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid)) // none when it has ended
	for _, path := range threads {
		b, err := os.ReadFile(path)
		number, _, _ := strings.Cut(string(b), " ")
		if call, notNumber := strconv.Atoi(number); err == nil && notNumber == nil && slices.Contains(calls, call) {
			return true
		}
	}
	return false
}

// OnlyFiles returns what has strace look at nothing but the files.
func OnlyFiles(paths []string) (args []string) {
	for _, path := range paths {
		args = append(args, "-P", path)
	}
	return args
}

// HostSockets returns the daemon's connections to session hosts, as /proc names them: those of its
// Unix sockets whose other end was accepted by a socket with a path.
func (m *Machine) HostSockets(daemon int) (all []string) {
	m.T.Helper()
	list, err := os.ReadFile("/proc/net/unix")
	check.OK(m.T, err)
	named := map[uint64]bool{} // by inode
	for line := range strings.Lines(string(list)) {
		if words := strings.Fields(line); len(words) == 8 {
			inode, _ := strconv.ParseUint(words[6], 10, 32) // the first line has none
			named[inode] = true
		}
	}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", daemon))
	for _, fd := range fds {
		to, _ := os.Readlink(fd)
		inode, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]"), 10, 32)
		if err == nil && !named[inode] && named[m.otherEnd(inode)] {
			all = append(all, to)
		}
	}
	if len(all) == 0 {
		m.T.Fatal("the daemon has no connection to a host")
	}
	return all
}

// The messages of sock_diag(7) about Unix sockets, which x/sys does not declare: <linux/unix_diag.h>.
type (
	unixDiagRequest struct {
		unix.NlMsghdr
		Family, Protocol    uint8
		_                   uint16
		States, Inode, Show uint32
		Cookie              uint64
	}
	unixDiagMessage struct {
		Family, Type, State, _ uint8
		Inode                  uint32
		Cookie                 uint64
	}
)

const (
	sockDiagByFamily = 20
	showPeer         = 4 // UDIAG_SHOW_PEER
	peerAttribute    = 2 // UNIX_DIAG_PEER
)

// otherEnd returns the inode at the other end of a Unix socket; 0 if the socket is none, or has none.
func (m *Machine) otherEnd(inode uint64) uint64 {
	m.T.Helper()
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	check.OK(m.T, err)
	defer func() { _ = unix.Close(fd) }()
	request := unixDiagRequest{Family: unix.AF_UNIX, States: ^uint32(0), Inode: uint32(inode), Show: showPeer, Cookie: ^uint64(0)}
	request.Len, request.Type, request.Flags = uint32(binary.Size(request)), sockDiagByFamily, unix.NLM_F_REQUEST
	b, err := binary.Append(nil, binary.NativeEndian, request)
	check.OK(m.T, err)
	check.OK(m.T, unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
	b = make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, b, 0)
	check.OK(m.T, err)
	messages, err := syscall.ParseNetlinkMessage(b[:n])
	check.OK(m.T, err)
	for _, msg := range messages {
		rest := msg.Data[min(len(msg.Data), binary.Size(unixDiagMessage{})):]
		for msg.Header.Type == sockDiagByFamily && len(rest) >= 8 { // attributes: length, type, value
			length := int(binary.NativeEndian.Uint16(rest))
			if binary.NativeEndian.Uint16(rest[2:]) == peerAttribute {
				return uint64(binary.NativeEndian.Uint32(rest[4:]))
			}
			rest = rest[min(len(rest), max(8, (length+3)&^3)):]
		}
	}
	return 0
}

// Hold60 has a system call take a minute.
const Hold60 = ":delay_enter=60000000"
