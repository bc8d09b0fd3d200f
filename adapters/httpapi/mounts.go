package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

// MountedServers are the servers of other people whose tools the gateway offers.
type MountedServers interface {
	// Mounts returns how the servers do, by name.
	Mounts() api.Mounts
	// TestMount starts a server unless it runs, and returns the tools that it lists. It blocks until then. The
	// error is core.ErrNotFound for an unknown name, core.ErrClosed if the gateway ends, or says why there is no list.
	TestMount(ctx context.Context, name string) (api.Mount, error)
}

// mountedServers has the routes of the mounted servers.
type mountedServers struct{ *shared }

func (s *mountedServers) list(*response, *http.Request) (any, error) { return s.Servers.Mounts(), nil }

func (s *mountedServers) test(w *response, r *http.Request) (any, error) {
	if err := readOptionalBody(w, r, &struct{}{}); err != nil {
		return nil, err
	}
	tested, err := s.Servers.TestMount(r.Context(), pathParam(r, "name"))
	switch {
	case err == nil:
		return tested, nil
	case errors.Is(err, core.ErrNotFound):
		return nil, refuse(http.StatusNotFound, api.NotFound, noMount(s.Servers.Mounts()))
	case errors.Is(err, core.ErrClosed), r.Context().Err() != nil:
		return nil, err
	}
	return nil, refuse(http.StatusBadGateway, api.MountFailed, sentence(err))
}

// noMount says that there is no mounted server of a name, and which there are.
func noMount(all api.Mounts) string {
	if len(all.Mounts) == 0 {
		return "There is no mounted server with this name, nor any other."
	}
	var names []string
	for i := range all.Mounts {
		names = append(names, all.Mounts[i].Name)
	}
	return "There is no mounted server with this name; there are: " + strings.Join(names, ", ") + "."
}
