package oddserver

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// maxLife bounds the life of processes that do not end by themselves, should a test forget them.
const maxLife = 5 * time.Minute

// fork starts a process that does not end with this one, and has its input and output. The process writes
// its process id to a file, and ends some time after the file is gone. away gives the process a session of
// its own.
func fork(file string, away bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, lingerer, file)
	cmd.Stdin = os.Stdin
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: away}
	if err := cmd.Start(); err != nil {
		return err
	}
	for !exists(file) {
		<-time.After(pollPause)
	}
	return nil
}

// linger ignores signals, writes the process id to a file, and returns once the file is gone.
func linger(file string) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	temp := file + ".new"
	if err := os.WriteFile(temp, fmt.Append(nil, os.Getpid()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(temp, file); err != nil { // appears whole
		return err
	}
	for end := time.Now().Add(maxLife); exists(file) && time.Now().Before(end); {
		<-time.After(10 * pollPause)
	}
	return nil
}

// lingerFor does nothing for some time.
func lingerFor(d time.Duration) { <-time.After(d) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// flood writes n bytes on stderr, in lines.
func flood(n int) {
	line := append(bytes.Repeat([]byte("e"), 99), '\n')
	for ; n > 0; n -= len(line) {
		_, _ = os.Stderr.Write(line[max(0, len(line)-n):])
	}
}

// environment returns the environment of this process, a variable a line.
func environment() []byte { return []byte(strings.Join(os.Environ(), "\n") + "\n") }
