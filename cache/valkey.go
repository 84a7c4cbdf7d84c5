package cache

import (
	"context"
	"encoding/base64"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	valkeygo "github.com/valkey-io/valkey-go"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache/similar"
)

// How long the store waits for the server. A request never waits longer than
// valkeyTimeout; the rest happens in the background.
const (
	valkeyTimeout      = 50 * time.Millisecond
	valkeyWriteTimeout = 2 * time.Second
	valkeyDialTimeout  = time.Second
	valkeyRetry        = 500 * time.Millisecond // between attempts to reach a server that is down
)

// Prefixes of the store's keys on the server. What follows is a keyed hash.
const (
	valkeyEntry     = "llm_gateway:1:e:" // an answer
	valkeyPartition = "llm_gateway:1:p:" // the questions of a partition
)

// valkey keeps entries in Valkey or Redis, shared by all gateways that have
// the same secret. The server is not trusted: it sees keyed hashes and sealed
// records, and what it returns counts only if the seal is whole. Nor is it
// relied on: when it is down or slow the store finds and keeps nothing, until
// it is back.
type valkey struct {
	env      *environment
	option   valkeygo.ClientOption
	compress bool
	timeout  time.Duration // of what a request waits for
	mirrors  *mirrors

	client atomic.Pointer[valkeygo.Client]
	up     atomic.Bool
	fell   chan struct{} // the server has become unreachable
	stop   context.CancelFunc
	ended  sync.WaitGroup // of the writer

	mu      sync.Mutex
	dirty   map[name]*item // to be written
	writing map[name]*item // being written
	queued  int64          // bytes of answers in dirty
	wake    chan struct{}  // there is something in dirty
	idle    *sync.Cond     // told when a batch was written
	closed  bool
}

// valkeyOption is how to reach the server at url.
func valkeyOption(url string) (valkeygo.ClientOption, error) {
	if url == "" {
		return valkeygo.ClientOption{}, errors.New("a URL expected, such as redis://localhost:6379/0")
	}
	o, err := valkeygo.ParseURL(url)
	if err != nil {
		return o, err
	}
	if o.Dialer.Timeout == 0 {
		o.Dialer.Timeout = valkeyDialTimeout
	}
	if o.ConnWriteTimeout == 0 {
		o.ConnWriteTimeout = 2 * valkeyWriteTimeout
	}
	// What fails is not tried again while a request waits, and answers are
	// large and seldom asked for twice by one gateway.
	o.DisableRetry, o.DisableCache = true, true
	o.ReadBufferEachConn, o.WriteBufferEachConn = 64<<10, 64<<10
	return o, nil
}

// openValkey opens the store that s describes. A server that is down is no
// error.
func openValkey(s StoreConfig, env *environment) (store, error) {
	option, err := valkeyOption(s.URL)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	v := &valkey{
		env: env, option: option, compress: s.Compress,
		timeout: valkeyTimeout,
		mirrors: newMirrors(),
		fell:    make(chan struct{}, 1),
		stop:    stop,
		dirty:   make(map[name]*item),
		wake:    make(chan struct{}, 1),
	}
	v.idle = sync.NewCond(&v.mu)
	v.ended.Go(v.write)
	tried := make(chan struct{})
	go v.watch(ctx, tried)
	select {
	case <-tried:
	case <-time.After(valkeyDialTimeout):
	}
	return v, nil
}

