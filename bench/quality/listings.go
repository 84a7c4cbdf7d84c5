package quality

import (
	"fmt"
	"strings"
)

// apiList is a page of a paginated API.
func apiList(seed uint64, rows int) *gen {
	g := newGen(seed)
	g.b.WriteString(`{"object":"list","url":"/v1/orders","has_more":true,"next_cursor":"cur_0f3a91","data":[`)
	for i := range rows {
		if i > 0 {
			g.b.WriteByte(',')
		}
		id, amount := fmt.Sprintf("ord_%s", g.hex(10)), 100+g.IntN(90_000)
		created, status, customer := 1_900_000_000+i*61, g.one("paid", "paid", "paid", "open", "refunded"), "cus_"+g.noun()
		fmt.Fprintf(&g.b, `{"id":%q,"object":"order","created":%d,"status":%q,"currency":"eur","amount":%d,"customer":%q,"livemode":false,"description":null,"metadata":{}}`,
			id, created, status, amount, customer)
		g.musts = append(g.musts, fmt.Sprintf("%s %d %s %d %s", id, created, status, amount, customer)) // what differs from row to row
		g.needles = append(g.needles, id)
	}
	g.b.WriteString("]}")
	g.needles = append(g.needles, "cur_0f3a91", "has_more", "livemode", "eur", "refunded")
	return g
}

// kubeDescribe is a pod with its events.
func kubeDescribe(seed uint64) *gen {
	g := newGen(seed)
	g.line("Name:             ledger-7d9f8c6b5-x2x9z\nNamespace:        shop\nNode:             node-3/10.0.3.17\nStatus:           Running\nIP:               10.244.3.81")
	g.line("Containers:\n  ledger:\n    Image:          registry.example.test/shop/ledger:4.1.0")
	g.keep("    State:          Waiting")
	g.keep("      Reason:       CrashLoopBackOff")
	g.keep("    Last State:     Terminated")
	g.keep("      Reason:       OOMKilled")
	g.keep("      Exit Code:    137")
	g.line("    Restart Count:  17\n    Environment:")
	for i := range 90 {
		g.line("      %s_%s_%d:  <set to the key '%s' in secret 'ledger'>  Optional: false", strings.ToUpper(g.noun()), strings.ToUpper(g.noun()), i, g.noun())
	}
	g.line("Events:\n  Type     Reason     Age                   From               Message\n  ----     ------     ----                  ----               -------")
	for i := range 30 {
		g.line("  Normal   Pulled     %dm (x%d over 3h)      kubelet            Container image \"registry.example.test/shop/ledger:4.1.0\" already present on machine", 2+i, 10+i)
	}
	g.keep("  Warning  BackOff    3m1s (x211 over 3h)   kubelet            Back-off restarting failed container ledger in pod ledger-7d9f8c6b5-x2x9z")
	return g
}

// kubeGet is a list of pods, some of which are not well.
func kubeGet(seed uint64) *gen {
	g := newGen(seed)
	g.keep("NAMESPACE   NAME                                READY   STATUS             RESTARTS        AGE")
	for i := range 260 {
		name := fmt.Sprintf("%s-%s-%s-%s", g.noun(), g.noun(), g.hex(9), g.hex(5))
		switch i {
		case 60:
			g.keep("shop        %-35s 0/1     CrashLoopBackOff   211 (3m ago)    3h", name)
		case 190:
			g.keep("shop        %-35s 0/1     ImagePullBackOff   0               41m", name)
		default:
			g.line("shop        %-35s 1/1     Running            %d               %dd", name, g.IntN(2), 1+g.IntN(90))
		}
	}
	return g
}

// gitLog is a history.
func gitLog(seed uint64) *gen {
	g := newGen(seed)
	for i := range 120 {
		g.line("commit %s\nAuthor: Dev %d <dev%d@example.test>\nDate:   Wed Apr 2 %s 2031 +0000\n", g.hex(40), i%9, i%9, clock(i*60))
		if i == 40 {
			g.keep("    Revert \"Round half up in refunds\"")
		} else {
			g.line("    %s the %s when the %s %s", g.one("Fix", "Move", "Test", "Name"), g.noun(), g.noun(), g.verb())
		}
		g.line("")
	}
	return g
}

// grepN is what grep found, where every line is an answer.
func grepN(seed uint64) *gen {
	g := newGen(seed)
	for i := range 180 {
		g.keep("src/%s/%s.go:%d:	return %s.%s(ctx, err) // ERROR path", g.noun(), g.noun(), 10+i*3, g.noun(), g.camel("Handle", i))
	}
	return g
}

// lsLong is a listing of a folder.
func lsLong(seed uint64) *gen {
	g := newGen(seed)
	g.line("total 8124")
	for i := range 240 {
		g.line("-rw-r--r-- 1 app app %6d Apr  2 %02d:%02d %s_%s_%03d.go", 300+g.IntN(90_000), g.IntN(24), g.IntN(60), g.noun(), g.noun(), i)
	}
	g.keep("lrwxrwxrwx 1 app app     14 Apr  2 08:00 current -> releases/0041")
	g.keep("-rwsr-xr-x 1 root root 81204 Apr  2 08:00 signer")
	return g
}

// findPaths is a list of paths.
func findPaths(seed uint64) *gen {
	g := newGen(seed)
	for i := range 400 {
		g.line("./internal/%s/%s/%s_%d.go", g.noun(), g.noun(), g.noun(), i)
	}
	g.keep("find: './secrets': Permission denied")
	return g
}

// csv is a table of figures.
func csv(seed uint64) *gen {
	g := newGen(seed)
	g.keep("order,customer,currency,amount,paid_at")
	for i := range 400 {
		g.line("%d,%s,eur,%d.%02d,2031-04-02T%s", 80_000+i, g.noun(), g.IntN(900), g.IntN(100), clock(i))
	}
	g.keep("80400,\"harbor, north\",eur,-12.00,2031-04-02T23:59:59")
	return g
}

// diffStat is no diff, though it comes from git diff.
func diffStat(seed uint64) *gen {
	g := newGen(seed)
	for i := range 120 {
		g.line(" src/%s/%s_%d.go | %3d %s%s", g.noun(), g.noun(), i, 2+g.IntN(60), strings.Repeat("+", 1+g.IntN(20)), strings.Repeat("-", g.IntN(20)))
	}
	g.keep(" 120 files changed, 3119 insertions(+), 1204 deletions(-)")
	return g
}

// config is a file of settings.
func config(seed uint64) string {
	g := newGen(seed)
	for i := range 140 {
		g.line("%s_%d:\n  enabled: %v\n  on_error: retry # FATAL after the third\n  limit: %d", g.noun(), i, i%2 == 0, g.IntN(1000))
	}
	return g.text()
}

// reread is a file of Go code, and the same after a small edit.
func reread(seed uint64) (before, after string) {
	g := newGen(seed)
	g.line("package planner\n")
	for i := range 90 {
		g.line("// %s %s the %s.\nfunc %s(slots []int) int {\n\ttotal := %d\n\tfor _, s := range slots {\n\t\ttotal += s * %d\n\t}\n\treturn total\n}\n",
			g.camel("plan", i), g.verb(), g.noun(), g.camel("plan", i), g.IntN(100), 1+g.IntN(9))
	}
	before = g.text()
	at := strings.Index(before[len(before)/2:], "\treturn total") + len(before)/2
	return before, before[:at] + "\tif total < 0 {\n\t\treturn 0\n\t}\n" + before[at:]
}
