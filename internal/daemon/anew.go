package daemon

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalVariable is set in a daemon that starts anew in its own place: the number of a
// signal that came meanwhile.
const signalVariable = "BARECLAW_SIGNAL"

// keptSignal returns what was said to this process before it started anew; 0 is nothing.
func keptSignal() (syscall.Signal, error) {
	number := os.Getenv(signalVariable)
	if number == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(number)
	if err = errors.Join(err, os.Unsetenv(signalVariable)); err != nil {
		return 0, fmt.Errorf("find the signal that came meanwhile: %w", err)
	}
	return syscall.Signal(n), nil
}

// toldToEnd takes what waits of the signals, and returns the first that asks for the end
// of the gateway; 0 if none does.
func toldToEnd(signals <-chan os.Signal) syscall.Signal {
	for {
		select {
		case sig := <-signals:
			if sig != syscall.SIGHUP {
				return sig.(syscall.Signal)
			}
		default:
			return 0
		}
	}
}

// goOn is beginAnew for the program that this process runs: it keeps the lock, and hears of
// the signals that came meanwhile.
func (d *daemon) goOn(program string, signals <-chan os.Signal) error {
	var lock *os.File
	if runtime.GOOS == "linux" { // elsewhere the program may be another one by now
		lock, _ = dup(d.lock.File(), lockFile) // without it somebody else may be faster
	}
	return d.beginAnew(program, func(environ []string) []string {
		environ = slices.Clip(environ)
		if sig := toldToEnd(signals); sig != 0 {
			environ = append(environ, fmt.Sprintf("%s=%d", signalVariable, sig))
		}
		if lock != nil {
			syscall.ForkLock.Lock() // no child may have it
			if _, err := unix.FcntlInt(lock.Fd(), unix.F_SETFD, 0); err == nil {
				environ = append(environ, fmt.Sprintf("%s=%d", lockVariable, lock.Fd()))
			}
		}
		return environ
	})
}

// lockVariable is set in a daemon that starts anew in its own place: the number of the
// state directory's lock.
const lockVariable = "BARECLAW_LOCK"

// keptLock returns the lock that goOn has kept, nil if there is none.
func keptLock() (*os.File, error) {
	number := os.Getenv(lockVariable)
	if number == "" {
		return nil, nil
	}
	fd, err := strconv.Atoi(number)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
	}
	if err = errors.Join(err, os.Unsetenv(lockVariable)); err != nil {
		return nil, fmt.Errorf("find the lock of the state directory: %w", err)
	}
	return os.NewFile(uintptr(fd), lockFile), nil
}

// beginAnew replaces this process by one that begins, with what is added to its
// environment at the last moment. It only returns with an error.
func (d *daemon) beginAnew(program string, add func(environ []string) []string) error {
	d.close()
	environ, err := d.tether.keep(d.environ)
	if err == nil {
		environ, err = d.passed.keep(environ)
	}
	if err != nil {
		return err
	}
	if add != nil {
		environ = add(environ)
	}
	if err := syscall.Exec(program, append([]string{d.self}, os.Args[1:]...), environ); err != nil {
		return fmt.Errorf("start %s anew: %w", program, err)
	}
	return nil
}
