package llmgateway

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"
)

// Capture writes requests and their answers to files, for debugging. Each
// exchange is one file: the client's request, what went upstream if that is
// something else, and the answer as the client got it. Credentials in headers
// and in the query are replaced; bodies are written as they are, so the
// directory holds what people typed.
type Capture struct {
	// Dir is where the files are written. It is made with mode 0700 if it is
	// not there, and refused if others can read it or if it is a symbolic link.
	Dir string `json:"dir,omitempty"`

	// MaxSize bounds all files together, in bytes; the oldest go first.
	// Default: 268435456 (256 MiB).
	MaxSize int64 `json:"max_size,omitempty"`

	// MaxAge is how long a file stays. Default: 24h.
	MaxAge caddy.Duration `json:"max_age,omitempty"`
}

// Bounds of captures.
const (
	captureSize    = 256 << 20
	captureAge     = 24 * time.Hour
	captureQueue   = 64
	maxCapturePart = 8 << 20 // bytes of one body that are written
	captureSuffix  = ".capture"
)

// captureStore writes the files of one configuration, in the background.
type captureStore struct {
	root    *os.Root
	maxSize int64
	maxAge  time.Duration
	now     func() time.Time
	logger  *zap.Logger
	quiet   logLimiter
	done    chan struct{}

	mu     sync.Mutex
	closed bool
	queue  chan *captured

	// Of the writer only.
	files []captureFile // the oldest first
	total int64
	count int
}

type captureFile struct {
	name string
	size int64
	time time.Time
}

// captured is one exchange.
type captured struct {
	began                 time.Time
	id, head              string
	request, sent         []byte
	status                int
	header                http.Header
	answer                []byte
	cutRequest, cutAnswer bool
}

// capturing is what an exchange keeps for the capture.
type capturing struct {
	capture *captured // nil when nothing is captured
}

// openCapture makes the directory fit.
func openCapture(c *Capture, logger *zap.Logger, repl *caddy.Replacer) (*captureStore, error) {
	dir := repl.ReplaceAll(c.Dir, "")
	if dir == "" {
		return nil, errors.New("a directory is expected")
	}
	if c.MaxSize < 0 || c.MaxAge < 0 {
		return nil, errors.New("max_size and max_age must not be negative")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	before, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, fmt.Errorf("%s is not a directory (a symbolic link is none)", dir)
	}
	if mode := before.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by others (mode %#o): expected mode 0700", dir, mode)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	after, err := root.Stat(".")
	if err != nil || !os.SameFile(before, after) {
		root.Close()
		return nil, errors.Join(fmt.Errorf("%s was exchanged while it was opened", dir), err)
	}
	s := &captureStore{root: root, maxSize: c.MaxSize, maxAge: time.Duration(c.MaxAge), now: time.Now, logger: logger, done: make(chan struct{}), queue: make(chan *captured, captureQueue)}
	if s.maxSize == 0 {
		s.maxSize = captureSize
	}
	if s.maxAge == 0 {
		s.maxAge = captureAge
	}
	return s, nil
}

// close ends the writer when the queue is empty.
func (s *captureStore) close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
}

// run writes what is queued and removes what is too old.
func (s *captureStore) run() {
	defer close(s.done)
	defer s.root.Close()
	tick := time.NewTicker(max(time.Second, min(s.maxAge/4, time.Minute)))
	defer tick.Stop()
	s.check(s.scan())
	for {
		select {
		case c, ok := <-s.queue:
			if !ok {
				return
			}
			s.check(s.write(c))
		case <-tick.C:
			s.check(s.scan())
		}
	}
}

// check logs an error, one a minute.
func (s *captureStore) check(err error) {
	if err != nil && s.quiet.allow(time.Now()) {
		s.logger.Error("capture", zap.Error(err))
	}
}

// scan reads the directory and removes what is too much. Only regular files
// with the suffix of captures count.
func (s *captureStore) scan() error {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return err
	}
	s.files, s.total = s.files[:0], 0
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), captureSuffix) {
			continue
		}
		if info, err := e.Info(); err == nil {
			s.files = append(s.files, captureFile{e.Name(), info.Size(), info.ModTime()})
			s.total += info.Size()
		}
	}
	slices.SortFunc(s.files, func(a, b captureFile) int { return a.time.Compare(b.time) })
	return s.prune(0)
}

