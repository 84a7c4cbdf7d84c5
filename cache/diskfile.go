package cache

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// diskFile is an open database. bbolt locks its file, so within the process
// all stores of one path share one handle: when a configuration is replaced,
// the new one opens its stores before the old one closes its own.
type diskFile struct {
	db   *bbolt.DB
	path string
	uses int
}

var diskFiles struct {
	mu     sync.Mutex
	byPath map[string]*diskFile
}

// lockWait is how long an open waits for another process to let go of a file.
const lockWait = 3 * time.Second

// openFile opens the database at path, or joins those who have it open. A
// database that is damaged beyond use is set aside, and a new one takes its
// place: a cache is not worth a gateway that does not start. A file that is
// no database stays as it is.
func openFile(path string, log *reporter) (*diskFile, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	diskFiles.mu.Lock()
	defer diskFiles.mu.Unlock()
	if f := diskFiles.byPath[path]; f != nil {
		f.uses++
		return f, nil
	}
	db, err := openDatabase(path)
	if errors.Is(err, errDamaged) {
		log.report("the file is damaged and was set aside as "+path+damagedSuffix, err)
		if err := os.Rename(path, path+damagedSuffix); err != nil {
			return nil, err
		}
		db, err = openDatabase(path)
	}
	if err != nil {
		return nil, err
	}
	f := &diskFile{db: db, path: path, uses: 1}
	if diskFiles.byPath == nil {
		diskFiles.byPath = make(map[string]*diskFile)
	}
	diskFiles.byPath[path] = f
	return f, nil
}

// errDamaged says that a database cannot be used.
var errDamaged = errors.New("damaged database")

// damagedSuffix is where a damaged database is set aside.
const damagedSuffix = ".damaged"

// openDatabase opens the database at path.
func openDatabase(path string) (db *bbolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var file *os.File
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDamaged, p)
			if file != nil {
				file.Close() // and with it the lock, which bbolt has forgotten
			}
		}
	}()
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout:      lockWait,
		FreelistType: bbolt.FreelistMapType,
		// The list of free pages is kept in the file: to make it anew bbolt reads
		// the whole file in another goroutine, and a damaged page would end the
		// process from there.
		NoFreelistSync: false,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			var err error
			file, err = os.OpenFile(name, flag, mode)
			return file, err
		},
	})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, fmt.Errorf("%s: in use by another process", path)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch):
		return nil, fmt.Errorf("%s: not a cache; choose another path or move it away: %w", path, err)
	case errors.Is(err, berrors.ErrChecksum):
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return db, err
}

// close ends one use of f, and with the last one closes the file.
func (f *diskFile) close() error {
	diskFiles.mu.Lock()
	defer diskFiles.mu.Unlock()
	if f.uses--; f.uses > 0 {
		return nil
	}
	delete(diskFiles.byPath, f.path)
	return f.db.Close()
}

// view and update are those of bbolt, except that a damaged file, on which
// bbolt panics or the memory map faults, is an error.
func (f *diskFile) view(do func(*bbolt.Tx) error) error   { return guarded(f.db.View, do) }
func (f *diskFile) update(do func(*bbolt.Tx) error) error { return guarded(f.db.Update, do) }

func guarded(run func(func(*bbolt.Tx) error) error, do func(*bbolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("damaged file: %v", p)
		}
	}()
	return run(do)
}

// diskSecret is the secret kept beside the database at path, made when it is
// first asked for. Only the owner may read it.
func diskSecret(path string) ([]byte, error) {
	name := path + ".key"
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := writeSecret(name); err != nil {
			return nil, err
		}
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, err
	}
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) < MinSecret {
		return nil, fmt.Errorf("%s: not a cache secret; move it away, and what is stored is forgotten", name)
	}
	return secret, nil
}

// writeSecret puts a new secret at name, whole or not at all, unless another
// process has put one there first.
func writeSecret(name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".cache-key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(hex.EncodeToString(newSecret()) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
