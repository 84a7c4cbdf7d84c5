package output

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// needle is a piece of text that makes a line important. It is compared
// without regard to ASCII case and is at least four bytes long.
type needle struct {
	text string
	sev  Severity
	rule rule
}

// rule says what a needle needs around it.
type rule uint8

const (
	anywhere  rule = iota // inside a word or an identifier too
	counted               // anywhere, but not "0 errors", "no failures", "error":null
	word                  // no letter on either side
	wordStart             // no letter in front of it
	wordEnd               // no letter behind it
	value                 // a field that is followed by a value that is not empty
	exit                  // a number that is not zero follows, or none
	period                // a setting when a number follows: timeout=30s
	suffix                // counted, and only some endings: fail, failed, failure, ...
	clause                // a certain word follows: is not defined
	against               // the counterpart stands in the same line: expected 1, got 2
	leads                 // it is the first word of the line
	status                // two digits follow: a server error
	dots                  // pytest's progress marks follow
	urgent                // a syslog priority of error or above follows
)

// needles is the one list of what makes a line important, wherever it stands in
// it. What makes one only at its start is in startSeverity.
var needles = []needle{
	{"error", Failure, counted}, {"err!", Failure, anywhere}, {" err ", Failure, anywhere}, {" err=", Failure, value}, {" err:", Failure, value},
	{"[err", Failure, anywhere}, {`"err"`, Failure, value}, {"fail", Failure, suffix}, {"fatal", Failure, counted}, {"panic", Failure, counted},
	{"exception", Failure, counted}, {"traceback", Failure, anywhere}, {"critical", Failure, counted}, {"abort", Failure, counted},
	{"crash", Failure, counted}, {"segfault", Failure, anywhere}, {"segmentation", Failure, anywhere}, {"core dump", Failure, anywhere},
	{"killed", Failure, word}, {"denied", Failure, counted}, {"refused", Failure, counted}, {"rejected", Failure, counted},
	{"timed out", Failure, anywhere}, {"timeout", Failure, period}, {"cannot", Failure, anywhere}, {"can't", Failure, anywhere},
	{"can not", Failure, anywhere}, {"could not", Failure, anywhere}, {"couldn't", Failure, anywhere}, {"won't ", Failure, anywhere},
	{"unable to", Failure, anywhere}, {"not found", Failure, counted}, {"notfound", Failure, anywhere}, {"no such", Failure, anywhere}, {"undefined", Failure, anywhere},
	{"unresolved", Failure, counted}, {"unexpected", Failure, counted}, {"invalid", Failure, wordEnd}, {"mismatch", Failure, counted},
	{"conflict", Failure, counted}, {"corrupt", Failure, counted}, {"deadlock", Failure, counted}, {"overflow", Failure, counted},
	{"out of memory", Failure, anywhere}, {"outofmemory", Failure, anywhere}, {"oomkill", Failure, anywhere}, {"oom-kill", Failure, anywhere}, {" oom", Failure, wordEnd},
	{"unhealthy", Failure, counted}, {"exit code", Failure, exit}, {"exit status", Failure, exit},
	{"exitcode", Failure, exit}, {"exit_code", Failure, exit}, {"returncode", Failure, exit}, {"non-zero", Failure, anywhere}, {"nonzero", Failure, anywhere},
	{"unhandled", Failure, counted}, {"uncaught", Failure, counted}, {"stack trace", Failure, anywhere}, {"stacktrace", Failure, anywhere},
	{"broken pipe", Failure, anywhere}, {"reset by peer", Failure, anywhere}, {"connection reset", Failure, anywhere}, {"connection lost", Failure, anywhere},
	{"lost connection", Failure, anywhere}, {"not permitted", Failure, anywhere}, {"not allowed", Failure, anywhere}, {"not supported", Failure, anywhere},
	{"bail out", Failure, anywhere}, {"stopped:", Failure, anywhere}, {"erro", Failure, word}, {"[ko]", Failure, anywhere}, {" ko ", Failure, anywhere}, {"ko: ", Failure, wordStart},
	{"broken", Failure, counted}, {"=false", Failure, anywhere}, {"=ko ", Failure, anywhere}, {"no status", Failure, anywhere}, {"not run", Failure, anywhere},
	{"[bad]", Failure, anywhere}, {" bad ", Failure, anywhere}, {"dead", Failure, word}, {"alert", Failure, word}, {"bug: ", Failure, wordStart}, {"*** ", Failure, anywhere},
	{" drifted", Failure, anywhere}, {" differs", Failure, anywhere}, {" down", Failure, wordEnd}, {"recipe for target", Failure, anywhere},
	{"returned 1", Failure, anywhere}, {"rc=1", Failure, anywhere}, {" code=1", Failure, anywhere}, {"exit 1", Failure, wordStart}, {"exit 2", Failure, wordStart},
	{"rc=2", Failure, wordStart}, {" 500 ", Failure, anywhere}, {" 502 ", Failure, anywhere},
	{" 503 ", Failure, anywhere}, {" 504 ", Failure, anywhere},
	{"unsupported", Failure, counted}, {"not available", Failure, anywhere}, {"unavailable", Failure, counted}, {"not implemented", Failure, anywhere},
	{"unimplemented", Failure, anywhere}, {"forbidden", Failure, counted}, {"unauthorized", Failure, counted}, {"unauthenticated", Failure, counted},
	{"unreachable", Failure, counted}, {"no space left", Failure, anywhere}, {"disk full", Failure, anywhere}, {"disk quota", Failure, anywhere},
	{"exceeded", Failure, counted}, {"expired", Failure, word}, {"is not ", Failure, clause}, {"are not ", Failure, clause}, {"does not ", Failure, anywhere},
	{"doesn't ", Failure, anywhere}, {"do not match", Failure, anywhere}, {"did not ", Failure, anywhere}, {"didn't ", Failure, anywhere},
	{"violat", Failure, counted}, {"caused by", Failure, anywhere}, {"emerg", Failure, word}, {"severe", Failure, word}, {"crit", Failure, word},
	{"backoff", Failure, wordEnd}, {"back-off", Failure, anywhere}, {"evicted", Failure, counted}, {"leaked", Failure, counted}, {"memory leak", Failure, anywhere},
	{"data race", Failure, anywhere}, {"sanitizer", Failure, anywhere}, {"giving up", Failure, anywhere}, {"gave up", Failure, anywhere},
	{"no module", Failure, anywhere}, {"no matching", Failure, anywhere}, {"no tests", Failure, anywhere}, {"no rule to", Failure, anywhere}, {"no route to", Failure, anywhere},
	{"illegal", Failure, anywhere}, {"malformed", Failure, anywhere}, {"unsatisf", Failure, counted}, {"incompatible", Failure, counted},
	{"vulnerab", Failure, counted}, {"problem", Failure, counted}, {"interrupted", Failure, word}, {"terminat", Failure, anywhere},
	{"sigsegv", Failure, anywhere}, {"sigkill", Failure, anywhere}, {"sigabrt", Failure, anywhere}, {"sigterm", Failure, anywhere}, {"sigbus", Failure, anywhere},
	{"sigill", Failure, anywhere}, {"signal:", Failure, anywhere}, {"signal ", Failure, exit}, {"thrown", Failure, word}, {"unmet", Failure, word},
	{"not ok", Failure, word}, {"invariant", Failure, word}, {"regression", Failure, counted}, {"wrong", Failure, word}, {"bad ", Failure, wordStart},
	{"rate limit", Failure, anywhere}, {"throttl", Failure, counted},
	{"ambiguous", Failure, word}, {"duplicate", Failure, counted}, {"redefin", Failure, anywhere}, {"redeclar", Failure, anywhere},
	{"already exists", Failure, anywhere}, {"already defined", Failure, anywhere}, {"multiple definition", Failure, anywhere}, {"self-signed", Failure, anywhere},
	{"self signed", Failure, anywhere}, {"untrusted", Failure, word}, {"not a git", Failure, anywhere}, {"not a dir", Failure, anywhere},
	{"is a directory", Failure, anywhere}, {"too many", Failure, anywhere}, {"too large", Failure, anywhere}, {"too long", Failure, anywhere},
	{"out of range", Failure, anywhere}, {"out of bounds", Failure, anywhere}, {"null pointer", Failure, anywhere}, {"nil pointer", Failure, anywhere},
	{"nullpointer", Failure, anywhere}, {"dereference", Failure, anywhere}, {"division by zero", Failure, anywhere}, {"divide by zero", Failure, anywhere},
	{"goroutine ", Detail, anywhere}, {"oops", Failure, word}, {"bug:", Failure, anywhere}, {"call trace", Failure, anywhere}, {"assertion", Failure, word},
	{"assert", Detail, word}, {"expected", Detail, against}, {"lvl=e", Failure, anywhere}, {`level":50`, Failure, anywhere}, {`level":60`, Failure, anywhere},
	{`status":5`, Failure, status}, {`status": 5`, Failure, status}, {"status=5", Failure, status}, {"status: 5", Failure, status}, {`1" 5`, Failure, status}, {`0" 5`, Failure, status},
	{`code":5`, Failure, status}, {"code=5", Failure, status}, {`priority":"`, Failure, urgent}, {"exited", Failure, exit},
	{"err_", Failure, anywhere}, {"enoent", Failure, anywhere}, {"eacces", Failure, anywhere}, {"eperm", Failure, word}, {"etimedout", Failure, anywhere},
	{"eaddrinuse", Failure, anywhere}, {"econnreset", Failure, anywhere}, {"enospc", Failure, anywhere}, {"einval", Failure, word}, {"epipe", Failure, word},
	{"elifecycle", Failure, anywhere}, {"eresolve", Failure, anywhere}, {"impossible", Failure, word}, {"errimage", Failure, anywhere}, {"notready", Failure, anywhere},
	{"not ready", Failure, anywhere}, {"insufficient", Failure, counted}, {"ora-0", Failure, wordStart}, {"stuck", Failure, word}, {" hung", Failure, wordEnd},
	{"lockup", Failure, anywhere}, {"degraded", Failure, counted}, {"is down", Failure, wordEnd}, {"link down", Failure, wordEnd}, {"went down", Failure, wordEnd},
	{"incorrect", Failure, counted}, {"inconsistent", Failure, counted}, {"incomplete", Failure, counted}, {"truncated", Failure, counted},
	{"nonexistent", Failure, anywhere}, {"not exist", Failure, anywhere}, {"prohibited", Failure, anywhere}, {"breakpoint trap", Failure, anywhere},
	{"unmerged", Failure, anywhere}, {"both modified", Failure, anywhere}, {"xpass", Failure, anywhere}, {"flaky", Warning, counted},

	{"warn", Warning, suffix}, {" wrn ", Warning, anywhere}, {"deprecat", Warning, counted}, {"unused", Warning, counted}, {"unknown", Warning, word},
	{"missing", Warning, counted}, {"insecure", Warning, word}, {"retrying", Warning, word}, {"skipping", Warning, word}, {"dropped", Warning, counted}, {"dropping", Warning, word}, {"blocked", Warning, counted}, {"caution", Warning, word}, {"pending", Warning, leads},
	{".py ", Failure, dots},

	// Marks, with what follows them; see startSeverity for those that start a line.
	{"✗ ", Failure, anywhere}, {"✘ ", Failure, anywhere}, {"✕ ", Failure, anywhere}, {"✖ ", Failure, anywhere}, {" ❌", Failure, anywhere}, {" ⛔", Failure, anywhere},
	{" ⚠", Warning, anywhere}, {"🔴", Failure, anywhere}, {"🚨", Failure, anywhere}, {"💥", Failure, anywhere},

	// Red, where the escape byte was lost on the way.
	{"[31m", Failure, anywhere}, {"[91m", Failure, anywhere}, {";31m", Failure, anywhere}, {";91m", Failure, anywhere}, {"[31;1m", Failure, anywhere},

	// Compilers and shells speak the user's language.
	{"fehler", Failure, anywhere}, {"warnung", Warning, anywhere}, {"erreur", Failure, anywhere}, {"échec", Failure, anywhere}, {"avertissement", Warning, anywhere},
	{"advertencia", Warning, anywhere}, {"ошибк", Failure, anywhere}, {"предупреж", Warning, anywhere}, {"错误", Failure, anywhere}, {"失败", Failure, anywhere},
	{"警告", Warning, anywhere}, {"异常", Failure, anywhere}, {"エラー", Failure, anywhere}, {"失敗", Failure, anywhere}, {"例外", Failure, anywhere},
	{"오류", Failure, anywhere}, {"실패", Failure, anywhere}, {"경고", Warning, anywhere}, {"에러", Failure, anywhere}, {"예외", Failure, anywhere},
	{"fehlgeschlagen", Failure, anywhere}, {"gescheitert", Failure, anywhere}, {"ungültig", Failure, anywhere}, {"abgebrochen", Failure, anywhere},
	{"nicht gefunden", Failure, anywhere}, {"echec", Failure, word}, {"échou", Failure, anywhere}, {"echou", Failure, wordStart}, {"introuvable", Failure, anywhere},
	{"falló", Failure, anywhere}, {"fallo", Failure, word}, {"fallid", Failure, anywhere}, {"no se pud", Failure, anywhere}, {"inválid", Failure, anywhere},
	{"falha", Failure, word}, {"falhou", Failure, anywhere}, {"errore", Failure, anywhere}, {"fallit", Failure, anywhere}, {"non riuscit", Failure, anywhere},
	{"mislukt", Failure, anywhere}, {"fout", Failure, word}, {"fejl", Failure, word}, {"feil", Failure, word}, {"misslyck", Failure, anywhere}, {"virhe", Failure, word},
	{"epäonnistu", Failure, anywhere}, {"chyba", Failure, word}, {"selhal", Failure, anywhere}, {"sikertelen", Failure, anywhere}, {"hiba", Failure, word},
	{"błąd", Failure, anywhere}, {"błęd", Failure, anywhere}, {"nie powiod", Failure, anywhere}, {"hata:", Failure, wordStart}, {"başarısız", Failure, anywhere},
	{"eroare", Failure, word}, {"eșuat", Failure, anywhere}, {"greška", Failure, anywhere}, {"грешка", Failure, anywhere}, {"неуспе", Failure, anywhere},
	{"σφάλμα", Failure, anywhere}, {"αποτυχ", Failure, anywhere}, {"помилк", Failure, anywhere}, {"сбой", Failure, anywhere}, {"неудач", Failure, anywhere},
	{"не удалось", Failure, anywhere}, {"провал", Failure, anywhere}, {"خطأ", Failure, anywhere}, {"فشل", Failure, anywhere}, {"שגיאה", Failure, anywhere},
	{"נכשל", Failure, anywhere}, {"त्रुटि", Failure, anywhere}, {"विफल", Failure, anywhere}, {"ข้อผิดพลาด", Failure, anywhere}, {"ล้มเหลว", Failure, anywhere},
	{"thất bại", Failure, anywhere}, {"lỗi", Failure, anywhere}, {"gagal", Failure, word}, {"kesalahan", Failure, anywhere}, {"錯誤", Failure, anywhere},
	{"異常", Failure, anywhere}, {"崩溃", Failure, anywhere}, {"超时", Failure, anywhere}, {"拒绝", Failure, anywhere}, {"无法", Failure, anywhere}, {"警報", Failure, anywhere},
}

