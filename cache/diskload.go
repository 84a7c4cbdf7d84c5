package cache

import (
	"bytes"
	"encoding/binary"

	"go.etcd.io/bbolt"
)

// loadStep is how many records one transaction of load reads, so that none
// holds up the writer for long.
const loadStep = 1024

// load reads what the file holds, in the background: answers are found by
// their exact key from the start, by a similar question as soon as they are
// loaded. Records that are damaged or somebody else's are dropped.
func (d *disk) load() {
	defer close(d.loaded)
	if !d.walk(bucketSummaries, d.loadSummary) {
		return // it is not known which answers are without a summary
	}
	d.walk(bucketAnswers, func(n name, _ []byte) error {
		d.mu.RLock()
		known := d.items[n] != nil || d.removed[n]
		d.mu.RUnlock()
		if !known {
			return errCorrupt // its summary was lost
		}
		return nil
	})
	d.mu.Lock()
	d.loading, d.removed = false, nil
	d.mu.Unlock()
}

// walk calls visit for every record of a bucket and reports whether it came to
// the end. What visit returns an error for is dropped.
func (d *disk) walk(bucket []byte, visit func(n name, record []byte) error) bool {
	var from []byte
	for more := true; more; {
		var bad [][]byte
		var why error
		more = false
		err := d.file.view(func(tx *bbolt.Tx) error {
			c := tx.Bucket(bucket).Cursor()
			key, record := c.Seek(from)
			for steps := 0; key != nil; key, record = c.Next() {
				if steps++; steps > loadStep {
					from, more = bytes.Clone(key), true
					return nil
				}
				err := errForeign
				if len(key) == len(name{}) && record != nil {
					err = visit(name(key), record)
				}
				if err != nil {
					bad, why = append(bad, bytes.Clone(key)), err
				}
			}
			return nil
		})
		if err != nil {
			d.env.log.report("cannot read all of the file", err)
			d.env.counts.damaged.Add(1)
			return false
		}
		if len(bad) > 0 {
			d.dropRecords(bad, why)
		}
		d.mu.RLock()
		closed := d.closed
		d.mu.RUnlock()
		if closed {
			return false
		}
	}
	return true
}

// loadSummary takes in one entry of the file.
func (d *disk) loadSummary(n name, record []byte) error {
	plain, err := d.env.ring.openRecord(recordSummary, n[:], record)
	if err != nil {
		return err
	}
	t, err := recordTags(record)
	if err != nil {
		return err
	}
	s, err := summaryFrom(plain)
	if err != nil {
		return err
	}
	now := d.env.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.items[n] != nil || d.removed[n] {
		return nil // something newer has come
	}
	r := &resident[diskItem]{
		value:   diskItem{n, t},
		id:      binary.BigEndian.Uint64(n[:8]),
		size:    pages(s.size) + pages(int64(len(record))),
		expires: s.expires,
	}
	if s.expires <= now || !d.residents.fits(r.size) {
		d.enqueue(n, change{})
		return nil
	}
	d.admit(r, s.partition, s.question, now)
	return nil
}

// dropRecords removes what stands under keys that no store of this version and
// secret has written there.
func (d *disk) dropRecords(keys [][]byte, why error) {
	d.env.counts.damaged.Add(int64(len(keys)))
	d.env.log.report("dropped records on disk that cannot be read", why)
	d.mu.Lock()
	for _, key := range keys {
		if len(key) == len(name{}) && d.items[name(key)] == nil {
			d.enqueue(name(key), change{})
		}
	}
	d.mu.Unlock()
	err := d.file.update(func(tx *bbolt.Tx) error {
		for _, key := range keys {
			if len(key) == len(name{}) {
				continue
			}
			for _, bucket := range [][]byte{bucketAnswers, bucketSummaries} {
				b := tx.Bucket(bucket)
				if b.Bucket(key) != nil {
					if err := b.DeleteBucket(key); err != nil {
						return err
					}
				} else if err := b.Delete(key); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		d.env.log.report("cannot write to disk", err)
	}
}
