// Command fakeclaude is a strict, scripted and fast stand-in for the `claude`
// command line program in headless stream-JSON mode. Process tests and
// benchmarks build it and put it where claude would be; it is never part of
// the product.
//
// It follows version 2.1.329 of the real program, as observed: the same events
// in the same order, the same rules for several messages (own turn, merged,
// folded into a running tool turn), the same transcript on disk, the same
// refusals. Where it simplifies, it is by leaving fields out.
//
// # Directives
//
// The first line of a message that is a directive says how the turn goes; a
// leading "[channel: …]" line is skipped. Words without an argument must be
// alone on their line. MS are milliseconds, N is a count, FILE a path.
//
//	echo TEXT           reply TEXT
//	prompt              reply the whole text as it arrived, prefix line included
//	size                reply "text=BYTES", not counting the prefix line
//	history             reply a JSON array of this session's user texts
//	pid args session    reply that of this process; args is a JSON array
//	env NAME            reply the variable's value, or "(unset)"
//	slow MS TEXT        a text turn of that length, in several deltas
//	wait FILE           a text turn that goes on until FILE exists
//	ticks FILE          numbered text deltas, "1 ", "2 " and so on, until FILE
//	                    exists, then "ticked N"
//	events N            N text deltas, then a reply
//	big N               a reply of N bytes
//	parts FILE N        N whole texts of 10,000 bytes, all but the first one once FILE
//	                    exists, then "N parts"
//	tool MS COMMAND     one Bash call of that length, then "final: OUTCOME"; a
//	                    COMMAND that begins with "ask " asks can_use_tool first
//	call TOOL INPUT     one call of any tool with that JSON, which asks
//	                    can_use_tool first, then "final: OUTCOME"
//	mcp FILE TOOL INPUT one call of a tool of the MCP server that the host is, with that
//	                    JSON, once FILE exists ("-": at once), then "final: OUTCOME"
//	mcpsend MESSAGE     send that JSON-RPC message to the server, reply the answer
//	tools               reply a JSON array of the server's tools
//	toolwait FILE       one Bash call that runs until FILE exists
//	interim FILE TEXT   TEXT, streamed for a second, then toolwait FILE
//	edit MS FILE        one Edit call of that length that changes one line of FILE to
//	                    another, then "edited FILE"
//	leave MS COMMAND    like tool, and the call leaves a process behind, in a
//	                    session of its own
//	background MS TEXT  a result now, and after MS one of its own with TEXT
//	once FILE DIRECTIVE DIRECTIVE if FILE can be created, else reply "again"
//	noresult [TEXT]     lifecycle completed without a result; TEXT, if any, is
//	                    in the transcript as the answer
//	apierror STATUS     the result of a failed API request
//	notloggedin         the result of a claude without credentials
//	maxturns [CODE]     error_max_turns; with CODE the process ends there
//	resultdie CODE      a result, then exit before lifecycle completed
//	die CODE            exit in mid turn
//	kill                SIGKILL to itself in mid turn
//	vanish              SIGKILL to itself before the turn is in the transcript
//	mute                never answers the turn, nor any interrupt
//	rubbish             lines that are not JSON on stdout, then a reply
//	longline N          one line of N bytes of an unknown type, then a reply
//	stderr N            N bytes on stderr, then a reply
//
// "/clear" resets the conversation, "/context" and "/compact" are answered
// locally. Any other text is answered "ok: TEXT", without the prefix line.
//
// # Environment
//
//	CLAUDE_CONFIG_DIR        where the transcript goes; without it there is
//	                         none, and every session id is accepted
//	FAKECLAUDE_NOTRANSCRIPT  not empty: no transcript, as above and as with
//	                         --no-session-persistence
//	FAKECLAUDE_TRANSCRIPT    late: nothing is on disk before the first turn has
//	                         ended (the real program writes within 0.1 s)
//	FAKECLAUDE_LOG           a file that gets one JSON line per event; see note
//	FAKECLAUDE_START         exit:CODE, hang, noinit or rubbish
//	FAKECLAUDE_START_ONCE    a file: START applies only if it can be created
//	FAKECLAUDE_INSTANT       not empty: the shortest path, for benchmarks; "realistic" at
//	                         the end of a message is a turn of 30 events
package main

import (
	"fmt"
	"io"
	"os"
)

// version is what the real program called itself when its behaviour was observed.
const version = "2.1.329"

func main() {
	os.Exit(run(os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// run is the program; it returns the exit code unless a directive ends the
// process first.
func run(args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags, err := parseFlags(args)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	if flags.version {
		fmt.Fprintf(stdout, "%s (Claude Code)\n", version)
		return 0
	}
	if getenv("FAKECLAUDE_INSTANT") != "" {
		return runInstant(flags, stdin, stdout)
	}
	s, err := newSession(flags, args, getenv, stdout, stderr)
	if err != nil {
		return refuse(err, stdout, stderr)
	}
	return s.run(stdin)
}
