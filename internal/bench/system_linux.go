package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	mem "bareclaw/internal/memory"
)

// datasync makes the content of a file durable.
func datasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

func (m *machine) detail(dir string) error {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return fmt.Errorf("uname: %w", err)
	}
	m.system = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			m.cpu = strings.TrimSpace(value)
			break
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	m.load, _, _ = strings.Cut(string(load), " ")
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("statfs %s: %w", dir, err)
	}
	known := map[int64]string{ // statfs(2)
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
		unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs",
	}
	magic := int64(fs.Type) //nolint:unconvert // it is 32 bits wide on some systems
	if m.fileSystem = known[magic]; m.fileSystem == "" {
		m.fileSystem = fmt.Sprintf("type %#x", magic)
	}
	return nil
}

// ofProcess returns the path of a file that tells of a process.
func ofProcess(pid int, file string) string { return "/proc/" + strconv.Itoa(pid) + "/" + file }

// arguments returns the command line of a process.
func arguments(pid int) []string {
	args, _ := os.ReadFile(ofProcess(pid, "cmdline"))
	return strings.Split(string(args), "\x00")
}

// sizeOf returns a process's resident and proportional size in bytes.
func sizeOf(pid int) (rss, pss float64, err error) {
	size, err := mem.SizeOf(pid)
	return float64(size.Resident), float64(size.Proportional), err
}

// ownSizeOf returns the size of a process's own (anonymous) pages in bytes.
func ownSizeOf(pid int) (float64, error) {
	size, err := mem.SizeOf(pid)
	return float64(size.Anonymous), err
}

// cpuOf returns how long the living threads of a process have run, to the
// nanosecond: the first field of schedstat (Documentation/scheduler/sched-stats.rst).
func cpuOf(pid int) (sum time.Duration) {
	tasks, _ := filepath.Glob(ofProcess(pid, "task/*/schedstat"))
	for _, task := range tasks {
		text, _ := os.ReadFile(task) // none if the thread has ended
		first, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(first, 10, 64)
		sum += time.Duration(ns)
	}
	return sum
}
