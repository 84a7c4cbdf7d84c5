package similar

// scanIndex is what Index must equal: a plain list, looked through whole, with
// no bound, filter or signature. prune adds the size pruning that benchmarks
// measure against.
type scanIndex struct {
	list []scanEntry
}

type scanEntry struct {
	partition Key
	print     Key
	words     []uint64
	id        uint64
	expires   int64
}

func (x *scanIndex) insert(partition Key, q *Question, id uint64, expires int64) {
	x.delete(id)
	x.list = append(x.list, scanEntry{partition, q.fingerprint, append([]uint64(nil), q.words...), id, expires})
}

func (x *scanIndex) delete(id uint64) bool {
	for i := range x.list {
		if x.list[i].id == id {
			x.list[i] = x.list[len(x.list)-1]
			x.list = x.list[:len(x.list)-1]
			return true
		}
	}
	return false
}

// search compares word by word. Sizes that cannot reach the threshold are
// skipped if prune is set. It shares nothing, and the race detector would slow
// it tenfold.
//
//go:norace
func (x *scanIndex) search(partition Key, q *Question, threshold float64, now int64, prune bool) (id uint64, score float64, ok bool) {
	n := len(q.words)
	for i := range x.list {
		e := &x.list[i]
		m := len(e.words)
		if prune && float64(min(n, m)) < threshold*float64(max(n, m)) {
			continue
		}
		if e.partition != partition || e.print != q.fingerprint || e.expires <= now {
			continue
		}
		a, b, common := q.words, e.words, 0
		for j, k := 0, 0; j < len(a) && k < len(b); {
			switch {
			case a[j] == b[k]:
				common++
				j++
				k++
			case a[j] < b[k]:
				j++
			default:
				k++
			}
		}
		if common == 0 {
			continue
		}
		s := float64(common) / float64(n+m-common)
		if s >= threshold && (!ok || s > score || s == score && e.id < id) {
			id, score, ok = e.id, s, true
		}
	}
	return id, score, ok
}
