package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/shortid"
	"bareclaw/internal/term"
)

// The arguments that several commands have.
type (
	listed struct {
		JSON bool `name:"json" help:"Print JSON."`
	}
	ofChannel struct {
		Channel string `arg:"" help:"The channel."`
		JSON    bool   `name:"json" help:"Print JSON."`
	}
	ofMessage struct {
		ID   string `arg:"" name:"id" help:"The message's id, or the end of it that messages shows."`
		JSON bool   `name:"json" help:"Print JSON."`
	}
	ofSchedule struct {
		ID   string `arg:"" help:"The schedule's id, or its beginning or end."`
		JSON bool   `name:"json" help:"Print JSON."`
	}
)

// fetch asks the gateway for a document and prints the document: as JSON, or as show does.
func fetch[T any](c *command.Context, gateway *client.Client, path string, asJSON bool, show func(*T) error) error {
	return request(c, gateway, http.MethodGet, path, nil, asJSON, show)
}

// request sends a request and prints the reply: as JSON, or as show does.
func request[T any](c *command.Context, gateway *client.Client, method, path string, in any, asJSON bool, show func(*T) error) error {
	var reply json.RawMessage
	var err error
	if method == http.MethodGet {
		err = c.Get(gateway, path, &reply)
	} else {
		err = gateway.Do(c.Context, method, path, in, &reply)
	}
	if err != nil {
		return err
	}
	return printReply(c, reply, asJSON, show)
}

// printReply prints a reply of the gateway: as JSON, or as show does.
func printReply[T any](c *command.Context, reply json.RawMessage, asJSON bool, show func(*T) error) error {
	if asJSON {
		return c.PrintJSON(reply)
	}
	var v T
	if err := json.Unmarshal(reply, &v); err != nil {
		return fmt.Errorf("understand the gateway's reply: %w", err)
	}
	return show(&v)
}

// printing returns a function for request that prints a fixed text for any reply.
func printing(c *command.Context, text string) func(*any) error {
	return func(*any) error { return c.PrintLines(text) }
}

// only returns the one element that text stands for: its id, or the beginning or the end of it. thing
// names the elements.
func only[T any](all []T, id func(*T) string, thing, text string) (*T, error) {
	if text == "" {
		return nil, command.Usagef("which %s? Give its id, or the end of it", thing)
	}
	return shortid.Find(all, id, thing, text)
}

// idCell returns the cell of an id, as far as lists show it.
func idCell(id string) command.Cell { return command.Text(shortid.Of(id)).Painted(term.Bold) }

// promptCells is how much of a prompt is shown, in cells. A terminal may show less.
const promptCells = 200

// firstWords returns the beginning of a prompt on one line, after the names of its media.
func firstWords(p api.Prompt) string {
	var words []string
	for _, b := range p.Blocks {
		if b.Type != "text" {
			words = append(words, "["+cmp.Or(b.MediaType, b.Type)+"]")
		}
	}
	return command.Fit(term.SafeLine(strings.Join(append(words, p.Text), " ")), promptCells)
}
