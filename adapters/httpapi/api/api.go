// Package api has the paths, codes and JSON documents of the gateway's HTTP API.
// The server and all clients use these declarations; docs/openapi.yaml describes
// the same for people, and a test compares both.
package api

import (
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
	PathToolHost  = "/toolhost" // before the paths of the tool host
	PathUpgrade   = "/upgrade"
	PathHealth    = "/health"
	PathSettings  = "/settings"
	PathMetrics   = "/metrics"
	PathOpenAPI   = "/openapi.yaml"
)

// MessagePath returns the path of a message.
func MessagePath(id string) string { return PathMessages + "/" + url.PathEscape(id) }

// ChannelPath returns the path of a channel.
func ChannelPath(key string) string { return PathChannels + "/" + url.PathEscape(key) }

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
