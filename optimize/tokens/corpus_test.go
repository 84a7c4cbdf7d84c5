package tokens

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
	"github.com/tiktoken-go/tokenizer"
)

// within is how far an estimate may be off, relative to o200k, on texts of at
// least leastBytes.
const (
	within     = 0.15
	leastBytes = 2048
)

func o200k(t *testing.T) func(text []byte) int {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	return func(text []byte) int {
		n, err := codec.Count(string(text))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// off is the relative error of an estimate.
func off(got, want int) float64 { return float64(got)/float64(want) - 1 }

// TestCorpus compares the estimate with the tokenizer on every file of the
// corpus, as it stands; and, where it is a request, on the decoded text of its
// strings of 200 bytes and more.
func TestCorpus(t *testing.T) {
	root := filepath.FromSlash("../../../shared/corpus")
	if _, err := os.Stat(root); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	count := o200k(t)
	files, worst, sum := 0, 0.0, 0.0
	check := func(name string, got, want int) {
		e := off(got, want)
		files++
		sum += math.Abs(e)
		worst = max(worst, math.Abs(e))
		if math.Abs(e) > within {
			t.Errorf("%s: %d tokens, o200k %d (%+.1f %%)", name, got, want, 100*e)
		}
	}
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) < leastBytes {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(root)+"/")
		check(name, Estimate(text), count(text))
		var d jsonspan.Doc
		if filepath.Ext(path) != ".json" || d.Parse(text) != nil {
			return nil
		}
		got, want, size, sampled, long := 0, 0, 0, 0, 0
		for r := range jsonspan.Ref(d.Nodes()) {
			if raw := d.Inner(r); len(raw) >= 200 {
				decoded := jsonspan.AppendUnquoted(nil, raw)
				n := count(decoded)
				got, want, size = got+EstimateRaw(raw), want+n, size+len(decoded)
				if len(raw) >= SampledFrom {
					sampled, long = sampled+SampleRaw(raw), long+n
				}
			}
		}
		if long > 0 {
			check(name+" (texts, sampled)", sampled, long)
		}
		if size >= leastBytes {
			check(name+" (texts)", got, want)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
	t.Logf("%d texts, off by %.1f %% on average, at most %.1f %%", files, 100*sum/float64(files), 100*worst)
}

// TestScripts compares on short texts of what the corpus has little of. They
// are far below the size for which the estimate is meant, so more is allowed.
func TestScripts(t *testing.T) {
	const allowed = 0.25
	count := o200k(t)
	for name, text := range map[string]string{
		"english":    "The gateway reads the request once, keeps what matters and forwards the rest without a change. When a test fails, its whole message stays where it was.",
		"german":     "Das Gateway liest die Anfrage einmal, behält alles Wichtige und leitet den Rest unverändert weiter. Schlägt ein Test fehl, bleibt seine ganze Meldung an ihrer Stelle stehen.",
		"french":     "La passerelle lit la requête une seule fois, conserve ce qui est important et transmet le reste sans aucun changement. Lorsqu'un test échoue, son message reste entier.",
		"spanish":    "La pasarela lee la petición una sola vez, conserva lo importante y reenvía el resto sin ningún cambio. Cuando una prueba falla, su mensaje queda entero en su sitio.",
		"polish":     "Brama czyta żądanie tylko raz, zachowuje wszystko, co ważne, a resztę przekazuje dalej bez żadnych zmian. Gdy test się nie powiedzie, jego komunikat pozostaje w całości.",
		"turkish":    "Ağ geçidi isteği yalnızca bir kez okur, önemli olanı korur ve gerisini değiştirmeden iletir. Bir test başarısız olduğunda mesajının tamamı yerinde kalır.",
		"vietnamese": "Cổng đọc yêu cầu đúng một lần, giữ lại những gì quan trọng và chuyển tiếp phần còn lại mà không thay đổi. Khi một bài kiểm tra thất bại, toàn bộ thông báo vẫn ở nguyên chỗ cũ.",
		"russian":    "Шлюз читает запрос один раз, сохраняет всё важное и передаёт остальное без изменений. Если тест не проходит, его сообщение целиком остаётся на своём месте.",
		"ukrainian":  "Шлюз читає запит один раз, зберігає все важливе і передає решту без змін. Якщо тест не проходить, його повідомлення повністю залишається на своєму місці.",
		"greek":      "Η πύλη διαβάζει το αίτημα μία φορά, κρατά ό,τι είναι σημαντικό και προωθεί τα υπόλοιπα χωρίς αλλαγή. Όταν μια δοκιμή αποτυγχάνει, το μήνυμά της μένει ολόκληρο.",
		"hebrew":     "השער קורא את הבקשה פעם אחת, שומר את כל מה שחשוב ומעביר את השאר ללא שינוי. כאשר בדיקה נכשלת, ההודעה שלה נשארת במלואה במקומה.",
		"arabic":     "تقرأ البوابة الطلب مرة واحدة، وتحتفظ بكل ما هو مهم، وتمرر الباقي دون أي تغيير. عندما يفشل اختبار ما، تبقى رسالته كاملة في مكانها.",
		"hindi":      "गेटवे अनुरोध को एक बार पढ़ता है, जो महत्वपूर्ण है उसे रखता है और बाकी को बिना बदलाव के आगे भेजता है। जब कोई परीक्षण विफल होता है, तो उसका पूरा संदेश अपनी जगह पर रहता है।",
		"thai":       "เกตเวย์อ่านคำขอเพียงครั้งเดียว เก็บสิ่งที่สำคัญไว้ และส่งต่อส่วนที่เหลือโดยไม่เปลี่ยนแปลง เมื่อการทดสอบล้มเหลว ข้อความทั้งหมดจะยังอยู่ที่เดิม",
		"chinese":    "网关只读取一次请求，保留所有重要的内容，并将其余部分原样转发。当测试失败时，它的完整信息会保留在原来的位置，不会被删除或改写。",
		"japanese":   "ゲートウェイはリクエストを一度だけ読み取り、重要な内容をすべて保持し、残りをそのまま転送します。テストが失敗した場合、そのメッセージ全体が元の場所に残ります。",
		"korean":     "게이트웨이는 요청을 한 번만 읽고 중요한 내용을 모두 유지하며 나머지는 변경 없이 전달합니다. 테스트가 실패하면 전체 메시지가 원래 위치에 그대로 남습니다.",
		"large":      string(testbody.Large()),
		"huge":       string(testbody.Huge()),
		"fresh":      string(testbody.Fresh(testbody.ProfileLarge, 1)),
	} {
		got, want := Estimate([]byte(text)), count([]byte(text))
		if e := off(got, want); math.Abs(e) > allowed {
			t.Errorf("%s: %d tokens, o200k %d (%+.1f %%)", name, got, want, 100*e)
		} else {
			t.Logf("%s: %d tokens, o200k %d (%+.1f %%)", name, got, want, 100*e)
		}
	}
}
