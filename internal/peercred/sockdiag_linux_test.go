package peercred

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

func testFlow() flow {
	return flow{src: netip.MustParseAddrPort("127.0.0.1:4711"), dst: netip.MustParseAddrPort("127.0.0.1:3000")}
}

// testReply is the kernel's answer for the socket at f, made by hand.
func testReply(f flow, state byte, uid, inode uint32) []byte {
	native := binary.NativeEndian
	b := native.AppendUint32(nil, headerBytes+messageBytes)
	b = native.AppendUint16(b, unix.SOCK_DIAG_BY_FAMILY)
	b = append(b, make([]byte, 10)...) // flags, sequence, port id
	b = append(b, f.family(), state, 0, 0)
	b = f.appendSockid(b)
	b = append(b, make([]byte, 12)...) // interface, cookie
	b = append(b, make([]byte, 12)...) // expires, queues
	b = native.AppendUint32(b, uid)
	return native.AppendUint32(b, inode)
}

func testError(errno unix.Errno) []byte {
	b := binary.NativeEndian.AppendUint32(nil, headerBytes+4)
	b = binary.NativeEndian.AppendUint16(b, unix.NLMSG_ERROR)
	b = append(b, make([]byte, 10)...)
	return binary.NativeEndian.AppendUint32(b, uint32(-int32(errno)))
}

const established = 1

func TestParseReply(t *testing.T) {
	t.Parallel()
	f := testFlow()
	if uid, err := parseReply(testReply(f, established, 1000, 7), f); err != nil || uid != 1000 {
		t.Errorf("parseReply = %d, %v, want 1000", uid, err)
	}
	other := flow{src: f.dst, dst: f.src}
	rows := map[string][]byte{
		"no inode":      testReply(f, established, 0, 0),
		"listening":     testReply(f, tcpListen, 0, 7),
		"another flow":  testReply(other, established, 0, 7),
		"no such entry": testError(unix.ENOENT),
	}
	for name, reply := range rows {
		if _, err := parseReply(reply, f); !errors.Is(err, ErrUnknownPeer) {
			t.Errorf("%s: %v, want %v", name, err, ErrUnknownPeer)
		}
	}
	if _, err := parseReply(testError(unix.EPERM), f); !errors.Is(err, unix.EPERM) {
		t.Errorf("refused: %v, want %v", err, unix.EPERM)
	}
}

// TestParseReplyCutShort cuts a good answer everywhere.
func TestParseReplyCutShort(t *testing.T) {
	t.Parallel()
	f := testFlow()
	good := testReply(f, established, 0, 7)
	for n := range good {
		if _, err := parseReply(good[:n], f); err == nil {
			t.Errorf("cut to %d of %d bytes it is taken for an answer", n, len(good))
		}
		shorter := append([]byte(nil), good...)
		binary.NativeEndian.PutUint32(shorter, uint32(n))
		if _, err := parseReply(shorter, f); err == nil {
			t.Errorf("said to be %d of %d bytes long it is taken for an answer", n, len(good))
		}
	}
}

func FuzzParseReply(f *testing.F) {
	want := testFlow()
	f.Add(testReply(want, established, 1000, 7))
	f.Add(testReply(want, tcpListen, 1000, 7))
	f.Add(testError(unix.ENOENT))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, reply []byte) {
		uid, err := parseReply(reply, want)
		if err != nil && uid != 0 {
			t.Errorf("uid %d with error %v", uid, err)
		}
		if err == nil && len(reply) < headerBytes+messageBytes {
			t.Errorf("%d bytes are taken for an answer", len(reply))
		}
	})
}
