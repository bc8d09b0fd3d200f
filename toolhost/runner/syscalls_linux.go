package runner

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A rule lets the process make a system call.
type rule struct {
	call uint32
	// when restricts the call to certain values of an argument; nil: any call is allowed.
	when *condition
}

// A condition is what an argument of a system call, of which just some bits count, may be.
type condition struct {
	arg, bits uint32
	values    []uint32
}

// Arguments of system calls.
const (
	allBits       = ^uint32(0)
	writing       = unix.O_ACCMODE | unix.O_CREAT | unix.O_TRUNC
	newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
)

// rules are all that the process may ask of the kernel: what the runtime of Go needs (and that of
// C, with which the program may be built), reading, and talking over connections that it has. Whoever
// adds a rule thinks of what a script could do with it that has taken over the process.
func rules(pid int) []rule {
	anyCall := []uint32{
		// Threads, time and memory.
		unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETCPU, unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_RSEQ,
		unix.SYS_SET_ROBUST_LIST, unix.SYS_SET_TID_ADDRESS, unix.SYS_MEMBARRIER, unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_RESTART_SYSCALL,
		unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY,
		unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK, unix.SYS_GETRANDOM, unix.SYS_UNAME,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		// Open files.
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_LSEEK, unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_GETDENTS64,
		unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_EVENTFD2, unix.SYS_PIPE2, unix.SYS_PPOLL,
		unix.SYS_SHUTDOWN, unix.SYS_INOTIFY_RM_WATCH,
		// Paths. Landlock restricts what can be read.
		unix.SYS_NEWFSTATAT, unix.SYS_READLINKAT,
	}
	all := make([]rule, len(anyCall), len(anyCall)+8)
	for i, call := range anyCall {
		all[i].call = call
	}
	own := []uint32{uint32(pid)}
	return append(all,
		rule{unix.SYS_OPENAT, &condition{2, writing, []uint32{0}}},
		rule{unix.SYS_MMAP, &condition{2, unix.PROT_EXEC, []uint32{0}}},
		rule{unix.SYS_MPROTECT, &condition{2, unix.PROT_EXEC, []uint32{0}}},
		rule{unix.SYS_CLONE, &condition{0, unix.CLONE_THREAD | newNamespaces, []uint32{unix.CLONE_THREAD}}},
		rule{unix.SYS_TGKILL, &condition{0, allBits, own}},
		rule{unix.SYS_KILL, &condition{0, allBits, own}},
		rule{unix.SYS_PRCTL, &condition{0, allBits, []uint32{unix.PR_SET_NAME, unix.PR_GET_NAME, unix.PR_SET_VMA}}},
		rule{unix.SYS_FCNTL, &condition{1, allBits, []uint32{unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL, unix.F_DUPFD_CLOEXEC}}},
	)
}

// Offsets in what the kernel shows a filter of a system call (struct seccomp_data); the
// architectures below are little-endian.
const (
	offsetCall     = 0
	offsetArch     = 4
	offsetFirstArg = 16
	sizeOfArg      = 8
)

// firstForeign is the first number of the system calls that x86-64 has for programs with short
// pointers.
const firstForeign = 0x4000_0000

// The verdicts of the filter.
var (
	allow  = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	refuse = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	// unknown is for clone3, whose flags a filter cannot see: the C library then uses clone.
	unknown = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
)

// filter returns the program that decides about each system call of a process. What no rule names
// is refused, also what later kernels add.
func filter(arch uint32, pid int) []bpf.Instruction {
	f := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		refuse, // numbers mean something else
		bpf.LoadAbsolute{Off: offsetCall, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: firstForeign, SkipTrue: 1},
		refuse,
	}
	for _, r := range rules(pid) {
		f = append(f, r.instructions()...)
	}
	return append(f, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE3, SkipFalse: 1}, unknown, refuse)
}

// instructions expects the number of the call in the accumulator. For another call they fall
// through.
func (r rule) instructions() (all []bpf.Instruction) {
	if r.when == nil {
		return []bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: r.call, SkipFalse: 1}, allow}
	}
	all = append(all, bpf.LoadAbsolute{Off: offsetFirstArg + sizeOfArg*r.when.arg, Size: 4}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: r.when.bits})
	for _, v := range r.when.values {
		all = append(all, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: 1}, allow)
	}
	all = append(all, refuse)
	other := bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: r.call, SkipTrue: uint8(len(all))}
	return append([]bpf.Instruction{other}, all...)
}

// restrictCalls leaves the process the system calls of the rules, all threads for ever. Where the
// program runs on another architecture, restrictCalls does nothing.
func restrictCalls() error {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return nil
	}
	return install(filter(arch, os.Getpid()), unix.SECCOMP_FILTER_FLAG_TSYNC)
}

// install has the kernel ask a filter about the system calls of this thread; by flags, of all.
func install(f []bpf.Instruction, flags uintptr) error {
	code, err := bpf.Assemble(f)
	if err != nil {
		return err
	}
	raw := make([]unix.SockFilter, len(code))
	for i, c := range code {
		raw[i] = unix.SockFilter{Code: c.Op, Jt: c.Jt, Jf: c.Jf, K: c.K}
	}
	program := unix.SockFprog{Len: uint16(len(raw)), Filter: &raw[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	if thread != 0 {
		return fmt.Errorf("filter system calls: thread %d has another filter", thread)
	}
	return nil
}
