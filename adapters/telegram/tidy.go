package telegram

import (
	"context"
	"time"

	"bareclaw/core"
)

// tidyEvery is how often what nobody needs any more is forgotten.
const tidyEvery = time.Hour

// tidy forgets, until ctx ends, what messages were about long ago.
func (a *Adapter) tidy(ctx context.Context) {
	for ctx.Err() == nil {
		var old []core.RecordRange
		for _, prefix := range []string{recordRef, recordSource, recordAdopted, recordEdit, recordAnswers, recordReply, recordCooldown, recordStop, recordStopped} {
			old = append(old, core.RecordRange{Owner: Name, Prefix: prefix, Before: time.Now().Add(-refKept)})
		}
		if err := a.o.Core.ForgetRecords(ctx, old...); err != nil && ctx.Err() == nil {
			a.o.Log.Warn("telegram: old records are kept", "err", err)
		}
		pause(ctx, tidyEvery)
	}
}
