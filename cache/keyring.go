package cache

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"sync"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache/similar"
)

// MinSecret is the shortest secret a cache accepts, in bytes.
const MinSecret = 16

// Tenant stands for whoever's answers a request may reuse: the keyed hash of a
// virtual key's name or of a credential. The zero value is everybody who
// shows neither.
type Tenant [16]byte

// keyring holds the keys derived from a cache's secret, one for each use, so
// that what is learned from one is of no use for another.
type keyring struct {
	tenant    macKey         // of credentials and names of virtual keys
	name      macKey         // of requests, for stores outside of the process
	partition macKey         // of what surrounds a question, for the same
	tag       macKey         // of what purges select by
	words     similar.Secret // of the words of questions
	seal      cipher.AEAD
}

// newKeyring derives the keys from secret.
func newKeyring(secret []byte) (*keyring, error) {
	if len(secret) < MinSecret {
		return nil, errors.New("cache secret: at least 16 bytes expected")
	}
	k := new(keyring)
	for _, use := range []struct {
		name string
		key  *macKey
	}{
		{"tenant", &k.tenant}, {"request", &k.name}, {"partition", &k.partition}, {"tag", &k.tag},
	} {
		key, err := hkdf.Key(sha256.New, secret, nil, "llm-gateway cache 1 "+use.name, sha256.Size)
		if err != nil {
			return nil, err
		}
		use.key.init(key)
	}
	words, err := hkdf.Key(sha256.New, secret, nil, "llm-gateway cache 1 words", 16)
	if err != nil {
		return nil, err
	}
	k.words = similar.Secret{binary.LittleEndian.Uint64(words), binary.LittleEndian.Uint64(words[8:])}
	key, err := hkdf.Key(sha256.New, secret, nil, "llm-gateway cache 1 seal", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	k.seal, err = cipher.NewGCMWithRandomNonce(block)
	return k, err
}

// macKey is a key for HMAC-SHA-256 and its pooled states.
type macKey struct{ states sync.Pool }

// macState is one computation under way. Its buffer collects short fields, so
// that nothing is allocated and the hash is fed in large pieces.
type macState struct {
	key *macKey
	h   hash.Hash
	buf []byte
	out [sha256.Size]byte
}

func (k *macKey) init(key []byte) {
	k.states.New = func() any { return &macState{key: k, h: hmac.New(sha256.New, key)} }
}

func (k *macKey) begin() *macState {
	m := k.states.Get().(*macState)
	m.h.Reset()
	m.buf = m.buf[:0]
	return m
}

// longField is the length from which a field is not copied, in bytes.
const longField = 512

// field adds b, preceded by its length so that no field can be taken for a
// piece of another.
func (m *macState) field(b []byte) *macState {
	m.buf = binary.AppendUvarint(m.buf, uint64(len(b)))
	if len(b) < longField {
		m.buf = append(m.buf, b...)
		return m
	}
	m.h.Write(m.buf)
	m.h.Write(b)
	m.buf = m.buf[:0]
	return m
}

// text is field for a string.
func (m *macState) text(s string) *macState {
	m.buf = append(binary.AppendUvarint(m.buf, uint64(len(s))), s...)
	return m
}

// sum ends the computation.
func (m *macState) sum() [sha256.Size]byte {
	m.h.Write(m.buf)
	m.h.Sum(m.out[:0])
	out := m.out
	clear(m.buf) // it may have held a credential
	m.key.states.Put(m)
	return out
}

// Kinds of tenants, so that no name of a key is taken for a credential.
const (
	tenantIsKey byte = iota + 1
	tenantIsCredential
)

// tenantOf is the tenant of a kind that shows values. Without any, it is the
// zero Tenant.
func (k *keyring) tenantOf(kind byte, values ...string) (t Tenant) {
	shown := false
	m := k.tenant.begin()
	m.buf = append(m.buf, kind)
	for _, v := range values {
		m.text(v)
		shown = shown || v != ""
	}
	mac := m.sum()
	if shown {
		copy(t[:], mac[:])
	}
	return t
}

// tagLen is the length of a tag in bytes.
const tagLen = 8

// tag is a short keyed hash by which a purge finds what it is to remove
// without the store knowing its name.
type tag [tagLen]byte

// tags are what a purge can select entries by.
type tags struct{ tenant, namespace, model, upstream tag }

// Kinds of tags.
const (
	tagTenant    = "tenant"
	tagNamespace = "namespace"
	tagModel     = "model"
)

func (k *keyring) tagOf(kind, value string) (t tag) {
	mac := k.tag.begin().text(kind).text(value).sum()
	copy(t[:], mac[:])
	return t
}

// appendTo appends t in the order of its fields.
func (t *tags) appendTo(dst []byte) []byte {
	dst = append(dst, t.tenant[:]...)
	dst = append(dst, t.namespace[:]...)
	dst = append(dst, t.model[:]...)
	return append(dst, t.upstream[:]...)
}

// tagsFrom reads what appendTo wrote.
func tagsFrom(b *[4 * tagLen]byte) tags {
	return tags{tag(b[0:8]), tag(b[8:16]), tag(b[16:24]), tag(b[24:32])}
}
