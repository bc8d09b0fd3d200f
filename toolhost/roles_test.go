package toolhost

const (
	daemonRole = "a-daemon"
	silentRole = "a-silent-tool-host"
)

func beDaemon(string) {}
func beSilent()       {}
