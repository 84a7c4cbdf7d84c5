package llmgateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"
)

// TestCaptureBounds removes files by age and by size, and nothing else.
func TestCaptureBounds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "captures")
	s, err := openCapture(&Capture{Dir: dir, MaxSize: 1000, MaxAge: caddy.Duration(time.Hour)}, zap.NewNop(), caddy.NewReplacer())
	if err != nil {
		t.Fatal(err)
	}
	defer s.root.Close()
	now := time.Now()
	s.now = func() time.Time { return now }
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("directory has mode %v", info.Mode())
	}
	other := filepath.Join(dir, "notes.txt")
	outside := filepath.Join(t.TempDir(), "victim")
	for _, file := range []string{other, outside} {
		if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "00000000T"+captureSuffix)); err != nil {
		t.Fatal(err)
	}
	names := func() (names []string) {
		files, _ := filepath.Glob(filepath.Join(dir, "2*"+captureSuffix))
		return files
	}
	for i := range 20 {
		if err := s.write(&captured{began: now.Add(time.Duration(i) * time.Second), id: "chat", request: []byte(strings.Repeat("x", 100))}); err != nil {
			t.Fatal(err)
		}
	}
	var total int64
	for _, file := range names() {
		info, err := os.Lstat(file)
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v %v", file, info.Mode(), err)
		}
		total += info.Size()
	}
	if total > 1000 || total < 700 {
		t.Errorf("%d bytes are kept", total)
	}
	if err := s.write(&captured{id: "chat", request: make([]byte, 2000)}); err == nil {
		t.Error("an exchange larger than max_size was written")
	}
	now = now.Add(2 * time.Hour)
	if err := s.scan(); err != nil {
		t.Fatal(err)
	}
	if left := names(); len(left) != 0 {
		t.Errorf("too old, but there: %v", left)
	}
	for _, file := range []string{other, outside, filepath.Join(dir, "00000000T"+captureSuffix)} {
		if _, err := os.Lstat(file); err != nil {
			t.Error(err)
		}
	}
}

// TestCaptureDirectory refuses what is not a directory of our own.
func TestCaptureDirectory(t *testing.T) {
	dir := t.TempDir()
	open, link, file, private := filepath.Join(dir, "open"), filepath.Join(dir, "link"), filepath.Join(dir, "file"), filepath.Join(dir, "private")
	for _, err := range []error{os.Mkdir(open, 0o755), os.Mkdir(private, 0o700), os.Symlink(private, link), os.WriteFile(file, nil, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for dir, ok := range map[string]bool{open: false, link: false, file: false, "": false, private: true} {
		s, err := openCapture(&Capture{Dir: dir}, zap.NewNop(), caddy.NewReplacer())
		if (err == nil) != ok {
			t.Errorf("%s: %v", dir, err)
		}
		if s != nil {
			s.root.Close()
		}
	}
}

// TestCaptureOff costs nothing.
func TestCaptureOff(t *testing.T) {
	x := &exchange{h: new(Handler)}
	b := make([]byte, 1000)
	if n := testing.AllocsPerRun(100, func() { x.captureRequest(); x.captureSent(); x.captureAnswer(b); x.endCapture() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// CapturesWritten are closed when the capture of each instance has written
// everything.
func CapturesWritten() (all []<-chan struct{}) {
	for _, h := range instances.list() {
		if h.captures != nil {
			all = append(all, h.captures.done)
		}
	}
	return all
}
