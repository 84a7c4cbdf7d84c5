package output

import "bytes"

// Passing reports whether a line says of one thing that it passed, was skipped
// or is about to run, the way test runners do.
func Passing(line []byte) bool {
	i := skipSpaces(line, 0)
	t := trimRight(line[i:])
	if len(t) < 2 {
		return false
	}
	switch t[0] {
	case 'o':
		if t[1] == 'k' && (len(t) == 2 || t[2] == ' ' || t[2] == '\t' || hasPrefix(t, "ok: [")) {
			return true
		}
	case 's':
		if hasPrefix(t, "skipping: [") {
			return true
		}
	case 'P':
		if hasPrefix(t, "PASS") {
			switch byteAt(t, 4) {
			case 0, ' ', '\t', ':', 'E':
				return true
			}
		}
		if hasPrefix(t, "Passed ") || hasPrefix(t, "Passed!") {
			return true
		}
	case '-':
		return hasPrefix(t, "--- PASS") || hasPrefix(t, "--- SKIP")
	case '=':
		return hasPrefix(t, "=== RUN") || hasPrefix(t, "=== PAUSE") || hasPrefix(t, "=== CONT") || hasPrefix(t, "=== NAME")
	case '?':
		return hasPrefix(t, "?   \t")
	case '.', 'S':
		if dotted(t) {
			return true
		}
	case '[':
		if hasPrefix(t, "[INFO] ") {
			return hasPrefix(t, "[INFO] Running ") || surefirePassed(t)
		}
		for _, s := range [...]string{"[ RUN  ", "[       OK ]", "[  PASSED  ]", "[----------]", "[ OK ]", "[OK]", "[PASS]", "[  SKIPPED ]"} {
			if hasPrefix(t, s) {
				return true
			}
		}
		if hasPrefix(t, "[gw") && bytes.Contains(t, []byte("] PASSED ")) {
			return true
		}
	case 'T':
		if hasPrefix(t, "Test Case '") {
			return bytes.Contains(t, []byte("' passed")) || bytes.Contains(t, []byte("' started"))
		}
	case 0xE2:
		if len(t) > 2 {
			switch uint16(t[1])<<8 | uint16(t[2]) {
			case 0x9C93, 0x9C94, 0x9C85, 0x889A, 0x9891: // ✓ ✔ ✅ √ ☑
				return true
			}
		}
	}
	// The verdict at the end.
	switch t[len(t)-1] {
	case 'D':
		return hasSuffix(t, " PASSED") || hasSuffix(t, " SKIPPED") || hasSuffix(t, " XFAILED")
	case 'k':
		return hasSuffix(t, "... ok")
	case 'd':
		return hasSuffix(t, "... ignored") || hasSuffix(t, "... skipped")
	case ']': // PASSED   [ 12%]
		if j := bytes.LastIndexByte(t, '['); j > 0 && hasSuffix(t, "%]") {
			t = trimRight(t[:j])
			return hasSuffix(t, " PASSED") || hasSuffix(t, " SKIPPED") || hasSuffix(t, " XFAIL")
		}
	case 'c': // ctest: ...   Passed    0.01 sec
		return hasSuffix(t, " sec") && bytes.Contains(t, []byte("   Passed "))
	case '\'':
		return bytes.Contains(t, []byte(" ... skipped '"))
	}
	return false
}

// Starting reports whether a line says that a test is about to run.
func Starting(line []byte) bool {
	i := skipSpaces(line, 0)
	t := line[i:]
	for _, s := range [...]string{"=== RUN", "[ RUN  ", "[INFO] Running ", "Test Case '"} {
		if hasPrefix(t, s) {
			return s[0] != 'T' || bytes.Contains(t, []byte("' started"))
		}
	}
	return false
}

// surefirePassed reports whether a line is what Maven's runners print of a
// class all of whose tests passed: [INFO] Tests run: 3, Failures: 0, Errors: 0,
// Skipped: 0, Time elapsed: ... Without a time it is the summary.
func surefirePassed(t []byte) bool {
	return hasPrefix(t, "[INFO] Tests run: ") && bytes.Contains(t, []byte(", Failures: 0, Errors: 0, ")) && bytes.Contains(t, []byte("Time elapsed: "))
}

// dotted reports whether a line is a row of PHPUnit's progress in which all
// tests passed or were skipped:
//
//	.............S...............................  61 / 7320 (  0%)
func dotted(t []byte) bool {
	i := 0
	for i < len(t) && (t[i] == '.' || t[i] == 'S') {
		i++
	}
	if i < 2 || byteAt(t, i) != ' ' || !hasSuffix(t, "%)") {
		return false
	}
	for _, c := range t[i:] {
		if !isDigit(c) && c != ' ' && c != '/' && c != '(' && c != '%' && c != ')' {
			return false
		}
	}
	return true
}

