package botapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxAnswerBytes limits the response to a call: enough for a message with the replied-to
// message, with a margin.
const maxAnswerBytes = 4 << 20

// answering is the HTTP client of the bot library. The library copies unreadable
// responses into errors, and errors reach the ledger and people. An unreadable response
// may be a proxy's page that shows the URL with the token, hence answering reports only
// the status.
type answering struct{ http *http.Client }

// Do sends a request and reads the whole response.
func (c answering) Do(req *http.Request) (*http.Response, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err // the library removes the token
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswerBytes))
	_ = res.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if _, ok := decodeAnswer(data); !ok {
		data = fmt.Appendf(nil, `{"ok":false,"error_code":%d,"description":"the answer is not one of the Bot API: status %d %s"}`,
			http.StatusBadGateway, res.StatusCode, http.StatusText(res.StatusCode))
	}
	res.Body = io.NopCloser(bytes.NewReader(data))
	return res, nil
}

// An answer is the response to a call:
// https://core.telegram.org/bots/api#making-requests
type answer struct {
	OK          *bool           `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter      int `json:"retry_after"`
		MigrateToChatID int `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// decodeAnswer reports whether data is a response that the library can decode too.
func decodeAnswer(data []byte) (a answer, ok bool) {
	err := json.Unmarshal(data, &a)
	return a, err == nil && a.OK != nil
}
