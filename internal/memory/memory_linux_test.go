package memory

import (
	"testing"
	"testing/fstest"
)

func TestTotal(t *testing.T) {
	t.Parallel()
	if got := Total(); got < 64<<20 || got > 1<<50 {
		t.Errorf("%d bytes", got)
	}
}

func TestAvailable(t *testing.T) {
	t.Parallel()
	if got := Available(); got == 0 || got > Total() {
		t.Errorf("%d bytes of %d", got, Total())
	}
}

func TestParseAvailable(t *testing.T) {
	t.Parallel()
	for meminfo, want := range map[string]uint64{
		"MemTotal:  9 kB\nMemFree:  1 kB\nMemAvailable:     1234 kB\nBuffers: 1 kB\n": 1234 << 10,
		"MemAvailable: 7":                   7 << 10,
		"MemTotal:  9 kB\nMemFree:  1 kB\n": 0,
		"MemAvailable:":                     0,
		"MemAvailable: many kB":             0,
		"":                                  0,
	} {
		if got := parseAvailable([]byte(meminfo)); got != want {
			t.Errorf("%q: %d, want %d", meminfo, got, want)
		}
	}
}

const (
	none = "9223372036854771712\n" // in version 1

	mountsV2   = "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n36 31 0:28 /a /mnt/part rw - cgroup2 cgroup2 rw\n"
	mountsBoth = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" +
		"35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)

func TestLimit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"no control groups": {nil, 0},
		"own group": {map[string]string{
			"proc/self/cgroup": "0::/user.slice/app.service\n",
			"sys/fs/cgroup/user.slice/app.service/memory.max": "1073741824\n", "sys/fs/cgroup/user.slice/memory.max": "max\n",
		}, 1 << 30},
		"a group above": {map[string]string{
			"proc/self/cgroup": "0::/user.slice/app.service\n",
			"sys/fs/cgroup/user.slice/app.service/memory.max": "max\n", "sys/fs/cgroup/user.slice/memory.max": "536870912\n",
		}, 512 << 20},
		"the least of several": {map[string]string{
			"proc/self/cgroup":               "0::/a/b/c\n",
			"sys/fs/cgroup/a/b/c/memory.max": "3000\n", "sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/memory.max": "2000\n",
		}, 1000},
		"a container with a namespace": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "268435456\n",
		}, 256 << 20},
		"a container without one": {map[string]string{
			"proc/self/cgroup": "0::/docker/0123\n", "sys/fs/cgroup/memory.max": "268435456\n",
		}, 256 << 20},
		"outside of the namespace's root": {map[string]string{
			"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "4096\n",
		}, 4096},
		"no limit": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n",
		}, 0},
		"version 1": {map[string]string{
			"proc/self/mountinfo": mountsBoth,
			"proc/self/cgroup":    "12:cpu,cpuacct:/x\n4:memory:/docker/0123\n0::/\n",
			"sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes": "52428800\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":             none,
		}, 50 << 20},
		"version 1 without a limit": {map[string]string{
			"proc/self/mountinfo": mountsBoth,
			"proc/self/cgroup":    "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": none,
		}, 0},
		"both versions": {map[string]string{
			"proc/self/mountinfo":                        mountsBoth,
			"proc/self/cgroup":                           "4:memory:/\n0::/a\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "2048\n", "sys/fs/cgroup/unified/a/memory.max": "1024\n",
		}, 1024},
		"other mount points": {map[string]string{
			"proc/self/mountinfo":               "40 27 0:30 / /dev/memcg rw - cgroup none rw,cpu,memory\n41 27 0:31 / /cgroup2 rw - cgroup2 none rw\n",
			"proc/self/cgroup":                  "4:cpu,memory:/x\n0::/a\n",
			"dev/memcg/x/memory.limit_in_bytes": "8192\n", "cgroup2/a/memory.max": "9000\n",
		}, 8192},
		"no mount": {map[string]string{
			"proc/self/mountinfo": "\nx\n - \n1 2 3:4 / /sys rw - sysfs\n", "proc/self/cgroup": "0::/a\n", "a/memory.max": "1\n",
		}, 0},
		"rubbish": {map[string]string{
			"proc/self/cgroup": "\n:\n0:\nx::/\n0::/\n", "sys/fs/cgroup/memory.max": "lots\n",
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := fstest.MapFS{"proc/self/mountinfo": {Data: []byte(mountsV2)}}
			for name, text := range tc.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := limit(root); got != tc.want {
				t.Errorf("limit of %d bytes, want %d", got, tc.want)
			}
		})
	}
}
