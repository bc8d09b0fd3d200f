package runner

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An attempt is what a confined process tries.
type attempt struct {
	name string
	do   func() error
}

// A place is where a confined process tries: the tools directory, another directory of the user with
// sockets in it, the port of a server of this machine, and the process that has started it.
type place struct {
	tools, other, port string
	parent             int
}

// connectionFD is the descriptor of a connection that the confined process inherits.
const connectionFD = 3

// allowed are the attempts that must succeed.
func (p place) allowed() []attempt {
	return []attempt{
		{name: "read a tool", do: read(p.tools + "/a.ts")},
		{name: "list the tools", do: func() error { _, err := os.ReadDir(p.tools); return err }},
		{name: "read a tool of a directory below", do: read(p.tools + "/sub/b.ts")},
		{name: "talk over a connection that it has", do: func() error {
			if _, err := unix.Write(connectionFD, []byte("x")); err != nil {
				return err
			}
			_, err := unix.Read(connectionFD, make([]byte, 1))
			return err
		}},
		{name: "start threads", do: func() error {
			for range 50 {
				go func() { _ = unix.Nanosleep(&unix.Timespec{Nsec: 1e8}, nil) }()
			}
			time.Sleep(time.Millisecond)
			return nil
		}},
		{name: "take memory", do: func() error {
			b := make([]byte, 64<<20)
			for i := 0; i < len(b); i += os.Getpagesize() {
				b[i] = 1
			}
			return nil
		}},
	}
}

// refused are the attempts that each kernel must refuse. None does harm outside of the two directories
// where it is not refused.
func (p place) refused() (all []attempt) {
	for _, group := range [][]attempt{p.writing(), p.attributes(), p.sockets(), p.families(), p.programs(), p.processes(), shared(), p.kernel()} {
		all = append(all, group...)
	}
	return all
}

// reading are the attempts that only Landlock refuses.
func (p place) reading() []attempt {
	return []attempt{
		{"read elsewhere", read(p.other + "/secret")},
		{"read by a link", read(p.tools + "/link.ts")},
		{"read /etc/passwd", read("/etc/passwd")},
		{"read the environment of others", read(fmt.Sprintf("/proc/%d/environ", p.parent))},
		{"read this program", read("/proc/self/exe")},
		{"list /", func() error { _, err := os.ReadDir("/"); return err }},
	}
}

func (p place) writing() []attempt {
	write := func(path string) func() error { return func() error { return os.WriteFile(path, nil, 0o600) } }
	return []attempt{
		{name: "write a tool", do: write(p.tools + "/a.ts")},
		{name: "make a tool", do: write(p.tools + "/new.ts")},
		{name: "remove a tool", do: func() error { return os.Remove(p.tools + "/a.ts") }},
		{name: "rename a tool", do: func() error { return os.Rename(p.tools+"/a.ts", p.tools+"/b.ts") }},
		{name: "truncate a tool", do: func() error { return os.Truncate(p.tools+"/a.ts", 0) }},
		{name: "write elsewhere", do: write(p.other + "/new")},
		{name: "write to the temporary directory", do: func() error { _, err := os.CreateTemp("", "x"); return err }},
		{name: "write to its own memory", do: func() error { _, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0); return err }},
		{name: "make a directory", do: func() error { return os.Mkdir(p.tools+"/d", 0o700) }},
		{name: "make a link", do: func() error { return os.Link(p.tools+"/a.ts", p.tools+"/hard.ts") }},
		{name: "make a symbolic link", do: func() error { return os.Symlink("a.ts", p.tools+"/soft.ts") }},
		{name: "make a pipe", do: func() error { return unix.Mkfifo(p.tools+"/pipe", 0o600) }},
		{name: "lock a file", do: p.withTool(func(fd int) error { return unix.Flock(fd, unix.LOCK_EX) })},
		{name: "lease a file", do: p.withTool(func(fd int) error { return fcntl(fd, unix.F_SETLEASE, unix.F_RDLCK) })},
	}
}

