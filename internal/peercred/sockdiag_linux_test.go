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
	m := diagMessage{Family: f.family(), State: state, ID: f.id(), UID: uid, Inode: inode}
	return testAnswer(unix.SOCK_DIAG_BY_FAMILY, m)
}

func testAnswer(kind uint16, body any) []byte {
	header := unix.NlMsghdr{Len: uint32(unix.SizeofNlMsghdr + binary.Size(body)), Type: kind}
	b, _ := binary.Append(nil, binary.NativeEndian, header)
	b, _ = binary.Append(b, binary.NativeEndian, body)
	return b
}

func testError(errno unix.Errno) []byte { return testAnswer(unix.NLMSG_ERROR, -int32(errno)) }

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
		if err == nil && len(reply) < unix.SizeofNlMsghdr+binary.Size(diagMessage{}) {
			t.Errorf("%d bytes are taken for an answer", len(reply))
		}
	})
}
