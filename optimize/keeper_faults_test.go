package optimize_test

import (
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// TestKeeperFindsFaults: the check of the promises is worth something only if
// it notices when one is broken.
func TestKeeperFindsFaults(t *testing.T) {
	result := strings.Repeat("ok the same line as before\\n", 80)
	body := `{"model":"m","temperature":1.0,"messages":[{"role":"user","content":"Task."},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"Hm, hm, hm.","signature":"sig="},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"a && b"}},{"type":"tool_use","id":"t2","name":"Bash","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"` + result + `"},{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"` + result + `"}]},` +
		`{"role":"assistant","content":"Fine."},{"role":"user","content":"` + result + `"}]}`
	swap := func(old, new string) string {
		if !strings.Contains(body, old) {
			t.Fatalf("no %q in the body", old)
		}
		return strings.Replace(body, old, new, 1)
	}
	short := swap(`"t1","content":"`+result, `"t1","content":"short`)
	message := func(i int) string {
		var r adapter.Request
		if err := r.Parse(adapter.Messages, []byte(body)); err != nil {
			t.Fatal(err)
		}
		return string(r.Doc.Raw(r.Messages[i].Node))
	}
	mark := `{"role":"assistant","content":"[... headroom: 3 messages elided, x ...]"}`
	pruned := strings.Replace(body, message(1)+","+message(2)+","+message(3), mark, 1)
	inSecond := func(s, old, new string) string {
		if !strings.Contains(s, old) {
			t.Fatalf("no %q in %s", old, s)
		}
		return strings.Replace(s, old, new, 1)
	}
	for _, c := range []struct {
		name, header, after string
		faults              bool
	}{
		{"as it was", "rtk=auto", body, false},
		{"a result shortened", "rtk=auto", short, false},
		{"messages dropped", "headroom=auto", pruned, false},
		{"a result shortened by a pass that may not", "reasoning=low", short, true},
		{"an error shortened", "rtk=auto", swap(`"is_error":true,"content":"`+result, `"is_error":true,"content":"short`), true},
		{"the user shortened", "rtk=auto", swap(`"role":"user","content":"`+result, `"role":"user","content":"short`), true},
		{"thinking shortened", "headroom=auto", swap("Hm, hm, hm.", "Hm."), true},
		{"a signature changed", "rtk=auto", swap("sig=", "si="), true},
		{"an id changed", "rtk=auto", swap(`"id":"t1"`, `"id":"t"`), true},
		{"a number rewritten", "rtk=auto", swap(`1.0`, `1`), true},
		{"an escape rewritten", "rtk=auto", swap(`a && b`, `a & b`), true},
		{"a member lost", "rtk=auto", swap(`"temperature":1.0,`, ``), true},
		{"a text emptied", "rtk=auto", swap(`"t1","content":"`+result, `"t1","content":"`), true},
		{"grown", "rtk=auto", swap("Task.", "Task. Task."), true},
		{"not JSON", "rtk=auto", swap(`"Task."`, `Task.`), true},
		{"more tokens", "rtk=auto", swap(`"t1","content":"`+result, `"t1","content":"`+strings.Repeat("\U000131F0", 400)), true},
		{"a wrong count", "headroom=auto", inSecond(pruned, "3 messages", "2 messages"), true},
		{"no marker", "headroom=auto", inSecond(pruned, mark+",", ""), true},
		{"half a pair", "headroom=auto", swap(message(1)+",", mark+","), true},
		{"messages dropped by a pass that may not", "rtk=auto", pruned, true},
		{"something else in their place", "headroom=auto", inSecond(pruned, "[... headroom: 3", "3"), true},
	} {
		k := &keeper{header: c.header}
		k.check(sample{c.name, adapter.Messages, []byte(body)}, []byte(c.after))
		if (len(k.errs) > 0) != c.faults {
			t.Errorf("%s: %v", c.name, k.errs)
		}
	}
}
