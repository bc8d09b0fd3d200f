package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// clockSlack is the permitted lag of the clock behind the gateway's newest file.
const clockSlack = 2 * time.Minute

// checkClock checks whether time moves forward. The clock of a machine without a battery
// begins in 1970, and budgets, schedules and certificates depend on the clock.
func checkClock(_ context.Context, l *look) []Finding {
	now := time.Now()
	paths := []string{l.Self}
	if dir := l.cfg.StateDir; dir != "" {
		paths = append(paths, filepath.Join(dir, "ledger.db"), filepath.Join(dir, "ledger.db-wal"))
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && info.ModTime().After(now.Add(clockSlack)) {
			return []Finding{problem("clock_behind", fmt.Sprintf("The clock says %s, and %s was written at %s.",
				now.Format(time.DateTime), path, info.ModTime().Format(time.DateTime)),
				"Budgets, schedules and the check of certificates go by the clock.", "set the clock: `timedatectl set-ntp true`")}
		}
	}
	return []Finding{ok("The clock says %s.", now.Format("2006-01-02 15:04:05 MST"))}
}
