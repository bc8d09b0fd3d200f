package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/docs"
)

// ErrUpgrading refuses an upgrade or a restart while another upgrade or restart is under
// way.
var ErrUpgrading = errors.New("an upgrade cannot begin now")

// admin restarts and upgrades the gateway, and serves the API reference.
type admin struct {
	*shared

	restart     func(ctx context.Context) error
	upgrade     func(ctx context.Context, o api.UpgradeRequest) error
	lastUpgrade func() (api.Upgrade, error)
}

func (a *admin) routes() []route {
	return []route{
		{http.MethodPost, api.PathRestart, a.postRestart},
		{http.MethodGet, api.PathUpgrade, func(*response, *http.Request) (any, error) { return a.lastUpgrade() }},
		{http.MethodPost, api.PathUpgrade, withBody(a.postUpgrade)},
		{http.MethodGet, api.PathOpenAPI, func(w *response, _ *http.Request) (any, error) {
			return nil, w.bytes(http.StatusOK, "application/yaml", docs.OpenAPI())
		}},
	}
}

func (a *admin) postRestart(w *response, r *http.Request) (any, error) {
	if err := readOptionalBody(w, r, &struct{}{}); err != nil {
		return nil, err
	}
	return replaced(a.restart(r.Context()), api.RestartFailed)
}

// postUpgrade replaces the program, on trial.
func (a *admin) postUpgrade(_ *response, r *http.Request, o *api.UpgradeRequest) (any, error) {
	if err := a.checkOrder(r.Context(), o); err != nil {
		return nil, err
	}
	return replaced(a.upgrade(r.Context(), *o), api.UpgradeFailed)
}

// replaced answers that another process takes over, or why none does.
func replaced(err error, failed string) (any, error) {
	switch {
	case err == nil:
		return api.Restarting{Status: "restarting"}, nil
	case errors.Is(err, core.ErrClosed):
		return nil, err
	case errors.Is(err, ErrUpgrading):
		return nil, refuse(http.StatusConflict, api.UpgradeRunning, "Not now: "+err.Error())
	}
	return nil, refuse(http.StatusServiceUnavailable, failed, "The gateway continues as it is: "+err.Error())
}

func (a *admin) checkOrder(ctx context.Context, o *api.UpgradeRequest) error {
	switch {
	case o.Rollback == (o.Path != ""):
		return badRequest(api.BadPath, `Send either "path", the program's file, or "rollback".`)
	case o.Path != "" && (o.Path[0] != '/' || strings.ContainsRune(o.Path, 0)):
		return badRequest(api.BadPath, `"path" must be an absolute path.`)
	case o.Channel == "":
		return nil
	}
	key, err := parseKey(o.Channel)
	if err != nil {
		return err
	}
	return a.names.check(ctx, key)
}
