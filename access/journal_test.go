package access

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFileJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "limits.db")
	fail := func(err error) { t.Errorf("reported: %v", err) }
	j, err := OpenJournal(path, fail)
	if err != nil {
		t.Fatal(err)
	}
	c := newClock()
	ctx := context.Background()
	lim := Limits{Budget: 1, Period: Monthly}
	l := NewLimiter(j, c.now)
	lease, _ := l.Admit(ctx, "k", lim, 0)
	lease.Settle(ctx, -1, 0.75)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j.Store("late", nil) // a late write must not panic
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if j, err = OpenJournal(path, fail); err != nil {
		t.Fatal(err)
	}
	l = NewLimiter(j, c.now)
	if got := l.Spent(ctx, "k", Monthly); got != 0.75 {
		t.Errorf("after a restart: spent %v", got)
	}
	lease, _ = l.Admit(ctx, "k", lim, 0)
	lease.Settle(ctx, -1, 0.5)
	if _, d := l.Admit(ctx, "k", lim, 0); d.Denied == nil {
		t.Error("over the budget, but admitted")
	}
	j.flush()
	if got := j.Load("monthly/k"); len(got) != 16 {
		t.Errorf("on disk: %x", got)
	}
	j.Close()

	if err := os.WriteFile(path, []byte(strings.Repeat("not a database", 9999)), 0o600); err != nil {
		t.Fatal(err)
	}
	var told error
	if j, err = OpenJournal(path, func(err error) { told = err }); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if told == nil || !strings.Contains(told.Error(), "moved to") {
		t.Errorf("told %v", told)
	}
	if _, err := os.Stat(path + ".damaged"); err != nil {
		t.Error(err)
	}
}
