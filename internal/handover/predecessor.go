package handover

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// A Predecessor is the old process as the new one sees it.
type Predecessor struct {
	link  *link
	files map[string]*os.File
}

// Inherited returns the process that this one is to replace, nil if there is
// none. It must be called before anything is started: what is inherited is closed
// to children here, and the environment no longer says anything of it. A
// service manager's variables that name a process are made to name this one.
func Inherited() (*Predecessor, error) {
	names := os.Getenv(variable)
	if names == "" {
		return nil, nil
	}
	if err := os.Unsetenv(variable); err != nil {
		return nil, fmt.Errorf("take over: %w", err)
	}
	if os.Getenv("WATCHDOG_PID") != "" {
		if err := os.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid())); err != nil {
			return nil, fmt.Errorf("take over: %w", err)
		}
	}
	p := &Predecessor{files: map[string]*os.File{}}
	for i, name := range strings.Split(names, ",") {
		fd := 3 + i
		syscall.CloseOnExec(fd)
		p.files[name] = os.NewFile(uintptr(fd), name)
	}
	var err error
	if p.link, err = newLink(p.files["control"]); err != nil {
		return nil, err
	}
	delete(p.files, "control")
	return p, nil
}

// File returns what was passed on under that name, nil if nothing was. The
// caller closes it.
func (p *Predecessor) File(name string) *os.File {
	f := p.files[name]
	delete(p.files, name)
	return f
}

// Listener is File for a listening socket.
func (p *Predecessor) Listener(name string) (net.Listener, error) {
	f := p.File(name)
	if f == nil {
		return nil, nil
	}
	defer func() { _ = f.Close() }()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("take over listener %s: %w", name, err)
	}
	return l, nil
}

// Fail tells why this process cannot take over.
func (p *Predecessor) Fail(err error) {
	_ = p.link.send(note{State: stateFailed, Error: err.Error()}) // it may have ended
}

// Ready tells that this process could take over, and waits until it may. After an
// error it must not: the predecessor has died.
func (p *Predecessor) Ready() error {
	err := p.link.send(note{State: stateReady})
	if err == nil {
		_, err = p.link.receive(stateGo)
	}
	for _, f := range p.files { // not asked for
		_ = f.Close()
	}
	return err
}

// Serving tells that this process owns everything. The path is where the
// predecessor may reach it with what it still holds.
func (p *Predecessor) Serving(path string) error {
	return p.link.send(note{State: stateServing, Path: path})
}

// Gone is blocked until the predecessor has ended.
func (p *Predecessor) Gone() {
	_, _ = p.link.receive("") // it says nothing more
}