// prune makes room for size more bytes.
func (s *captureStore) prune(size int64) error {
	n := 0
	oldest := s.now().Add(-s.maxAge)
	for n < len(s.files) && (s.total+size > s.maxSize || s.files[n].time.Before(oldest)) {
		if err := s.root.Remove(s.files[n].name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.total -= s.files[n].size
		n++
	}
	s.files = slices.Delete(s.files, 0, n)
	return nil
}

// write writes one file. Its name is new (O_EXCL), so that no link is followed.
func (s *captureStore) write(c *captured) error {
	text := c.text()
	if err := s.prune(int64(len(text))); err != nil {
		return err
	}
	if int64(len(text)) > s.maxSize {
		return fmt.Errorf("an exchange of %d bytes is larger than max_size", len(text))
	}
	s.count++
	name := fmt.Sprintf("%s-%06d-%s%s", c.began.UTC().Format("20060102T150405.000000"), s.count, c.id, captureSuffix)
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, s.root.Remove(name))
	}
	s.files = append(s.files, captureFile{name, int64(len(text)), s.now()})
	s.total += int64(len(text))
	return nil
}

// text is the content of the file.
func (c *captured) text() []byte {
	var b bytes.Buffer
	section := func(name string, body []byte, cut bool) {
		fmt.Fprintf(&b, "--- %s (%d bytes", name, len(body))
		if cut {
			b.WriteString(", cut")
		}
		b.WriteString(")\n")
		b.Write(body)
		b.WriteByte('\n')
	}
	b.WriteString(c.head)
	section("request", c.request, c.cutRequest)
	if c.sent != nil {
		section("sent upstream", c.sent, c.cutRequest)
	}
	fmt.Fprintf(&b, "--- answer %d\n", c.status)
	redactHeader(c.header).Write(&b)
	section("answer", c.answer, c.cutAnswer)
	return b.Bytes()
}

// redactHeader is a copy of h without credentials.
func redactHeader(h http.Header) http.Header {
	c := h.Clone()
	for _, name := range append([]string{"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie"}, credentialHeaders...) {
		if len(c[name]) > 0 {
			c[name] = []string{redacted}
		}
	}
	return c
}

// captureRequest keeps the request if it is to be captured.
func (x *exchange) captureRequest() {
	if x.h.captures == nil {
		return
	}
	c := &captured{began: x.began, id: x.format.String()}
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s %s\nHost: %s\n", x.r.Method, redactURI(x.r.URL.RequestURI()), x.r.Proto, x.r.Host)
	redactHeader(x.r.Header).Write(&head)
	c.head = head.String()
	c.request, c.cutRequest = copyPart(x.body)
	x.capture = c
}

// captureSent keeps what goes upstream if it is something else.
func (x *exchange) captureSent() {
	if x.capture != nil && x.sent != x.body {
		x.capture.sent, _ = copyPart(x.sent)
	}
}

// copyPart is a copy of the beginning of a body.
func copyPart(p *payload) (b []byte, cut bool) {
	if p == nil {
		return nil, true
	}
	n := min(p.len(), maxCapturePart)
	return append([]byte{}, p.bytes()[:n]...), n < p.len()
}

// captureAnswer keeps the next piece of the answer.
func (x *exchange) captureAnswer(b []byte) {
	c := x.capture
	if c == nil {
		return
	}
	n := min(len(b), maxCapturePart-len(c.answer))
	c.answer = append(c.answer, b[:n]...)
	c.cutAnswer = c.cutAnswer || n < len(b)
}

// endCapture hands the exchange to the writer, or drops it when that cannot
// keep up.
func (x *exchange) endCapture() {
	c := x.capture
	if c == nil {
		return
	}
	x.capture = nil
	c.status, c.header = x.tee.status, x.w.Header().Clone()
	s := x.h.captures
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	select {
	case s.queue <- c:
	default:
		s.check(errors.New("exchanges come faster than they can be written; some are left out"))
	}
}

// parseCapture reads:
//
//	capture <dir> {
//		max_size <size>
//		max_age <duration>
//	}
func parseCapture(d *caddyfile.Dispenser, target **Capture) error {
	c := new(Capture)
	var err error
	if c.Dir, err = oneArg(d, "a directory"); err != nil {
		return err
	}
	if c.Dir == "" {
		return d.Errf("capture: expected a directory, got \"\"")
	}
	*target = c
	return parseBlock(d, "capture", directives{
		"max_size": once(func(d *caddyfile.Dispenser) error { return parseSize(d, &c.MaxSize) }),
		"max_age":  once(func(d *caddyfile.Dispenser) error { return parseDuration(d, &c.MaxAge) }),
	})
}
