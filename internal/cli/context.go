// Package cli is the command line beside the daemon itself: what a person or a
// script asks of a gateway, or does to it. Each command is a struct in a file of its
// own whose Run is called by kong; what is more than thin is in a room of its own.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
)

// A Context is what commands work with.
type Context struct {
	context.Context // ends when the command is interrupted

	In       io.Reader
	Out, Err io.Writer
	Version  string       // of this program
	Self     string       // absolute path of this program's file
	Environ  []string     // as it was before any .env was read
	Serve    func() error // runs the gateway in this process

	loaded   *config.Config
	patience time.Duration // with a gateway that says nothing; 0: silenceLimit
}

// silenceLimit is how long a gateway may take to tell what it knows, which it does at
// once unless it hangs.
const silenceLimit = 30 * time.Second

// errSilent says that a gateway took a question and does not answer.
var errSilent = errors.New("no answer")

// get asks the gateway for what it knows. It gives up on one that hangs.
func (c *Context) get(gateway *client.Client, path string, out any) error {
	limit := cmp.Or(c.patience, silenceLimit)
	ctx, cancel := context.WithTimeoutCause(c.Context, limit, errSilent)
	defer cancel()
	err := gateway.Do(ctx, http.MethodGet, path, nil, out)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return fmt.Errorf("the gateway %s runs and has not answered within %s; `bareclaw doctor` says what to do", gateway.Where(), limit)
	}
	return err
}

// Config returns the configuration of this directory and environment, which is read
// once.
func (c *Context) Config() (config.Config, error) {
	if c.loaded == nil {
		cfg, err := config.Load()
		if err != nil {
			return config.Config{}, err
		}
		c.loaded = &cfg
	}
	return *c.loaded, nil
}

// Client returns a client of the gateway: the one that this command was started by,
// if claude runs it, else that of the configuration. It does not ask whether the
// gateway is there.
func (c *Context) Client() (*client.Client, error) {
	if inherited := client.Inherited(); inherited != nil {
		return inherited, nil
	}
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	return client.Local(cfg), nil
}
