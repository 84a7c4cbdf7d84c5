package proc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// GCShare is the share of a CPU profile's samples that stand in the garbage
// collector: marking, assisting, sweeping and scavenging. The runtime's own
// figure counts the time that its workers wait for a processor as well, which
// on a busy machine is several times what they use.
func GCShare(profile []byte) (float64, error) {
	p, err := parseProfile(profile)
	if err != nil {
		return 0, fmt.Errorf("CPU profile: %w", err)
	}
	var total, gc int64
	for _, s := range p.samples {
		total += s.value
		for _, name := range s.stack(p) {
			if collects(name) {
				gc += s.value
				break
			}
		}
	}
	if total == 0 {
		return 0, errors.New("CPU profile: no samples")
	}
	return float64(gc) / float64(total), nil
}

// collectors are the functions below which all is the garbage collector's.
var collectors = []string{"runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.gcStart", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcMarkTermination", "runtime.deductSweepCredit"}

func collects(function string) bool {
	for _, c := range collectors {
		if rest, ok := strings.CutPrefix(function, c); ok && (rest == "" || rest[0] == '.' || rest[0] >= '0' && rest[0] <= '9') {
			return true
		}
	}
	return false
}

// profile is what is read of a profile, in the protocol buffer format of
// github.com/google/pprof/proto/profile.proto.
type profile struct {
	samples   []sample
	locations map[uint64][]uint64 // ids of the functions at a location
	functions map[uint64]uint64   // index of the name
	strings   []string
}

type sample struct {
	locations []uint64
	value     int64 // nanoseconds, the last value
}

// stack is the names of the functions of a sample.
func (s *sample) stack(p *profile) []string {
	var out []string
	for _, l := range s.locations {
		for _, f := range p.locations[l] {
			if i := p.functions[f]; i < uint64(len(p.strings)) {
				out = append(out, p.strings[i])
			}
		}
	}
	return out
}

// Fields of the messages.
const (
	profileSample, profileLocation, profileFunction, profileString = 2, 4, 5, 6
	sampleLocation, sampleValue                                    = 1, 2
	locationID, locationLine                                       = 1, 4
	lineFunction                                                   = 1
	functionID, functionName                                       = 1, 2
)

func parseProfile(text []byte) (*profile, error) {
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	p := &profile{locations: make(map[uint64][]uint64), functions: make(map[uint64]uint64)}
	err = fields(raw, func(field int, n uint64, b []byte) error {
		switch field {
		case profileSample:
			var s sample
			err := fields(b, func(field int, n uint64, b []byte) error {
				return numbers(n, b, func(n uint64) {
					switch field {
					case sampleLocation:
						s.locations = append(s.locations, n)
					case sampleValue:
						s.value = int64(n)
					}
				})
			})
			p.samples = append(p.samples, s)
			return err
		case profileLocation:
			var id uint64
			var functions []uint64
			err := fields(b, func(field int, n uint64, b []byte) error {
				switch field {
				case locationID:
					id = n
				case locationLine:
					return fields(b, func(field int, n uint64, _ []byte) error {
						if field == lineFunction {
							functions = append(functions, n)
						}
						return nil
					})
				}
				return nil
			})
			p.locations[id] = functions
			return err
		case profileFunction:
			var id, name uint64
			err := fields(b, func(field int, n uint64, _ []byte) error {
				switch field {
				case functionID:
					id = n
				case functionName:
					name = n
				}
				return nil
			})
			p.functions[id] = name
			return err
		case profileString:
			p.strings = append(p.strings, string(b))
		}
		return nil
	})
	return p, err
}

var errProto = errors.New("not a protocol buffer")

// fields calls f for every field of a message, with its number or its bytes.
func fields(raw []byte, f func(field int, n uint64, b []byte) error) error {
	for len(raw) > 0 {
		key, rest, ok := varint(raw)
		if !ok {
			return errProto
		}
		raw = rest
		var n uint64
		var b []byte
		switch key & 7 {
		case 0:
			if n, raw, ok = varint(raw); !ok {
				return errProto
			}
		case 2:
			if n, raw, ok = varint(raw); !ok || n > uint64(len(raw)) {
				return errProto
			}
			b, raw = raw[:n:n], raw[n:]
		case 1, 5:
			size := 8
			if key&7 == 5 {
				size = 4
			}
			if len(raw) < size {
				return errProto
			}
			raw = raw[size:]
		default:
			return errProto
		}
		if err := f(int(key>>3), n, b); err != nil {
			return err
		}
	}
	return nil
}

// numbers calls f for every number of a repeated field, which may be packed.
func numbers(n uint64, packed []byte, f func(uint64)) error {
	if packed == nil {
		f(n)
		return nil
	}
	for len(packed) > 0 {
		n, rest, ok := varint(packed)
		if !ok {
			return errProto
		}
		f(n)
		packed = rest
	}
	return nil
}

func varint(b []byte) (uint64, []byte, bool) {
	var n uint64
	for i := 0; i < len(b) && i < 10; i++ {
		n |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}
