package quality

import (
	"fmt"
	"strings"
)

// cargoBuild is a build with an error.
func cargoBuild(seed uint64) *gen {
	g := newGen(seed)
	for range 300 {
		g.line("   Compiling %s-%s v%d.%d.%d", g.noun(), g.noun(), g.IntN(4), g.IntN(30), g.IntN(12))
	}
	g.keep("warning: unused variable: `lantern`")
	g.keep("  --> src/beacon.rs:14:9")
	g.line("   |\n14 |     let lantern = 3;\n   |         ^^^^^^^ help: if this is intentional, prefix it with an underscore: `_lantern`\n")
	g.keep("error[E0308]: mismatched types")
	g.keep("  --> src/harbor.rs:9:18")
	g.line("   |")
	g.keep("9  |     let depth: u32 = \"deep\";")
	g.keep("   |                ---   ^^^^^^ expected `u32`, found `&str`")
	g.line("   |                |\n   |                expected due to this\n")
	g.line("For more information about this error, try `rustc --explain E0308`.")
	g.keep("error: could not compile `shop` (bin \"shop\") due to 1 previous error; 1 warning emitted")
	return g
}

// tsc is a compiler's list of errors after a long trace of files.
func tsc(seed uint64) *gen {
	g := newGen(seed)
	for i := range 420 {
		g.line("TSFILE: /srv/shop/dist/%s/%s%d.js", g.noun(), g.noun(), i)
	}
	for i := range 6 {
		g.keep("src/%s/%s.ts(%d,%d): error TS2322: Type 'string' is not assignable to type 'number'.", g.noun(), g.noun(), 10+i*7, 3+i)
	}
	g.keep("Found 6 errors in 5 files.")
	return g
}

// gcc is a make run with warnings, an error and a linker's complaint.
func gcc(seed uint64) *gen {
	g := newGen(seed)
	for i := range 360 {
		g.line("gcc -std=c17 -Wall -Wextra -O2 -Iinclude -MMD -c -o build/%s_%d.o src/%s_%d.c", g.noun(), i, g.noun(), i)
		if i == 120 {
			g.keep("src/pump.c: In function 'pump_start':")
			g.keep("src/pump.c:118:9: warning: unused variable 'last_tick' [-Wunused-variable]")
			g.line("  118 |     int last_tick = 0;\n      |         ^~~~~~~~~")
		}
	}
	g.keep("/usr/bin/ld: build/main.o: in function `main':")
	g.keep("main.c:(.text+0x1f): undefined reference to `pump_poke'")
	g.keep("collect2: error: ld returned 1 exit status")
	g.keep("make: *** [Makefile:31: build/shop] Error 1")
	return g
}

// maven is a build that downloads the world and then fails.
func maven(seed uint64) *gen {
	g := newGen(seed)
	for i := range 400 {
		repo := fmt.Sprintf("https://repo.example.test/maven2/org/%s/%s/%d.%d/%s-%d.pom", g.noun(), g.noun(), g.IntN(9), g.IntN(20), g.noun(), i)
		g.line("[INFO] Downloading from central: %s", repo)
		g.line("[INFO] Downloaded from central: %s (%d.%d kB at %d kB/s)", repo, 1+g.IntN(40), g.IntN(10), 20+g.IntN(900))
	}
	g.keep("[WARNING] /srv/shop/src/main/java/App.java:[3,17] sun.misc.Unsafe is internal proprietary API and may be removed in a future release")
	g.keep("[ERROR] COMPILATION ERROR :")
	g.keep("[ERROR] /srv/shop/src/main/java/App.java:[12,8] cannot find symbol")
	g.keep("  symbol:   method settle(int)")
	g.keep("  location: class example.shop.Ledger")
	g.keep("[INFO] BUILD FAILURE")
	g.keep("[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.13.0:compile (default-compile) on project shop: Compilation failure")
	return g
}

