package discovery

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"bareclaw/internal/atomicfile"
)

const (
	// DataDir is the directory in which an observer keeps what belongs to an app, below that of the app.
	DataDir = ".brakit"
	// portName is the file in DataDir that holds the port of the API.
	portName = "port"
	// maxPortFile bounds what is read of such a file, in bytes.
	maxPortFile = 64
)

// portPath returns the path of the port file of an app's directory.
func portPath(dir string) string { return filepath.Join(dir, DataDir, portName) }

// WritePort writes the port of an observer's API into the port file of a directory, in place of the one
// there, and makes DataDir. The file is for this user alone, and for no repository.
func WritePort(dir string, port int) error {
	data := filepath.Join(dir, DataDir)
	err := os.Mkdir(data, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(data)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory: remove it", data)
	}
	ignore := filepath.Join(data, ".gitignore")
	if err := atomicfile.Ensure(ignore, []byte("*\n"), 0o600); err != nil {
		return err
	}
	return writePortFile(portPath(dir), port)
}

func writePortFile(path string, port int) error {
	return atomicfile.WriteSoon(path, []byte(strconv.Itoa(port)+"\n"), 0o600)
}

// RemovePort removes the port file of a directory, if it still holds the port.
func RemovePort(dir string, port int) error {
	held, err := readPort(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && held != port {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Remove(portPath(dir))
}

// A portError says what is wrong with a port file that is there.
type portError struct {
	path    string
	problem string
}

// Error names the file.
func (e *portError) Error() string { return e.path + " " + e.problem }

// readPort returns the port in the port file of a directory. The error is a *portError if there is a file
// that holds no port. A link, which a clone may bring, and a file of another user hold none: whoever may write in a
// directory above could else have an app of theirs found.
func readPort(dir string) (int, error) {
	data := filepath.Join(dir, DataDir)
	info, err := os.Lstat(data)
	if err != nil {
		return 0, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return 0, &portError{data, "is a symbolic link: remove it"}
	}
	return readPortFile(portPath(dir))
}

// readPortFile is readPort for the path of the file.
func readPortFile(path string) (int, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // a FIFO must not block
	if errors.Is(err, syscall.ELOOP) {
		return 0, &portError{path, "is a symbolic link: remove it"}
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, &portError{path, "is not a file"}
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Getuid() {
		return 0, &portError{path, "belongs to another user"}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxPortFile))
	if err != nil {
		return 0, err
	}
	port, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 16)
	if err != nil || port == 0 {
		return 0, &portError{path, "holds no port"}
	}
	return int(port), nil
}
