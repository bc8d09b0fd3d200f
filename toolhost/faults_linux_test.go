package toolhost

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
)

// TestFullDisk: where nothing can be written, tools are not made, and no part of one is left. The
// tools directory is a mount, which a rollback cannot replace as a whole.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tools")
	check.OK(t, os.Mkdir(dir, 0o700))
	roottest.SmallDisk(t, dir, "1m")
	r := start(t, func(o *Options) { o.ToolsDir = dir })
	defer r.stop() // before the disk goes
	r.gives("dynamic_tool_create", creation(t, "made", "return 1"), `Tool 'made' created successfully. Call it now: tool_call with name "made".`)
	r.call("worker_snapshot", `{"name":"mine"}`)
	free := roottest.Fill(t, dir)
	before := entries(t, dir)
	r.refuses("dynamic_tool_create", creation(t, "made", "return 2 /*"+strings.Repeat("x", 10_000)+"*/"), "write the tool", "no space left")
	r.refuses("dynamic_tool_delete", `{"name":"hash_text"}`, "delete hash_text", "no space left")
	if now := entries(t, dir); !slices.Equal(now, before) {
		t.Errorf("the directory has %v, before %v", now, before)
	}
	r.gives("made", `{}`, "1")
	free()
	r.gives("dynamic_tool_create", creation(t, "made", "return 2"), `Tool 'made' created successfully. Call it now: tool_call with name "made".`)
	r.gives("worker_rollback", `{}`, "Rolled back to snapshot: "+r.ids("mine")[0])
	r.gives("made", `{}`, "1")

	check.OK(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	r.refuses("dynamic_tool_create", creation(t, "made", "return 3"), "write the tool", "read-only file system")
	r.refuses("dynamic_tool_delete", `{"name":"made"}`, "delete made", "read-only file system")
	r.refuses("worker_rollback", `{}`, "roll back to mine_", "read-only file system")
	r.gives("made", `{}`, "1")
	if s := r.now(); s.RestartCount != 0 || !s.Healthy {
		t.Errorf("the state is %+v", s)
	}
}

// TestFullDiskForSnapshots: a snapshot that has no room is refused, and no part of it is left. A
// rollback is refused while the present tools cannot be kept.
func TestFullDiskForSnapshots(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	check.OK(t, os.Mkdir(dir, 0o700))
	roottest.SmallDisk(t, dir, "1m")
	r := start(t, func(o *Options) { o.ToolsDir = filepath.Join(dir, "tools") })
	defer r.stop()
	r.write("mine.ts", file("mine", "Mine", "return 1;"))
	r.offers("mine", "Mine")
	free := roottest.Fill(t, dir)
	before := tree(t, filepath.Join(dir, "snapshots"))
	r.refuses("worker_snapshot", `{"name":"mine"}`, "keep a snapshot of the tools", "no space left")
	r.refuses("worker_rollback", `{}`, "keep a snapshot of the tools", "no space left")
	if now := tree(t, filepath.Join(dir, "snapshots")); now != before {
		t.Errorf("the snapshots are\n%s\nbefore\n%s", now, before)
	}
	r.gives("mine", `{}`, "1")
	free()
	r.gives("worker_rollback", `{}`, "Rolled back to snapshot: "+r.ids(initialName)[0])
	r.offers("mine", "")
}

// TestWithoutRights: the process has no privileges, no environment but some variables, and little
// memory and files.
func TestWithoutRights(t *testing.T) {
	t.Parallel()
	r := start(t)
	read := func(name string) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", r.state.child.pid, name))
		check.OK(t, err)
		return string(b)
	}
	for v := range strings.SplitSeq(strings.Trim(read("environ"), "\x00"), "\x00") {
		if name, _, _ := strings.Cut(v, "="); name != "" && !slices.Contains([]string{"TZ", "LANG", "TMPDIR"}, name) {
			t.Errorf("the environment has %s", v)
		}
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", r.state.child.pid))
	check.OK(t, err)
	for _, path := range threads {
		if b, err := os.ReadFile(path); err == nil && !strings.Contains(string(b), "NoNewPrivs:\t1") { // a thread may have ended
			t.Errorf("a thread can gain privileges: %s", b)
		}
	}
	limits := read("limits")
	for name, want := range map[string]string{"Max data size": "2147483648", "Max open files": "1024", "Max core file size": "0"} {
		_, line, _ := strings.Cut(limits, name)
		if fields := strings.Fields(line); len(fields) < 2 || fields[0] != want || fields[1] != want {
			t.Errorf("%s: %.60s, want %s", name, line, want)
		}
	}
	if dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", r.state.child.pid)); err != nil || dir != "/" {
		t.Errorf("the working directory is %s, %v", dir, err)
	}
	if group, err := syscall.Getpgid(r.state.child.pid); err != nil || group != r.state.child.pid {
		t.Errorf("the process group is %d, %v", group, err)
	}
}
