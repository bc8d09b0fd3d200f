package api

import (
	"context"
	"net/http"
)

// Functions are what a tool with permissions may call. Fetch belongs to the permission "network",
// the others belong to "filesystem". The error of a function is thrown in the tool. Functions
// are called from several goroutines, and must return soon after ctx ends.
type Functions interface {
	Fetch(ctx context.Context, r FetchRequest) (FetchResponse, error)
	ReadFile(ctx context.Context, path string) ([]byte, error)
	WriteFile(ctx context.Context, path string, data []byte) error
	ListFiles(ctx context.Context, path string) ([]string, error) // names in a directory
}

// A FetchRequest is a call of fetch.
type FetchRequest struct {
	URL    string      `json:"url"`
	Method string      `json:"method"`
	Header http.Header `json:"headers"`
	Body   []byte      `json:"body"`
	// Redirect says what becomes of an answer that leads elsewhere: "follow", which empty means too, "manual"
	// or "error".
	Redirect string `json:"redirect,omitempty"`
}

// A FetchResponse is the answer to a FetchRequest.
type FetchResponse struct {
	URL        string      `json:"url"` // after redirects
	Status     int         `json:"status"`
	StatusText string      `json:"statusText"` // such as "Not Found"
	Redirected bool        `json:"redirected"`
	Header     http.Header `json:"headers"`
	Body       []byte      `json:"body"`
}
