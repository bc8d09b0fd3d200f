package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// startFault does what FAKECLAUDE_START asks for, unless FAKECLAUDE_START_ONCE
// names a file that exists.
func (s *session) startFault() error {
	fault, arg, _ := strings.Cut(s.getenv("FAKECLAUDE_START"), ":")
	if guard := s.getenv("FAKECLAUDE_START_ONCE"); guard != "" && fault != "" && !created(guard) {
		return nil
	}
	switch fault {
	case "":
		return nil
	case "exit":
		code, err := strconv.Atoi(arg)
		if err != nil {
			return fmt.Errorf("fakeclaude: FAKECLAUDE_START=exit:CODE: %w", err)
		}
		fmt.Fprintln(s.stderr, "fakeclaude: told to exit at start")
		s.exit(code)
	case "hang":
		<-s.terminated // stdin is never read
		s.exit(exitTerminated)
	case "noinit":
		s.noInit = true
	case "rubbish":
		if _, err := s.stdout.Write([]byte("Welcome to claude!\n{\"half\": \n")); err != nil {
			return fmt.Errorf("fakeclaude: write stdout: %w", err)
		}
	case "slow":
		ms, err := strconv.Atoi(arg)
		if err != nil {
			return fmt.Errorf("fakeclaude: FAKECLAUDE_START=slow:MS: %w", err)
		}
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
		case <-s.terminated:
			s.exit(exitTerminated)
		}
	default:
		return fmt.Errorf("fakeclaude: unknown FAKECLAUDE_START=%s", fault)
	}
	return nil
}
