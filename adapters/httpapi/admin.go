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
	lastUpgrade func() (u api.Upgrade, ok bool, err error)
}

func (a *admin) routes() []route {
	return []route{
		{http.MethodPost, api.PathRestart, a.lifecycle.whileOpen(a.postRestart)},
		{http.MethodGet, api.PathUpgrade, a.getUpgrade},
		{http.MethodPost, api.PathUpgrade, a.lifecycle.whileOpen(a.postUpgrade)},
		{http.MethodGet, api.PathOpenAPI, func(w *response, _ *http.Request) error {
			return w.bytes(http.StatusOK, "application/yaml", docs.OpenAPI())
		}},
	}
}

func (a *admin) postRestart(w *response, r *http.Request) error {
	if err := readOptionalBody(w, r, &struct{}{}); err != nil {
		return err
	}
	if a.restart == nil {
		return refuse(http.StatusServiceUnavailable, api.RestartFailed, "This gateway cannot restart itself; start it again by hand.")
	}
	if err := a.restart(r.Context()); err != nil {
		if errors.Is(err, core.ErrClosed) {
			return err
		}
		return refuse(http.StatusServiceUnavailable, api.RestartFailed, "The gateway continues as it is: "+err.Error())
	}
	return w.show(http.StatusOK, api.Restarting{Status: "restarting"})
}

func (a *admin) getUpgrade(w *response, _ *http.Request) error {
	none := api.Upgrade{State: "none"}
	if a.lastUpgrade == nil {
		return w.show(http.StatusOK, &none)
	}
	u, ok, err := a.lastUpgrade()
	switch {
	case err != nil:
		return err
	case !ok:
		return w.show(http.StatusOK, &none)
	}
	return w.show(http.StatusOK, &u)
}

// postUpgrade replaces the program, on trial.
func (a *admin) postUpgrade(w *response, r *http.Request) error {
	var o api.UpgradeRequest
	if err := readBody(w, r, &o); err != nil {
		return err
	}
	if err := a.checkOrder(r.Context(), &o); err != nil {
		return err
	}
	if a.upgrade == nil {
		return refuse(http.StatusServiceUnavailable, api.UpgradeFailed, "This gateway cannot replace itself; do it by hand.")
	}
	switch err := a.upgrade(r.Context(), o); {
	case errors.Is(err, core.ErrClosed):
		return err
	case errors.Is(err, ErrUpgrading):
		return refuse(http.StatusConflict, api.UpgradeRunning, "Not now: "+err.Error())
	case err != nil:
		return refuse(http.StatusServiceUnavailable, api.UpgradeFailed, "The gateway continues as it is: "+err.Error())
	}
	return w.show(http.StatusOK, api.Restarting{Status: "restarting"})
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
