package otlp

import (
	"fmt"
	"net/http"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"bareclaw/internal/plainjson"
)

// codeInvalidArgument is google.rpc.Code for a request that is wrong.
const codeInvalidArgument = 3

// An answer is that to one request, in its encoding.
type answer struct {
	w     http.ResponseWriter
	media string
}

// succeed says that all was taken but the rejected ones. The counter is the name of their number.
func (a *answer) succeed(counter string, rejected int64) {
	if rejected == 0 {
		a.send(http.StatusOK, nil, struct{}{})
		return
	}
	reason := "ids have a wrong length: a trace id has 16 bytes, a span id 8, and neither is zero"
	var partial []byte
	partial = protowire.AppendTag(partial, 1, protowire.VarintType)
	partial = protowire.AppendVarint(partial, uint64(rejected))
	partial = protowire.AppendTag(partial, 2, protowire.BytesType)
	partial = protowire.AppendString(partial, reason)
	var message []byte
	message = protowire.AppendTag(message, 1, protowire.BytesType)
	message = protowire.AppendBytes(message, partial)
	a.send(http.StatusOK, message, map[string]any{
		"partialSuccess": map[string]any{
			counter:        strconv.FormatInt(rejected, 10),
			"errorMessage": reason,
		},
	})
}

// fail says what is wrong with the request, as a google.rpc.Status.
func (a *answer) fail(status int, err error) {
	var message []byte
	message = protowire.AppendTag(message, 1, protowire.VarintType)
	message = protowire.AppendVarint(message, codeInvalidArgument)
	message = protowire.AppendTag(message, 2, protowire.BytesType)
	message = protowire.AppendString(message, err.Error())
	a.send(status, message, map[string]any{
		"code":    codeInvalidArgument,
		"message": err.Error(),
	})
}

// send writes one of the two forms.
func (a *answer) send(status int, protobuf []byte, value any) {
	body := protobuf
	if a.media == mediaJSON {
		var err error
		body, err = plainjson.Marshal(value)
		if err != nil {
			panic(fmt.Sprintf("an answer of our own has no JSON: %v", err))
		}
	}
	a.w.Header().Set("Content-Type", a.media)
	a.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	a.w.WriteHeader(status)
	_, _ = a.w.Write(body) //nolint:gosec // the content type is one of two, which no browser renders; nobody is left to be told
}
