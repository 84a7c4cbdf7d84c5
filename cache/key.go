package cache

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"net/http"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// keyVersion is part of every key. It goes up whenever the same request gets
// another key or a stored answer another meaning.
const keyVersion = 1

// Request is what the cache must know of a request to tell it from every
// other one. All of it is as the client sent it, before any optimizer.
type Request struct {
	View   *adapter.Request // of a body that its Parse accepted
	Header http.Header
	Path   string // of the URL
	Query  string // raw query of the URL; credentials in it do not count
	Tenant Tenant // see Cache.KeyTenant and Cache.CredentialTenant

	Site       string // which site and route serves it
	Provider   string // name of the provider that gets it, "" for the next handler
	Model      string // the model's name there
	BaseURL    string // the provider's address
	Optimizers string // what the optimizers are set to for this request
}

// outputHeaders are the request headers that shape the answer.
var outputHeaders = []string{
	"Anthropic-Version", "Anthropic-Beta", "Openai-Beta", "Openai-Organization", "Openai-Project",
}

// representation is the shape of answer that the client can read.
type representation byte

const (
	plainJSON representation = iota + 1
	eventStream
	eventStreamWithUsage
)

// formHash is a keyed hash of a form. It is good for one process only.
type formHash [2]uint64

// seeds are the keys of one process's hashes.
type seeds [2]maphash.Seed

func newSeeds() seeds { return seeds{maphash.MakeSeed(), maphash.MakeSeed()} }

func (s *seeds) sum(b []byte) formHash {
	return formHash{maphash.Bytes(s[0], b), maphash.Bytes(s[1], b)}
}

// requestKey identifies a request: its form says everything that may shape the
// answer, the canonical form of the body last. Within the process a key is
// found by its hash and compared by its form; outside, by its MAC.
type requestKey struct {
	form []byte
	hash formHash
	ring *keyring

	// question is where the string of the last question stands in form, quotes
	// included; empty if the request is none that a similar one may answer.
	question jsonspan.Span

	tags  tags // set by own
	mac   [32]byte
	named bool // mac is set
	part  [32]byte
	split bool // part is set
}

// keyBuilder makes keys and keeps its memory from one to the next.
type keyBuilder struct {
	canon canon
}

// build makes the key of r. It aliases b's memory until the next build.
func (b *keyBuilder) build(r *Request, p *Policy, namespace string, s *seeds, ring *keyring) (requestKey, Reason) {
	v := r.View
	out := append(b.canon.out[:0], keyVersion, byte(v.Format), byte(p.Scope))
	if p.Scope == PerKey {
		out = append(out, r.Tenant[:]...)
	}
	if p.Scope != Shared {
		out = appendField(out, r.Site)
	}
	out = appendField(out, namespace)
	out = appendField(out, r.Provider)
	out = appendField(out, r.Model)
	out = appendField(out, r.BaseURL)
	out = append(out, byte(representationOf(v)))
	for _, name := range outputHeaders {
		values := r.Header[name]
		out = binary.AppendUvarint(out, uint64(len(values)))
		for _, value := range values {
			out = appendField(out, value)
		}
	}
	out = appendField(out, r.Path)
	out = appendField(out, adapter.RemoveQueryCredentials(r.Query))
	out = appendField(out, r.Optimizers)

	watch := jsonspan.None
	if p.Mode == Similar {
		watch = lastQuestion(v)
	}
	b.canon.out = out
	if err := b.canon.append(&v.Doc, p.IgnoreFields, watch); err != nil {
		return requestKey{}, DuplicateKeys
	}
	k := requestKey{form: b.canon.out, ring: ring}
	k.hash = s.sum(k.form)
	k.question = b.canon.watched
	return k, None
}

// own is a copy of k that does not alias the builder's memory, ready for what
// is to be stored under it.
func (k *requestKey) own(r *Request, namespace string) *requestKey {
	c := *k
	c.form = bytes.Clone(k.form)
	c.tags = tags{
		tenant:    k.ring.tagOf(tagTenant, string(r.Tenant[:])),
		namespace: k.ring.tagOf(tagNamespace, namespace),
		model:     k.ring.tagOf(tagModel, r.View.Doc.Text(r.View.Model)),
		upstream:  k.ring.tagOf(tagModel, r.Model),
	}
	return &c
}

// maxForm is the longest form that is kept with a stored answer, in bytes. Of a
// longer one its MAC is, which tells keys apart as well and does not let a few
// long conversations fill the store.
const maxForm = 32 << 10

// short is k without a form that is longer than maxForm.
func (k *requestKey) short() *requestKey {
	if len(k.form) <= maxForm {
		return k
	}
	c := *k
	c.name()
	if c.question.Len() > 0 {
		c.partitionName()
	}
	c.form = nil
	return &c
}

// is reports whether k and other, which may be short, are the same.
func (k *requestKey) is(other *requestKey) bool {
	if other.form == nil {
		return *k.name() == other.mac
	}
	return bytes.Equal(k.form, other.form)
}

// name is what k is called outside of the process.
func (k *requestKey) name() *[32]byte {
	if !k.named {
		k.mac, k.named = k.ring.name.begin().field(k.form).sum(), true
	}
	return &k.mac
}

// appendQuestion appends the decoded text of the question.
func (k *requestKey) appendQuestion(dst []byte) []byte {
	if k.question.Len() < 2 {
		return dst
	}
	return jsonspan.AppendUnquoted(dst, k.form[k.question.Start+1:k.question.End-1])
}

// partition is the hash of everything but the question.
func (k *requestKey) partition(s *seeds) formHash {
	before, after := s.sum(k.form[:k.question.Start]), s.sum(k.form[k.question.End:])
	var b [40]byte
	for i, n := range [5]uint64{before[0], before[1], after[0], after[1], uint64(k.question.Start)} {
		binary.LittleEndian.PutUint64(b[8*i:], n)
	}
	return s.sum(b[:])
}

// samePartition reports whether k and other, which may be short, ask a
// question and everything but the question is equal.
func (k *requestKey) samePartition(other *requestKey) bool {
	a, b := k.question, other.question
	if a.Len() == 0 || b.Len() == 0 {
		return false
	}
	if other.form == nil {
		return *k.partitionName() == other.part
	}
	return bytes.Equal(k.form[:a.Start], other.form[:b.Start]) && bytes.Equal(k.form[a.End:], other.form[b.End:])
}

// partitionName is what the partition is called outside of the process.
func (k *requestKey) partitionName() *[32]byte {
	if !k.split {
		k.part = k.ring.partition.begin().field(k.form[:k.question.Start]).field(k.form[k.question.End:]).sum()
		k.split = true
	}
	return &k.part
}

func appendField(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func representationOf(v *adapter.Request) representation {
	if !v.Stream {
		return plainJSON
	}
	if v.Doc.Is(v.Doc.Get(v.Doc.Get(v.Root, "stream_options"), "include_usage"), jsonspan.True) {
		return eventStreamWithUsage
	}
	return eventStream
}
