package sessionhost

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"bareclaw/sessionhost/protocol"
)

// TestBadLineIsLoggedAtDebugAlone: a line that broke off may be a part of an answer.
func TestBadLineIsLoggedAtDebugAlone(t *testing.T) {
	t.Parallel()
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
		var log bytes.Buffer
		tr := translator{log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))}
		for _, s := range []protocol.Entry{{Bad: `{"text":"xyzzy`}, {Event: []byte(`{"type":"assistant","message":"xyzzy`)}, {Event: []byte(`{"type":"result","result":{"xyzzy":1}}`)}} {
			tr.translate(nil, s)
		}
		if got := strings.Contains(log.String(), "xyzzy"); got != (level == slog.LevelDebug) || !strings.Contains(log.String(), "level=WARN") {
			t.Errorf("%s: the line is in the log: %v\n%s", level, got, log.String())
		}
	}
}
