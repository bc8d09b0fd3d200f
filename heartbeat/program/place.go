package program

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"bareclaw/internal/atomicfile"
	"bareclaw/internal/lockfile"
)

// A Place is the absolute path of a program's file. The files of other programs are beside
// it: the old one, the last one that failed, and a staged one; see Old, Failed and Next.
type Place string

// PlaceOf returns the place of a running program, or why the program cannot be replaced.
func PlaceOf(self string) (Place, error) {
	path, err := filepath.EvalSymlinks(self)
	if err != nil {
		return "", fmt.Errorf("find this program's file: %w", err)
	}
	if IsTemporary(path) {
		return "", fmt.Errorf("%s is a temporary file, of `go run`: build the program, and start that", path)
	}
	return Place(path), nil
}

// IsTemporary reports whether a program is one that `go run` has built, and removes at its
// end.
func IsTemporary(path string) bool {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if strings.HasPrefix(filepath.Base(dir), "go-build") {
			return true
		}
	}
	return false
}

// Built is the path of the program that a restart builds from a source tree.
func Built(stateDir string) string { return filepath.Join(stateDir, "bin", "bareclaw") }

// NewerBuild returns the path of the program that a restart has built, if it is newer than
// another one.
func NewerBuild(stateDir, program string) (path string, ok bool) {
	path = Built(stateDir)
	built, err := os.Stat(path)
	if err != nil {
		return "", false
	}
	other, err := os.Stat(program)
	return path, err == nil && !os.SameFile(built, other) && built.ModTime().After(other.ModTime())
}

// Path returns the path of the program in place.
func (p Place) Path() string { return string(p) }

// Old returns the path of the program that was in place before the last upgrade.
func (p Place) Old() string { return string(p) + ".old" }

// Earlier returns Old, or why there is no program to go back to.
func (p Place) Earlier() (string, error) {
	_, err := os.Stat(p.Old())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no program to go back to: an upgrade would have left it at %s", p.Old())
	case err != nil:
		return "", fmt.Errorf("look for the program to go back to: %w", err)
	}
	return p.Old(), nil
}

// Failed is the path of the last program that did not work.
func (p Place) Failed() string { return string(p) + ".failed" }

// Next returns the path of a program that is staged and not in place yet.
func (p Place) Next() string { return string(p) + ".next" }

// Hold keeps other processes from replacing the program while the returned file is open,
// here or in a process that has inherited the file. Where there are no locks, or the
// directory cannot be read, Hold returns nil and no error.
func (p Place) Hold() (*os.File, error) {
	dir, err := os.Open(filepath.Dir(p.Path()))
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	if err := lockfile.Acquire(dir); errors.Is(err, lockfile.ErrHeld) {
		_ = dir.Close()
		return nil, fmt.Errorf("another upgrade of %s is under way, or on trial; try again when that is over, in half a minute", p.Path())
	}
	return dir, nil
}

// Stage copies the program at path beside the one in place, as Next, and returns the
// copy's SHA-256. The program in place stays as it is until Swap. The path must be absolute;
// the file must be executable, and writable by nobody but this user or root.
func (p Place) Stage(path string) (sum string, err error) {
	from, err := openTrusted(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = from.Close() }()
	sum, err = copyProgram(from, p.Next())
	if err != nil {
		return "", fmt.Errorf("copy the new program beside the old one (may this user write to the directory?): %w", err)
	}
	return sum, nil
}

