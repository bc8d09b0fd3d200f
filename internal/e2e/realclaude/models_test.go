package realclaude

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/realclaude"
	"bareclaw/sessionhost/claude"
)

// TestRealModels holds that a chat is offered the models that the CLI itself offers.
func TestRealModels(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(realclaude.Path(t), "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
	cmd.Env = realclaude.Env(t.TempDir(), "http://127.0.0.1:9")
	cmd.Dir = t.TempDir()
	in, err := cmd.StdinPipe()
	check.OK(t, err)
	out, err := cmd.StdoutPipe()
	check.OK(t, err)
	check.OK(t, cmd.Start())
	_, err = in.Write(append(claude.InitializeLine("models", false), '\n'))
	check.OK(t, err)
	var names []string
	for lines := bufio.NewReader(out); names == nil; {
		line, err := lines.ReadBytes('\n')
		check.OK(t, err)
		var answer struct {
			Response struct {
				Response struct {
					Models []struct{ Value string }
				}
			}
		}
		_ = json.Unmarshal(line, &answer) // else it is another line
		for _, m := range answer.Response.Response.Models {
			names = append(names, m.Value)
		}
	}
	check.OK(t, in.Close())
	_ = cmd.Wait()
	names = slices.DeleteFunc(names, func(n string) bool { return n == "default" }) // the gateway's own word
	if !slices.Equal(names, claude.Models()) {
		t.Errorf("the CLI offers %s, and the gateway %s", strings.Join(names, ", "), strings.Join(claude.Models(), ", "))
	}
}
