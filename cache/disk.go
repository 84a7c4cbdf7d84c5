package cache

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache/similar"
)

// The buckets of the database. Both are keyed by the entry's name, the MAC of
// its key. Summaries are what load reads, so that a start does not read every
// answer.
var (
	bucketAnswers   = []byte("llm_gateway cache answers")
	bucketSummaries = []byte("llm_gateway cache summaries")
)

// name is what an entry is called outside of the process.
type name = [32]byte

// disk keeps entries in a file. What is asked and stored is answered at once
// from memory; a single goroutine writes it to the file in batches, each of
// them one transaction, so that the file is whole whenever the process dies.
// The answers are only in the file; their names, sizes and questions are in
// memory too.
type disk struct {
	env      *environment
	file     *diskFile
	compress bool
	index    *similar.Index

	mu        sync.RWMutex
	items     map[name]*resident[diskItem]
	indexed   map[uint64]*resident[diskItem] // those in the index, by their id there
	residents residents[diskItem]
	loading   bool
	removed   map[name]bool // while loading: what is not to be loaded any more

	dirty   map[name]change // to be written
	writing map[name]change // being written
	queued  int64           // bytes of answers in dirty
	wake    chan struct{}   // there is something in dirty
	idle    *sync.Cond      // told when a batch was written
	closed  bool

	loaded  chan struct{} // closed when all summaries have been read
	stopped chan struct{} // closed when the writer has ended
}

// diskItem is what is known in memory of an entry in the file.
type diskItem struct {
	name name
	tags tags
}

// change is what is to become of one name in the file.
type change struct {
	item      *item // to be stored; nil: to be removed
	size      int64
	partition similar.Key
}

// maxQueued is how many bytes of answers may wait to be written. What comes in
// while the disk is slower than that is not stored.
const maxQueued = 64 << 20

// openDisk opens the store that s describes.
func openDisk(s StoreConfig, env *environment) (store, error) {
	file, err := openFile(s.Path, env.log)
	if err != nil {
		return nil, err
	}
	err = file.update(func(tx *bbolt.Tx) error {
		_, err1 := tx.CreateBucketIfNotExists(bucketAnswers)
		_, err2 := tx.CreateBucketIfNotExists(bucketSummaries)
		return errors.Join(err1, err2)
	})
	if err != nil {
		return nil, errors.Join(err, file.close())
	}
	d := &disk{
		env: env, file: file, compress: s.Compress,
		index:   similar.New(similar.Options{}),
		items:   make(map[name]*resident[diskItem]),
		indexed: make(map[uint64]*resident[diskItem]),
		loading: true,
		removed: make(map[name]bool),
		dirty:   make(map[name]change),
		wake:    make(chan struct{}, 1),
		loaded:  make(chan struct{}),
		stopped: make(chan struct{}),
	}
	d.idle = sync.NewCond(&d.mu)
	d.residents = newResidents(s.Size, func(r *resident[diskItem], expired bool) {
		d.forget(r)
		d.enqueue(r.value.name, change{})
		if !expired {
			env.counts.evictions.Add(1)
		}
	})
	go d.write()
	go d.load()
	return d, nil
}

// forget takes r out of everything but the residents and the file. d.mu is held.
func (d *disk) forget(r *resident[diskItem]) {
	delete(d.items, r.value.name)
	if d.indexed[r.id] == r {
		delete(d.indexed, r.id)
		d.index.Delete(r.id)
	}
}

// admit takes r in, in place of what has its name. d.mu is held.
func (d *disk) admit(r *resident[diskItem], partition similar.Key, q *similar.Question, now int64) {
	if old := d.items[r.value.name]; old != nil {
		d.residents.remove(old)
		d.forget(old)
		if old.asked.lower() {
			r.asked.up()
		}
	}
	d.residents.add(r, now)
	d.items[r.value.name] = r
	// Of two entries that have the same id by chance, one in 2^64, only the
	// first answers similar questions.
	if q != nil && d.indexed[r.id] == nil {
		d.indexed[r.id] = r
		d.index.Insert(partition, q, r.id, r.expires)
	}
}

