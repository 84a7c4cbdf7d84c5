package squoze

import (
	"bytes"
	"slices"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// lockReader reads one line of a lock file, without the diff's first column
// and the line end. It reports the package that the line names, the version it
// states, or both. A version without a package belongs to the package named
// last.
type lockReader func(line []byte) (name, version []byte)

// lockReaders read the lock files of each kind.
var lockReaders = [...]lockReader{
	output.LockOther:     noPackages,
	output.LockGoSum:     goSum,
	output.LockNPM:       npmLock,
	output.LockPNPM:      pnpmLock,
	output.LockYarn:      yarnLock,
	output.LockBun:       bunLock,
	output.LockTOML:      tomlLock,
	output.LockJSONName:  jsonNameLock,
	output.LockJSONKey:   jsonKeyLock,
	output.LockGem:       gemLock,
	output.LockMix:       mixLock,
	output.LockPub:       pubLock,
	output.LockGradle:    gradleLock,
	output.LockTerraform: terraformLock,
}

// lockReaderOf is the reader of the lock file at path, nil if it is none.
func lockReaderOf(path []byte) lockReader { return lockReaders[output.LockKindOf(path)] }

// noPackages is for lock files whose packages are not read.
func noPackages([]byte) (name, version []byte) { return nil, nil }

// goSum: golang.org/x/net v0.1.0 h1:..., golang.org/x/net v0.1.0/go.mod h1:...
func goSum(line []byte) (name, version []byte) {
	name, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return nil, nil
	}
	version, _, _ = bytes.Cut(rest, []byte(" "))
	return name, bytes.TrimSuffix(version, []byte("/go.mod"))
}

// npmLock: "node_modules/left-pad": { and, in older files, "left-pad": {, for
// packages of the same tree with "name": "left-pad", followed by
// "version": "1.3.0".
func npmLock(line []byte) (name, version []byte) {
	key, value := jsonMember(line)
	switch {
	case string(key) == "version":
		return nil, value
	case string(key) == "name":
		return value, nil
	case len(value) == 0 && len(key) > 0 && bytes.HasSuffix(bytes.TrimSpace(line), []byte("{")):
		if at := bytes.LastIndex(key, []byte("node_modules/")); at >= 0 {
			return key[at+len("node_modules/"):], nil
		}
		if !npmSections[string(key)] {
			return key, nil
		}
	}
	return nil, nil
}

// npmSections are keys of objects in package-lock.json that are no packages.
var npmSections = map[string]bool{
	"packages": true, "dependencies": true, "devDependencies": true, "peerDependencies": true, "optionalDependencies": true,
	"peerDependenciesMeta": true, "engines": true, "bin": true, "requires": true, "funding": true,
}

// pnpmLock: /left-pad/1.3.0:, /left-pad@1.3.0: and left-pad@1.3.0: as keys of
// the second level, also in quotes and with peers in parentheses.
func pnpmLock(line []byte) (name, version []byte) {
	if !bytes.HasPrefix(line, []byte("  ")) || bytes.HasPrefix(line, []byte("   ")) {
		return nil, nil
	}
	key := bytes.TrimSuffix(bytes.TrimSuffix(bytes.TrimSpace(line), []byte("{}")), []byte(" "))
	key, ok := bytes.CutSuffix(key, []byte(":"))
	if !ok {
		return nil, nil
	}
	key = bytes.TrimPrefix(bytes.Trim(key, `'"`), []byte("/"))
	if at := bytes.IndexByte(key, '('); at >= 0 {
		key = key[:at]
	}
	if name, version = splitAt(key, '@'); name == nil {
		name, version = splitAt(key, '/')
	}
	if len(version) == 0 || version[0]-'0' > 9 {
		return nil, nil
	}
	return name, version
}

