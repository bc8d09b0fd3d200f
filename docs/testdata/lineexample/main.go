// Command lineexample serves the adapter of docs/adapters.md on a core of its
// own. A test builds it with that adapter laid over the source tree; it is not
// part of the program.
//
// Usage: lineexample DIR SELF AGENT… where DIR is an empty directory with a
// short path, SELF a program that can be a session host, and AGENT the command
// that answers. The socket is DIR/line.sock. A line on stdin is pushed to the
// conversation "line-ann"; the end of stdin ends it all.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"bareclaw/adapters/line"
	"bareclaw/core"
	"bareclaw/core/lanes"
	"bareclaw/core/ledger"
	"bareclaw/core/sessionfile"
	"bareclaw/sessionhost"
	"bareclaw/sessionhost/claude"
)

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "lineexample:", err)
		os.Exit(1)
	}
}

func run(dir, self string, agent []string) (err error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	records, err := ledger.Open(filepath.Join(dir, "ledger.db"), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Close()) }()
	sessions, err := sessionfile.Open(filepath.Join(dir, "sessions.json"), log)
	if err != nil {
		return err
	}
	defer func() { _ = sessions.Close() }()
	hosts, err := sessionhost.New(sessionhost.Options{
		StateDir: dir, RuntimeDir: dir, Self: self, Dir: dir, ConfigDir: filepath.Join(dir, "claude"),
		Env: os.Environ(), Program: func() ([]string, error) { return agent, nil },
		Launch: claude.Launch{MaxTurns: 25, AllowedTools: "Read"}, Lasting: true,
		Generation: 1, StartTimeout: time.Minute, Log: log,
	})
	if err != nil {
		return err
	}
	manager := lanes.New(lanes.Options{Ledger: records, Agent: hosts, Sessions: sessions, Log: log})
	if err := manager.Recover(context.Background()); err != nil {
		return err
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "line.sock"))
	if err != nil {
		return err
	}
	push := &core.PushRegistry{}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	failed := make(chan error, 1)

	adapter := &line.Adapter{Core: manager, Push: push}
	go func() { failed <- adapter.Serve(ctx, listener) }() // ends when the listener is closed

	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := push.Send(ctx, core.Push{Channel: "line-ann", Text: in.Text()}); err != nil {
			return err
		}
	}
	_ = listener.Close()
	if err := <-failed; !errors.Is(err, net.ErrClosed) {
		return err
	}
	end, cancelEnd := context.WithTimeout(context.Background(), time.Minute)
	defer cancelEnd()
	return manager.Shutdown(end)
}