// npmInstall is a verbose install that ends with an error.
func npmInstall(seed uint64) *gen {
	g := newGen(seed)
	for range 500 {
		g.line("npm http fetch GET 200 https://registry.example.test/%s-%s %dms (cache miss)", g.noun(), g.noun(), 5+g.IntN(300))
	}
	g.keep("npm warn deprecated rivet-glob@7.2.3: versions before 9 are no longer supported")
	g.keep("npm ERR! code ERESOLVE")
	g.keep("npm ERR! ERESOLVE unable to resolve dependency tree")
	g.keep("npm ERR! Found: turbine@18.3.1")
	g.keep("npm ERR! Could not resolve dependency: peer turbine@\"^17.0.0\" from meadow-ui@3.2.0")
	g.keep("npm ERR! A complete log of this run can be found in: /home/dev/.npm/_logs/2031-04-02-debug-0.log")
	return g
}

// pipInstall is an install that ends with a conflict.
func pipInstall(seed uint64) *gen {
	g := newGen(seed)
	for i := range 260 {
		name := g.noun() + "-" + g.noun()
		g.line("Collecting %s>=%d.%d (from -r requirements.txt (line %d))", name, g.IntN(4), g.IntN(30), i+1)
		g.line("  Downloading %s-%d.%d.%d-py3-none-any.whl (%d kB)", strings.ReplaceAll(name, "-", "_"), g.IntN(4), g.IntN(30), g.IntN(9), 10+g.IntN(900))
	}
	g.keep("ERROR: Cannot install meadow==2.1 and turbine==4.0 because these package versions have conflicting dependencies.")
	g.keep("ERROR: ResolutionImpossible: for help visit https://pip.example.test/topics/dependency-resolution/")
	return g
}

// shellErrors is a script's output with the complaints of a shell.
func shellErrors(seed uint64) *gen {
	g := newGen(seed)
	for i := range 400 {
		g.line("[%3d/400] copied %s/%s_%d.dat (%d bytes)", i, g.noun(), g.noun(), i, 100+g.IntN(90_000))
		switch i {
		case 90:
			g.keep("cp: cannot open '/srv/shop/keys/signing.pem' for reading: Permission denied")
		case 180:
			g.keep("./deploy.sh: line 41: kubectl: command not found")
		case 270:
			g.keep("Segmentation fault (core dumped)")
		case 330:
			g.keep("Killed")
		}
	}
	g.keep("deploy.sh: exit status 127")
	return g
}

// lockDiff is a diff of code with a lock file's hunk of n lines, and the code's
// part of it.
func lockDiff(seed uint64, n int) (*gen, string) {
	g := newGen(seed)
	code := `diff --git a/src/basket.ts b/src/basket.ts
index 3f1c2aa..9b0d7e1 100644
--- a/src/basket.ts
+++ b/src/basket.ts
@@ -10,8 +10,9 @@ export function total(items: Item[], voucher?: Voucher): number {
   let sum = 0
   for (const item of items) {
-    sum += item.price
+    sum += item.price * item.count
   }
-  return sum
+  const cut = voucher ? voucher.apply(sum) : 0
+  return sum - cut
 }
 
 export function empty(): Basket {
`
	g.b.WriteString(code)
	g.line("diff --git a/package-lock.json b/package-lock.json\nindex 1111111..2222222 100644\n--- a/package-lock.json\n+++ b/package-lock.json")
	entries := n / 6
	g.line("@@ -100,%d +100,%d @@", 4*entries, 4*entries)
	for i := range entries {
		name := fmt.Sprintf("%s-%s-%d", g.noun(), g.noun(), i)
		g.musts = append(g.musts, fmt.Sprintf("%s %d.%d.0 %[2]d.%[3]d.1", name, i%7, i%13)) // the change by name
		g.line("     \"node_modules/%s\": {", name)
		g.line("-      \"version\": \"%d.%d.0\",", i%7, i%13)
		g.line("+      \"version\": \"%d.%d.1\",", i%7, i%13)
		g.line("-      \"integrity\": \"sha512-%s==\"", g.hex(64))
		g.line("+      \"integrity\": \"sha512-%s==\"", g.hex(64))
		g.line("     },")
	}
	for line := range strings.Lines(code) {
		g.needle(strings.TrimSuffix(line, "\n"))
	}
	g.needle("package-lock.json")
	return g, code
}
