package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"

	"modernc.org/sqlite"
)

// Inspect returns the version of the ledger file at path, without changing the file.
// Another process may have the file open. The error wraps [os.ErrNotExist] for a missing
// file.
func Inspect(path string) (Version, error) {
	var v Version
	err := looking(path, func(c driver.Conn) (err error) {
		v, err = versionOf(c)
		return err
	})
	if err != nil {
		return Version{}, fmt.Errorf("look at ledger %s: %w", path, err)
	}
	return v, nil
}

// Check is Inspect for a file that may be damaged or foreign: Check reads the whole
// file, which takes time in proportion to its size, and returns the damage as an error.
func Check(path string) (Version, error) {
	var v Version
	err := looking(path, func(c driver.Conn) error {
		id, err := scalar(c, "PRAGMA application_id")
		if err != nil {
			return err
		}
		if id != applicationID {
			return errors.New("it is no ledger")
		}
		if v, err = versionOf(c); err != nil {
			return err
		}
		bad, err := scalar(c, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check<>'ok'")
		if err == nil && bad > 0 {
			err = fmt.Errorf("it is damaged in %d places", bad)
		}
		return err
	})
	if err != nil {
		return Version{}, fmt.Errorf("check ledger %s: %w", path, err)
	}
	return v, nil
}

// Copy writes a consistent snapshot of the ledger file at path into a new file with mode
// 0600. Other processes may have the ledger open and write meanwhile.
func Copy(path, to string) error {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // SQLite accepts an empty target file and keeps its permissions
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = looking(path, func(c driver.Conn) error {
			_, err := c.(driver.ExecerContext).ExecContext(context.Background(), "VACUUM INTO ?", []driver.NamedValue{{Ordinal: 1, Value: to}})
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("copy ledger %s to %s: %w", path, to, err)
	}
	return nil
}

// looking opens an existing file read-only and runs f on the connection.
func looking(path string, f func(driver.Conn) error) error {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	connector, err := sqlite.NewConnector(dsn(path, "ro", "busy_timeout(5000)", "trusted_schema(0)"))
	if err != nil {
		return err
	}
	c, err := connector.Connect(context.Background())
	if err != nil {
		return err
	}
	return errors.Join(f(c), c.Close())
}
