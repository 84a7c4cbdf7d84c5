package cache

import (
	"context"
	"encoding/binary"
	"errors"
	"strconv"
	"sync"
	"time"

	valkeygo "github.com/valkey-io/valkey-go"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache/similar"
)

var errUnreachable = errors.New("the Valkey server cannot be reached")

// mirrors are the partitions of the Valkey store that this gateway was asked
// about lately. Each is a copy of the set on the server, brought up to date
// before it is searched by fetching only what has been added since. They are
// bounded in bytes; a partition that leaves is fetched anew when it is asked
// about again.
type mirrors struct {
	index *similar.Index

	mu         sync.Mutex
	partitions map[[32]byte]*resident[*mirror]
	residents  residents[*mirror]
}

// mirror is the copy of one partition.
type mirror struct {
	partition [32]byte
	seen      float64                  // the highest score that was fetched
	questions map[uint64]mirroredEntry // by their id in the index
	tidyAt    int                      // how many questions it may have before expired ones are looked for
}

// mirroredEntry is where a question's answer is.
type mirroredEntry struct {
	name    name
	expires int64
	size    int64 // bytes it takes here
}

// mirrorTime is how long a partition is kept that nobody asks about.
const mirrorTime = time.Hour

// Limits of the mirrors, in bytes: of all, and what one and each of its
// questions take.
const (
	maxMirrored    = 64 << 20
	mirrorOverhead = 512
	memberOverhead = 128 // and what it takes in the index
)

func newMirrors() *mirrors {
	m := &mirrors{
		index:      similar.New(similar.Options{}),
		partitions: make(map[[32]byte]*resident[*mirror]),
	}
	m.residents = newResidents(maxMirrored, func(r *resident[*mirror], _ bool) {
		for id := range r.value.questions {
			m.index.Delete(id)
		}
		delete(m.partitions, r.value.partition)
	})
	return m
}

// search is the nearest question of p to q, by the name of its answer and its
// id here.
func (m *mirrors) search(p *[32]byte, q *similar.Question, threshold float64, now int64) (n name, id uint64, score float64, ok bool) {
	id, score, ok = m.index.Search(partitionKey(p), q, threshold, now)
	if !ok {
		return n, 0, 0, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.partitions[*p]
	if r == nil {
		return n, 0, 0, false // it has left since the index was searched
	}
	r.asked.up()
	e, ok := r.value.questions[id]
	return e.name, id, score, ok
}

// delete forgets the question called id of p.
func (m *mirrors) delete(p *[32]byte, id uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.partitions[*p]; r != nil {
		if _, ok := r.value.questions[id]; ok {
			delete(r.value.questions, id)
			m.index.Delete(id)
		}
	}
}

// seen is the highest score of p that was fetched.
func (m *mirrors) seen(p *[32]byte) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.partitions[*p]; r != nil {
		return r.value.seen
	}
	return 0
}

// newcomer is a question that has been added to a partition.
type newcomer struct {
	name     name
	expires  int64
	question similar.Question
}

// add takes in what was added to p up to the score seen.
func (m *mirrors) add(p *[32]byte, added []newcomer, seen float64, now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.partitions[*p]
	if r != nil && len(added) == 0 {
		r.expires = now + int64(mirrorTime)
		return
	}
	if r == nil {
		r = &resident[*mirror]{id: binary.BigEndian.Uint64(p[:8]), size: mirrorOverhead}
		r.value = &mirror{partition: *p, questions: make(map[uint64]mirroredEntry)}
	} else {
		m.residents.remove(r)
	}
	w := r.value
	w.seen = max(w.seen, seen)
	for i := range added {
		q := &added[i]
		size := memberOverhead + questionSize(&q.question)
		if q.expires <= now || r.size+size > maxMirrored/8 {
			continue
		}
		id := binary.BigEndian.Uint64(q.name[:8])
		if old, ok := w.questions[id]; !ok {
			r.size += size
		} else if old.name != q.name {
			continue // the same id by chance, one in 2^64
		}
		w.questions[id] = mirroredEntry{q.name, q.expires, size}
		m.index.Insert(partitionKey(p), &q.question, id, q.expires)
	}
	if len(w.questions) > w.tidyAt {
		m.tidy(r, now)
	}
	r.expires = now + int64(mirrorTime)
	m.partitions[*p] = r
	m.residents.add(r, now)
}

// tidy removes what has expired from a mirror that is not among the residents.
func (m *mirrors) tidy(r *resident[*mirror], now int64) {
	for id, e := range r.value.questions {
		if e.expires <= now {
			delete(r.value.questions, id)
			m.index.Delete(id)
			r.size -= e.size
		}
	}
	r.value.tidyAt = max(2*len(r.value.questions), 256)
}

// followStep is how many members are fetched at once.
const followStep = 512

// follow brings the mirror of p up to date, or as far as there is time.
func (v *valkey) follow(ctx context.Context, c valkeygo.Client, p *[32]byte, now int64) error {
	limited, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	seen := v.mirrors.seen(p)
	for start := time.Now(); ; {
		from := "(" + strconv.FormatFloat(seen, 'f', -1, 64)
		members, err := c.Do(limited, c.B().Zrangebyscore().Key(partitionSet(p)).Min(from).Max("+inf").
			Withscores().Limit(0, followStep).Build()).AsZScores()
		if err != nil {
			return err
		}
		added := make([]newcomer, 0, len(members))
		for _, m := range members {
			seen = max(seen, m.Score)
			if q, err := v.newcomer(p, m.Member); err == nil {
				added = append(added, q)
			} else {
				v.damaged(err)
			}
		}
		v.mirrors.add(p, added, seen, now)
		if len(members) < followStep || time.Since(start) > v.timeout/2 {
			return nil
		}
	}
}

// newcomer reads a member of the set of p.
func (v *valkey) newcomer(p *[32]byte, member string) (newcomer, error) {
	plain, err := v.env.ring.openRecord(recordQuestion, p[:], []byte(member))
	if err != nil {
		return newcomer{}, err
	}
	r := reader{b: plain}
	var q newcomer
	copy(q.name[:], r.take(uint64(len(q.name))))
	q.expires = r.int64()
	if r.err != nil {
		return q, r.err
	}
	if q.question.UnmarshalBinary(r.b) != nil {
		return q, errForeign
	}
	return q, nil
}
