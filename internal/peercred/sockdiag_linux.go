package peercred

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// The messages of sock_diag(7), which x/sys does not declare: <linux/netlink.h>
// struct nlmsghdr, <linux/inet_diag.h> struct inet_diag_sockid,
// inet_diag_req_v2 and inet_diag_msg. Addresses and ports are in network byte
// order, the rest in the machine's.
const (
	headerBytes  = unix.SizeofNlMsghdr
	requestBytes = headerBytes + 8 + sockidBytes
	sockidBytes  = 48
	messageBytes = 4 + sockidBytes + 20

	// maxReplyBytes leaves room for new attributes of later kernels.
	maxReplyBytes = 1024

	// tcpListen is TCP_LISTEN of <net/tcp_states.h>.
	tcpListen = 10
)

// A flow is one end of a TCP connection: the bound address and the connected address, of
// one family and not IPv4 mapped into IPv6.
type flow struct {
	src, dst netip.AddrPort
}

func (f flow) family() byte {
	if f.src.Addr().Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// request asks for exactly one socket.
func (f flow) request() []byte {
	native := binary.NativeEndian
	b := make([]byte, 0, requestBytes)
	b = native.AppendUint32(b, requestBytes)
	b = native.AppendUint16(b, unix.SOCK_DIAG_BY_FAMILY)
	b = native.AppendUint16(b, unix.NLM_F_REQUEST)
	b = native.AppendUint32(b, 1) // sequence
	b = native.AppendUint32(b, 0) // port id: the kernel fills it in
	b = append(b, f.family(), unix.IPPROTO_TCP, 0, 0)
	b = native.AppendUint32(b, ^uint32(0)) // sockets in any state
	b = f.appendSockid(b)
	b = native.AppendUint32(b, 0) // any interface
	// INET_DIAG_NOCOOKIE, twice: we have not seen this socket before.
	return native.AppendUint64(b, ^uint64(0))
}

// appendSockid appends ports and addresses in the layout of struct inet_diag_sockid.
func (f flow) appendSockid(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, f.src.Port())
	b = binary.BigEndian.AppendUint16(b, f.dst.Port())
	for _, addr := range []netip.Addr{f.src.Addr(), f.dst.Addr()} {
		field := make([]byte, 16)
		copy(field, addr.AsSlice())
		b = append(b, field...)
	}
	return b
}

// parseReply returns the user of the open socket at f.
func parseReply(reply []byte, f flow) (uid uint32, err error) {
	native := binary.NativeEndian
	if len(reply) < headerBytes {
		return 0, errors.New("sock_diag: short answer")
	}
	length := native.Uint32(reply)
	if length < headerBytes || uint64(length) > uint64(len(reply)) {
		return 0, errors.New("sock_diag: answer of a wrong length")
	}
	kind, body := native.Uint16(reply[4:]), reply[headerBytes:length]
	switch kind {
	case unix.NLMSG_ERROR:
		return 0, replyError(body)
	case unix.SOCK_DIAG_BY_FAMILY:
		return parseMessage(body, f)
	}
	return 0, fmt.Errorf("sock_diag: answer of kind %d", kind)
}

func replyError(body []byte) error {
	if len(body) < 4 {
		return errors.New("sock_diag: short error")
	}
	errno := unix.Errno(-int32(binary.NativeEndian.Uint32(body)))
	if errno == unix.ENOENT {
		return ErrUnknownPeer
	}
	return fmt.Errorf("sock_diag: %w", errno)
}

// parseMessage reads a struct inet_diag_msg.
func parseMessage(body []byte, f flow) (uid uint32, err error) {
	if len(body) < messageBytes {
		return 0, errors.New("sock_diag: short description of a socket")
	}
	family, state, id := body[0], body[1], body[4:]
	if got, ok := parseSockid(id, family); !ok || got != f || state == tcpListen {
		// Without a connected socket the kernel looks for a listening one.
		return 0, ErrUnknownPeer
	}
	native := binary.NativeEndian
	tail := id[sockidBytes:] // expires, rqueue, wqueue, uid, inode
	uid, inode := native.Uint32(tail[12:]), native.Uint32(tail[16:])
	if inode == 0 {
		// The socket is closed; the kernel shows every closed socket as root's.
		return 0, ErrUnknownPeer
	}
	return uid, nil
}

func parseSockid(id []byte, family byte) (flow, bool) {
	address := func(field []byte) (netip.Addr, bool) {
		switch family {
		case unix.AF_INET:
			return netip.AddrFrom4([4]byte(field[:4])), true
		case unix.AF_INET6:
			return netip.AddrFrom16([16]byte(field)).Unmap(), true
		}
		return netip.Addr{}, false
	}
	src, srcOK := address(id[4:20])
	dst, dstOK := address(id[20:36])
	return flow{
		src: netip.AddrPortFrom(src, binary.BigEndian.Uint16(id)),
		dst: netip.AddrPortFrom(dst, binary.BigEndian.Uint16(id[2:])),
	}, srcOK && dstOK
}
