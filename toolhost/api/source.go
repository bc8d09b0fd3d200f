package api

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ReadSource reads a file of at most MaxSource bytes in a directory, unless a symbolic link leads out
// of the directory. It does not block on a pipe.
func ReadSource(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case st.Size() > MaxSource:
		return nil, fmt.Errorf("the file has %d bytes; at most %d are loaded", st.Size(), MaxSource)
	}
	return io.ReadAll(io.LimitReader(f, MaxSource+1))
}