func copyProgram(from *os.File, path string) (sum string, err error) {
	_ = os.Remove(path) // what a killed process has left; were it still run, it could not be written to
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, hash), from)
	if err == nil {
		err = errors.Join(to.Chmod(0o755), to.Sync())
	}
	if err = errors.Join(err, to.Close()); err != nil {
		_ = os.Remove(path)
		return "", fmt.Errorf("copy %s to %s: %w", from.Name(), path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// Discard removes a program that was staged.
func (p Place) Discard() { _ = os.Remove(p.Next()) }

// Check returns why a file is no program that could be staged.
func Check(path string) error {
	f, err := openTrusted(path)
	if err == nil {
		err = f.Close()
	}
	return err
}

// openTrusted opens a program that a stranger cannot have written.
func openTrusted(path string) (*os.File, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%s is not an absolute path", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would have us wait
	if err != nil {
		return nil, fmt.Errorf("read the new program: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() && !startsAsProgram(f) { // before trusted, which could advise chmod u+x
		err = fmt.Errorf("%s is not a program", path)
	}
	if err == nil {
		err = trusted(path, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// IsProgram reports whether the file begins as a program or a script does, whatever the
// file's mode. Only for such a file should advice name chmod +x.
func IsProgram(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return startsAsProgram(f)
}

func startsAsProgram(f io.ReaderAt) bool {
	var start [4]byte
	n, _ := f.ReadAt(start[:], 0) // a shorter file is none
	switch magic := string(start[:n]); magic {
	case "\x7fELF", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe": // Linux; macOS, for one processor and for several
		return true
	default:
		return strings.HasPrefix(magic, "#!")
	}
}

func trusted(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	case !ok || int(st.Uid) != os.Getuid() && st.Uid != 0:
		return fmt.Errorf("%s belongs to another user", path)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s can be written by others; take that away first: chmod go-w %s", path, path)
	case info.Mode().Perm()&0o100 == 0:
		return fmt.Errorf("%s is not executable: chmod u+x %s", path, path)
	}
	return nil
}

// Sum returns the SHA-256 of a file.
func Sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("look at the program: %w", err)
	}
	defer func() { _ = f.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", fmt.Errorf("look at the program %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// Swap puts the staged program in place with one rename, so that a program is there at any
// moment. The program that was in place is lost unless KeepRunning has kept it.
func (p Place) Swap() error {
	if err := os.Rename(p.Next(), p.Path()); err != nil {
		return fmt.Errorf("put the new program in place: %w", err)
	}
	_ = atomicfile.SyncDir(filepath.Dir(p.Path()))
	return nil
}

// running is Linux's path of the program that this process runs, valid even after the file
// was replaced or removed.
const running = "/proc/self/exe"

// Running returns a path from which the program of this process can be started again: file,
// or the constant running if somebody has replaced file since. On systems other than Linux
// Running always returns file.
func Running(file string) string {
	link, err := os.Readlink(running)
	if err != nil || link == file {
		return file
	}
	ran, err := os.Stat(running)
	now, errNow := os.Stat(file)
	if err != nil || errNow == nil && os.SameFile(ran, now) {
		return file
	}
	return running
}

// KeepRunning keeps the program of this process, whose file is self, as Old, so that Rollback
// can put that program back after Swap. The earlier Old is lost.
func (p Place) KeepRunning(self string) error {
	if self == p.Path() && Running(self) == self {
		return p.alias(self, p.Old())
	}
	return p.keepCopy(Running(self), "")
}

// Recover restores Old if somebody has removed the file or replaced it by a program with
// another SHA-256 than sum. The source is this process, which must run the old program.
func (p Place) Recover(sum string) error {
	if have, err := Sum(p.Old()); err == nil && have == sum {
		return nil
	}
	return p.keepCopy(running, sum)
}

// keepCopy keeps a copy of the program at path as Old. If sum is not empty, a program with
// another SHA-256 is an error.
func (p Place) keepCopy(path, sum string) error {
	from, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("bring back the old program: %w", err)
	}
	defer func() { _ = from.Close() }()
	have, err := copyProgram(from, p.Old()+".tmp")
	if err == nil && sum != "" && have != sum {
		_ = os.Remove(p.Old() + ".tmp")
		err = errors.New("the process that goes back runs another program")
	}
	if err == nil {
		err = os.Rename(p.Old()+".tmp", p.Old())
	}
	if err != nil {
		return fmt.Errorf("bring back the old program: %w", err)
	}
	return nil
}

// Rollback puts the old program back in place, and keeps the other one as Failed. Without
// an old program it returns an error and changes nothing.
func (p Place) Rollback() error {
	if _, err := os.Stat(p.Old()); err != nil { // the one in place would be all there is
		return fmt.Errorf("put the old program back: %w", err)
	}
	err := p.alias(p.Path(), p.Failed())
	if err == nil {
		err = os.Rename(p.Old(), p.Path())
	}
	if err != nil {
		return fmt.Errorf("put the old program back: %w", err)
	}
	_ = atomicfile.SyncDir(filepath.Dir(p.Path()))
	return nil
}

func (p Place) alias(path, name string) error {
	_ = os.Remove(name + ".tmp") // of a killed process
	if err := os.Link(path, name+".tmp"); err != nil {
		return fmt.Errorf("keep the program %s: %w", path, err)
	}
	if err := os.Rename(name+".tmp", name); err != nil {
		return fmt.Errorf("keep the program %s: %w", path, err)
	}
	_ = os.Remove(name + ".tmp") // renaming one name of a file to another does nothing
	return nil
}
