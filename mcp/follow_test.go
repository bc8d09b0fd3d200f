package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

func named(names ...string) (all []tools.Tool) {
	for _, name := range names {
		all = append(all, tools.Tool{Name: name, Input: json.RawMessage(`{"type":"object"}`), Handle: func(context.Context, tools.Call) (tools.Result, error) {
			return tools.Result{}, nil
		}})
	}
	return all
}

// few lets sessions use some tools.
type few struct{ tools.Policy }

func (few) View(core.ChannelKey) tools.View { return tools.ViewOf("a,b,c,d,e") }

// TestFollow holds that sessions get each change within 250 ms, a burst of changes once, and
// only the tools that sessions may use. What Offer has offered does not come again.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dynamic := tools.NewList("dynamic")
		registry, err := tools.NewRegistry(tools.Options{
			Log:     slog.New(slog.DiscardHandler),
			Policy:  few{},
			Sources: []tools.Source{tools.Fixed("gateway", named("b", "hidden", "a")...), dynamic},
		})
		check.OK(t, err)
		s := New(Options{Registry: registry, Name: Name, Version: "v1", Log: slog.New(slog.DiscardHandler)})
		var published []string // names of the tools
		var full atomic.Bool   // nothing can be published
		publish := func() error {
			if full.Load() {
				return errors.New("no space left on device")
			}
			var list struct{ Tools []struct{ Name string } }
			check.OK(t, json.Unmarshal(s.Answers("")[methodList], &list))
			published = append(published, strings.Trim(fmt.Sprint(list.Tools), "[]"))
			return nil
		}
		want := func(all ...string) {
			t.Helper()
			synctest.Wait()
			if fmt.Sprint(published) != fmt.Sprint(all) {
				t.Fatalf("published %q, want %q", published, all)
			}
		}
		s.Offer()
		check.OK(t, publish())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Follow(ctx, publish)
		}()
		time.Sleep(time.Hour)
		want("{a} {b}")
		for range 20 { // a burst
			check.OK(t, dynamic.Replace(named("d")))
			time.Sleep(time.Millisecond)
			check.OK(t, dynamic.Replace(named("c")))
		}
		time.Sleep(250 * time.Millisecond)
		want("{a} {b}", "{a} {b} {c}")
		check.OK(t, dynamic.Replace(nil))
		time.Sleep(250 * time.Millisecond)
		want("{a} {b}", "{a} {b} {c}", "{a} {b}")
		full.Store(true)
		check.OK(t, dynamic.Replace(named("e")))
		time.Sleep(time.Minute)
		full.Store(false)
		time.Sleep(publishPause)
		want("{a} {b}", "{a} {b} {c}", "{a} {b}", "{a} {b} {e}")
		cancel()
		<-done
		for view, want := range map[string]string{"e,none_such": "[{e}]", "all": "[{a} {b} {e} {hidden}]", "none": "[]"} {
			var list struct{ Tools []struct{ Name string } }
			check.OK(t, json.Unmarshal(s.Answers(view)[methodList], &list))
			if got := fmt.Sprint(list.Tools); got != want {
				t.Errorf("sessions with the view %s are offered %s, want %s", view, got, want)
			}
		}
	})
}
