package cache

import (
	"errors"
	"fmt"
)

// Kinds of stores.
const (
	KindMemory = "memory"
	KindDisk   = "disk"
	KindValkey = "valkey"
)

// Sizes of a store that says nothing, in bytes.
const (
	DefaultMemorySize = 256 << 20
	DefaultDiskSize   = 4 << 30
)

// minSize is the least size of a store, in bytes.
const minSize = 1 << 20

// StoreConfig says where answers are kept.
type StoreConfig struct {
	// Kind is memory, disk or valkey. "": memory.
	Kind string
	// Name tells stores in memory of the same size apart.
	Name string
	// Size is how much is kept, in bytes. 0: the kind's default. Valkey has
	// its own limit, maxmemory.
	Size int64
	// Path is the file of a store on disk.
	Path string
	// URL is where Valkey or Redis is: redis://, rediss://, valkey://,
	// valkeys:// or unix://, as ParseURL of valkey-go reads it.
	URL string
	// Compress says whether answers on disk and in Valkey are compressed.
	Compress bool
}

// Resolve checks s and returns it with what it leaves open filled in.
func (s StoreConfig) Resolve() (StoreConfig, error) {
	switch s.Kind {
	case "":
		s.Kind = KindMemory
		fallthrough
	case KindMemory:
		if s.Size == 0 {
			s.Size = DefaultMemorySize
		}
	case KindDisk:
		if s.Path == "" {
			return s, errors.New("store disk: a path expected")
		}
		if s.Size == 0 {
			s.Size = DefaultDiskSize
		}
	case KindValkey:
		if _, err := valkeyOption(s.URL); err != nil {
			return s, fmt.Errorf("store valkey: %w", err)
		}
		if s.Size != 0 {
			return s, errors.New("store valkey: takes no size, the server's maxmemory says it")
		}
		return s, nil
	default:
		return s, fmt.Errorf("unknown store %q, expected %s, %s or %s", s.Kind, KindMemory, KindDisk, KindValkey)
	}
	if s.Size < minSize {
		return s, fmt.Errorf("store %s: a size of at least %d bytes expected, got %d", s.Kind, minSize, s.Size)
	}
	return s, nil
}

// environment is what a store is given by its cache.
type environment struct {
	ring   *keyring
	seeds  *seeds
	counts *counters
	now    func() int64
	log    *reporter
}

// ownSecret is the secret of a store for which none is given.
func (s StoreConfig) ownSecret() ([]byte, error) {
	switch s.Kind {
	case KindDisk:
		return diskSecret(s.Path)
	case KindValkey:
		return nil, errors.New("store valkey: a secret expected, the same for all gateways that share it")
	}
	return newSecret(), nil
}

// open opens the store.
func (s StoreConfig) open(env *environment) (store, error) {
	switch s.Kind {
	case KindDisk:
		return openDisk(s, env)
	case KindValkey:
		return openValkey(s, env)
	}
	return newMemory(s.Size, env), nil
}