// enqueue has c written. d.mu is held.
func (d *disk) enqueue(n name, c change) {
	if d.closed {
		return
	}
	if old, ok := d.dirty[n]; ok {
		d.queued -= old.size
	}
	d.dirty[n] = c
	d.queued += c.size
	if d.loading && c.item == nil {
		d.removed[n] = true
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Put implements store.
func (d *disk) Put(it *item, now int64) {
	n := *it.key.name()
	c := change{item: it, size: it.size()}
	if it.question != nil {
		c.partition = partitionKey(it.key.partitionName())
	}
	r := &resident[diskItem]{
		value:   diskItem{n, it.key.tags},
		id:      binary.BigEndian.Uint64(n[:8]),
		size:    pages(int64(len(it.entry.Body))) + pages(int64(recordHead)),
		expires: it.entry.expires,
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.queued+c.size > maxQueued || !d.residents.fits(r.size) {
		d.env.counts.drops.Add(1)
		return
	}
	d.admit(r, c.partition, it.question, now)
	d.enqueue(n, c)
}

// partitionKey is a partition's name as the index takes it.
func partitionKey(p *[32]byte) similar.Key {
	return similar.Key{binary.LittleEndian.Uint64(p[:8]), binary.LittleEndian.Uint64(p[8:16])}
}

// pages is what a value of n bytes takes in the file, roughly.
func pages(n int64) int64 {
	const page = 4 << 10
	if n < page/4 {
		return n + n/2 + 64 // it shares a page that is not always full
	}
	return (n + page - 1) / page * page
}

// Get implements store.
func (d *disk) Get(_ context.Context, k *requestKey, now int64) *entry { return d.read(*k.name(), now) }

// Nearest implements store.
func (d *disk) Nearest(_ context.Context, k *requestKey, q *similar.Question, threshold float64, now int64) (*entry, float64) {
	id, score, ok := d.index.Search(partitionKey(k.partitionName()), q, threshold, now)
	if !ok {
		return nil, 0
	}
	d.mu.RLock()
	r := d.indexed[id]
	d.mu.RUnlock()
	if r == nil {
		return nil, 0 // it has left since the index was searched
	}
	return d.read(r.value.name, now), score
}

// read is the entry called n, nil if there is none that is good at now.
func (d *disk) read(n name, now int64) *entry {
	d.mu.RLock()
	r := d.items[n]
	c, waits := d.dirty[n]
	if !waits {
		c, waits = d.writing[n]
	}
	unknown := d.closed || r == nil && (!d.loading || d.removed[n])
	d.mu.RUnlock()
	if r != nil {
		r.asked.up()
	}
	if waits {
		if c.item == nil || c.item.entry.expires <= now {
			return nil
		}
		return c.item.entry
	}
	if unknown {
		return nil
	}
	var e *entry
	missing := false
	err := d.file.view(func(tx *bbolt.Tx) (err error) {
		b := tx.Bucket(bucketAnswers).Get(n[:])
		if missing = b == nil; missing {
			return nil
		}
		e, err = d.env.ring.openEntry(n[:], b)
		return err
	})
	switch {
	case err != nil:
		d.discard(n, r, err)
		return nil
	case missing:
		return nil
	case e.expires <= now:
		return nil // it leaves when a sweep comes by
	}
	return e
}

// discard drops the entry called n, whose record cannot be read because of err.
func (d *disk) discard(n name, r *resident[diskItem], err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.items[n] != r {
		return // it has been replaced since
	}
	d.env.counts.damaged.Add(1)
	d.env.log.report("dropped a record on disk that cannot be read", err)
	if r != nil {
		d.residents.remove(r)
		d.forget(r)
	}
	d.enqueue(n, change{})
}

// Purge implements store.
func (d *disk) Purge(ctx context.Context, sel selector) (int, error) {
	select {
	case <-d.loaded:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	d.mu.Lock()
	count := 0
	d.residents.each(func(r *resident[diskItem]) bool {
		if sel.selects(&r.value.tags) {
			d.residents.remove(r)
			d.forget(r)
			d.enqueue(r.value.name, change{})
			count++
		}
		return true
	})
	d.mu.Unlock()
	d.flush()
	return count, nil
}

// Size implements store.
func (d *disk) Size() (entries, bytes int64) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return int64(d.residents.count()), d.residents.bytes
}

// Close implements store. What waits to be written is written first.
func (d *disk) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	d.mu.Unlock()
	close(d.wake)
	<-d.loaded
	<-d.stopped
	return d.file.close()
}
