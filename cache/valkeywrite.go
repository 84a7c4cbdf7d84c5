package cache

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"

	valkeygo "github.com/valkey-io/valkey-go"
)

// maxBatch is how many answers are sent to the server at once.
const maxBatch = 64

// write writes what is queued, batch by batch, until the store is closed.
func (v *valkey) write() {
	for range v.wake {
		for v.writeBatch() {
		}
	}
}

// writeBatch writes one batch and reports whether there may be more.
func (v *valkey) writeBatch() bool {
	v.mu.Lock()
	batch := make(map[name]*item)
	for n, it := range v.dirty {
		if len(batch) == maxBatch {
			break
		}
		batch[n] = it
		v.queued -= it.size()
		delete(v.dirty, n)
	}
	v.writing = batch
	v.mu.Unlock()
	if len(batch) > 0 {
		v.send(batch)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.writing = nil
	v.idle.Broadcast()
	return len(v.dirty) > 0
}

// flush waits until all that was queued when it was called has been written.
func (v *valkey) flush() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for len(v.dirty)+len(v.writing) > 0 {
		v.idle.Wait()
	}
}

// send writes batch to the server.
func (v *valkey) send(batch map[name]*item) {
	c := v.server()
	if c == nil {
		v.env.counts.drops.Add(int64(len(batch)))
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), valkeyWriteTimeout)
	defer cancel()
	now := v.env.now()
	var commands valkeygo.Commands
	for n, it := range batch {
		left := (it.entry.expires - now) / 1e6 // milliseconds
		if left <= 0 {
			continue
		}
		record := v.env.ring.sealEntry(n[:], &it.key.tags, it.entry, v.compress)
		commands = append(commands, c.B().Set().Key(entryKey(&n)).
			Value(valkeygo.BinaryString(record)).PxMilliseconds(left).Build())
		if it.question != nil {
			commands = append(commands, v.announce(c, &n, it, left))
		}
	}
	failed := 0
	for _, result := range c.DoMulti(ctx, commands...) {
		err := result.Error()
		if err == nil || valkeygo.IsValkeyNil(err) {
			continue
		}
		failed++
		if reply, ok := valkeygo.IsValkeyErr(err); ok {
			// It answers, but will not have it: out of memory, for one.
			v.env.log.report("the Valkey server does not store answers", reply)
			continue
		}
		v.fail(ctx, err)
	}
	v.env.counts.drops.Add(int64(min(failed, len(batch))))
}

// maxMembers is how many questions a partition keeps on the server.
const maxMembers = 4096

// announceScript adds a member to the sorted set of a partition under a score
// that is higher than all before, so that gateways can ask for what is new. It
// starts from the clock so that it rises even if the set was lost meanwhile.
//
// KEYS[1]: the set. ARGV: the member, its time to live in milliseconds, and
// how many members are kept.
const announceScript = `
local now = redis.call('TIME')
local score = now[1] * 1000000 + now[2]
local top = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if top[2] and tonumber(top[2]) >= score then
	score = tonumber(top[2]) + 1
end
redis.call('ZADD', KEYS[1], string.format('%.0f', score), ARGV[1])
local excess = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[3])
if excess > 0 then
	redis.call('ZREMRANGEBYRANK', KEYS[1], 0, excess - 1)
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
`

// announce is the command that tells all gateways of the question of it.
func (v *valkey) announce(c valkeygo.Client, n *name, it *item, left int64) valkeygo.Completed {
	p := it.key.partitionName()
	plain := append(make([]byte, 0, 1024), n[:]...)
	plain = binary.LittleEndian.AppendUint64(plain, uint64(it.entry.expires))
	plain = it.question.AppendBinary(plain)
	member := v.env.ring.sealRecord(recordQuestion, p[:], &tags{}, plain, false)
	return c.B().Eval().Script(announceScript).Numkeys(1).Key(partitionSet(p)).
		Arg(valkeygo.BinaryString(member), strconv.FormatInt(left, 10), strconv.Itoa(maxMembers)).Build()
}

func partitionSet(p *[32]byte) string {
	return valkeyPartition + base64.RawURLEncoding.EncodeToString(p[:])
}

// Purge implements store. It looks at every entry on the server, but only at
// its tags.
func (v *valkey) Purge(ctx context.Context, sel selector) (int, error) {
	v.flush()
	c := v.client.Load()
	if c == nil {
		return 0, errUnreachable
	}
	all := sel == selector{}
	count := 0
	for _, node := range (*c).Nodes() {
		n, err := v.scan(ctx, *c, node, valkeyEntry, func(keys []string) ([]string, error) {
			if all {
				return keys, nil
			}
			return v.selected(ctx, *c, keys, &sel)
		})
		count += n
		if err == nil && all {
			_, err = v.scan(ctx, *c, node, valkeyPartition, func(keys []string) ([]string, error) { return keys, nil })
		}
		if err != nil {
			return count, err
		}
	}
	return count, nil
}

// scan removes those keys with prefix on node that pick returns.
func (v *valkey) scan(ctx context.Context, c, node valkeygo.Client, prefix string, pick func([]string) ([]string, error)) (removed int, err error) {
	const step = 1000
	for cursor := uint64(0); ; {
		page, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Match(prefix+"*").Count(step).Build()).AsScanEntry()
		if err != nil {
			// A replica of a cluster repeats what its primary has.
			if reply, ok := valkeygo.IsValkeyErr(err); ok && strings.HasPrefix(reply.Error(), "MOVED") {
				return removed, nil
			}
			return removed, err
		}
		keys, err := pick(page.Elements)
		if err != nil {
			return removed, err
		}
		var commands valkeygo.Commands
		for _, key := range keys {
			commands = append(commands, c.B().Unlink().Key(key).Build())
		}
		for _, result := range c.DoMulti(ctx, commands...) {
			n, err := result.AsInt64()
			if err != nil {
				return removed, err
			}
			removed += int(n)
		}
		if cursor = page.Cursor; cursor == 0 {
			return removed, nil
		}
	}
}

// selected are those of keys whose entries sel selects.
func (v *valkey) selected(ctx context.Context, c valkeygo.Client, keys []string, sel *selector) ([]string, error) {
	var commands valkeygo.Commands
	for _, key := range keys {
		commands = append(commands, c.B().Getrange().Key(key).Start(0).End(int64(recordHead)-1).Build())
	}
	var picked []string
	for i, result := range c.DoMulti(ctx, commands...) {
		head, err := result.AsBytes()
		if err != nil {
			return nil, err
		}
		if t, err := recordTags(head); err == nil && sel.selects(&t) {
			picked = append(picked, keys[i])
		}
	}
	return picked, nil
}
