package httpapi

import (
	"context"
	"net/http"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

// A settingsStore has the channels' own settings and rules.
type settingsStore interface {
	Settings(key core.ChannelKey) core.Settings
	ChangeSettings(ctx context.Context, key core.ChannelKey, model, mode *string) error
	RemoveRule(ctx context.Context, key core.ChannelKey, id string) error
}

// settings shows and changes the settings of channels.
type settings struct {
	core      settingsStore
	status    channelReader
	names     channelNames
	lifecycle *lifecycle
}

func (s *settings) routes() []route {
	return []route{
		{http.MethodGet, api.PathChannels, s.list},
		{http.MethodGet, "/channels/{key}", s.get},
		{http.MethodPatch, "/channels/{key}", s.change},
		{http.MethodGet, "/channels/{key}/rules", s.rules},
		{http.MethodDelete, "/channels/{key}/rules/{id}", s.removeRule},
	}
}

func (s *settings) list(w *response, r *http.Request) error {
	all, err := s.status.Channels(r.Context())
	if err != nil {
		return err
	}
	shown := api.Channels{Channels: make([]api.Channel, len(all))}
	for i := range all {
		own := s.core.Settings(all[i].Key)
		shown.Channels[i] = showChannel(&all[i], &own)
	}
	return w.show(http.StatusOK, &shown)
}

func (s *settings) get(w *response, r *http.Request) error {
	key, err := s.names.fromPath(r)
	if err != nil {
		return err
	}
	return s.show(w, r, key)
}

func (s *settings) show(w *response, r *http.Request, key core.ChannelKey) error {
	st, err := s.status.Channel(r.Context(), key)
	if err != nil {
		return err
	}
	own := s.core.Settings(st.Key)
	return w.show(http.StatusOK, showChannel(&st, &own))
}

// change sets the members of the request; an empty member resets the channel's setting.
// change is not served on the Unix socket: the agent's own commands reach the socket,
// and the agent must not change its own permissions.
func (s *settings) change(w *response, r *http.Request) error {
	key, err := s.names.fromPath(r)
	if err != nil {
		return err
	}
	if w.local {
		return refuse(http.StatusForbidden, api.NotOnSocket,
			"Settings are changed over TCP: this socket is open to the agent's own commands, and the agent must not change what it may do.")
	}
	if err := s.lifecycle.checkOpen(); err != nil {
		return err
	}
	var in api.ChannelChange
	if err := readBody(w, r, &in); err != nil {
		return err
	}
	if in.Model == nil && in.PermissionMode == nil {
		return badRequest(api.BadSetting, `Send "model", "permission_mode" or both; an empty text takes the setting back.`)
	}
	if err := s.core.ChangeSettings(r.Context(), key, in.Model, in.PermissionMode); err != nil {
		return err
	}
	return s.show(w, r, key)
}

func (s *settings) rules(w *response, r *http.Request) error {
	key, err := s.names.fromPath(r)
	if err != nil {
		return err
	}
	own := s.core.Settings(key)
	if len(own.Rules) == 0 {
		if err := s.names.mustExist(r.Context(), key); err != nil {
			return err
		}
	}
	shown := api.Rules{Channel: string(key), Rules: make([]api.Rule, len(own.Rules))}
	for i := range own.Rules {
		shown.Rules[i] = showRule(&own.Rules[i])
	}
	return w.show(http.StatusOK, &shown)
}

// removeRule removes a rule. The agent may remove rules too, because a removal only adds
// requests for permission.
func (s *settings) removeRule(w *response, r *http.Request) error {
	key, err := s.names.fromPath(r)
	if err != nil {
		return err
	}
	return remove(w, r, s.lifecycle, func(ctx context.Context, id string) error { return s.core.RemoveRule(ctx, key, id) })
}