// progressWords start the lines that report one step of a build, an install or
// a download. What follows them is a name or a path.
var progressWords = prefixTable(
	"Compiling ", "Compiled ", "Checking ", "Downloading ", "Downloaded ", "Fetching ", "Fetched ", "Updating ", "Building ", "Built ", "Collecting ",
	"Requirement already satisfied", "Installing ", "Installed ", "Unpacking ", "Setting up ", "Preparing ", "Selecting ", "Processing ", "Resolving ",
	"Resolved ", "Linking ", "Copying ", "Extracting ", "Pulling ", "Pushing ", "Pulled ", "Get:", "Hit:", "Ign:", "Reading ", "Scanning ", "Generating ",
	"Using cached ", "Successfully ", "Created ", "Creating ", "Added ", "Adding ", "Removing ", "Removed ", "Writing ", "Progress: ", "Consolidate ",
	"Receiving objects", "Resolving deltas", "Counting objects", "Compressing objects", "remote: ", "Enumerating objects", "Step ", "Layer ",
	"added ", "removed ", "changed ", "up to date", "audited ", "reused ", "make[", "make: Entering", "make: Leaving", "Fresh ", "Running ", "Finished ",
	"Documenting ", "Packaging ", "Verifying ", "Locking ", "Syncing ", "Audited ", "Project '", "> Task ", "go: downloading ", "go: finding ",
	"npm http ", "npm timing ", "npm info ", "npm verb ", "npm sill ", "info ", "Entering directory", "  CC ", "CC ", "CXX ", "TSFILE: ", "LD ", "AR ", "AS ", "GEN ",
	"HOSTCC ", "HOSTLD ", "MODPOST ", "LINK ", "OBJCOPY ", "COPY ", "INSTALL ", "STRIP ", "CCLD ", "transforming ", "rendering chunks", "dist/", "hint: Using ",
)

func prefixTable(words ...string) (table [256][]string) {
	for _, w := range words {
		table[w[0]] = append(table[w[0]], w)
	}
	return table
}

// progressing reports whether a line is one step of a build, an install or a
// download.
func progressing(line []byte) bool {
	i := skipSpaces(line, 0)
	t := line[i:]
	if len(t) == 0 {
		return false
	}
	for _, w := range progressWords[t[0]] {
		if hasPrefix(t, w) {
			return true
		}
	}
	switch t[0] {
	case '[':
		// [ 12%] Building, [12/300] Compiling
		j := skipSpaces(t, 1)
		k := j
		for k < len(t) && (isDigit(t[k]) || t[k] == '/' || t[k] == '%') {
			k++
		}
		if k > j && byteAt(t, k) == ']' && (byteAt(t, k-1) == '%' || bytes.IndexByte(t[j:k], '/') > 0) {
			return true
		}
		return hasPrefix(t, "[INFO] Download") || hasPrefix(t, "[INFO] ---")
	case '#': // docker: #12 0.345 text, #12 DONE, #12 [2/5] COPY
		k := 1
		for k < len(t) && isDigit(t[k]) {
			k++
		}
		if k > 1 && byteAt(t, k) == ' ' {
			c := byteAt(t, k+1)
			return isDigit(c) || c == '[' || hasPrefix(t[k+1:], "DONE") || hasPrefix(t[k+1:], "CACHED") || hasPrefix(t[k+1:], "sha256:") ||
				hasPrefix(t[k+1:], "exporting") || hasPrefix(t[k+1:], "naming") || hasPrefix(t[k+1:], "transferring") || hasPrefix(t[k+1:], "extracting") || hasPrefix(t[k+1:], "resolve ")
		}
	}
	if hasPrefix(t, "━") || hasPrefix(t, "╸") { // a bar: pip, rich
		return true
	}
	if c := t[0]; isHexDigit(c) && len(t) > 14 && t[12] == ':' && t[13] == ' ' { // docker pull: 0123456789ab: Pulling fs layer
		for _, c := range t[:12] {
			if !isHexDigit(c) {
				return false
			}
		}
		return true
	}
	t = trimRight(t)
	return compiles(t) || hasSuffix(t, "elapsed]") || bytes.Contains(t, []byte(": Refreshing state..."))
}

