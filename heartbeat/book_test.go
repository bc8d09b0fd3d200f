package heartbeat

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestBook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := openBook(dir)
	if err != nil {
		t.Fatal(err)
	}
	slot := slotOf(time.Now(), time.Hour)
	b.Open = &Tick{Slot: slot, Outcome: Asked, Message: "m"}
	for range keptTicks + 5 { // others come and go while one is open
		if err := b.add(Tick{Slot: slot, Outcome: Busy}); err != nil {
			t.Fatal(err)
		}
	}
	if b, err = openBook(dir); err != nil || len(b.Ticks) != keptTicks || b.Open == nil || b.asked(slot) {
		t.Fatalf("%d ticks, open %+v, %v", len(b.Ticks), b.Open, err)
	}
	if err := b.closeOpen(); err != nil {
		t.Fatal(err)
	}
	if r, err := Read(dir); err != nil || len(r.Ticks) != keptTicks || r.Open != nil || !r.asked(slot) || r.asked(slot.Add(time.Hour)) {
		t.Errorf("%d ticks, open %+v, %v", len(r.Ticks), r.Open, err)
	}
	if info, err := os.Stat(filepath.Join(dir, bookName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if err := os.WriteFile(b.path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), b.path) {
		t.Errorf("a damaged file: %v", err)
	}
}

func TestLogIsPutAside(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), logName)
	for i := range 3 {
		if err := os.WriteFile(path, []byte(strings.Repeat("a", maxLog)+string(rune('0'+i))), 0o600); err != nil {
			t.Fatal(err)
		}
		l := openLog(path, io.Discard)
		l.printf("said %q", "\x1b[2J")
		l.close()
		now, _ := os.ReadFile(path)
		before, _ := os.ReadFile(path + ".1")
		if !strings.HasSuffix(string(now), ` said "\x1b[2J"`+"\n") || len(now) > 100 || !strings.HasSuffix(string(before), string(rune('0'+i))) {
			t.Errorf("round %d: %q, and put aside %d bytes", i, now, len(before))
		}
	}
}
