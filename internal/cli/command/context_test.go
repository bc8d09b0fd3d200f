package command

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/exitcode"
)

func TestAGatewayThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	c := &Context{Context: t.Context(), patience: 10 * time.Millisecond}
	err := c.Get(client.OverTCP(server.Listener.Addr().String(), ""), "/health", nil)
	if err == nil || !strings.Contains(err.Error(), "has not answered within 10ms; `bareclaw doctor`") {
		t.Errorf("the status of a gateway that hangs: %v", err)
	}
	if status := ExitStatus(err); status != exitcode.Failed {
		t.Errorf("exit status %d, want %d", status, exitcode.Failed)
	}
}
