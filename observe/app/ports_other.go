//go:build !linux

package app

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// listeners returns the listeners of processes, as lsof(8) says, which macOS has.
func listeners(pids []int) ([]Listener, error) {
	names := make([]string, 0, len(pids))
	for _, pid := range pids {
		names = append(names, strconv.Itoa(pid))
	}
	return askLsof("-a", "-p", strings.Join(names, ","), "-iTCP")
}

// On returns the listeners on a port of this machine, of this user.
func On(port int) ([]Listener, error) { return askLsof("-iTCP:" + strconv.Itoa(port)) }

func askLsof(args ...string) ([]Listener, error) {
	out, err := exec.Command("lsof", append(args, "-nP", "-sTCP:LISTEN", "-Fpn")...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(out) == 0 {
		return nil, nil // nothing was found
	} else if err != nil && len(out) == 0 {
		return nil, fmt.Errorf("ask lsof for the ports: %w", err)
	}
	return parseLsof(out), nil
}

// parseLsof reads what lsof says with -Fpn: a line for each process, and one for each of its sockets.
func parseLsof(out []byte) (found []Listener) {
	pid := ""
	for line := range bytes.Lines(out) {
		kind, value := line[0], strings.TrimSpace(string(line[1:]))
		switch kind {
		case 'p':
			pid = value
		case 'n':
			at := strings.LastIndexByte(value, ':')
			if port, err := strconv.Atoi(value[at+1:]); err == nil {
				found = append(found, Listener{Port: port, Socket: pid + ":" + value})
			}
		}
	}
	return found
}
