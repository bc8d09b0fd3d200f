package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every transcript under testdata/fate was written by the CLI; its golden file
// lists the fate of every message of ours in it.
func TestRecordedFates(t *testing.T) {
	t.Parallel()
	ours := regexp.MustCompile(`aaaaaaaa-0000-4000-8000-[0-9a-f]{12}`)
	for _, path := range recordings(t, "testdata/fate/*.jsonl") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			uuids := ours.FindAllString(string(b), -1)
			slices.Sort(uuids)
			var got strings.Builder
			for _, u := range slices.Compact(uuids) {
				f, err := ReadFate(path, u)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&got, "%s begun=%v tool=%v answered=%v failed=%v code=%q interrupted=%v command=%v resendable=%v\n\ttext %.100q\n",
					tail(u), f.Begun, f.ToolBegun, f.Answered, f.Failed, f.Code, f.Interrupted, f.Command, f.Resendable(false), f.Text)
				for _, d := range f.Done {
					fmt.Fprintf(&got, "\tdone %s %q finished=%v\n", d.Name, d.Target, d.Finished)
				}
			}
			checkGolden(t, path, got.String())
		})
	}
}
