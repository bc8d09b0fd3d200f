package config

import (
	"os"
	"slices"
	"testing"

	"bareclaw/internal/testkit/check"
)

func TestExamineTellsWhatItCanOfAWrongConfiguration(t *testing.T) {
	first, second := world(t)
	for _, name := range []string{"BARECLAW_PORT", "BARECLAW_QUEUE_LIMIT", "BARECLAW_HTTP_TOKEN", "BARECLAW_MAX_TURNS", "SOME_API_KEY", "EMPTY_TOKEN"} {
		unset(t, name)
	}
	write(t, first, "BARECLAW_PORT=x\nBARECLAW_QUEUE_LIMIT=7\nBARECLAW_MAX_TURNS=0\nBARECLAW_HTTP_TOKEN=a-secret\nSOME_API_KEY=k\nEMPTY_TOKEN=\n")
	check.OK(t, os.Chmod(first, 0o644))
	r := Examine(AsGateway)
	if len(r.Problems) != 2 || !r.Wrong("BARECLAW_PORT") || !r.Wrong("BARECLAW_MAX_TURNS") || r.Wrong("BARECLAW_QUEUE_LIMIT") {
		t.Errorf("problems: %v", r.Problems)
	}
	if r.Config.Turns.QueueLimit != 7 || r.Config.HTTP.Token.Reveal() != "a-secret" || r.Config.HTTP.Port != 0 || r.Config.StateDir() == "" {
		t.Errorf("config: %+v", r.Config)
	}
	if len(r.Files) != 2 {
		t.Fatalf("files: %+v", r.Files)
	}
	got := r.Files[0]
	if got.Path != first || !got.Found || got.Mode != 0o644 || got.Owner != os.Getuid() || !slices.Equal(got.Secrets, []string{"BARECLAW_HTTP_TOKEN", "SOME_API_KEY"}) {
		t.Errorf("first file: %+v", got)
	}
	if got := r.Files[1]; got.Path != second || got.Found {
		t.Errorf("second file: %+v", got)
	}
}
