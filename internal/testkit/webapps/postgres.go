package webapps

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

// postgresPatience bounds how long a server may take to start.
const postgresPatience = 30 * time.Second

// postgres starts an empty PostgreSQL server, which ends with the test, and returns the directory of its socket.
// It has a user postgres, who needs no password.
func postgres(t testing.TB) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg") // short, as the socket's path must be
	check.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	server := &database{t: t, dir: dir}
	if err := server.prepare(); err != nil {
		if os.Getenv(require) == "1" {
			t.Fatal(err)
		}
		t.Skipf("tests with PostgreSQL SKIPPED: %v", err)
	}
	server.start()
	return dir
}

// A database is a PostgreSQL server.
type database struct {
	t    testing.TB
	dir  string // of its data and socket
	bin  string // of its programs
	user *syscall.SysProcAttr
}

// prepare finds the programs, and makes an empty database.
func (d *database) prepare() error {
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // of Debian
	if len(programs) == 0 {
		path, err := exec.LookPath("initdb")
		if err != nil {
			return errors.New("there is no PostgreSQL: install the package postgresql")
		}
		programs = []string{path}
	}
	d.bin = filepath.Dir(programs[len(programs)-1])
	if err := d.setUser(); err != nil {
		return err
	}
	init := d.command("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "-D", d.data())
	if out, err := init.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

// setUser has the server run as another user if this one is root, whom it refuses.
func (d *database) setUser() error {
	if os.Getuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(account.Uid) // which are numbers
	gid, _ := strconv.Atoi(account.Gid)
	d.user = &syscall.SysProcAttr{
		Credential: &syscall.Credential{
			Uid: uint32(uid),
			Gid: uint32(gid),
		},
	}
	return os.Chown(d.dir, uid, gid)
}

func (d *database) data() string { return filepath.Join(d.dir, "data") }

func (d *database) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(d.bin, name), args...)
	cmd.Dir = d.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TZ=UTC"}
	cmd.SysProcAttr = d.user
	return cmd
}

// start starts the server, and waits until it answers.
func (d *database) start() {
	d.t.Helper()
	server := d.command("postgres", "-D", d.data(), "-k", d.dir, "-c", "listen_addresses=", "-c", "fsync=off")
	check.OK(d.t, server.Start())
	d.t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT) // ends connections too
		_ = server.Wait()
	})
	check.Eventually(d.t, postgresPatience, "PostgreSQL answers", func() bool {
		return d.command("pg_isready", "-q", "-h", d.dir).Run() == nil
	})
}
