package access

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"github.com/valkey-io/valkey-go"
)

// A slot of a gateway that died is free again after this long without
// being given back.
const slotLife = 15 * time.Minute

// admitScript takes one request, tokens and a slot, or nothing. It runs
// whole, so that any number of gateways see one state, and takes the time
// from the server.
//
// KEYS: 1 rpm tat, 2 tpm tat, 3 slots (sorted set of lease ids by expiry),
// 4 spent. ARGV: 1 rpm, 2 tpm, 3 tokens, 4 concurrency, 5 budget (micro-USD),
// 6 lease id, 7 slot life (ms). Returns {reason, wait ms, rpm used ms, tpm
// used ms}; the reason is "" when the request is admitted.
var admitScript = valkey.NewLuaScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
local rpm, tpm = tonumber(ARGV[1]), tonumber(ARGV[2])
local tokens, concurrency, budget = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local rtat = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
local ttat = math.max(tonumber(redis.call('GET', KEYS[2]) or '0'), now)
local function answer(reason, wait)
  return {reason, tostring(math.ceil(wait)), tostring(rtat - now), tostring(ttat - now)}
end
if budget > 0 and tonumber(redis.call('GET', KEYS[4]) or '0') >= budget then
  return answer('budget', 0)
end
if concurrency > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
  if redis.call('ZCARD', KEYS[3]) >= concurrency then
    return answer('concurrency', 1000)
  end
end
local rnext, tnext = rtat, ttat
if rpm > 0 then
  rnext = rtat + 60000 / rpm
  if rnext - now > 60000 then return answer('rpm', rnext - now - 60000) end
end
if tpm > 0 then
  tnext = ttat + 60000 * math.min(tokens, tpm) / tpm
  if tnext - now > 60000 then return answer('tpm', tnext - now - 60000) end
end
if rpm > 0 then redis.call('SET', KEYS[1], string.format('%.3f', rnext), 'PX', 120000) rtat = rnext end
if tpm > 0 then redis.call('SET', KEYS[2], string.format('%.3f', tnext), 'PX', 600000) ttat = tnext end
if concurrency > 0 then
  redis.call('ZADD', KEYS[3], now + tonumber(ARGV[7]), ARGV[6])
  redis.call('PEXPIRE', KEYS[3], ARGV[7])
end
return answer('', 0)
`)

// settleScript corrects the tokens, adds what was spent and gives slots back,
// once for each number that a gateway gives out. KEYS as above, and 5 the last
// number of this gateway; ARGV: 1 tpm, 2 delta, 3 spent, 4 seconds that the sum
// is kept, 5 number, then the lease ids. A number is remembered for a day.
var settleScript = valkey.NewLuaScript(`
if tonumber(redis.call('GET', KEYS[5]) or '0') >= tonumber(ARGV[5]) then return '' end
redis.call('SET', KEYS[5], ARGV[5], 'EX', 86400)
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
local tpm, delta = tonumber(ARGV[1]), tonumber(ARGV[2])
if tpm > 0 and delta ~= 0 then
  local tat = math.max(tonumber(redis.call('GET', KEYS[2]) or '0'), now) + 60000 * delta / tpm
  redis.call('SET', KEYS[2], string.format('%.3f', math.max(tat, now)), 'PX', math.max(600000, math.ceil(tat - now)))
end
for i = 6, #ARGV do redis.call('ZREM', KEYS[3], ARGV[i]) end
if tonumber(ARGV[3]) > 0 then
  redis.call('INCRBY', KEYS[4], ARGV[3])
  redis.call('EXPIRE', KEYS[4], ARGV[4])
end
return ''
`)

// shared counts on a Valkey or Redis server.
type shared struct {
	link    link
	debts   debts
	id      string // of this gateway
	prefix  string
	timeout time.Duration // per call
}

func (s *shared) keys(key string, p BudgetPeriod, now time.Time) []string {
	start, _ := p.bounds(now)
	// The braces keep all keys of one client on one node of a cluster.
	base := s.prefix + "{" + key + "}:"
	return []string{base + "rpm", base + "tpm", base + "slots", base + "spent:" + string(p) + ":" + strconv.FormatInt(start.Unix(), 10)}
}

// admit takes one request, tokens and a slot, or nothing; it also returns the
// id of the slot.
func (s *shared) admit(ctx context.Context, key string, l Limits, tokens int, now time.Time) (Decision, string, error) {
	client, err := s.link.get(now)
	if client == nil {
		return Decision{}, "", err
	}
	d, slot, err := s.ask(ctx, client, key, l, tokens, now)
	if err != nil {
		s.link.report(err, now)
	}
	return d, slot, err
}

// ask runs the script.
func (s *shared) ask(ctx context.Context, client valkey.Client, key string, l Limits, tokens int, now time.Time) (Decision, string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	id := rand.Text()
	reply, err := admitScript.Exec(ctx, client, s.keys(key, l.Period, now), []string{
		strconv.Itoa(l.RPM), strconv.Itoa(l.TPM), strconv.Itoa(tokens), strconv.Itoa(l.Concurrency),
		strconv.FormatInt(int64(toMicro(l.Budget)), 10), id, strconv.FormatInt(slotLife.Milliseconds(), 10),
	}).ToArray()
	if err != nil {
		return Decision{}, "", err
	}
	if len(reply) != 4 {
		return Decision{}, "", fmt.Errorf("unexpected answer with %d parts", len(reply))
	}
	var part [4]string
	for i := range reply {
		if part[i], err = reply[i].ToString(); err != nil {
			return Decision{}, "", err
		}
	}
	var d Decision
	if l.RPM > 0 {
		d.Requests = windowOf(part[2], l.RPM)
	}
	if l.TPM > 0 {
		d.Tokens = windowOf(part[3], l.TPM)
	}
	switch part[0] {
	case "":
	case "budget":
		_, end := l.Period.bounds(now)
		d.Denied = &Denial{BudgetExceeded, part[0], end.Sub(now)}
	case "concurrency":
		d.Denied = &Denial{ConcurrencyLimited, part[0], time.Second}
	case "rpm", "tpm":
		d.Denied = &Denial{RateLimited, part[0], milliseconds(part[1])}
	default:
		return Decision{}, "", fmt.Errorf("unexpected answer %q", part[0])
	}
	return d, id, nil
}

// settling waits for the settlements of this gateway that are under way, and
// reports whether there were any.
func (s *shared) settling(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	return s.debts.wait(ctx)
}

// spent is the money spent in the current period.
func (s *shared) spent(ctx context.Context, key string, p BudgetPeriod, now time.Time) (microUSD, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	s.debts.wait(ctx)
	client, err := s.link.get(now)
	if client == nil {
		return 0, err
	}
	n, err := client.Do(ctx, client.B().Get().Key(s.keys(key, p, now)[3]).Build()).AsInt64()
	if valkey.IsValkeyNil(err) {
		return 0, nil
	}
	return microUSD(n), err
}

// windowOf turns the used milliseconds of a window into what is left.
func windowOf(usedMS string, limit int) Window {
	used := milliseconds(usedMS)
	g := gcra{tat: time.Unix(0, 0).Add(used)}
	return g.window(time.Unix(0, 0), limit)
}

func milliseconds(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 {
		return 0
	}
	return time.Duration(f * float64(time.Millisecond))
}
