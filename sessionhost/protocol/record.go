package protocol

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
)

// A Record is the entry of a host in the state directory, and the truth about hosts:
// runtime directories vanish at logout and differ under cron or sudo.
type Record struct {
	Channel     string `json:"channel"`
	Socket      string `json:"socket"`
	PID         int    `json:"pid"`
	Start       uint64 `json:"start"`
	ClaudePID   int    `json:"claude_pid,omitempty"`
	ClaudeStart uint64 `json:"claude_start,omitempty"`
	BootID      string `json:"boot_id"`
}

// A Place is the channel of a host, with the host's files. The place of a spare changes
// once, when a channel takes the spare.
type Place struct {
	Channel    string `json:"channel"`
	Socket     string `json:"socket"`
	RecordPath string `json:"record_path"`
	LockPath   string `json:"lock_path"`
	LogPath    string `json:"log_path"`
	SpoolPath  string `json:"spool_path"`
	ToolsPath  string `json:"tools_path"`
}

// PlaceOf returns the place of a channel's host. The files are named by a hash of the channel
// key: a key may contain any character, and a socket's path has room for about 100 bytes.
func PlaceOf(stateDir, runtimeDir, channel string) Place {
	sum := sha256.Sum256([]byte(channel))
	name := hex.EncodeToString(sum[:12])
	state := filepath.Join(stateDir, "hosts", name)
	return Place{
		Channel:    channel,
		Socket:     filepath.Join(runtimeDir, name+".sock"),
		RecordPath: state + ".json",
		LockPath:   state + ".lock",
		LogPath:    state + ".log",
		SpoolPath:  state + ".spool",
		ToolsPath:  state + ".tools",
	}
}

// ReservedPath returns the file that promises a spare to a channel.
func (p Place) ReservedPath() string { return strings.TrimSuffix(p.RecordPath, ".json") + ".reserved" }

// Write replaces the record atomically. The record is not synced: after a power loss the
// boot id shows that the record is stale.
func (r Record) Write(path string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode host record: %w", err)
	}
	tmp := path + ".tmp" // one writer: the holder of the lock
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("write host record: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write host record: %w", err)
	}
	return nil
}

// ReadRecord returns the record, or an fs.ErrNotExist.
func ReadRecord(path string) (Record, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Record{}, fmt.Errorf("read host record: %w", err)
	}
	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return Record{}, fmt.Errorf("read host record %s: %w", path, err)
	}
	return r, nil
}

// ThisBoot reports whether the record was written since the machine booted.
func (r Record) ThisBoot() bool {
	id, err := proc.BootID()
	return err == nil && id == r.BootID
}

// Host returns the process of the host.
func (r Record) Host() proc.Process { return proc.Process{PID: r.PID, Start: r.Start} }

// Claude returns the process of claude.
func (r Record) Claude() proc.Process { return proc.Process{PID: r.ClaudePID, Start: r.ClaudeStart} }

// HostAlive reports whether the host still runs.
func (r Record) HostAlive() bool { return r.ThisBoot() && r.PID > 0 && proc.Alive(r.PID, r.Start) }

// ClaudeAlive reports whether claude still runs.
func (r Record) ClaudeAlive() bool {
	return r.ThisBoot() && r.ClaudePID > 0 && proc.Alive(r.ClaudePID, r.ClaudeStart)
}

// LockFile takes the lock that a host holds for its life. It returns ErrLocked while
// another process holds the lock.
func LockFile(path string) (*os.File, error) {
	f, err := lockfile.Open(path, func(f *os.File) error {
		if err := lockfile.Try(f); err != nil || stillAt(f, path) {
			return err
		}
		return lockfile.ErrHeld
	})
	switch {
	case errors.Is(err, lockfile.ErrHeld):
		return nil, ErrLocked
	case err != nil:
		return nil, fmt.Errorf("lock session: %w", err)
	}
	return f, nil
}

// stillAt reports whether the path still names the file: a host that was just bound may
// have put its own lock in the place.
func stillAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(mine, named)
}

// ErrLocked means that another process holds a session lock.
var ErrLocked = errors.New("session is held by another process")

// IsNotExist reports whether a file does not exist.
func IsNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// sparePrefix begins the channel keys of spares. No adapter lets a control
// character into a key.
const sparePrefix = "\x00spare-"

// SpareChannel returns the channel key of the spare in a slot. Slots count from 1.
func SpareChannel(slot int) string { return sparePrefix + strconv.Itoa(slot) }

// SpareSlot returns the slot of a spare by its channel key; false for the key of a real
// channel.
func SpareSlot(channel string) (slot int, ok bool) {
	digits, ok := strings.CutPrefix(channel, sparePrefix)
	if !ok {
		return 0, false
	}
	slot, err := strconv.Atoi(digits)
	return slot, err == nil
}

// ToolNoted reports whether the host has noted that the turn began a tool.
func ToolNoted(path, turn string) (bool, error) {
	b, err := os.ReadFile(path)
	if IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read tool notes: %w", err)
	}
	return bytes.Contains(b, []byte(turn+"\n")), nil
}
