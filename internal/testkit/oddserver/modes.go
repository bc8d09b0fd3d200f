package oddserver

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// modes are what an argument of the server sets, by name. An argument is a name, or a name and a value
// with = between them.
var modes = map[string]func(s *server, value string){
	// hang=METHOD: requests of the method are never answered.
	"hang": func(s *server, value string) { s.hangs = value },
	// rubbish: each line is answered with one that is not JSON.
	"rubbish": func(s *server, _ string) { s.rubbish = true },
	// greet: a line that is not JSON comes before the first answer.
	"greet": func(s *server, _ string) { s.write([]byte("Server is ready!")) },
	// exit=STATUS: the server ends at once, with words on stderr.
	"exit": func(_ *server, value string) {
		fmt.Fprintln(os.Stderr, "cannot start: no token")
		os.Exit(number(value))
	},
	// stderr=BYTES: that many bytes come on stderr.
	"stderr": func(_ *server, value string) { flood(number(value)) },
	// stubborn: the server ignores signals and the end of its input. It ends by SIGKILL.
	"stubborn": func(s *server, _ string) {
		s.stubborn = true
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	},
	// fork=FILE: a child stays when the server ends; FILE has its process id.
	"fork": func(s *server, value string) { s.must(fork(value, false)) },
	// leave=FILE: as fork, and the child has a session of its own.
	"leave": func(s *server, value string) { s.must(fork(value, true)) },
	// once=FILE: the modes that follow count if FILE can be created, as it can be once.
	"once": func(*server, string) {},
	// record=FILE: each line that the server reads is appended to FILE.
	"record": func(s *server, value string) { s.record = value },
	// environment=FILE: FILE has the server's environment, a variable a line.
	"environment": func(s *server, value string) { s.must(os.WriteFile(value, environment(), 0o600)) },
	// protocol=VERSION: the version that the server speaks, whatever the client asks for.
	"protocol": func(s *server, value string) { s.protocol = value },
	// describe=FILE: the description of act is the text of FILE, as it is when the tools are listed.
	"describe": func(s *server, value string) { s.describedBy = value },
	// tools=N: N further tools, tool_0 and so on.
	"tools": func(s *server, value string) { s.tools = append(s.tools, manyTools(number(value))...) },
	// later=FILE: a further tool, Later, as long as FILE exists.
	"later": func(s *server, value string) { s.later = value },
	// refused: further tools, each of which has something that SDKs or clients refuse.
	"refused": func(s *server, _ string) { s.tools = append(s.tools, refusedTools...) },
	// malformed: a further tool, whose form is not that of a tool.
	"malformed": func(s *server, _ string) { s.tools = append(s.tools, malformedTool) },
	// page=N: the tools are listed by pages of N.
	"page": func(s *server, value string) { s.pageSize = number(value) },
	// endless: each page of the list has a next one, which is the same.
	"endless": func(s *server, _ string) { s.endless = true },
	// changes=N: once the client is there, it hears N times that the list has changed.
	"changes": func(s *server, value string) { s.changes = number(value) },
}

// number returns the number that a mode's value is. The server ends if it is none.
func number(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
	return n
}
