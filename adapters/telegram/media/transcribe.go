package media

import (
	"bareclaw/adapters/telegram/view"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	transcribeTimeout = 5 * time.Minute
	// maxTranscript limits a transcript, in bytes; enough for hours of speech.
	maxTranscript = 256 << 10
)

// Transcribe runs a shell command that transcribes an audio file: the command reads the
// file's path, a single line, from stdin and prints the text. The command's environment
// lacks the gateway's settings, because some settings are secret. The error is worded
// for the speaker.
func Transcribe(ctx context.Context, command, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, transcribeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BARECLAW_") })
	cmd.Stdin = strings.NewReader(path + "\n")
	out, complaint := &bounded{max: maxTranscript}, &bounded{max: 300}
	cmd.Stdout, cmd.Stderr = out, complaint
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // kill the whole process group
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	text := strings.TrimSpace(strings.ToValidUTF8(out.b.String(), "\uFFFD"))
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("the command took longer than %s", transcribeTimeout)
	case err != nil:
		why := view.OneLine(strings.ToValidUTF8(complaint.b.String(), "\uFFFD"))
		return "", fmt.Errorf("the command failed: %s", cmp.Or(why, err.Error()))
	case text == "":
		return "", errors.New("the command found no words")
	}
	return text, nil
}

// A bounded buffer keeps the first max bytes written and discards the rest.
type bounded struct {
	b   bytes.Buffer
	max int
}

func (w *bounded) Write(p []byte) (int, error) {
	w.b.Write(p[:min(len(p), w.max-w.b.Len())])
	return len(p), nil
}
