package httpapi

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

// Observers are the observers of web apps on this machine. All methods are safe for concurrent use.
type Observers interface {
	// List returns those that run. It asks each how it does, and blocks for a second at most.
	List(ctx context.Context) api.Observers
	// Start starts one, and blocks until its address can be opened. The error is ErrTarget for a target that
	// cannot be observed, or says why there is no observer.
	Start(ctx context.Context, s api.StartObserver) (api.Observer, error)
	// Stop ends one, and blocks until it is gone. The error is core.ErrNotFound if none that runs has the id.
	Stop(ctx context.Context, id string) error
}

// ErrTarget means that an address is not one that an observer could pass requests on to. The error that wraps it
// says why.
var ErrTarget = errors.New("the target cannot be observed")

// observers has the routes of the observers.
type observers struct{ *shared }

func (s *observers) list(_ *response, r *http.Request) (any, error) {
	return s.Observers.List(r.Context()), nil
}

func (s *observers) post(w *response, r *http.Request, in *api.StartObserver) (any, error) {
	if err := s.check(r.Context(), in); err != nil {
		return nil, err
	}
	started, err := s.Observers.Start(r.Context(), *in)
	switch {
	case err == nil:
		return nil, w.show(http.StatusCreated, started)
	case errors.Is(err, ErrTarget):
		return nil, badRequest(api.BadTarget, "%s", sentence(err))
	case errors.Is(err, core.ErrClosed), r.Context().Err() != nil:
		return nil, err
	}
	return nil, refuse(http.StatusBadGateway, api.ObserverFailed, sentence(err))
}

// check checks a request for an observer, but not its target.
func (s *observers) check(ctx context.Context, in *api.StartObserver) error {
	info, err := os.Stat(in.Dir)
	switch {
	case !filepath.IsAbs(in.Dir) || strings.ContainsRune(in.Dir, 0):
		return badRequest(api.BadDir, `"dir" must be the absolute path of the app's directory.`)
	case err != nil || !info.IsDir():
		return badRequest(api.BadDir, `There is no directory at the path in "dir".`)
	case in.Target == "":
		return badRequest(api.BadTarget, `Missing "target" field: give the address at which the app answers, such as http://localhost:3000.`)
	case in.Port < 0 || in.Port > 65535:
		return badRequest(api.BadPort, `"port" must be from 1 to 65535; left out, a free one is taken.`)
	case in.Notify != "" && in.Notify != api.NotifyTell && in.Notify != api.NotifyOff:
		return badRequest(api.BadNotify, `"notify" must be tell or off; an observer that has findings fixed is started by `+"`bareclaw observe --notify fix`.")
	case in.Channel == "":
		return nil
	}
	key, err := parseKey(in.Channel)
	if err != nil {
		return err
	}
	return s.checkChannel(ctx, key)
}

func (s *observers) remove(_ *response, r *http.Request) (any, error) {
	id := pathParam(r, "id")
	err := s.Observers.Stop(r.Context(), id)
	switch {
	case err == nil:
		return api.Removed{Status: "ended", ID: id}, nil
	case errors.Is(err, core.ErrNotFound):
		return nil, refuse(http.StatusNotFound, api.NotFound, "No observer with this id runs; GET /observers lists all that do.")
	case r.Context().Err() != nil:
		return nil, err
	}
	return nil, refuse(http.StatusBadGateway, api.ObserverFailed, sentence(err))
}
