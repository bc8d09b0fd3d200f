package botapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxAnswerBytes bounds the answer to a call: a message with one that it replies to,
// and room.
const maxAnswerBytes = 4 << 20

// Answering makes the library's calls. The library repeats what it cannot read in its
// errors, which go into the ledger and to people. That may be the page of a proxy,
// which shows the URL with the token, so only its status is told.
type answering struct{ http *http.Client }

// Do makes a call and reads the whole answer.
func (c answering) Do(req *http.Request) (*http.Response, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err // the library takes the token out
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswerBytes))
	_ = res.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if !isAnswer(data) {
		data = fmt.Appendf(nil, `{"ok":false,"error_code":%d,"description":"the answer is not one of the Bot API: status %d %s"}`,
			http.StatusBadGateway, res.StatusCode, http.StatusText(res.StatusCode))
	}
	res.Body = io.NopCloser(bytes.NewReader(data))
	return res, nil
}

// isAnswer reports whether the library can read it:
// https://core.telegram.org/bots/api#making-requests
func isAnswer(data []byte) bool {
	var a struct {
		OK          *bool  `json:"ok"`
		Description string `json:"description"`
		ErrorCode   int    `json:"error_code"`
		Parameters  struct {
			RetryAfter      int `json:"retry_after"`
			MigrateToChatID int `json:"migrate_to_chat_id"`
		} `json:"parameters"`
	}
	return json.Unmarshal(data, &a) == nil && a.OK != nil
}