// attributes are attempts at files of the user that Landlock leaves alone.
func (p place) attributes() []attempt {
	secret, name := p.other+"/secret", bytePointer("user.x")
	path := bytePointer(secret)
	return []attempt{
		{name: "chmod", do: func() error { return os.Chmod(secret, 0o644) }},
		{name: "fchmod", do: p.withTool(func(fd int) error { return unix.Fchmod(fd, 0o644) })},
		{name: "fchmodat2", do: raw(unix.SYS_FCHMODAT2, atCWD, path, 0o644, 0)},
		{name: "chown", do: func() error { return os.Chown(secret, os.Getuid(), os.Getgid()) }},
		{name: "fchown", do: p.withTool(func(fd int) error { return unix.Fchown(fd, os.Getuid(), os.Getgid()) })},
		{name: "lchown", do: func() error { return os.Lchown(secret, os.Getuid(), os.Getgid()) }},
		{name: "utimensat", do: func() error { return os.Chtimes(secret, time.Now(), time.Now()) }},
		{name: "utimensat by descriptor", do: p.withTool(func(fd int) error { return raw(unix.SYS_UTIMENSAT, uintptr(fd), 0, 0, 0)() })},
		{name: "setxattr", do: func() error { return unix.Setxattr(secret, "user.x", []byte("x"), 0) }},
		{name: "lsetxattr", do: func() error { return unix.Lsetxattr(secret, "user.x", []byte("x"), 0) }},
		{name: "fsetxattr", do: p.withTool(func(fd int) error { return unix.Fsetxattr(fd, "user.x", []byte("x"), 0) })},
		{name: "setxattrat", do: raw(unix.SYS_SETXATTRAT, atCWD, path, 0, name, 0, 0)},
		{name: "removexattr", do: func() error { return unix.Removexattr(secret, "user.x") }},
		{name: "lremovexattr", do: func() error { return unix.Lremovexattr(secret, "user.x") }},
		{name: "fremovexattr", do: p.withTool(func(fd int) error { return unix.Fremovexattr(fd, "user.x") })},
		{name: "removexattrat", do: raw(unix.SYS_REMOVEXATTRAT, atCWD, path, 0, name)},
		{name: "file_setattr", do: raw(unix.SYS_FILE_SETATTR, atCWD, path, 0, 0, 0)},
		{name: "flags by ioctl", do: p.withTool(func(fd int) error { return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, 0) })},
	}
}

func (p place) sockets() []attempt {
	return []attempt{
		{name: "connect to api.sock", do: dial("unix", p.other+"/api.sock")},
		{name: "connect to the session bus", do: dial("unix", p.other+"/bus")},
		{name: "connect to an abstract socket", do: dial("unix", "@bareclaw-test")},
		{name: "connect with the connection that it has", do: func() error { return unix.Connect(connectionFD, &unix.SockaddrUnix{Name: p.other + "/api.sock"}) }},
		{name: "send to a socket by its name", do: func() error {
			return unix.Sendto(connectionFD, []byte("x"), 0, &unix.SockaddrUnix{Name: p.other + "/api.sock"})
		}},
		{name: "pass a descriptor on", do: func() error { return unix.Sendmsg(connectionFD, []byte("x"), unix.UnixRights(0), nil, 0) }},
		{name: "make a pair of sockets", do: func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err }},
		{name: "bind", do: func() error { return unix.Bind(connectionFD, &unix.SockaddrUnix{Name: p.other + "/new.sock"}) }},
		{name: "listen", do: func() error { return unix.Listen(connectionFD, 1) }},
		{name: "accept", do: func() error { _, _, err := unix.Accept(connectionFD); return err }},
		{name: "connect by TCP", do: dial("tcp", "127.0.0.1:"+p.port)},
		{name: "send by UDP", do: dial("udp", "127.0.0.1:"+p.port)},
	}
}

