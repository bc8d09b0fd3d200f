package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
)

// An UpgradeOrder asks for another program in the place of this one.
type UpgradeOrder struct {
	Path     string          // of the program, absolute; empty with Rollback
	Rollback bool            // the program that was there before
	Channel  core.ChannelKey // that is told what became of it; may be empty
}

// ErrUpgrading refuses an upgrade or a restart while another one is under way.
var ErrUpgrading = errors.New("an upgrade cannot begin now")

// An Upgrade is what is known of the last one.
type Upgrade struct {
	State    string // trial, confirmed or went_back
	From, To string // versions
	Program  string // path of the file that was replaced
	Channel  core.ChannelKey
	Reason   string    // why it went back
	BeganAt  time.Time // when the program was put in place
	EndedAt  time.Time // zero while it is on trial
}

type upgradeShape struct {
	State   string          `json:"state"`
	From    string          `json:"from,omitempty"`
	To      string          `json:"to,omitempty"`
	Program string          `json:"program,omitempty"`
	Channel core.ChannelKey `json:"channel,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	BeganAt string          `json:"began_at,omitempty"`
	EndedAt string          `json:"ended_at,omitempty"`
}

// getUpgrade shows what became of the last upgrade.
func (s *Server) getUpgrade(w *response, _ *http.Request) error {
	if s.o.LastUpgrade == nil {
		return show(w, upgradeShape{State: "none"})
	}
	u, ok, err := s.o.LastUpgrade()
	switch {
	case err != nil:
		return err
	case !ok:
		return show(w, upgradeShape{State: "none"})
	}
	return show(w, upgradeShape{
		State: u.State, From: u.From, To: u.To, Program: u.Program, Channel: u.Channel, Reason: u.Reason,
		BeganAt: stamp(u.BeganAt), EndedAt: stamp(u.EndedAt),
	})
}

// postUpgrade has another program take over, on trial.
func (s *Server) postUpgrade(w *response, r *http.Request) error {
	var o UpgradeOrder
	err := s.withBody(w, r, func(dec *jsontext.Decoder) (err error) {
		o, err = decodeUpgrade(dec)
		return err
	})
	if err != nil {
		return err
	}
	if o.Channel != "" {
		if err := s.usable(r.Context(), o.Channel); err != nil {
			return err
		}
	}
	if s.Draining() && !isClosed(s.succession.begun) {
		return shuttingDown()
	}
	if s.o.Upgrade == nil {
		return refuse(http.StatusServiceUnavailable, "upgrade_failed", "This gateway cannot replace itself; do it by hand.")
	}
	switch err := s.o.Upgrade(r.Context(), o); {
	case errors.Is(err, core.ErrClosed):
		return err
	case errors.Is(err, ErrUpgrading):
		return refuse(http.StatusConflict, "upgrade_running", "Not now: "+err.Error())
	case err != nil:
		return refuse(http.StatusServiceUnavailable, "upgrade_failed", "The gateway goes on as it is: "+err.Error())
	}
	return w.json(http.StatusOK, []byte(`{"status":"restarting"}`+"\n"))
}

func decodeUpgrade(dec *jsontext.Decoder) (o UpgradeOrder, err error) {
	var channel *string
	err = object(dec, func(name string) (err error) {
		switch name {
		case "path":
			o.Path, err = str(dec, "bad_path", `"path"`)
		case "rollback":
			o.Rollback, err = boolean(dec, "bad_path", `"rollback"`)
		case "channel":
			var s string
			s, err = str(dec, "bad_channel", `"channel"`)
			channel = &s
		default:
			err = skip(dec)
		}
		return err
	})
	switch {
	case err != nil:
		return o, err
	case o.Rollback == (o.Path != ""):
		return o, badRequest("bad_path", `Send either "path", the program's file, or "rollback".`)
	case o.Path != "" && (o.Path[0] != '/' || strings.ContainsRune(o.Path, 0)):
		return o, badRequest("bad_path", `"path" must be an absolute path.`)
	}
	if channel != nil {
		o.Channel, err = parseKey(*channel)
	}
	return o, err
}