// Case is folded for ASCII only, so needles with other letters are there as
// they begin a sentence and in capitals too.
func init() {
	for _, n := range needles[:len(needles):len(needles)] {
		if strings.IndexFunc(n.text, func(r rune) bool { return r >= 0x80 }) < 0 {
			continue
		}
		first, size := utf8.DecodeRuneInString(n.text)
		for _, other := range []string{string(unicode.ToUpper(first)) + n.text[size:], strings.ToUpper(n.text)} {
			low := []byte(other)
			for i, c := range low {
				low[i] = lower(c)
			}
			if !slices.ContainsFunc(needles, func(m needle) bool { return m.text == string(low) }) {
				needles = append(needles, needle{string(low), n.sev, n.rule})
			}
		}
	}
	search = newTrigrams(needles)
}

// The search looks at every second position of a line only: the three bytes
// there, with the case folded, are hashed and looked up in a bitmap. Of any
// four bytes in a row, three start at an even position, so a needle is entered
// with two neighbouring triples and is found whatever its alignment. The
// triples are chosen to be rare in ordinary output.
var search *trigrams

type trigrams struct {
	bits  [1 << hashBits / 64]uint64
	index [1 << hashBits]uint16 // into lists, 0 for none
	lists [][]anchor
	lower []string // the needles in lower case
}

