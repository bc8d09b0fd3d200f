// Package claude holds all knowledge about the claude CLI in its headless stream-JSON mode:
// command line and environment, the lines on its stdin, the events on its stdout, and the
// transcript, which tells the fate of a turn after a crash.
//
// The package starts no process and opens no socket. It speaks in core's types where a lane
// acts on a value.
//
// Two guarantees hold throughout. No output of claude can make the package fail for good:
// an unknown event type or field passes through untouched in Event.Raw, and a bad line is
// one error, not the end of the stream. And no value from outside becomes more than a
// value: neither a second line on stdin, nor a flag, nor a path.
//
// The facts in this package were measured with version 2.1.329 of the CLI; the recordings
// under testdata are real.
package claude
