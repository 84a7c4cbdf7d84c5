package cache

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// TestMain lets the test binary play the process that is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("CACHE_TEST_WRITER"); path != "" {
		writeUntilKilled(path)
	}
	os.Exit(m.Run())
}

// numbered is the question and answer number n.
func numbered(n int) (ask, answer string) {
	return chatQuestion(fmt.Sprintf("%s, says note %d", question, n)),
		strings.Replace(chatAnswer, "Six.", fmt.Sprintf("Answer %d.", n), 1)
}

// writeUntilKilled stores answers in the cache at path, and prints the number
// of each batch that is known to be in the file.
func writeUntilKilled(path string) {
	c, err := Open(Options{Store: StoreConfig{Kind: KindDisk, Path: path}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	s := &site{cache: c}
	if s.policy, err = (Policy{Mode: Similar, Threshold: 0.9}).Resolve(); err != nil {
		panic(err)
	}
	for n := 0; ; n++ {
		ask, answer := numbered(n)
		s.provider = jsonAnswer(answer)
		s.ask(chatPath, ask)
		if n%10 == 9 {
			settle(c)
			fmt.Println(n)
		}
	}
}

// What was written before a kill -9 is there after it, at any moment it comes.
func TestKill9(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	known := -1
	for round := range 5 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CACHE_TEST_WRITER="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for batch := 0; batch <= round*3 && lines.Scan(); batch++ {
			n := -1
			if _, err := fmt.Sscan(lines.Text(), &n); err != nil {
				t.Fatalf("the writer says %q", lines.Text())
			}
			known = max(known, n)
		}
		// It is in the middle of the next batch, or of writing it.
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()

		c, err := Open(Options{Store: StoreConfig{Kind: KindDisk, Path: path}})
		if err != nil {
			t.Fatal(err)
		}
		s := siteOf(t, Policy{Mode: Similar, Threshold: 0.9}, c)
		s.provider = jsonAnswer("{}")
		for n := range known + 1 {
			ask, answer := numbered(n)
			if got := s.ask(chatPath, ask, "Cache-Control", "only-if-cached"); got.outcome != Hit || got.Body.String() != answer {
				t.Fatalf("round %d: answer %d of %d is lost: %v", round, n, known, got.outcome)
			}
		}
		settle(c)
		ask, answer := numbered(known)
		if got := s.ask(chatPath, strings.Replace(ask, "please ", "Please, ", 1), "Cache-Control", "only-if-cached"); got.outcome != HitSimilar || got.Body.String() != answer {
			t.Errorf("round %d: a similar question: %v", round, got.outcome)
		}
		if n := c.Stats().Damaged; n != 0 {
			t.Errorf("round %d: %d damaged records", round, n)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if known < 0 {
		t.Fatal("nothing was written")
	}
}

// fillDisk stores n answers at path and closes the cache.
func fillDisk(t *testing.T, path string, n int) {
	t.Helper()
	c, err := Open(Options{Store: StoreConfig{Kind: KindDisk, Path: path}})
	if err != nil {
		t.Fatal(err)
	}
	s := siteOf(t, Policy{Mode: Similar}, c)
	for i := range n {
		ask, answer := numbered(i)
		s.provider = jsonAnswer(answer)
		s.ask(chatPath, ask)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// A record that was damaged or put there by somebody else is dropped, counted
// and never served; the rest stays.
func TestDiskDropsForeignRecords(t *testing.T) {
	for name, harm := range map[string]func(b *bbolt.Bucket, k, v []byte, other []byte) error{
		"flipped bit":    func(b *bbolt.Bucket, k, v, _ []byte) error { v[len(v)/2] ^= 1; return b.Put(k, v) },
		"flipped magic":  func(b *bbolt.Bucket, k, v, _ []byte) error { v[0] ^= 1; return b.Put(k, v) },
		"cut":            func(b *bbolt.Bucket, k, v, _ []byte) error { return b.Put(k, v[:len(v)-1]) },
		"empty":          func(b *bbolt.Bucket, k, _, _ []byte) error { return b.Put(k, nil) },
		"other schema":   func(b *bbolt.Bucket, k, v, _ []byte) error { v[4]++; return b.Put(k, v) },
		"somebody's":     func(b *bbolt.Bucket, k, _, _ []byte) error { return b.Put(k, []byte("not ours")) },
		"another record": func(b *bbolt.Bucket, k, _, other []byte) error { return b.Put(k, other) },
	} {
		for _, bucket := range [][]byte{bucketAnswers, bucketSummaries} {
			t.Run(name+"/"+string(bucket), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "cache.db")
				fillDisk(t, path, 4)
				editDisk(t, path, func(tx *bbolt.Tx) error {
					b := tx.Bucket(bucket)
					c := b.Cursor()
					k, v := c.First()
					_, other := c.Next()
					k, v, other = bytes.Clone(k), bytes.Clone(v), bytes.Clone(other)
					if err := b.Put([]byte("a foreign key"), []byte("x")); err != nil {
						return err
					}
					if _, err := b.CreateBucket([]byte("a foreign bucket")); err != nil {
						return err
					}
					return harm(b, k, v, other)
				})
				var told reports
				c := mustOpen(t, Options{Store: StoreConfig{Kind: KindDisk, Path: path}, Log: told.log})
				settle(c)
				s := siteOf(t, Policy{Mode: Exact}, c)
				hits := 0
				for i := range 4 {
					ask, answer := numbered(i)
					s.provider = jsonAnswer(answer)
					got := s.ask(chatPath, ask)
					if got.Body.String() != answer {
						t.Fatalf("question %d was answered with %q", i, got.Body)
					}
					if got.outcome == Hit {
						hits++
					}
				}
				if hits != 3 {
					t.Errorf("%d of 4 answers are left, expected 3", hits)
				}
				// The damaged one, the two foreign ones, and an answer without a
				// summary if that was damaged.
				if n := c.Stats().Damaged; n < 3 || n > 4 {
					t.Errorf("%d damaged records were counted", n)
				}
				if told.count() == 0 {
					t.Error("nobody was told")
				}
				settle(c)
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				editDisk(t, path, func(tx *bbolt.Tx) error {
					for _, bucket := range [][]byte{bucketAnswers, bucketSummaries} {
						n := 0
						err := tx.Bucket(bucket).ForEach(func(k, v []byte) error {
							n++
							if len(k) != 32 {
								return fmt.Errorf("%q is still there", k)
							}
							return nil
						})
						if err != nil || n != 4 {
							t.Errorf("%s: %d records, %v", bucket, n, err)
						}
					}
					return nil
				})
			})
		}
	}
}

// editDisk changes the database at path.
func editDisk(t *testing.T, path string, do func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(do); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// Whatever becomes of the bytes of the file, no wrong answer is given and
// nothing panics: the cache opens or says that it cannot.
func TestDiskDamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	fillDisk(t, path, 20)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	step := max(len(whole)/97, 1)
	for at := 0; at < len(whole); at += step {
		harmed := bytes.Clone(whole)
		for i := at; i < min(at+16, len(harmed)); i++ {
			harmed[i] ^= 0xA5
		}
		if err := os.WriteFile(path, harmed, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Open(Options{Store: StoreConfig{Kind: KindDisk, Path: path}})
		if err != nil {
			continue
		}
		<-c.store.(*disk).loaded
		s := siteOf(t, Policy{Mode: Exact}, c)
		for i := range 20 {
			ask, answer := numbered(i)
			s.provider = jsonAnswer(answer)
			if got := s.ask(chatPath, ask); got.Body.String() != answer {
				t.Fatalf("damage at %d: question %d was answered with %q", at, i, got.Body)
			}
		}
		if err := c.Close(); err != nil {
			t.Logf("damage at %d: %v", at, err)
		}
	}
}

// A file that is something else is left alone.
func TestDiskForeignFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.txt")
	text := strings.Repeat("my notes, not a cache\n", 1000)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Store: StoreConfig{Kind: KindDisk, Path: path}}); err == nil || !strings.Contains(err.Error(), "not a cache") {
		t.Errorf("%v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("the file was changed: %v", err)
	}
}

// Within the process all caches of one file share its handle, also when a
// configuration with another size is opened before the old one is closed; a
// second process is told that it cannot have it.
func TestDiskShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	old := mustOpen(t, Options{Store: StoreConfig{Kind: KindDisk, Path: path}})
	s := siteOf(t, Policy{Mode: Exact}, old)
	ask, answer := numbered(1)
	s.provider = jsonAnswer(answer)
	s.ask(chatPath, ask)
	settle(old)

	fresh := mustOpen(t, Options{Store: StoreConfig{Kind: KindDisk, Path: filepath.Join(filepath.Dir(path), ".", "cache.db"), Size: 8 << 20}})
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	// A late write of the old configuration does no harm.
	lateAsk, lateAnswer := numbered(2)
	s.provider = jsonAnswer(lateAnswer)
	if got := s.ask(chatPath, lateAsk); got.Body.String() != lateAnswer {
		t.Errorf("%q", got.Body)
	}
	s.cache = fresh
	if got := s.ask(chatPath, ask); got.outcome != Hit || got.Body.String() != answer {
		t.Errorf("the new configuration: %v", got.outcome)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CACHE_TEST_WRITER="+path)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "in use by another process") {
		t.Errorf("a second process: %v, %s", err, out)
	}
}

