package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxBody bounds a request, in bytes.
const maxBody = 4 << 20

// sessionTimeout ends sessions of clients that were not heard of for so long.
const sessionTimeout = time.Hour

// statelessFrom is the first protocol version without sessions.
const statelessFrom = "2026-07-28"

// A Handler serves all versions of MCP, from 2024-11-05 to 2026-07-28, on one URL. The SDK has a
// handler for each kind of client, and the Handler chooses by the first request.
type Handler struct {
	stateful  http.Handler // sessions and streams, up to 2025-11-25
	stateless http.Handler // without sessions, from 2026-07-28
	plain     http.Handler // answers in JSON, for curl and scripts
}

// NewHandler returns a handler for an SDK server.
func NewHandler(server *sdk.Server, log *slog.Logger) *Handler {
	get := func(*http.Request) *sdk.Server { return server }
	options := sdk.StreamableHTTPOptions{Logger: log, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true} // the API has its own
	stateful, stateless, plain := options, options, options
	stateful.EventStore, stateful.SessionTimeout = sdk.NewMemoryEventStore(nil), sessionTimeout
	stateless.Stateless, stateless.PropagateRequestCancellation = true, true
	plain.Stateless, plain.JSONResponse = true, true
	return &Handler{sdk.NewStreamableHTTPHandler(get, &stateful), sdk.NewStreamableHTTPHandler(get, &stateless), sdk.NewStreamableHTTPHandler(get, &plain)}
}

// Handler returns a handler for the server's tools.
func (s *Server) Handler() *Handler { return NewHandler(s.sdk, s.log) }

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("Mcp-Protocol-Version") >= statelessFrom:
		h.stateless.ServeHTTP(w, r)
		return
	case r.Header.Get("Mcp-Session-Id") != "" || r.Method != http.MethodPost:
		h.stateful.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		status := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "the request could not be read: "+err.Error(), status)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	streams := strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/event-stream")
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Meta struct {
				Version string `json:"io.modelcontextprotocol/protocolVersion"`
			} `json:"_meta"`
		} `json:"params"`
	}
	err = json.Unmarshal(body, &m)
	switch {
	case err != nil && !json.Valid(body):
		writeError(w, nil, jsonrpc.CodeParseError, "the request is no JSON: "+err.Error())
	case m.Method != "" && m.ID != nil && !isMethod(m.Method):
		writeError(w, m.ID, jsonrpc.CodeMethodNotFound, "there is no method "+m.Method)
	case m.Method == "initialize" && streams:
		h.stateful.ServeHTTP(w, r)
	case streams || m.Params.Meta.Version != "":
		h.stateless.ServeHTTP(w, r)
	default:
		r.Header.Set("Accept", "application/json, text/event-stream") // which the SDK requires
		r.Header.Set("Content-Type", "application/json")
		h.plain.ServeHTTP(w, r)
	}
}

// writeError answers a request with a JSON-RPC error.
func writeError(w http.ResponseWriter, id json.RawMessage, code int64, text string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(encode(map[string]any{"jsonrpc": "2.0", "id": id, "error": &jsonrpc.Error{Code: code, Message: text}}), '\n')) // nobody else to tell
}
