// Package api has the paths, codes and JSON documents of the gateway's HTTP API.
// The server and all clients use these declarations; docs/openapi.yaml describes
// the same for people, and a test compares both.
package api

import (
	"net/http"
	"net/url"
	"time"
)

// Paths of the API. The functions below return the paths of single resources.
const (
	PathMessage   = "/message"
	PathMessages  = "/messages"
	PathSend      = "/send"
	PathChannels  = "/channels"
	PathApprovals = "/approvals"
	PathSchedules = "/schedules"
	PathRestart   = "/restart"
	PathMCP       = "/mcp"
	PathMounts    = "/mounts"
	PathObservers = "/observers"
	PathBags      = PathMCP + "/bags" // before the names of bags
	PathToolHost  = "/toolhost"       // before the paths of the tool host
	PathUpgrade   = "/upgrade"
	PathEvents    = "/events"
	PathHealth    = "/health"
	PathSettings  = "/settings"
	PathMetrics   = "/metrics"
	PathOpenAPI   = "/openapi.yaml"
)

// A MountedRoute is a method and a path that another room than the HTTP adapter serves.
type MountedRoute struct {
	Method, Pattern string
	// ChangesAll says that a request changes something of all channels: on the Unix socket, which the
	// agent's commands reach, it is refused while a channel may do more than the gateway.
	ChangesAll bool
}

// MCPRoutes returns what the MCP server serves.
func MCPRoutes() []MountedRoute { return mcpRoutes(PathMCP) }

// BagRoutes returns what the MCP servers of bags serve, which do not see PathBags.
func BagRoutes() []MountedRoute { return mcpRoutes(PathBags + "/{bag}") }

func mcpRoutes(pattern string) []MountedRoute {
	return []MountedRoute{
		{Method: http.MethodPost, Pattern: pattern},
		{Method: http.MethodGet, Pattern: pattern},
		{Method: http.MethodDelete, Pattern: pattern},
	}
}

// ToolHostRoutes returns what the tool host serves, which does not see PathToolHost.
func ToolHostRoutes() []MountedRoute {
	return []MountedRoute{
		{Method: http.MethodGet, Pattern: PathToolHost + "/health"},
		{Method: http.MethodGet, Pattern: PathToolHost + "/tools"},
		{Method: http.MethodDelete, Pattern: PathToolHost + "/tools/{name}", ChangesAll: true},
		{Method: http.MethodPost, Pattern: PathToolHost + "/call"},
		{Method: http.MethodPost, Pattern: PathToolHost + "/reload"},
		{Method: http.MethodPost, Pattern: PathToolHost + "/shutdown", ChangesAll: true},
	}
}

// ObserverRoutes returns what the APIs of observers serve, which see neither PathObservers nor an observer's id.
func ObserverRoutes() []MountedRoute {
	var all []MountedRoute
	for _, pattern := range []string{ObserverAPI + "/{resource}", ObserverAPI + "/{resource}/{part}"} {
		all = append(all,
			MountedRoute{Method: http.MethodGet, Pattern: pattern},
			MountedRoute{Method: http.MethodPost, Pattern: pattern},
		)
	}
	return all
}

// MessagePath returns the path of a message.
func MessagePath(id string) string { return PathMessages + "/" + url.PathEscape(id) }

// ChannelPath returns the path of a channel.
func ChannelPath(key string) string { return PathChannels + "/" + url.PathEscape(key) }

// BagPath returns the path of a bag of tools.
func BagPath(name string) string { return PathBags + "/" + url.PathEscape(name) }

// ApprovalPath returns the path of an approval.
func ApprovalPath(id string) string { return PathApprovals + "/" + url.PathEscape(id) }

// SchedulePath returns the path of a schedule.
func SchedulePath(id string) string { return PathSchedules + "/" + url.PathEscape(id) }

// Headers of requests and replies.
const (
	HeaderIdempotencyKey = "Idempotency-Key"
	HeaderReplayed       = "Idempotency-Replayed"
	HeaderLastEventID    = "Last-Event-ID"
)

// Defaults and limits that clients should know.
const (
	DefaultChannel = "http"
	MaxWait        = 5 * time.Minute // of GET /messages/{id}?wait=
)

// UntilParked is the value of the parameter until of GET /messages/{id} for clients
// that do not wait while the channel is parked.
const UntilParked = "parked"
