package runner

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in what the kernel shows a filter of a system call (struct seccomp_data); the
// architectures below are little-endian.
const (
	offsetNumber   = 0
	offsetArch     = 4
	offsetFirstArg = 16
)

// firstForeign is the first number of the system calls that x86-64 has for programs with short
// pointers.
const firstForeign = 0x4000_0000

// onlyUnixSockets has the kernel refuse all sockets but Unix ones, to all threads for ever.
// Landlock knows TCP, but not MPTCP, and only the newest kernels know UDP. Where the program runs
// on another architecture, onlyUnixSockets does nothing.
func onlyUnixSockets() error {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return nil
	}
	code, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: arch, SkipTrue: 7}, // refuse: numbers mean something else
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: firstForeign, SkipTrue: 5},   // refuse
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_IO_URING_SETUP, SkipTrue: 4}, // refuse: could open sockets too
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_SOCKET, SkipTrue: 2},      // allow
		bpf.LoadAbsolute{Off: offsetFirstArg, Size: 4},                             // the family
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_UNIX, SkipTrue: 1},         // refuse
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)},
	})
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(code))
	for i, c := range code {
		filter[i] = unix.SockFilter{Code: c.Op, Jt: c.Jt, Jf: c.Jf, K: c.K}
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("filter sockets: %w", errno)
	}
	if thread != 0 {
		return fmt.Errorf("filter sockets: thread %d has another filter", thread)
	}
	return nil
}