// yarnLock: left-pad@^1.0.0, left-pad@^1.1.0: and "left-pad@npm:^1.0.0":,
// followed by version "1.3.0" or version: 1.3.0.
func yarnLock(line []byte) (name, version []byte) {
	if rest, ok := bytes.CutPrefix(line, []byte("  version")); ok {
		return nil, bytes.Trim(bytes.TrimLeft(rest, ": "), `"`)
	}
	if len(line) == 0 || line[0] == ' ' || line[0] == '#' || line[len(line)-1] != ':' {
		return nil, nil
	}
	first, _, _ := bytes.Cut(bytes.Trim(line, `":`), []byte(", "))
	if at := bytes.Index(first, []byte("@npm:")); at > 0 {
		return first[:at], nil
	}
	name, _ = splitAt(first, '@')
	return name, nil
}

// bunLock: "left-pad": ["left-pad@1.3.0", ... and, for Deno,
// "left-pad@1.3.0": {.
func bunLock(line []byte) (name, version []byte) {
	text := bytes.TrimSpace(line)
	if at := bytes.Index(text, []byte(`": ["`)); at >= 0 {
		text = text[at+4:]
	}
	if len(text) < 2 || text[0] != '"' {
		return nil, nil
	}
	text, _, _ = bytes.Cut(text[1:], []byte(`"`))
	if name, version = splitAt(text, '@'); len(version) == 0 || version[0]-'0' > 9 {
		return nil, nil
	}
	return name, version
}

// tomlLock: name = "serde" followed by version = "1.0.0".
func tomlLock(line []byte) (name, version []byte) {
	key, value, ok := bytes.Cut(line, []byte(` = "`))
	if !ok {
		return nil, nil
	}
	value, _, _ = bytes.Cut(value, []byte(`"`))
	switch string(key) {
	case "name":
		return value, nil
	case "version":
		return nil, value
	}
	return nil, nil
}

// jsonNameLock: "name": "vendor/package" (or "identity") followed by
// "version": "1.0.0".
func jsonNameLock(line []byte) (name, version []byte) {
	key, value := jsonMember(line)
	switch string(key) {
	case "name", "identity":
		return value, nil
	case "version":
		return nil, value
	}
	return nil, nil
}

// jsonKeyLock: "package": { followed by "version": "==1.0.0" (or "resolved").
func jsonKeyLock(line []byte) (name, version []byte) {
	key, value := jsonMember(line)
	switch {
	case string(key) == "version", string(key) == "resolved":
		return nil, bytes.TrimPrefix(value, []byte("=="))
	case len(value) == 0 && len(key) > 0 && bytes.HasSuffix(bytes.TrimSpace(line), []byte("{")):
		return key, nil
	}
	return nil, nil
}

// gemLock: rails (7.0.0) at an indent of four, - Alamofire (5.0.0) at two.
func gemLock(line []byte) (name, version []byte) {
	text, ok := bytes.CutPrefix(line, []byte("    "))
	if !ok {
		text, ok = bytes.CutPrefix(line, []byte("  - "))
	}
	if !ok || len(text) == 0 || text[0] == ' ' {
		return nil, nil
	}
	name, rest, ok := bytes.Cut(text, []byte(" ("))
	version, _, closed := bytes.Cut(rest, []byte(")"))
	if !ok || !closed || len(version) == 0 || version[0]-'0' > 9 {
		return nil, nil
	}
	return name, version
}

// mixLock: "plug": {:hex, :plug, "1.14.0", ...
func mixLock(line []byte) (name, version []byte) {
	_, rest, ok := bytes.Cut(line, []byte(`": {:hex, :`))
	if !ok {
		return nil, nil
	}
	name, rest, _ = bytes.Cut(rest, []byte(`, "`))
	version, _, _ = bytes.Cut(rest, []byte(`"`))
	return name, version
}

