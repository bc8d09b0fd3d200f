// Command bench measures the speed and the size of the gateway: `make bench`.
//
// It builds the program and a fake claude (internal/testkit/fakeclaude), runs the
// daemon as a real process with a home, a state directory and a port of its
// own, speaks HTTP to it as a client would, and prints a table for
// docs/performance.md. "Added" times are the daemon's and the session host's
// share: what the same fake claude takes on a bare pipe, measured in the same
// run, is taken off.
//
// With -baseline-cmd every figure is also taken of another program with the
// same HTTP interface, scenario by scenario in turn with ours, so that a ratio
// compares two measurements of one machine in one hour. The command is run by
// a shell with BARECLAW_PORT set, must listen on that port of 127.0.0.1 and
// must find its agent as `claude` on PATH.
//
// Every process carries a mark in its environment. What is left when a daemon
// has stopped is reported and ended, one pid at a time; the working directory
// is removed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"bareclaw/internal/exitcode"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if len(os.Args) == 2 && os.Args[1] == mountedRole {
		_ = serveMounted(ctx) // until the gateway ends it
		os.Exit(exitcode.OK)
	}
	if serveRole(os.Args[1:]) {
		os.Exit(exitcode.Failed)
	}
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the command line.
type options struct {
	quick          bool
	only           []string
	dir            string
	baselineCmd    string
	baselineClaude string
	program        string
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	all := strings.Join(names(), ", ")
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.quick, "quick", false, "fewer samples, shorter loads: a glance in less than 40 s")
	flags.Func("only", "run only these scenarios, separated by commas: "+all, func(list string) error {
		o.only = strings.Split(list, ",")
		for _, name := range o.only {
			if !slices.Contains(names(), name) {
				return fmt.Errorf("no scenario %q; there are %s", name, all)
			}
		}
		return nil
	})
	flags.StringVar(&o.dir, "dir", "", "put the state directories here; the figures are of this directory's disk (default: the directory for temporary files)")
	flags.StringVar(&o.baselineCmd, "baseline-cmd", "", "also measure the server that this shell `command` starts on BARECLAW_PORT")
	flags.StringVar(&o.baselineClaude, "baseline-claude", "", "the `program` that -baseline-cmd finds as claude (default: the same fake)")
	flags.StringVar(&o.program, "program", "", "measure this `binary` instead of building one")
	if err = flags.Parse(args); err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return o, err
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitcode.OK
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitcode.Usage
	}
	p := fullPlan()
	if o.quick {
		p = quickPlan()
	}
	r, err := measure(ctx, o, p, stderr)
	if err == nil {
		_, err = io.WriteString(stdout, r.markdown())
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitcode.Failed
	}
	return exitcode.OK
}
