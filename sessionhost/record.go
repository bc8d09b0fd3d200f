package sessionhost

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
)

// A record is what the state directory says of a host. It is the truth about
// hosts: runtime directories vanish at logout and differ under cron or sudo.
type record struct {
	Channel     string `json:"channel"`
	Socket      string `json:"socket"`
	PID         int    `json:"pid"`
	Start       uint64 `json:"start"`
	ClaudePID   int    `json:"claude_pid,omitempty"`
	ClaudeStart uint64 `json:"claude_start,omitempty"`
	BootID      string `json:"boot_id"`
}

// A place is where a host belongs: its channel, and its files. That of a spare
// changes once, when a channel takes it.
type place struct {
	Channel    string `json:"channel"`
	Socket     string `json:"socket"`
	RecordPath string `json:"record_path"`
	LockPath   string `json:"lock_path"`
	LogPath    string `json:"log_path"`
	SpoolPath  string `json:"spool_path"`
	ToolsPath  string `json:"tools_path"`
}

func (p paths) place(channel string) place {
	return place{
		Channel: channel, Socket: p.socket, RecordPath: p.record, LockPath: p.lock, LogPath: p.log,
		SpoolPath: p.spool, ToolsPath: p.tools,
	}
}

// paths are a host's files. The name is a hash of the channel key: keys may hold
// anything, and a socket's path has room for about 100 bytes.
type paths struct{ record, lock, socket, log, spool, tools, reserved string }

func pathsFor(stateDir, runtimeDir, channel string) paths {
	sum := sha256.Sum256([]byte(channel))
	name := hex.EncodeToString(sum[:12])
	state := filepath.Join(stateDir, "hosts", name)
	return paths{
		record: state + ".json", lock: state + ".lock", log: state + ".log", spool: state + ".spool", tools: state + ".tools",
		reserved: state + ".reserved",
		socket:   filepath.Join(runtimeDir, name+".sock"),
	}
}

// write replaces the record at once. It is not synced: after a power loss it
// means nothing anyway, which its boot id shows.
func (r record) write(path string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode host record: %w", err)
	}
	tmp := path + ".tmp" // one writer: whoever holds the lock
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("write host record: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write host record: %w", err)
	}
	return nil
}

// readRecord returns the record, or an fs.ErrNotExist.
func readRecord(path string) (record, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return record{}, fmt.Errorf("read host record: %w", err)
	}
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return record{}, fmt.Errorf("read host record %s: %w", path, err)
	}
	return r, nil
}

func (r record) thisBoot() bool {
	id, err := proc.BootID()
	return err == nil && id == r.BootID
}

func (r record) hostAlive() bool { return r.thisBoot() && r.PID > 0 && proc.Alive(r.PID, r.Start) }

func (r record) claudeAlive() bool {
	return r.thisBoot() && r.ClaudePID > 0 && proc.Alive(r.ClaudePID, r.ClaudeStart)
}

// lockFile takes the lock that a host holds for its life. It returns
// errLocked when another process has it.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open session lock: %w", err)
	}
	err = lockfile.Try(f)
	if err == nil && !stillAt(f, path) {
		err = lockfile.ErrHeld
	}
	if err != nil {
		_ = f.Close()
		if errors.Is(err, lockfile.ErrHeld) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("lock session: %w", err)
	}
	return f, nil
}

// stillAt reports whether the file is the one that the path names: a host that
// has just been bound may have put its own lock there.
func stillAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(mine, named)
}

var errLocked = errors.New("session is held by another process")

func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
