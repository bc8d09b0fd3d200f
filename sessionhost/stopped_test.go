package sessionhost

import (
	"os"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/proc"
	"bareclaw/internal/statemark"
	"bareclaw/internal/testkit/check"
)

// The lines with which claude begins a turn by itself, and a turn of the gateway's.
const (
	wakes     = `{"type":"command_lifecycle","command_uuid":"7b0e","state":"started","wakeup_source":"schedule_wakeup"}`
	beginsOwn = `{"type":"system","subtype":"init"}`
	beginsOne = `{"type":"system","subtype":"init","user_message_uuids":["1"]}`
)

// TestStoppedGatewaySpendsNothing has claude begin a turn by itself after a person has stopped the
// gateway: claude is ended, and the next daemon hears why. A turn that a daemon has handed over
// goes on, and so does claude while a daemon is there, or if the gateway was not stopped.
func TestStoppedGatewaySpendsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says                   string
		stopped, stays, handed bool // stays: the daemon; handed: a turn is under way
		ends                   bool
	}{
		"a schedule of its own":     {says: wakes, stopped: true, ends: true},
		"a background task":         {says: beginsOwn, stopped: true, ends: true},
		"a turn handed over before": {says: beginsOne, stopped: true},
		"a turn is under way":       {says: beginsOwn, stopped: true, handed: true},
		"a daemon is there":         {says: wakes, stopped: true, stays: true},
		"not stopped by a person":   {says: wakes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStation(t)
			st.shell(`until [ -e "$HOME/go" ]; do sleep 0.05; done; echo '` + c.says + `'; : > "$HOME/said"; while read -r line; do :; done`)
			s := st.start()
			s.until(core.Readied)
			if c.handed {
				s.hand("echo hello")
			}
			r := st.record()
			if !c.stays {
				s.Detach()
			}
			if c.stopped {
				check.OK(t, statemark.MarkStopped(st.o.StateDir))
			}
			st.touch("go")
			if !c.ends {
				st.eventually("claude has spoken", func() bool { return st.exists("said") })
				st.awaitIdleEnd()
				if !proc.Alive(r.ClaudePID, r.ClaudeStart) {
					t.Error("claude was ended")
				}
				return
			}
			st.gone("claude", r.ClaudePID, r.ClaudeStart)
			check.OK(t, statemark.ClearStopped(st.o.StateDir))
			s = st.attach(2)
			all := s.until(core.Exited)
			if exit := all[len(all)-1].Exit; exit.Reason != core.ExitOther || !strings.Contains(exit.Text, "began a turn by itself while the gateway was stopped") {
				t.Errorf("claude ended as %+v", exit)
			}
		})
	}
}

// TestTasksOfALaterDaemon: a later daemon knows what runs in the background.
func TestTasksOfALaterDaemon(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.shell(`echo '{"type":"system","subtype":"background_tasks_changed","tasks":[{"description":"dev server"},{}]}'; while read -r line; do :; done`)
	s := st.start()
	all := s.until(core.TasksChanged)
	s.Ack(all[len(all)-1].Seq)
	s.Detach()
	if got := st.attach(2).Info().Tasks; len(got) != 2 || got[0] != "dev server" || got[1] != "" {
		t.Errorf("tasks: %q", got)
	}
}

// TestWordsFromTheRecord has a later daemon hear nothing but the result of a turn, which has no
// words: they are in claude's transcript.
func TestWordsFromTheRecord(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	const turn = "0197f7a0-0000-7000-8000-000000000001"
	st.shell(`until [ -e "$HOME/go" ]; do sleep 0.05; done; echo '{"type":"result","subtype":"success","result":"","user_message_uuids":["` + turn + `"]}'; while read -r line; do :; done`)
	s := st.start()
	s.Ack(s.until(core.Readied)[0].Seq)
	dir := st.o.ConfigDir + "/projects/p"
	check.OK(t, os.MkdirAll(dir, 0o700))
	check.OK(t, os.WriteFile(dir+"/"+s.Info().SessionID+".jsonl", []byte(
		`{"type":"user","uuid":"`+turn+`","message":{"role":"user","content":"how many?"}}
{"type":"assistant","uuid":"a","parentUuid":"`+turn+`","message":{"stop_reason":"end_turn","content":[{"type":"text","text":"the answer is 42"}]}}
`), 0o600))
	s.Detach()
	s = st.attach(2)
	st.touch("go")
	all := s.until(core.Resulted)
	if got := all[len(all)-1].Result.Text; got != "the answer is 42" {
		t.Errorf("the result says %q", got)
	}
}
