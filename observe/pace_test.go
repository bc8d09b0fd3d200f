package observe

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestScanDoesNotFloodChat: of an hour in which each second shows a problem of another endpoint people are told in eleven
// messages at most, and of all problems; one that comes later is told as soon as the first one.
func TestScanDoesNotFloodChat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newToldApp(t, Tell)
		defer a.end()
		const problems = 900
		for i := range problems {
			a.sees(fmt.Sprint("GET /", i))
			time.Sleep(4 * time.Second)
		}
		pushed, _ := a.gateway.texts()
		if len(pushed) < 6 || len(pushed) > 11 {
			t.Errorf("%d messages in an hour", len(pushed))
		}
		if !strings.Contains(pushed[len(pushed)-1], "- and ") {
			t.Errorf("told: %s", pushed[len(pushed)-1])
		}
		time.Sleep(messageInterval)
		told := 0
		pushed, _ = a.gateway.texts()
		for _, text := range pushed {
			count := 0
			_, err := fmt.Sscanf(text, "**%d problem", &count)
			if err != nil {
				t.Errorf("%v: %s", err, text)
			}
			told += count
		}
		if told != problems {
			t.Errorf("told of %d problems of %d", told, problems)
		}
		time.Sleep(time.Hour)
		before := len(pushed)
		a.sees("GET /late")
		time.Sleep(gatherTime + time.Second)
		if pushed, _ = a.gateway.texts(); len(pushed) != before+1 {
			t.Errorf("%d messages after the scan", len(pushed)-before)
		}
	})
}

// TestNextIsGathered: what is found just after people were told waits for more, too.
func TestNextIsGathered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newToldApp(t, Tell)
		defer a.end()
		a.gateway.setAway(true)
		a.sees("GET /a")
		time.Sleep(gatherTime + firstRetry/2) // a try has failed
		a.sees("GET /b")
		a.gateway.setAway(false)
		time.Sleep(2 * firstRetry)
		a.sees("GET /c")
		time.Sleep(gatherTime + time.Second)
		if pushed, _ := a.gateway.texts(); len(pushed) != 2 || !strings.HasPrefix(pushed[1], "**2 problems** in ") {
			t.Errorf("told: %q", pushed)
		}
	})
}
