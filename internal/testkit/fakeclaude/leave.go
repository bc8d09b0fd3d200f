package main

import (
	"os/exec"
	"syscall"
)

// leave starts a process that neither the turn nor this program waits for, as a
// Bash call does that puts something in the background with setsid.
func leave() {
	cmd := exec.Command("sleep", "3600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if cmd.Start() == nil { // else there is nothing to leave
		go func() { _ = cmd.Wait() }() // ends with the process, or this one
	}
}
