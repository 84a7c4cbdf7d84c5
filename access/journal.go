package access

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// journalDelay is how long what was spent may stay unwritten; that much a
// power cut may forget.
const journalDelay = 500 * time.Millisecond

var journalBucket = []byte("spent-1")

// FileJournal is a Journal in a file. Writes are gathered and written in the
// background.
type FileJournal struct {
	db *bolt.DB

	mu     sync.Mutex
	dirty  map[string][]byte
	timer  *time.Timer
	closed bool
	onFail func(error)
}

// OpenJournal opens, or makes, the journal at path. A file that is no journal
// is moved aside, so that limits go on working; onFail is told of that and of
// failed writes.
func OpenJournal(path string, onFail func(error)) (*FileJournal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	open := func() (*bolt.DB, error) {
		db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: 5 * time.Second})
		if err != nil {
			return nil, err
		}
		err = db.Update(func(tx *bolt.Tx) error {
			_, err := tx.CreateBucketIfNotExists(journalBucket)
			return err
		})
		if err != nil {
			db.Close()
			return nil, err
		}
		return db, nil
	}
	db, err := open()
	if err != nil && !errors.Is(err, bolterrors.ErrTimeout) && !errors.Is(err, os.ErrPermission) {
		aside := path + ".damaged"
		if renameErr := os.Rename(path, aside); renameErr != nil {
			return nil, err
		}
		onFail(fmt.Errorf("%s is damaged and was moved to %s: %w", path, aside, err))
		db, err = open()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &FileJournal{db: db, dirty: make(map[string][]byte), onFail: onFail}, nil
}

// Load implements Journal.
func (j *FileJournal) Load(name string) []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	if v, ok := j.dirty[name]; ok {
		return bytes.Clone(v)
	}
	var out []byte
	err := j.db.View(func(tx *bolt.Tx) error {
		out = bytes.Clone(tx.Bucket(journalBucket).Get([]byte(name)))
		return nil
	})
	if err != nil {
		j.onFail(err)
	}
	return out
}

// Store implements Journal.
func (j *FileJournal) Store(name string, value []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return // a request of a configuration that is long gone
	}
	j.dirty[name] = bytes.Clone(value)
	if j.timer == nil {
		j.timer = time.AfterFunc(journalDelay, j.flush)
	}
}

// flush writes what is dirty. What could not be written is tried again with
// the next write.
func (j *FileJournal) flush() {
	j.mu.Lock()
	batch := j.dirty
	j.dirty, j.timer = make(map[string][]byte), nil
	j.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	err := j.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(journalBucket)
		for name, value := range batch {
			if err := b.Put([]byte(name), value); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		return
	}
	j.onFail(err)
	j.mu.Lock()
	for name, value := range batch {
		if _, newer := j.dirty[name]; !newer {
			j.dirty[name] = value
		}
	}
	j.mu.Unlock()
}

// Close writes what is dirty and closes the file. It may be called again.
func (j *FileJournal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	if j.timer != nil {
		j.timer.Stop()
	}
	j.mu.Unlock()
	j.flush()
	return j.db.Close()
}

// Destruct is Close, for a caddy.UsagePool.
func (j *FileJournal) Destruct() error { return j.Close() }
