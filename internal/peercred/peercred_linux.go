package peercred

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

func unixPeer(fd int) (uid uint32, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return cred.Uid, nil
}

func unixPeerPID(fd int) (pid int, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}

// tcpPeer asks the kernel's sock_diag(7), which answers within the send.
func tcpPeer(local, remote net.Addr) (uid uint32, ok bool, err error) {
	request, err := requestFor(remote, local) // the peer's socket has our addresses the other way round
	if err != nil {
		return 0, false, err
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, false, fmt.Errorf("open sock_diag: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	b, err := binary.Append(nil, binary.NativeEndian, request)
	if err != nil {
		return 0, false, err
	}
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, false, fmt.Errorf("ask sock_diag: %w", err)
	}
	reply := make([]byte, 1024) // with room for new attributes of later kernels
	n, from, err := unix.Recvfrom(fd, reply, 0)
	if err != nil {
		return 0, false, fmt.Errorf("read sock_diag: %w", err)
	}
	if sender, ok := from.(*unix.SockaddrNetlink); !ok || sender.Pid != 0 {
		return 0, false, errors.New("sock_diag was answered by somebody else than the kernel")
	}
	uid, err = parseReply(reply[:n], request.ID)
	return uid, err == nil, err
}

// The messages of sock_diag(7), which x/sys does not declare: <linux/inet_diag.h> struct
// inet_diag_sockid, inet_diag_req_v2 and inet_diag_msg. Addresses and ports are in network
// byte order, the rest in the machine's.
type (
	sockID struct {
		SrcPort, DstPort [2]byte
		Src, Dst         [16]byte
		Interface        uint32
		Cookie           uint64
	}
	diagRequest struct {
		unix.NlMsghdr
		Family, Protocol, Extensions, _ uint8
		States                          uint32
		ID                              sockID
	}
	diagMessage struct {
		Family, State, Timer, Retransmits            uint8
		ID                                           sockID
		Expires, ReceiveQueue, SendQueue, UID, Inode uint32
	}
)

// tcpListen is TCP_LISTEN of <net/tcp_states.h>.
const tcpListen = 10

// requestFor asks for the socket bound to src and connected to dst, in any state, and not by
// its cookie.
func requestFor(src, dst net.Addr) (r diagRequest, err error) {
	from, err := addrPort(src)
	if err != nil {
		return r, err
	}
	to, err := addrPort(dst)
	if err != nil {
		return r, err
	}
	if from.Addr().Is4() != to.Addr().Is4() {
		return r, fmt.Errorf("%v and %v are of two families", src, dst)
	}
	r = diagRequest{Family: unix.AF_INET6, Protocol: unix.IPPROTO_TCP, States: ^uint32(0)}
	if from.Addr().Is4() {
		r.Family = unix.AF_INET
	}
	binary.BigEndian.PutUint16(r.ID.SrcPort[:], from.Port())
	binary.BigEndian.PutUint16(r.ID.DstPort[:], to.Port())
	copy(r.ID.Src[:], from.Addr().AsSlice())
	copy(r.ID.Dst[:], to.Addr().AsSlice())
	r.ID.Cookie = ^uint64(0)
	r.NlMsghdr = unix.NlMsghdr{Len: uint32(binary.Size(r)), Type: unix.SOCK_DIAG_BY_FAMILY, Flags: unix.NLM_F_REQUEST, Seq: 1}
	return r, nil
}

// addrPort returns a TCP address. A socket for both families shows IPv4 addresses as IPv6.
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

// parseReply returns the user of the open socket with the asked-for addresses. Without a
// connected socket the kernel looks for a listening one. A closed socket has no inode, and
// the kernel shows it as root's.
func parseReply(reply []byte, asked sockID) (uid uint32, err error) {
	var header unix.NlMsghdr
	n, err := binary.Decode(reply, binary.NativeEndian, &header)
	if err != nil || header.Len < uint32(n) || uint64(header.Len) > uint64(len(reply)) {
		return 0, errors.New("sock_diag: answer of a wrong length")
	}
	var code int32
	var m diagMessage
	switch body := reply[n:header.Len]; header.Type {
	case unix.NLMSG_ERROR:
		_, err = binary.Decode(body, binary.NativeEndian, &code)
	case unix.SOCK_DIAG_BY_FAMILY:
		_, err = binary.Decode(body, binary.NativeEndian, &m)
	default:
		err = fmt.Errorf("kind %d", header.Type)
	}
	switch errno := unix.Errno(-code); {
	case err != nil:
		return 0, fmt.Errorf("sock_diag: bad answer: %w", err)
	case code != 0 && errno != unix.ENOENT:
		return 0, fmt.Errorf("sock_diag: %w", errno)
	case m.ID.SrcPort != asked.SrcPort || m.ID.DstPort != asked.DstPort || m.State == tcpListen || m.Inode == 0:
		return 0, ErrUnknownPeer
	}
	return m.UID, nil
}