// compiles reports whether a line is the call of a compiler or a linker, as make
// prints it before it runs it: gcc -O2 -c -o a.o a.c, ar rcs liba.a a.o.
func compiles(t []byte) bool {
	end := bytes.IndexByte(t, ' ')
	if end <= 0 || !isLetter(t[0]) && t[0] != '/' && t[0] != '.' {
		return false
	}
	name := t[:end]
	if name = name[bytes.LastIndexByte(name, '/')+1:]; string(name) == "libtool:" {
		return true
	}
	if p := programs[string(name)]; p.class != Build || p.tool != CC {
		for len(name) > 0 && (isDigit(name[len(name)-1]) || name[len(name)-1] == '.') {
			name = name[:len(name)-1] // clang-17
		}
		name = bytes.TrimSuffix(name, []byte("-"))
		if string(name) != "clang" && string(name) != "clang++" && string(name) != "gcc" && string(name) != "g++" {
			if i := bytes.LastIndexByte(name, '-'); i < 0 || string(name[i+1:]) != "gcc" && string(name[i+1:]) != "g++" { // x86_64-linux-gnu-gcc
				return false
			}
		}
	}
	rest := t[end:]
	return hasPrefix(rest, " -") || bytes.Contains(rest, []byte(" -c ")) || bytes.Contains(rest, []byte(" -o ")) || string(name) == "ar" && bytes.Contains(rest, []byte(".a "))
}

func isHexDigit(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' }

// located reports whether a line starts with a place in a file, as compilers
// and linters write it: path:12:3: message, path(12,3): message.
func located(line []byte) bool {
	if len(line) < 5 || line[0] <= ' ' {
		return false
	}
	// C:\dir\file.c:12
	from := 0
	if isLetter(line[0]) && line[1] == ':' && line[2] == '\\' {
		from = 2
	}
	name := false // the path has a dot or a slash
	for i := from; i < len(line) && i < 300; i++ {
		switch c := line[i]; c {
		case '.', '/', '\\':
			name = true
		case ':':
			if !name || !isDigit(byteAt(line, i+1)) {
				return false
			}
			for i++; i < len(line) && (isDigit(line[i]) || line[i] == '-' || line[i] == ':' && isDigit(byteAt(line, i+1))); i++ {
			}
			return byteAt(line, i) == ':' || byteAt(line, i) == ' '
		case '(':
			if !name || !isDigit(byteAt(line, i+1)) {
				return false
			}
			for i++; i < len(line) && (isDigit(line[i]) || line[i] == ',' || line[i] == '-'); i++ {
			}
			return byteAt(line, i) == ')' && (byteAt(line, i+1) == ':' || byteAt(line, i+1) == ' ')
		case ' ', '\t', '"', '\'', ',', ';', '=', '[':
			return false
		}
	}
	return false
}

// codeFrame reports whether a line is one of the lines of code that a tool
// prints around a failure: "  41 | text", "> 41 | text", "   | ^^^".
func codeFrame(line []byte) bool {
	i := skipSpaces(line, 0)
	if i < len(line) && line[i] == '>' {
		i = skipSpaces(line, i+1)
	} else if hasPrefix(line[i:], "❯") || hasPrefix(line[i:], "→") {
		i = skipSpaces(line, i+3)
	}
	for i < len(line) && isDigit(line[i]) {
		i++
	}
	i = skipSpaces(line, i)
	if byteAt(line, i) == '|' {
		c := byteAt(line, i+1)
		return c == ' ' || c == 0 || c == '\r'
	}
	return hasPrefix(line[i:], "│")
}

// underlines reports whether a line does nothing but point at the line above:
// carets, tildes, and the frame they stand in.
func underlines(line []byte) bool {
	t := trimRight(line)
	if len(t) == 0 || t[len(t)-1] != '^' && t[len(t)-1] != '~' {
		return false
	}
	for _, c := range t {
		switch {
		case c == ' ' || c == '\t' || c == '^' || c == '~' || c == '|' || c == '-' || c == '+' || isDigit(c):
		default:
			return false
		}
	}
	return true
}

// trimRight is line without spaces, tabs and carriage returns at its end.
func trimRight(line []byte) []byte {
	for len(line) > 0 {
		if c := line[len(line)-1]; c != ' ' && c != '\t' && c != '\r' {
			break
		}
		line = line[:len(line)-1]
	}
	return line
}

// indent is the width of the white space that line starts with, a tab counting
// as four, and whether there is anything else on it.
func indent(line []byte) (width int, blank bool) {
	for _, c := range line {
		switch c {
		case ' ':
			width++
		case '\t':
			width += 4
		case '\r':
		default:
			return width, false
		}
	}
	return width, true
}
