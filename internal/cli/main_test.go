package cli

import (
	"bytes"
	"strings"
	"testing"

	"bareclaw/internal/exitcode"
)

func TestHelpIsGroupedAndSaysTheStatuses(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"help"}} {
		var out, errs bytes.Buffer
		if status := Main(args, nil, &out, &errs); status != exitcode.OK {
			t.Errorf("%v: exit status %d: %s", args, status, &errs)
		}
		for _, want := range []string{"Every day:", "Keep it running:", "Install:", "130 interrupted"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%v has no %q:\n%s", args, want, &out)
			}
		}
	}
	var out, errs bytes.Buffer
	if status := Main([]string{"help", "send"}, nil, &out, &errs); status != exitcode.OK || !strings.Contains(out.String(), "--idempotency-key") {
		t.Errorf("help send: %d\n%s%s", status, &out, &errs)
	}
	out.Reset()
	if status := Main([]string{"--version"}, nil, &out, &errs); status != exitcode.OK || !strings.HasPrefix(out.String(), "bareclaw ") {
		t.Errorf("--version: %d\n%s%s", status, &out, &errs)
	}
	if status := Main([]string{"--verbos"}, nil, &out, &errs); status != exitcode.Usage || errs.String() != "bareclaw: unknown flag --verbos\nTry: bareclaw --help\n" {
		t.Errorf("an unknown flag: %d\n%s", status, &errs)
	}
}
