package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"bareclaw/internal/atomicfile"
)

// recordName is the directory, below the one that all daemons of a user share, with a file for
// each directory on record. The file holds the path of the directory.
const recordName = "env-directories"

// Remember puts the working directory on record if a .env is there that a gateway reads: from
// then on the file counts for commands that are called in the directory, too. The record is kept
// where only the user can write, so no content of the directory can put it on record.
func Remember() error {
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	if f := lookAt(filepath.Join(cwd, ".env")); !f.Found || f.Distrust != "" || OnRecord(cwd) {
		return nil
	}
	path, file, err := recordOf(cwd, os.Getenv)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(file, []byte(path+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("note that a gateway reads the .env in %s: %w", cwd, err)
	}
	return nil
}

// OnRecord reports whether a directory is on record: see [Remember].
func OnRecord(dir string) bool { return isOnRecord(dir, os.Getenv) }

// WorkingDir returns the default working directory of a service, from where the service reads
// .env: the current directory if a .env is there and on record, else the user's home.
func WorkingDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	if lookAt(filepath.Join(dir, ".env")).Found && OnRecord(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the working directory: no gateway has read a .env in %s, and %w", dir, err)
	}
	return home, nil
}

func isOnRecord(dir string, getenv func(string) string) bool {
	path, file, err := recordOf(dir, getenv)
	if err != nil {
		return false
	}
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || distrust(info) != "" {
		return false
	}
	text, err := os.ReadFile(file)
	return err == nil && string(text) == path+"\n"
}

// recordOf returns the path of a directory without symbolic links, and the file that puts it on
// record.
func recordOf(dir string, getenv func(string) string) (path, file string, err error) {
	if path, err = filepath.EvalSymlinks(dir); err != nil {
		return "", "", err
	}
	shared, err := machineAt("", getenv).stateDir()
	if err != nil {
		return "", "", err
	}
	sum := sha256.Sum256([]byte(path))
	return path, filepath.Join(shared, recordName, hex.EncodeToString(sum[:16])), nil
}

// CheckTokenTarget returns an error if the HTTP token must not be sent to an address that the named
// variables decide, because a file sets one of them and the token is not from that file. A token
// from the environment may go to an address of the user's own file.
func (c Config) CheckTokenTarget(names ...string) error {
	const token = "BARECLAW_HTTP_TOKEN"
	if !c.HTTP.Token.IsSet() {
		return nil
	}
	from := c.sources[token]
	users := filepath.Join(c.ConfigDir, ".env")
	for _, name := range names {
		file, isSet := c.sources[name]
		if !isSet || file == fromEnvironment || file == from || from == fromEnvironment && file == users {
			continue
		}
		return &Problem{
			Source:   token,
			Problem:  fmt.Sprintf("it comes from %s, and %s from %s: a token is not sent to an address of another file", from, name, file),
			Accepted: "both in one file",
		}
	}
	return nil
}
