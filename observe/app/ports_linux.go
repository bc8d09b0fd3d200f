package app

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// socketTables list the TCP sockets of this network namespace: proc_pid_net(5).
var socketTables = []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"}

// stateListen is TCP_LISTEN of <net/tcp_states.h>, as the tables have it.
const stateListen = "0A"

// listeners returns the listeners of processes.
func listeners(pids []int) ([]Listener, error) {
	ports, err := listening()
	if err != nil {
		return nil, err
	}
	var found []Listener
	for _, pid := range pids {
		descriptors := fmt.Sprintf("/proc/%d/fd", pid)
		names, err := os.ReadDir(descriptors)
		if err != nil {
			continue // the process has ended, or belongs to another user
		}
		for _, name := range names {
			target, err := os.Readlink(filepath.Join(descriptors, name.Name()))
			if err != nil {
				continue // was closed
			}
			l := Listener{Port: ports[target], Socket: target}
			if l.Port > 0 && !slices.Contains(found, l) {
				found = append(found, l)
			}
		}
	}
	return found, nil
}

// On returns the listeners on a port of this machine, whoever has them.
func On(port int) ([]Listener, error) {
	ports, err := listening()
	if err != nil {
		return nil, err
	}
	var found []Listener
	for socket, p := range ports {
		if p == port {
			found = append(found, Listener{Port: p, Socket: socket})
		}
	}
	slices.SortFunc(found, func(a, b Listener) int { return strings.Compare(a.Socket, b.Socket) })
	return found, nil
}

// listening returns the ports of listening sockets, by what a descriptor of the socket links to.
func listening() (map[string]int, error) {
	ports := map[string]int{}
	for _, table := range socketTables {
		f, err := os.Open(table)
		if errors.Is(err, fs.ErrNotExist) {
			continue // no IPv6
		}
		if err != nil {
			return nil, fmt.Errorf("read the sockets: %w", err)
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			if port, socket, ok := parseSocket(lines.Text()); ok {
				ports[socket] = port
			}
		}
		_ = f.Close()
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("read the sockets: %w", err)
		}
	}
	return ports, nil
}

// parseSocket reads a line of a table: sl, local address, remote address, state, queues, timer,
// retransmits, uid, timeout, inode. It reports whether the socket listens.
func parseSocket(line string) (port int, socket string, ok bool) {
	const (
		local = 1
		state = 3
		inode = 9
	)
	fields := strings.Fields(line)
	if len(fields) <= inode || fields[state] != stateListen {
		return 0, "", false
	}
	_, hex, _ := strings.Cut(fields[local], ":")
	n, err := strconv.ParseUint(hex, 16, 16)
	return int(n), "socket:[" + fields[inode] + "]", err == nil
}