// watch looks for the server whenever it cannot be reached, until it can. It
// closes tried after the first attempt.
func (v *valkey) watch(ctx context.Context, tried chan struct{}) {
	retry := time.NewTicker(valkeyRetry)
	defer retry.Stop()
	v.reach(ctx)
	close(tried)
	for {
		if v.up.Load() {
			select {
			case <-v.fell:
			case <-ctx.Done():
				return
			}
		}
		if !v.up.Load() && !v.reach(ctx) {
			select {
			case <-retry.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// reach tries to reach the server and reports whether it is there.
func (v *valkey) reach(ctx context.Context) bool {
	c := v.client.Load()
	if c == nil {
		made, err := valkeygo.NewClient(v.option)
		if err != nil {
			v.env.log.report(unreachable, err)
			return false
		}
		if c = &made; !v.adopt(c) {
			return false
		}
	}
	ctx, cancel := context.WithTimeout(ctx, valkeyDialTimeout)
	defer cancel()
	if err := (*c).Do(ctx, (*c).B().Ping().Build()).Error(); err != nil {
		v.env.log.report(unreachable, err)
		return false
	}
	v.up.Store(true)
	return true
}

// adopt makes c the client, unless the store has been closed meanwhile.
func (v *valkey) adopt(c *valkeygo.Client) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		(*c).Close()
		return false
	}
	v.client.Store(c)
	return true
}

// unreachable is what the operator is told when it is so.
const unreachable = "the Valkey server does not answer; requests go to the provider"

// fail takes note of err, what a use of the server under parent came to.
func (v *valkey) fail(parent context.Context, err error) {
	if err == nil || parent.Err() != nil {
		return // the client has gone, which says nothing about the server
	}
	v.env.counts.unreachable.Add(1)
	v.env.log.report(unreachable, err)
	v.up.Store(false)
	select {
	case v.fell <- struct{}{}:
	default:
	}
}

// server is the client for the server, nil if it cannot be reached now.
func (v *valkey) server() valkeygo.Client {
	if c := v.client.Load(); c != nil && v.up.Load() {
		return *c
	}
	return nil
}

func entryKey(n *name) string { return valkeyEntry + base64.RawURLEncoding.EncodeToString(n[:]) }

// Get implements store.
func (v *valkey) Get(ctx context.Context, k *requestKey, now int64) *entry {
	return v.read(ctx, k.name(), now)
}

// read is the entry called n, nil if there is none that is good at now.
func (v *valkey) read(ctx context.Context, n *name, now int64) *entry {
	v.mu.Lock()
	it := v.dirty[*n]
	if it == nil {
		it = v.writing[*n]
	}
	v.mu.Unlock()
	if it != nil {
		if it.entry.expires <= now {
			return nil
		}
		return it.entry
	}
	c := v.server()
	if c == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	record, err := c.Do(limited, c.B().Get().Key(entryKey(n)).Build()).AsBytes()
	if valkeygo.IsValkeyNil(err) {
		return nil
	}
	if err != nil {
		v.fail(ctx, err)
		return nil
	}
	e, err := v.env.ring.openEntry(n[:], record)
	if err != nil {
		v.damaged(err)
		return nil
	}
	if e.expires <= now {
		return nil
	}
	return e
}

// damaged takes note of a record that is not what a gateway has written.
func (v *valkey) damaged(err error) {
	v.env.counts.damaged.Add(1)
	v.env.log.report("the Valkey server returned a record that no gateway with this secret has written", err)
}

// Nearest implements store.
func (v *valkey) Nearest(ctx context.Context, k *requestKey, q *similar.Question, threshold float64, now int64) (*entry, float64) {
	c := v.server()
	if c == nil {
		return nil, 0
	}
	p := k.partitionName()
	if err := v.follow(ctx, c, p, now); err != nil {
		v.fail(ctx, err)
		return nil, 0
	}
	// An entry may have left the server before its question; then the next
	// nearest may do.
	const tries = 3
	for range tries {
		n, id, score, ok := v.mirrors.search(p, q, threshold, now)
		if !ok {
			return nil, 0
		}
		if e := v.read(ctx, &n, now); e != nil {
			return e, score
		}
		if v.server() == nil || ctx.Err() != nil {
			return nil, 0
		}
		v.mirrors.delete(p, id)
	}
	return nil, 0
}

// Put implements store.
func (v *valkey) Put(it *item, now int64) {
	n, size := *it.key.name(), it.size()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed || !v.up.Load() || v.queued+size > maxQueued {
		v.env.counts.drops.Add(1)
		return
	}
	if old := v.dirty[n]; old != nil {
		v.queued -= old.size()
	}
	v.dirty[n] = it
	v.queued += size
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// Size implements store.
func (v *valkey) Size() (entries, bytes int64) { return -1, -1 }

// Close implements store. What waits to be written is written first.
func (v *valkey) Close() error {
	v.mu.Lock()
	if v.closed {
		v.mu.Unlock()
		return nil
	}
	v.closed = true
	close(v.wake)
	c := v.client.Load()
	v.mu.Unlock()
	v.ended.Wait()
	v.stop()
	v.up.Store(false)
	if c != nil {
		(*c).Close()
	}
	return nil
}
