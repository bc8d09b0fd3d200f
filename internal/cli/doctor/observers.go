package doctor

import (
	"context"
	"fmt"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/internal/humanize"
	"bareclaw/internal/mdtext"
	"bareclaw/observe/discovery"
)

// checkObservers examines the records of observers of web apps, and how those do that run, as the gateway says.
func checkObservers(_ context.Context, r *report) {
	records := discovery.RecordsOf(r.cfg.StateDir())
	all, err := records.All()
	if err != nil {
		r.warning("observer_record_unreadable", "Records of observers cannot be read: "+mdtext.Ended(err.Error()),
			"Nobody finds these observers, if they run.", "")
	}
	running := 0
	for i := range all {
		switch {
		case !records.IsLeft(&all[i]):
			running++
		case !records.IsTold(&all[i]):
			r.judgeDead(&all[i])
		}
	}
	if now, err := r.observers(); err == nil {
		r.judgeObservers(&now)
	}
	switch {
	case len(r.found) > 0:
	case running == 0:
		r.ok("No web app is observed.")
	default:
		r.ok("%s observed.", humanize.Count(running, "web app"))
	}
}

// judgeDead reports an observer that has died, and of which the people of its channel do not know yet.
func (r *report) judgeDead(dead *discovery.Record) {
	what := fmt.Sprintf("The observer of %s (pid %d) has died.", dead.Dir, dead.PID)
	command := "`bareclaw observe` in that directory starts another one"
	if _, err := r.health(); err != nil {
		r.warning("observer_dead", what, "The app may still run, and nobody has been told: the gateway tells it, and ends what is left, when it runs.", startGateway)
		return
	}
	r.warning("observer_dead", what, "Nobody looks at the app, and nobody could be told on its channel yet.", command)
}

// judgeObservers reports what the gateway says of the observers that run.
func (r *report) judgeObservers(now *api.Observers) {
	for _, twins := range now.Twins() {
		r.warning("observers_in_one_directory", twins, "Tools and people do not know which one to ask.", "bareclaw observe stop ID")
	}
	for i := range now.Observers {
		o := &now.Observers[i]
		if o.Problem != "" {
			r.warning("observer_silent", mdtext.Ended(fmt.Sprintf("The observer %s of %s (pid %d) does not answer: %s", o.ID, o.Dir, o.PID, o.Problem)),
				"Its findings cannot be seen.", "bareclaw observe stop "+o.ID)
		}
		for _, problem := range o.Problems {
			r.warning("observer_impaired", mdtext.Ended(fmt.Sprintf("The observer %s of %s: %s", o.ID, o.Dir, problem)),
				"Problems of the app may be missed or forgotten.", "")
		}
	}
}

// observerProblems returns the problems of the gateway that checkObservers tells.
func (r *report) observerProblems() []string {
	now, err := r.observers()
	if err != nil {
		return nil
	}
	return now.Problems()
}