// families are attempts at sockets that are no Unix sockets.
func (p place) families() []attempt {
	socket := func(family, kind, protocol int) func() error {
		return func() error { _, err := unix.Socket(family, kind, protocol); return err }
	}
	return []attempt{
		{name: "MPTCP", do: socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)},
		{name: "netlink", do: socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)},
		{name: "packet", do: socket(unix.AF_PACKET, unix.SOCK_RAW, 0)},
		{name: "vsock", do: socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
		{name: "alg", do: socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
		{name: "bluetooth", do: socket(unix.AF_BLUETOOTH, unix.SOCK_RAW, 0)},
	}
}

func (p place) programs() []attempt {
	return []attempt{
		{name: "run a program", do: func() error { return exec.Command("/bin/sh", "-c", "true").Run() }},
		{name: "run a program of the tools", do: func() error { return exec.Command(p.tools + "/run").Run() }},
		{name: "become a program", do: func() error { return unix.Exec("/bin/true", []string{"true"}, nil) }},
		{name: "become a file of the memory", do: raw(unix.SYS_EXECVEAT, 0, bytePointer(""), 0, 0, unix.AT_EMPTY_PATH)},
		{name: "make a file in the memory", do: func() error { _, err := unix.MemfdCreate("x", 0); return err }},
		{name: "run code of the memory", do: func() error {
			_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
			return err
		}},
		{name: "fork", do: clone(0)},
		{name: "fork by clone3", do: func() error {
			if err := raw(unix.SYS_CLONE3, 0, 0)(); !errors.Is(err, unix.ENOSYS) {
				return fmt.Errorf("clone3: %w", err)
			}
			return unix.EPERM // as if there were no such call
		}},
	}
}

func (p place) processes() []attempt {
	return []attempt{
		{name: "trace the parent", do: func() error { return unix.PtraceAttach(p.parent) }},
		{name: "seize the parent", do: func() error { return unix.PtraceSeize(p.parent) }},
		{name: "signal the parent", do: func() error { return syscall.Kill(p.parent, 0) }},
		{name: "signal a thread of the parent", do: func() error { return unix.Tgkill(p.parent, p.parent, 0) }},
		{name: "signal all", do: func() error { return syscall.Kill(-1, 0) }},
		{name: "have the kernel signal the parent", do: p.withTool(func(fd int) error { return fcntl(fd, unix.F_SETOWN, p.parent) })},
		{name: "open the parent", do: func() error { _, err := unix.PidfdOpen(p.parent, 0); return err }},
		{name: "take a descriptor of the parent", do: func() error { _, err := unix.PidfdGetfd(0, 0, 0); return err }},
		{name: "read memory of the parent", do: func() error {
			_, err := unix.ProcessVMReadv(p.parent, nil, nil, 0)
			return err
		}},
		{name: "write memory of the parent", do: func() error {
			_, err := unix.ProcessVMWritev(p.parent, nil, nil, 0)
			return err
		}},
		{name: "slow the parent down", do: func() error { return unix.Setpriority(unix.PRIO_PROCESS, p.parent, 0) }},
		{name: "look at limits of the parent", do: func() error { return unix.Prlimit(p.parent, unix.RLIMIT_CORE, nil, &unix.Rlimit{}) }},
		{name: "let others trace it", do: func() error { return unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0) }},
		{name: "watch a directory", do: func() error { _, err := unix.InotifyInit1(0); return err }},
		{name: "watch a file system", do: func() error { _, err := unix.FanotifyInit(0, 0); return err }},
	}
}

// shared are attempts at what the processes of a user share.
func shared() []attempt {
	return []attempt{
		{name: "keyctl", do: func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_PROCESS_KEYRING, false); return err }},
		{name: "add_key", do: func() error {
			_, err := unix.AddKey("user", "bareclaw", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		}},
		{name: "request_key", do: func() error { _, err := unix.RequestKey("user", "bareclaw", "", 0); return err }},
		{name: "shmget", do: raw(unix.SYS_SHMGET, 1, 4096, 0)},
		{name: "shmat", do: raw(unix.SYS_SHMAT, 0, 0, 0)},
		{name: "shmctl", do: raw(unix.SYS_SHMCTL, 0, unix.IPC_STAT, 0)},
		{name: "msgget", do: raw(unix.SYS_MSGGET, 1, 0)},
		{name: "semget", do: raw(unix.SYS_SEMGET, 1, 1, 0)},
		{name: "mq_open", do: raw(unix.SYS_MQ_OPEN, bytePointer("bareclaw"), unix.O_RDONLY, 0, 0)},
	}
}

