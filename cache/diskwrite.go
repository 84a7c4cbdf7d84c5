package cache

import (
	"encoding/binary"
	"errors"
	"time"

	"go.etcd.io/bbolt"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache/similar"
)

// batchDelay is how long the writer collects changes, so that several answers
// share the cost of one transaction. It is what a crash may lose.
const batchDelay = 20 * time.Millisecond

// batchBytes is how much one transaction writes at most, roughly.
const batchBytes = 16 << 20

// write writes what is queued, batch by batch, until the store is closed.
func (d *disk) write() {
	defer close(d.stopped)
	delay := time.NewTimer(0)
	for open := true; open; {
		if _, open = <-d.wake; open {
			delay.Reset(batchDelay)
			select {
			case <-delay.C:
			case _, open = <-d.wake: // more has come, or the store is closed
				if open {
					<-delay.C
				}
			}
		}
		for d.writeBatch() {
		}
	}
}

// writeBatch writes one batch and reports whether there may be more.
func (d *disk) writeBatch() bool {
	d.mu.Lock()
	var size int64
	batch := make(map[name]change)
	for n, c := range d.dirty {
		if size > batchBytes {
			break
		}
		size += c.size
		batch[n] = c
		delete(d.dirty, n)
	}
	d.queued -= size
	d.writing = batch
	d.mu.Unlock()
	var err error
	if len(batch) > 0 {
		err = d.file.update(func(tx *bbolt.Tx) error { return d.apply(tx, batch) })
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writing = nil
	if err != nil {
		d.env.log.report("cannot write to disk", err)
		d.giveUp(batch)
	}
	d.idle.Broadcast()
	return len(d.dirty) > 0
}

// apply makes the changes of batch.
func (d *disk) apply(tx *bbolt.Tx, batch map[name]change) error {
	answers, summaries := tx.Bucket(bucketAnswers), tx.Bucket(bucketSummaries)
	for n, c := range batch {
		if c.item == nil {
			if err := errors.Join(answers.Delete(n[:]), summaries.Delete(n[:])); err != nil {
				return err
			}
			continue
		}
		ring, t := d.env.ring, &c.item.key.tags
		answer := ring.sealEntry(n[:], t, c.item.entry, d.compress)
		if err := answers.Put(n[:], answer); err != nil {
			return err
		}
		s := summary{
			expires:   c.item.entry.expires,
			size:      int64(len(answer)),
			partition: c.partition,
			question:  c.item.question,
		}
		if err := summaries.Put(n[:], ring.sealRecord(recordSummary, n[:], t, s.append(nil), false)); err != nil {
			return err
		}
	}
	return nil
}

// giveUp drops what batch could not store. d.mu is held.
func (d *disk) giveUp(batch map[name]change) {
	for n, c := range batch {
		if _, again := d.dirty[n]; again || c.item == nil {
			continue
		}
		d.env.counts.drops.Add(1)
		if r := d.items[n]; r != nil {
			d.residents.remove(r)
			d.forget(r)
		}
	}
}

// flush waits until all that was queued when it was called has been written.
func (d *disk) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.dirty)+len(d.writing) > 0 {
		d.idle.Wait()
	}
}

// summary is what the store must know of an entry to run.
type summary struct {
	expires   int64
	size      int64 // of the answer's record
	partition similar.Key
	question  *similar.Question // nil if there is none
}

func (s *summary) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(s.expires))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.size))
	b = binary.LittleEndian.AppendUint64(b, s.partition[0])
	b = binary.LittleEndian.AppendUint64(b, s.partition[1])
	if s.question != nil {
		b = s.question.AppendBinary(b)
	}
	return b
}

// summaryFrom reads what append wrote. A question of another version is left
// out: the entry then answers nothing but its own.
func summaryFrom(b []byte) (summary, error) {
	r := reader{b: b}
	s := summary{expires: r.int64(), size: r.int64()}
	s.partition = similar.Key{uint64(r.int64()), uint64(r.int64())}
	if r.err == nil && len(r.b) > 0 {
		var q similar.Question
		if q.UnmarshalBinary(r.b) == nil {
			s.question = &q
		}
	}
	return s, r.err
}