// pubLock: path: at an indent of two followed by version: "1.8.0" at four.
func pubLock(line []byte) (name, version []byte) {
	if rest, ok := bytes.CutPrefix(line, []byte(`    version: "`)); ok {
		return nil, bytes.TrimSuffix(rest, []byte(`"`))
	}
	if bytes.HasPrefix(line, []byte("  ")) && !bytes.HasPrefix(line, []byte("   ")) {
		name, _ = bytes.CutSuffix(bytes.TrimSpace(line), []byte(":"))
		return name, nil
	}
	return nil, nil
}

// gradleLock: com.example:library:1.0.0=compileClasspath
func gradleLock(line []byte) (name, version []byte) {
	line, _, ok := bytes.Cut(line, []byte("="))
	if !ok {
		return nil, nil
	}
	return splitAt(line, ':')
}

// terraformLock: provider "registry.terraform.io/hashicorp/aws" { followed by
// version = "5.0.0".
func terraformLock(line []byte) (name, version []byte) {
	if rest, ok := bytes.CutPrefix(line, []byte(`provider "`)); ok {
		name, _, _ = bytes.Cut(rest, []byte(`"`))
		return name, nil
	}
	text := bytes.TrimSpace(line)
	if rest, ok := bytes.CutPrefix(text, []byte("version ")); ok {
		return nil, bytes.Trim(rest, `= "`)
	}
	return nil, nil
}

// jsonMember reads "key": "value" or "key": without a string value.
func jsonMember(line []byte) (key, value []byte) {
	text := bytes.TrimSpace(line)
	if len(text) < 2 || text[0] != '"' {
		return nil, nil
	}
	key, rest, ok := bytes.Cut(text[1:], []byte(`":`))
	if !ok {
		return nil, nil
	}
	if rest = bytes.TrimLeft(rest, " "); len(rest) > 0 && rest[0] == '"' {
		value, _, _ = bytes.Cut(rest[1:], []byte(`"`))
	}
	return key, value
}

// splitAt splits at the last c that is not the first byte.
func splitAt(text []byte, c byte) (before, after []byte) {
	at := bytes.LastIndexByte(text, c)
	if at <= 0 {
		return nil, nil
	}
	return text[:at], text[at+1:]
}

// change is what a diff does to one package.
type change struct {
	name     []byte
	old, now [][]byte // versions removed and added
}

// lockChanges reads the packages whose versions a section of a lock file
// changes, in the order in which they are named.
func lockChanges(sec *section, lines *output.Lines, read lockReader) []change {
	var list []change
	index := make(map[string]int)
	var oldName, newName []byte // the package named last on either side
	inHunk := false
	for i := sec.from; i < sec.to; i++ {
		line := bytes.TrimSuffix(lines.Line(i), []byte("\r"))
		if bytes.HasPrefix(line, []byte("@@ ")) {
			oldName, newName, inHunk = nil, nil, true
			continue
		}
		if !inHunk || len(line) == 0 {
			continue
		}
		name, version := read(line[1:])
		switch kind := line[0]; kind {
		case ' ':
			if len(name) > 0 {
				oldName, newName = name, name
			}
		case '-', '+':
			last := &oldName
			if kind == '+' {
				last = &newName
			}
			if len(name) > 0 {
				*last = name
			}
			if len(version) == 0 || len(*last) == 0 {
				continue
			}
			at, ok := index[string(*last)]
			if !ok {
				at = len(list)
				index[string(*last)] = at
				list = append(list, change{name: *last})
			}
			c := &list[at]
			side := &c.old
			if kind == '+' {
				side = &c.now
			}
			if !slices.ContainsFunc(*side, func(v []byte) bool { return bytes.Equal(v, version) }) {
				*side = append(*side, version)
			}
		}
	}
	// A version on both sides only moved.
	return slices.DeleteFunc(list, func(c change) bool {
		return len(c.old) == len(c.now) && !slices.ContainsFunc(c.old, func(v []byte) bool {
			return !slices.ContainsFunc(c.now, func(w []byte) bool { return bytes.Equal(v, w) })
		})
	})
}
