package peercred

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

func unixPeer(fd int) (uid uint32, pid int32, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return cred.Uid, cred.Pid, nil
}

func tcpPeer(local, remote net.Addr) (uid uint32, ok bool, err error) {
	// The peer's socket has our addresses the other way round.
	peer, err := newFlow(remote, local)
	if err != nil {
		return 0, false, err
	}
	fd, err := dialSockDiag()
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = unix.Close(fd) }()
	reply, err := ask(fd, peer.request())
	if err != nil {
		return 0, false, err
	}
	uid, err = parseReply(reply, peer)
	return uid, err == nil, err
}

// dialSockDiag opens a socket to the kernel's sock_diag(7). The kernel answers within the
// send; the timeouts are a safeguard.
func dialSockDiag() (fd int, err error) {
	fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return -1, fmt.Errorf("open sock_diag: %w", err)
	}
	second := unix.Timeval{Sec: 1}
	err = errors.Join(
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &second),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &second),
	)
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("limit sock_diag: %w", err)
	}
	return fd, nil
}

func ask(fd int, request []byte) ([]byte, error) {
	kernel := &unix.SockaddrNetlink{Family: unix.AF_NETLINK}
	if err := uninterrupted(func() error { return unix.Sendto(fd, request, 0, kernel) }); err != nil {
		return nil, fmt.Errorf("ask sock_diag: %w", err)
	}
	reply := make([]byte, maxReplyBytes)
	var n int
	var from unix.Sockaddr
	err := uninterrupted(func() (err error) {
		n, from, err = unix.Recvfrom(fd, reply, 0)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read sock_diag: %w", err)
	}
	if sender, ok := from.(*unix.SockaddrNetlink); !ok || sender.Pid != 0 {
		return nil, errors.New("sock_diag was answered by somebody else than the kernel")
	}
	return reply[:n], nil
}

// uninterrupted repeats a system call after interruptions by signals.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// newFlow returns the flow of a socket bound to src and connected to dst.
func newFlow(src, dst net.Addr) (flow, error) {
	from, err := addrPort(src)
	if err != nil {
		return flow{}, err
	}
	to, err := addrPort(dst)
	if err != nil {
		return flow{}, err
	}
	if from.Addr().Is4() != to.Addr().Is4() {
		return flow{}, fmt.Errorf("%v and %v are of two families", from, to)
	}
	return flow{src: from, dst: to}, nil
}

// addrPort returns a TCP address in its short form, because a socket for both families
// shows IPv4 addresses as IPv6.
func addrPort(addr net.Addr) (netip.AddrPort, error) {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || tcp == nil {
		return netip.AddrPort{}, fmt.Errorf("%v is not a TCP address", addr)
	}
	ap := tcp.AddrPort()
	if !ap.Addr().IsValid() || ap.Addr().Zone() != "" {
		return netip.AddrPort{}, fmt.Errorf("%v is not an address of one machine", addr)
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()), nil
}
