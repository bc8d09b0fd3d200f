package observe

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
)

// TestAnswersToUploads: an app that answers as soon as it has the whole body: the client gets the whole answer, always.
func TestAnswersToUploads(t *testing.T) {
	f := newFaulty(t)
	r := f.starts()
	const many = 2000
	cut := 0
	for n := range many {
		body := strings.Repeat("x", 10_000*(1+n%9))
		res, err := http.Post(r.Proxy+"/echo", "text/plain", strings.NewReader(body))
		check.OK(t, err)
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || string(text) != body {
			cut++
		}
	}
	if cut > 0 {
		t.Errorf("%d of %d answers are cut; the latest request that is kept: %s", cut, many, fmt.Sprint(f.latest(r, "POST /echo").End))
	}
	f.Command(exitcode.OK, "observe", "stop")
}
