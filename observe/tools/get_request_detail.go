package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bareclaw/core/tools"
	"bareclaw/observe/api"
)

func getRequestDetail(f *finder) tools.Tool {
	return tools.Tool{
		Name: "get_request_detail",
		Description: "Show one request to the running web app with all that happened meanwhile: queries, outgoing calls, log lines and errors. " +
			"Give the request_id of a finding, or an endpoint for the latest request to it.",
		Input: object(`"request_id":{"type":"string"},` +
			`"endpoint":{"type":"string","description":"Such as GET /users/:id, as get_endpoints shows it."},` + appProperty),
		Annotations: tools.Annotations{Title: "Show a request to the app", ReadOnly: true, Idempotent: true},
		Timeout:     callTimeout,
		ByName:      true,
		Reach:       reach[requestArgs](f),
		Handle:      handler(f, requestDetail),
	}
}

type requestArgs struct {
	appArgs

	RequestID *string `json:"request_id"`
	Endpoint  *string `json:"endpoint"`
}

// given returns the value of an optional argument, and why it cannot be one.
func given(name string, value *string) (string, error) {
	if value == nil {
		return "", nil
	}
	text := strings.TrimSpace(*value)
	if text == "" {
		return "", sentencef("%s is empty: give a value, or leave it out", name)
	}
	return text, nil
}

// oneOf returns the values of two arguments, of which one must be given.
func oneOf(firstName string, first *string, secondName string, second *string) (a, b string, err error) {
	a, errFirst := given(firstName, first)
	b, errSecond := given(secondName, second)
	if err := errors.Join(errFirst, errSecond); err != nil {
		return "", "", err
	}
	if (a == "") == (b == "") {
		return "", "", sentencef("give either %s or %s", firstName, secondName)
	}
	return a, b, nil
}

func requestDetail(ctx context.Context, a *app, args requestArgs) (view, error) {
	wanted, endpoint, err := oneOf("request_id", args.RequestID, "endpoint", args.Endpoint)
	if err != nil {
		return nil, err
	}
	var r api.Request
	if wanted != "" {
		r, err = a.client.Request(ctx, wanted)
	} else {
		r, err = a.client.Latest(ctx, endpoint)
	}
	switch {
	case errors.Is(err, api.ErrNoRequest) && wanted != "":
		return nil, sentencef("the request %s is not kept (any more); give an endpoint for its latest request: %s", data(wanted, maxID), a.endpoints(ctx))
	case errors.Is(err, api.ErrNoRequest):
		return nil, sentencef("no request to %s is kept; endpoints are: %s", data(endpoint, maxName), a.endpoints(ctx))
	case err != nil:
		return nil, err
	}
	return a.showRequest(ctx, r)
}

// maxListed bounds the endpoints of an error.
const maxListed = 20

// endpoints lists the endpoints that have been seen.
func (a *app) endpoints(ctx context.Context) string {
	listed, total, err := a.client.Endpoints(ctx, api.EndpointChoice{Limit: maxListed})
	if err != nil || total == 0 {
		return "none has been seen yet"
	}
	var names []string
	for i := range listed {
		names = append(names, data(listed[i].Endpoint, maxName))
	}
	if more := total - len(listed); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