const hashBits = 16

// anchor is one triple of one needle.
type anchor struct {
	needle uint16
	offset uint8 // of the triple in the needle
}

// tripleHash hashes the three low bytes of v without regard to case.
func tripleHash(v uint32) uint32 {
	return ((v | 0x202020) & 0xffffff) * 0x9E3779B1 >> (32 - hashBits)
}

func triple(a, b, c byte) uint32 {
	return tripleHash(uint32(a) | uint32(b)<<8 | uint32(c)<<16)
}

// commonness ranks the letters by how often they occur in tool output, and
// commonTriples are pieces of frequent words; both only serve to choose well.
var commonness = func() (rank [256]int) {
	for i := range rank {
		rank[i] = 1
	}
	for i, c := range []byte(" etaoinsrlcdupmhgfty0123456789./-:_bkwvxq") {
		rank[c] = 45 - i
	}
	return rank
}()

const commonTriples = "the ing and ion ent for tio ter ate all con pro ack ill cko mpl din aut ver res est ers ati ate ect str pre per com age ist ess ble " +
	"able ten ten der ase ort ard out ame use ser ess ess lin tes est est ine min rea rec ret ate nal cti ons lle ide ort tem iss ass acc "

func newTrigrams(list []needle) *trigrams {
	t := &trigrams{lists: make([][]anchor, 1)}
	for n, needle := range list {
		low := []byte(needle.text)
		for i, c := range low {
			low[i] = lower(c)
		}
		t.lower = append(t.lower, string(low))
		best, lowest := 0, 1<<60
		for k := 0; k+4 <= len(low); k++ {
			cost := 0
			for d := 0; d < 2; d++ {
				one := commonness[low[k+d]] * commonness[low[k+d+1]] * commonness[low[k+d+2]]
				if strings.Contains(commonTriples, string(low[k+d:k+d+3])) {
					one *= 8
				}
				cost += one
			}
			if cost < lowest {
				best, lowest = k, cost
			}
		}
		for k := best; k < best+2; k++ {
			h := triple(low[k], low[k+1], low[k+2])
			t.bits[h>>6] |= 1 << (h & 63)
			if t.index[h] == 0 {
				t.index[h] = uint16(len(t.lists))
				t.lists = append(t.lists, nil)
			}
			t.lists[t.index[h]] = append(t.lists[t.index[h]], anchor{uint16(n), uint8(k)})
		}
	}
	return t
}

// next returns the next even position from i on, at which a needle may be, or
// len(line) if there is none.
func (t *trigrams) next(line []byte, i int) int {
	for ; i+8 <= len(line); i += 6 {
		v := binary.LittleEndian.Uint64(line[i:])
		if h := tripleHash(uint32(v)); t.bits[h>>6]>>(h&63)&1 != 0 {
			return i
		}
		if h := tripleHash(uint32(v >> 16)); t.bits[h>>6]>>(h&63)&1 != 0 {
			return i + 2
		}
		if h := tripleHash(uint32(v >> 32)); t.bits[h>>6]>>(h&63)&1 != 0 {
			return i + 4
		}
	}
	for ; i+3 <= len(line); i += 2 {
		if h := triple(line[i], line[i+1], line[i+2]); t.bits[h>>6]>>(h&63)&1 != 0 {
			return i
		}
	}
	return len(line)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// hasFold reports whether line has the lower-case text s at i.
func hasFold(line []byte, i int, s string) bool {
	if i < 0 || i+len(s) > len(line) {
		return false
	}
	for j := 0; j < len(s); j++ {
		if lower(line[i+j]) != s[j] {
			return false
		}
	}
	return true
}
