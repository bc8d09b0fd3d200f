// Package claude holds everything this program knows about the claude CLI in
// its headless stream-JSON mode: the command line and environment of a child,
// the lines written to its stdin, the events read from its stdout, and the
// transcript file that says what became of a turn after a crash.
//
// It starts no process and opens no socket. The session host uses it to launch
// and to answer claude, the daemon to read what the host passed on, recovery to
// read a transcript.
//
// Two guarantees hold throughout. Nothing claude prints can make the package
// fail for good: an unknown event type or field passes through untouched in
// Event.Raw, and a line that is not JSON is one error, not the end of the
// stream. And no value from outside ends up as more than a value: not as a
// second line on stdin, not as a flag, not as a path.
//
// The facts in this package were measured with version 2.1.329 of the CLI; the
// recordings under testdata are real.
package claude
