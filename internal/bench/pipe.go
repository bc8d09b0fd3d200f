package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/google/uuid"
)

// A pipe is the fake claude alone, with nothing between it and us: what it
// takes there is no gateway's fault.
type pipe struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func openPipe(claude string, m mode) (*pipe, error) {
	cmd := exec.Command(claude, "-p", "--input-format", "stream-json", "--output-format", "stream-json", //nolint:noctx // close ends it
		"--verbose", "--include-partial-messages", "--replay-user-messages", "--permission-prompt-tool", "stdio", "--session-id", uuid.NewString())
	cmd.Env = []string{string(m), "HOME=/nonexistent", "PATH=" + os.Getenv("PATH")}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the fake claude: %w", err)
	}
	return &pipe{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 64<<10)}, nil
}

// close ends the fake claude as a gateway would: by the end of its input.
func (p *pipe) close() error {
	return errors.Join(p.in.Close(), p.cmd.Wait())
}

// exchange sends a message and returns how long its result took.
func (p *pipe) exchange(text string) (time.Duration, error) {
	line, err := json.Marshal(map[string]any{"type": "user", "message": map[string]string{"role": "user", "content": text}, "uuid": uuid.NewString()})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return 0, err
	}
	for {
		isResult, err := p.readLine()
		if err != nil {
			return 0, fmt.Errorf("the fake claude on a pipe: %w", err)
		}
		if isResult {
			return time.Since(began), nil
		}
	}
}

// readLine reads one line and says whether it is a result. Within a JSON
// string a quote is escaped, so the mark cannot be part of a text.
func (p *pipe) readLine() (isResult bool, err error) {
	mark := []byte(`"type":"result"`)
	var seam []byte // the end of the last part and the beginning of this one
	for {
		part, err := p.out.ReadSlice('\n')
		seam = append(seam, part[:min(len(part), len(mark))]...)
		isResult = isResult || bytes.Contains(part, mark) || bytes.Contains(seam, mark)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return isResult, err
		}
		seam = append(seam[:0], part[len(part)-len(mark):]...)
	}
}

// bareTime returns the median time of a message on a warm pipe.
func (l *lab) bareTime(m mode, text string, rounds int) (time.Duration, error) {
	p, err := openPipe(l.claude, m)
	if err != nil {
		return 0, err
	}
	times := make([]time.Duration, 0, rounds)
	for i := range rounds + rounds/10 + 1 {
		took, err := p.exchange(text)
		if err != nil {
			return 0, errors.Join(err, p.close())
		}
		if i > rounds/10 { // the first ones only warm it
			times = append(times, took)
		}
	}
	return median(times), p.close()
}

// bareStart returns the time from starting the fake claude to its first result.
func (l *lab) bareStart() (time.Duration, error) {
	began := time.Now()
	p, err := openPipe(l.claude, instant)
	if err != nil {
		return 0, err
	}
	_, err = p.exchange("hello")
	took := time.Since(began)
	return took, errors.Join(err, p.close())
}
