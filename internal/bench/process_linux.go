package main

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A process is one that a server or its hosts started.
type process struct {
	pid  int
	args []string
}

// marked lists the processes that were started with the given NAME=value.
func marked(mark string) []process {
	var out []process
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(dir + "/environ")
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark+"\x00")) {
			continue // not ours, or gone
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		args, _ := os.ReadFile(dir + "/cmdline")
		out = append(out, process{pid: pid, args: strings.Split(string(args), "\x00")})
	}
	return out
}

// sizeOf returns a process's resident and proportional size in bytes.
func sizeOf(pid int) (rss, pss float64, err error) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 {
			continue
		}
		kib, _ := strconv.ParseFloat(words[1], 64)
		switch words[0] {
		case "Rss:":
			rss = kib * 1024
		case "Pss:":
			pss = kib * 1024
		}
	}
	return rss, pss, nil
}

// cpuOf returns how long the living threads of a process have run, to the
// nanosecond: the first field of schedstat (Documentation/scheduler/sched-stats.rst).
func cpuOf(pid int) time.Duration {
	var sum time.Duration
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/schedstat")
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(first, 10, 64)
		sum += time.Duration(ns)
	}
	return sum
}
