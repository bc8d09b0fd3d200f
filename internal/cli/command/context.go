// Package command has what all commands of the command line share: the context, output,
// exit statuses, tables and the spinner.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/sessionhost/protocol"
)

// A Context carries the environment of a command.
type Context struct {
	context.Context // ends when the command is interrupted

	In       io.Reader
	Out, Err io.Writer
	Version  string   // of this program
	Self     string   // absolute path of this program's file
	Environ  []string // before any .env was read
	Dir      string   // in which the program was called; empty if unknown

	// Role decides before the first call of Config whether the .env of the working directory
	// counts where it is not on record.
	Role config.Role

	settings *config.Config // the result of Config; nil: not read yet
	examined *config.Report // of LenientConfig; nil: not asked
	patience time.Duration  // with a silent gateway; 0: silenceLimit
	printed  bool           // a JSON document is on standard output
}

// silenceLimit is how long a gateway may take to answer a GET request.
const silenceLimit = 30 * time.Second

// errSilent means that a gateway accepted a request and does not answer.
var errSilent = errors.New("no answer")

// Get sends a GET request and decodes the answer. Get gives up on a gateway that hangs, and
// soon on a gateway that has crashed.
func (c *Context) Get(gateway *client.Client, path string, out any) error {
	limit := cmp.Or(c.patience, silenceLimit)
	limited, stop := context.WithTimeoutCause(c.Context, limit, errSilent)
	defer stop()
	ctx, cancel := context.WithCancelCause(limited)
	defer cancel(nil)
	stateDir := ""
	if !InSession() {
		cfg, _ := c.LenientConfig()
		stateDir = cfg.StateDir()
	}
	if stateDir != "" {
		go watchWorker(ctx, stateDir, cancel) // ends with ctx
	}
	err := gateway.Do(ctx, http.MethodGet, path, nil, out)
	switch cause := context.Cause(ctx); {
	case err != nil && errors.Is(cause, errSilent):
		return fmt.Errorf("the gateway %s runs and has not answered within %s; `bareclaw doctor` says what to do", gateway.Where(), limit)
	case err != nil && errors.Is(cause, errCrashing):
		return cause
	}
	// In a long pause after crashes the supervisor answers.
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code == api.ShuttingDown && stateDir != "" && isCrashing(stateDir) {
		return errCrashing
	}
	return err
}

// Config returns the configuration of this environment, and of this directory where its .env
// counts: see [config.Load]. The first call reads the configuration.
func (c *Context) Config() (config.Config, error) {
	if c.settings == nil {
		cfg, err := config.Load(c.Role)
		if err != nil {
			return config.Config{}, err
		}
		c.settings = &cfg
	}
	return *c.settings, nil
}

// LenientConfig is Config for commands that must work with wrong settings: as far as the settings
// can be used they are returned along with the problems. Without problems further calls of Config
// return the same.
func (c *Context) LenientConfig() (config.Config, []*config.Problem) {
	if c.settings != nil {
		return *c.settings, nil
	}
	if c.examined == nil {
		report := config.Examine(c.Role)
		c.examined = &report
	}
	if len(c.examined.Problems) == 0 {
		c.settings = &c.examined.Config
	}
	return c.examined.Config, c.examined.Problems
}

// Client returns a client of the gateway, which need not run: the gateway of the
// enclosing session if claude runs this command, else the configured gateway.
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

// LiveClient is Client for a command that would wait in vain for a gateway that crashes again and
// again: the error then holds [client.ErrUnreachable].
func (c *Context) LiveClient() (*client.Client, error) {
	gateway, err := c.Client()
	if err == nil && !InSession() {
		err = awaitWorker(c.Context, c.settings.StateDir())
	}
	return gateway, err
}

// InSession reports whether claude runs this command in a session of the gateway.
func InSession() bool { return client.Inherited() != nil }

// ErrInSession refuses decisions that only people may make.
var ErrInSession = errors.New("a session cannot decide about permissions or settings; run this command in a terminal of your own")

// A Decider is a client that may change permissions.
type Decider struct{ *client.Client }

// Decider returns a client over TCP: the Unix socket refuses changes of permissions.
func (c *Context) Decider() (Decider, error) {
	if InSession() {
		return Decider{}, ErrInSession
	}
	cfg, err := c.Config()
	if err == nil {
		err = awaitWorker(c.Context, cfg.StateDir())
	}
	if err != nil {
		return Decider{}, err
	}
	return Decider{client.Direct(cfg)}, nil
}

// IsOwnChannel reports whether this command runs in the session of a channel. A turn that
// waits for a message on its own channel would wait for itself.
func IsOwnChannel(c *Context, gateway *client.Client, channel string) bool {
	own, err := OwnChannel(c, gateway)
	return err == nil && own != "" && own == channel
}

// OwnChannel returns the channel in whose session this command runs, empty outside of
// sessions.
func OwnChannel(c *Context, gateway *client.Client) (string, error) {
	host, ok := protocol.EnclosingHost()
	if !ok {
		return "", nil
	}
	all, err := ListChannels(c, gateway)
	for _, ch := range all {
		if ch.HostPID == host {
			return ch.Channel, nil
		}
	}
	return "", err
}

// ListChannels returns all channels of the gateway.
func ListChannels(c *Context, gateway *client.Client) ([]api.Channel, error) {
	var got api.Channels
	err := c.Get(gateway, api.PathChannels, &got)
	return got.Channels, err
}