func (p place) kernel() []attempt {
	return []attempt{
		{name: "io_uring", do: raw(unix.SYS_IO_URING_SETUP, 1, 0)},
		{name: "userfaultfd", do: raw(unix.SYS_USERFAULTFD, 1)},
		{name: "bpf", do: raw(unix.SYS_BPF, 0, 0, 0)},
		{name: "perf_event_open", do: raw(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0)},
		{name: "unshare", do: func() error { return unix.Unshare(unix.CLONE_NEWUSER) }},
		{name: "clone to a namespace", do: clone(unix.CLONE_NEWUSER)},
		{name: "setns", do: func() error { return unix.Setns(0, 0) }},
		{name: "mount", do: func() error { return unix.Mount("none", p.tools, "no such file system", 0, "") }},
		{name: "fsopen", do: func() error { _, err := unix.Fsopen("tmpfs", 0); return err }},
		{name: "open_tree", do: func() error { _, err := unix.OpenTree(unix.AT_FDCWD, p.tools, 0); return err }},
		{name: "chroot", do: func() error { return unix.Chroot("/") }},
		{name: "open by handle", do: raw(unix.SYS_OPEN_BY_HANDLE_AT, atCWD, 0, 0)},
		{name: "open with openat2", do: func() error { _, err := unix.Openat2(unix.AT_FDCWD, p.tools+"/a.ts", &unix.OpenHow{}); return err }},
		{name: "become another user", do: raw(unix.SYS_SETRESUID, ^uintptr(0), ^uintptr(0), ^uintptr(0))},
		{name: "a filter of its own", do: raw(unix.SYS_SECCOMP, 0, 0, 0)},
		{name: "a call for other programs", do: raw(firstForeign|unix.SYS_GETPID, 0)},
		{name: "a call of later kernels", do: raw(9999, 0)},
	}
}

func read(path string) func() error {
	return func() error { _, err := os.ReadFile(path); return err }
}

// dial connects as programs of Go do.
func dial(network, address string) func() error {
	return func() error {
		c, err := net.DialTimeout(network, address, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
}

// withTool gives an attempt the descriptor of a tool, which is open for reading.
func (p place) withTool(do func(fd int) error) func() error {
	return func() error {
		f, err := os.Open(p.tools + "/a.ts")
		if err != nil {
			return fmt.Errorf("open a tool: %v", err) //nolint:errorlint // a failure to open is no refusal of the attempt
		}
		defer func() { _ = f.Close() }()
		return do(int(f.Fd()))
	}
}

func fcntl(fd, command, arg int) error {
	_, err := unix.FcntlInt(uintptr(fd), command, arg)
	return err
}

// raw makes a system call that has no function in Go, or whose function does more.
func raw(call uintptr, args ...uintptr) func() error {
	return func() error {
		var a [6]uintptr
		copy(a[:], args)
		if _, _, errno := unix.Syscall6(call, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
			return errno
		}
		return nil
	}
}

// clone makes a process, which ends at once.
func clone(flags uintptr) func() error {
	return func() error {
		pid, _, errno := unix.RawSyscall(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0)
		switch {
		case errno != 0:
			return errno
		case pid == 0:
			unix.Exit(0)
		}
		return nil
	}
}

const atCWD = ^uintptr(99) // unix.AT_FDCWD as an argument

// kept are the texts that raw calls point to.
var kept []*byte

func bytePointer(s string) uintptr {
	p, err := unix.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	kept = append(kept, p)
	return uintptr(unsafe.Pointer(p))
}
