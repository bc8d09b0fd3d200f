package peercred

import (
	"encoding/binary"
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
	reply, err := askSockDiag(peer.request())
	if err != nil {
		return 0, false, err
	}
	uid, err = parseReply(reply, peer)
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

const (
	// maxReplyBytes leaves room for new attributes of later kernels.
	maxReplyBytes = 1024
	// tcpListen is TCP_LISTEN of <net/tcp_states.h>.
	tcpListen = 10
)

// askSockDiag asks the kernel's sock_diag(7). The kernel answers within the send; the
// timeouts are a safeguard.
func askSockDiag(request []byte) ([]byte, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("open sock_diag: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	second := unix.Timeval{Sec: 1}
	err = errors.Join(
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &second),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &second),
	)
	if err != nil {
		return nil, fmt.Errorf("limit sock_diag: %w", err)
	}
	if err := uninterrupted(func() error { return unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) }); err != nil {
		return nil, fmt.Errorf("ask sock_diag: %w", err)
	}
	reply := make([]byte, maxReplyBytes)
	var n int
	var from unix.Sockaddr
	err = uninterrupted(func() (err error) {
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

// A flow is one end of a TCP connection: the bound address and the connected address, of
// one family and not IPv4 mapped into IPv6.
type flow struct {
	src, dst netip.AddrPort
}

// newFlow returns the flow of a socket bound to src and connected to dst.
func newFlow(src, dst net.Addr) (f flow, err error) {
	var short [2]netip.AddrPort
	for i, addr := range []net.Addr{src, dst} {
		tcp, ok := addr.(*net.TCPAddr)
		if !ok || tcp == nil {
			return flow{}, fmt.Errorf("%v is not a TCP address", addr)
		}
		ap := tcp.AddrPort()
		if !ap.Addr().IsValid() || ap.Addr().Zone() != "" {
			return flow{}, fmt.Errorf("%v is not an address of one machine", addr)
		}
		short[i] = netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()) // a socket for both families shows IPv4 addresses as IPv6
	}
	f = flow{short[0], short[1]}
	if f.src.Addr().Is4() != f.dst.Addr().Is4() {
		return flow{}, fmt.Errorf("%v and %v are of two families", f.src, f.dst)
	}
	return f, nil
}

func (f flow) family() byte {
	if f.src.Addr().Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func (f flow) id() (id sockID) {
	binary.BigEndian.PutUint16(id.SrcPort[:], f.src.Port())
	binary.BigEndian.PutUint16(id.DstPort[:], f.dst.Port())
	copy(id.Src[:], f.src.Addr().AsSlice())
	copy(id.Dst[:], f.dst.Addr().AsSlice())
	return id
}

// request asks for exactly one socket, in any state, and not by its cookie.
func (f flow) request() []byte {
	r := diagRequest{Family: f.family(), Protocol: unix.IPPROTO_TCP, States: ^uint32(0), ID: f.id()}
	r.ID.Cookie = ^uint64(0)
	r.NlMsghdr = unix.NlMsghdr{Len: uint32(binary.Size(r)), Type: unix.SOCK_DIAG_BY_FAMILY, Flags: unix.NLM_F_REQUEST, Seq: 1}
	b, err := binary.Append(nil, binary.NativeEndian, r)
	if err != nil {
		panic("peercred: a plain struct does not encode: " + err.Error())
	}
	return b
}

// parseReply returns the user of the open socket at f.
func parseReply(reply []byte, f flow) (uid uint32, err error) {
	var header unix.NlMsghdr
	n, err := binary.Decode(reply, binary.NativeEndian, &header)
	if err != nil || header.Len < uint32(n) || uint64(header.Len) > uint64(len(reply)) {
		return 0, errors.New("sock_diag: answer of a wrong length")
	}
	body := reply[n:header.Len]
	switch header.Type {
	case unix.NLMSG_ERROR:
		var code int32
		if _, err := binary.Decode(body, binary.NativeEndian, &code); err != nil {
			return 0, errors.New("sock_diag: short error")
		}
		if errno := unix.Errno(-code); errno != unix.ENOENT {
			return 0, fmt.Errorf("sock_diag: %w", errno)
		}
		return 0, ErrUnknownPeer
	case unix.SOCK_DIAG_BY_FAMILY:
		return parseMessage(body, f)
	}
	return 0, fmt.Errorf("sock_diag: answer of kind %d", header.Type)
}

func parseMessage(body []byte, f flow) (uid uint32, err error) {
	var m diagMessage
	if _, err := binary.Decode(body, binary.NativeEndian, &m); err != nil {
		return 0, errors.New("sock_diag: short description of a socket")
	}
	address := func(field [16]byte, port [2]byte) netip.AddrPort {
		addr := netip.AddrFrom16(field).Unmap()
		if m.Family == unix.AF_INET {
			addr = netip.AddrFrom4([4]byte(field[:4]))
		}
		return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(port[:]))
	}
	// Without a connected socket the kernel looks for a listening one. A closed socket has no
	// inode, and the kernel shows it as root's.
	if (flow{address(m.ID.Src, m.ID.SrcPort), address(m.ID.Dst, m.ID.DstPort)}) != f || m.State == tcpListen || m.Inode == 0 {
		return 0, ErrUnknownPeer
	}
	return m.UID, nil
}
