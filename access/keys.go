// Package access decides who may do what: virtual keys, the models they may
// use, and their limits. It knows nothing of servers. Nothing in it fails
// open, with one exception that is documented where it stands: limits that
// are shared through a server fall back to this process while that server is
// down.
package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
	"sync"
)

// maxSecret is the longest secret that is looked at, in bytes. A longer one
// is nobody's.
const maxSecret = 4096

// hashPrefix marks a secret that is configured by its SHA-256, in hex.
const hashPrefix = "sha256:"

// Digest is how a secret is known to the process: an HMAC of its SHA-256
// under a key that is new with every process, so that the time a lookup takes
// tells nothing about any secret.
type Digest [sha256.Size]byte

// Keyring finds the key that belongs to a secret, in the same time whether
// there is one or not. It does not change after it was built, so it needs no
// lock.
type Keyring[K any] struct {
	macs sync.Pool // of *macState
	keys map[Digest]entry[K]
}

type entry[K any] struct {
	digest Digest
	key    K
}

// macState is the scratch of one lookup.
type macState struct {
	sum    hash.Hash
	mac    hash.Hash
	digest Digest
	buf    []byte
}

// NewKeyring returns an empty keyring.
func NewKeyring[K any]() *Keyring[K] {
	var secret [32]byte
	rand.Read(secret[:]) // never fails, see crypto/rand
	r := &Keyring[K]{keys: make(map[Digest]entry[K])}
	r.macs.New = func() any { return &macState{sum: sha256.New(), mac: hmac.New(sha256.New, secret[:])} }
	return r
}

// ErrDuplicateSecret says that two keys have the same secret.
var ErrDuplicateSecret = errors.New("the secret is used by another key")

// Add adds key under secret, which is the secret itself or "sha256:" and the
// hex of its hash.
func (r *Keyring[K]) Add(secret string, key K) error {
	s := r.macs.Get().(*macState)
	defer r.macs.Put(s)
	if text, ok := strings.CutPrefix(secret, hashPrefix); ok {
		sum, err := hex.DecodeString(text)
		if err != nil || len(sum) != sha256.Size {
			return fmt.Errorf("expected %s and 64 hex digits", hashPrefix)
		}
		s.digestOf(sum)
	} else {
		if secret == "" || len(secret) > maxSecret {
			return fmt.Errorf("a secret of 1 to %d bytes is expected", maxSecret)
		}
		s.digestSecret(secret)
	}
	if _, ok := r.keys[s.digest]; ok {
		return ErrDuplicateSecret
	}
	r.keys[s.digest] = entry[K]{s.digest, key}
	return nil
}

// Len is the number of keys.
func (r *Keyring[K]) Len() int { return len(r.keys) }

// Find returns the key that belongs to secret.
func (r *Keyring[K]) Find(secret string) (key K, ok bool) {
	if secret == "" || len(secret) > maxSecret {
		return key, false
	}
	s := r.macs.Get().(*macState)
	s.digestSecret(secret)
	e := r.keys[s.digest]
	ok = subtle.ConstantTimeCompare(e.digest[:], s.digest[:]) == 1
	r.macs.Put(s)
	return e.key, ok
}

// digestSecret sets s.digest for a secret in clear.
func (s *macState) digestSecret(secret string) {
	s.buf = append(s.buf[:0], secret...)
	s.sum.Reset()
	s.sum.Write(s.buf)
	clear(s.buf)
	s.digestOf(s.sum.Sum(s.buf[:0]))
}

// digestOf sets s.digest for the SHA-256 of a secret.
func (s *macState) digestOf(sum []byte) {
	s.mac.Reset()
	s.mac.Write(sum)
	s.mac.Sum(s.digest[:0])
}

// HashLine is how the configuration names a secret without holding it.
func HashLine(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// secretAlphabet has no look-alikes; 32 characters give 5 bits each.
const secretAlphabet = "abcdefghijkmnpqrstuvwxyz23456789"

// NewSecret makes a secret with 200 random bits.
func NewSecret() string {
	var raw [40]byte
	rand.Read(raw[:])
	for i := range raw {
		raw[i] = secretAlphabet[raw[i]%32]
	}
	return "sk-gw-" + string(raw[:])
}
