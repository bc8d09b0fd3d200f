package lanes

import (
	"encoding/json"
	"strings"
	"testing"

	"bareclaw/core"
)

// TestContinue: a turn that was cut in its work is continued under a new uuid, and the agent is told what it had begun.
func TestContinue(t *testing.T) {
	const cut = `begin one; announce; die; one failed interrupted "Done before that: Bash: make."; pending continue; `
	scenarios(t, map[string]string{
		"by approval, also in another life": `send one; ` + cut + `{wait 0s|crash; start}; decide continue allow; decided continue again; handed "cut short"
			handed "Bash: make"; handed one; answer again built; again answered built retryof=one; approval continue allowed retry=again; pending
			retry one more; more existing again; decide continue allow err=not_pending`,
		"by retry": `send one; ` + cut + `retry one again; handed "cut short"; handed "Bash: make"; handed one; answer again built; again answered built retryof=one
			approval continue allowed retry=again; pending; retry one more; more existing again; decide continue allow err=not_pending`,
		"dropped; who wants it all the same may have it": `send one; ` + cut + `decide continue deny message="never mind"; approval continue denied; pending
			retry one again; answer again built; again answered built; approval continue denied`,
		"dropped with time, or with the channel": `send one; ` + cut + `{wait 24h|reset}; pending; decide continue allow err=not_pending; {wait 0s|approval continue void}`,
		"what had not begun is just said again": `
			missing; send one; one failed agent_missing; pending; found; retry one again; turns one
			answer again hi; again answered hi
			retry again more err=not_failed; retry none more err=not_found`,
		"all messages of the turn": `
			send zero one two; answer zero ok; begin two; announce; die; two failed interrupted
			one failed interrupted "" into=two
			retry one again; handed "one,two"; answer again ok; again answered ok retryof=two; retry two more
			more existing again`,
	})
}

func TestContentAgainMixesTextAndBlocks(t *testing.T) {
	t.Parallel()
	image := json.RawMessage(`{"type":"image"}`)
	members := []*core.Message{
		{Channel: "c", Adapter: "http", Origin: core.Origin{User: "Ann"}, Content: core.Content{Text: "see"}},
		{Channel: "c", Adapter: "http", Origin: core.Origin{User: "Bob"}, Content: core.Content{Blocks: []json.RawMessage{image}},
			Reply: core.Reply{State: core.Failed, Code: core.CodeInterrupted}},
		{Channel: "c", Adapter: "http", Origin: core.Origin{User: "Bob"}, Content: core.Content{Text: "and say"},
			Reply: core.Reply{State: core.Failed, Code: core.CodeInterrupted, Done: "Read (x)"}},
	}
	c, err := core.RetryContent(members, &core.Turn{}, nil)
	if err != nil || c.Text != "" || len(c.Blocks) != 4 {
		t.Fatalf("content is %+v, %v", c, err)
	}
	for i, want := range []string{"Read (x)", "user: Bob", `{"type":"image"}`, "and say"} {
		if !strings.Contains(string(c.Blocks[i]), want) {
			t.Errorf("block %d is %s, want %q in it", i, c.Blocks[i], want)
		}
	}
	if !strings.Contains(string(c.Blocks[0]), "user: Ann") {
		t.Errorf("block 0 is %s", c.Blocks[0])
	}
}