// The secret is made once, only for the owner, and what is stored is worth
// nothing without it.
func TestDiskSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	fillDisk(t, path, 2)
	info, err := os.Stat(path + ".key")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, clear := range []string{"Answer 1.", "fog horn", "harbour office", "gpt-5-mini"} {
		if bytes.Contains(raw, []byte(clear)) {
			t.Errorf("the file shows %q", clear)
		}
	}
	if err := os.Remove(path + ".key"); err != nil {
		t.Fatal(err)
	}
	c := mustOpen(t, Options{Store: StoreConfig{Kind: KindDisk, Path: path}})
	settle(c)
	if n := c.Stats(); n.Entries != 0 || n.Damaged == 0 {
		t.Errorf("with another secret: %+v", n)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".key", []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Store: StoreConfig{Kind: KindDisk, Path: path}}); err == nil || !strings.Contains(err.Error(), "not a cache secret") {
		t.Errorf("a broken secret: %v", err)
	}
}

// The file stays near its size, and what leaves it is gone.
func TestDiskBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	const size = 4 << 20
	c := mustOpen(t, Options{Store: StoreConfig{Kind: KindDisk, Path: path, Size: size}})
	s := siteOf(t, Policy{Mode: Exact}, c)
	for n := range 1000 {
		ask, answer := numbered(n)
		answer = strings.Replace(answer, "Answer", strings.Repeat("x", 20_000), 1)
		s.provider = jsonAnswer(answer)
		s.ask(chatPath, ask)
		if n%50 == 0 {
			settle(c)
		}
	}
	settle(c)
	n := c.Stats()
	if n.Bytes > size || n.Evictions == 0 || n.Entries < 100 {
		t.Errorf("%+v", n)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 4*size { // it grows to powers of two
		t.Errorf("the file has %d bytes, its limit is %d", info.Size(), size)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	editDisk(t, path, func(tx *bbolt.Tx) error {
		for _, bucket := range [][]byte{bucketAnswers, bucketSummaries} {
			if got := tx.Bucket(bucket).Stats().KeyN; int64(got) != n.Entries {
				t.Errorf("%s: %d records for %d entries", bucket, got, n.Entries)
			}
		}
		return nil
	})
	// A smaller size takes effect when it is opened next.
	c = mustOpen(t, Options{Store: StoreConfig{Kind: KindDisk, Path: path, Size: 1 << 20}})
	settle(c)
	if n := c.Stats(); n.Bytes > 1<<20 || n.Entries == 0 {
		t.Errorf("%+v", n)
	}
}

// A disk that cannot be written to costs the answers, not the requests.
func TestDiskWriteFails(t *testing.T) {
	var told reports
	c := mustOpen(t, Options{Store: StoreConfig{Kind: KindDisk, Path: filepath.Join(t.TempDir(), "cache.db")}, Log: told.log})
	d := c.store.(*disk)
	settle(c)
	if err := d.file.db.Close(); err != nil { // as if the disk were gone
		t.Fatal(err)
	}
	s := siteOf(t, Policy{Mode: Exact}, c)
	for range 3 {
		ask, answer := numbered(1)
		s.provider = jsonAnswer(answer)
		if got := s.ask(chatPath, ask); got.Body.String() != answer {
			t.Errorf("%v %q", got.outcome, got.Body)
		}
		d.flush()
	}
	if n := c.Stats(); n.Drops != 3 || n.Entries != 0 || told.count() != 1 {
		t.Errorf("%+v, told %d times", n, told.count())
	}
}
