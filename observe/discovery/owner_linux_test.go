package discovery

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
)

// strangerServer accepts connections on a port that it prints.
const strangerServer = `$| = 1; my $l = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1"); print $l->sockport, "\n"; my @all; push @all, $_ while $_ = $l->accept;`

// TestPortOfAnotherUser: an app of another user is not found, whatever a port file says.
func TestPortOfAnotherUser(t *testing.T) {
	t.Parallel()
	const perl = "/usr/bin/perl"
	if _, err := os.Stat(perl); err != nil || os.Getuid() != 0 {
		roottest.Unavailable(t, "only root can start a program of another user, and perl is needed for it")
	}
	const nobody = 65534
	cmd := exec.Command(perl, "-MIO::Socket::INET", "-e", strangerServer)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.StdoutPipe()
	check.OK(t, err)
	check.OK(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	check.OK(t, err)
	port, err := strconv.Atoi(strings.TrimSpace(line))
	check.OK(t, err)
	dir := tree(t, map[string]string{"": strconv.Itoa(port)})
	s := searchOf(nil, port)
	s.MaxDepth = 0
	found := s.Find(t.Context(), dir)
	if len(found.Apps) > 0 || !strings.Contains(strings.Join(found.Notes, "\n"), "a program of another user has port") {
		t.Errorf("found %+v", found)
	}
}
