package peercred

import (
	"net"

	"golang.org/x/sys/unix"
)

func unixPeer(fd int) (uid uint32, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return cred.Uid, nil
}

func unixPeerPID(fd int) (pid int, err error) {
	return unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
}

func tcpPeer(_, _ net.Addr) (uid uint32, ok bool, err error) { return 0, false, nil }
