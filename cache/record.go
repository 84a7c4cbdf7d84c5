package cache

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A record is what a store outside of the process keeps under a name:
//
//	magic    4 bytes  "LLGC"
//	schema   1 byte
//	kind     1 byte   which of a name's records this is
//	flags    1 byte
//	tags    32 bytes  keyed hashes for purges
//	sealed            nonce, ciphertext and tag of AES-256-GCM
//	checksum 4 bytes  CRC-32C of all before it, little endian
//
// The seal covers the name and all that stands before it, so nobody without
// the secret can make a record, change one or put one under another name. The
// checksum tells a damaged record from one that was written with another
// secret.
const (
	recordMagic  = "LLGC"
	recordSchema = 1
	recordHead   = len(recordMagic) + 3 + 4*tagLen
	recordTail   = 4
)

// recordKind says which of a name's records one is.
type recordKind byte

const (
	recordAnswer   recordKind = iota + 1 // an entry
	recordSummary                        // what the disk store must know of an entry to run
	recordQuestion                       // a question in a Valkey partition
)

// flagCompressed says that the sealed text is compressed with Zstandard.
const flagCompressed = 1

// What is wrong with a record.
var (
	errCorrupt = errors.New("damaged record")
	errForeign = errors.New("record of another version or secret")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the checksum of b.
func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// compressFrom is the size from which compressing pays, in bytes; maxPlain
// bounds what a record may unpack to.
const (
	compressFrom = 512
	maxPlain     = 256 << 20
)

// The coders are made when first used and then shared by all stores.
var (
	compressor = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	})
	decompressor = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxPlain))
		if err != nil {
			panic(err) // the options are constants
		}
		return d
	})
)

// seal makes the record of plain under name.
func (k *keyring) sealRecord(kind recordKind, name []byte, t *tags, plain []byte, compress bool) []byte {
	var flags byte
	if compress && len(plain) >= compressFrom {
		if packed := compressor().EncodeAll(plain, nil); len(packed) < len(plain) {
			plain, flags = packed, flagCompressed
		}
	}
	b := make([]byte, 0, recordHead+k.seal.Overhead()+len(plain)+recordTail)
	b = append(b, recordMagic...)
	b = append(b, recordSchema, byte(kind), flags)
	b = t.appendTo(b)
	b = k.seal.Seal(b, nil, plain, associated(b, name))
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

// openRecord is the plain text of the record b under name. The error is
// errCorrupt or errForeign.
func (k *keyring) openRecord(kind recordKind, name, b []byte) ([]byte, error) {
	if _, err := recordTags(b); err != nil {
		return nil, err
	}
	end := len(b) - recordTail
	if checksum(b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		return nil, errCorrupt
	}
	if recordKind(b[5]) != kind {
		return nil, errForeign
	}
	plain, err := k.seal.Open(nil, nil, b[recordHead:end], associated(b[:recordHead], name))
	if err != nil {
		return nil, errForeign
	}
	if b[6]&flagCompressed != 0 {
		if plain, err = decompressor().DecodeAll(plain, nil); err != nil {
			return nil, errCorrupt
		}
	}
	return plain, nil
}

// recordTags are the tags of the record that starts with b.
func recordTags(b []byte) (tags, error) {
	if len(b) < recordHead || string(b[:4]) != recordMagic {
		return tags{}, errCorrupt
	}
	if b[4] != recordSchema {
		return tags{}, errForeign
	}
	return tagsFrom((*[4 * tagLen]byte)(b[7:recordHead])), nil
}

// associated is what the seal covers beside the text.
func associated(head, name []byte) []byte {
	return append(append(make([]byte, 0, len(head)+len(name)), head...), name...)
}

// sealEntry is the record of e under k.
func (k *keyring) sealEntry(name []byte, t *tags, e *entry, compress bool) []byte {
	plain := make([]byte, 0, 16+4+len(e.ContentType)+len(e.Body))
	plain = binary.LittleEndian.AppendUint64(plain, uint64(e.created))
	plain = binary.LittleEndian.AppendUint64(plain, uint64(e.expires))
	plain = appendField(plain, e.ContentType)
	plain = append(plain, e.Body...)
	return k.sealRecord(recordAnswer, name, t, plain, compress)
}

// openEntry is the entry of the record b under name.
func (k *keyring) openEntry(name, b []byte) (*entry, error) {
	plain, err := k.openRecord(recordAnswer, name, b)
	if err != nil {
		return nil, err
	}
	r := reader{b: plain}
	e := &entry{created: r.int64(), expires: r.int64(), ContentType: string(r.field())}
	e.Body = r.b
	return e, r.err
}

// reader takes apart what was put together field by field. After an error
// everything it reads is empty.
type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.b, r.err = nil, errCorrupt
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}

func (r *reader) field() []byte {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.b, r.err = nil, errCorrupt
		return nil
	}
	r.b = r.b[size:]
	return r.take(n)
}
