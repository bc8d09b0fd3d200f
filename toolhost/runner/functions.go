package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"bareclaw/toolhost/api"
)

// functions has the daemon carry out what scripts may use.
type functions struct{ client *http.ClientConn }

var _ api.Functions = (*functions)(nil)

// ask has the daemon carry out a function.
func (f *functions) ask(ctx context.Context, path string, in, out any) error {
	b, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, api.Origin+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	answer, err := f.client.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("the gateway does not answer: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		var refused api.Done
		if err := json.NewDecoder(answer.Body).Decode(&refused); err != nil {
			return fmt.Errorf("the gateway answers with status %d", answer.StatusCode)
		}
		return errors.New(refused.Error)
	}
	return json.NewDecoder(answer.Body).Decode(out)
}

// Fetch sends a request to a granted host.
func (f *functions) Fetch(ctx context.Context, r api.FetchRequest) (out api.FetchResponse, err error) {
	err = f.ask(ctx, api.PathFetch, r, &out)
	return out, err
}

// ReadFile reads a file of a granted directory.
func (f *functions) ReadFile(ctx context.Context, path string) ([]byte, error) {
	var out api.FileResult
	err := f.ask(ctx, api.PathReadFile, api.FileRequest{Path: path}, &out)
	return out.Data, err
}

// WriteFile replaces the contents of a file in a granted directory.
func (f *functions) WriteFile(ctx context.Context, path string, data []byte) error {
	return f.ask(ctx, api.PathWriteFile, api.FileRequest{Path: path, Data: data}, new(api.FileResult))
}

// ListFiles returns the names in a granted directory.
func (f *functions) ListFiles(ctx context.Context, path string) ([]string, error) {
	var out api.FileResult
	err := f.ask(ctx, api.PathListFiles, api.FileRequest{Path: path}, &out)
	return out.Names, err
}
