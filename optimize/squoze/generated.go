package squoze

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// Names of files that programs write and nobody reads line by line. Snapshots
// of tests are not among them: their changes are what a reader looks for.
var (
	generatedSuffixes = [][]byte{
		[]byte(".pb.go"), []byte(".pb.gw.go"), []byte(".pb.cc"), []byte(".pb.h"), []byte("_pb2.py"), []byte("_pb2.pyi"), []byte("_pb2_grpc.py"),
		[]byte("_pb.js"), []byte("_pb.d.ts"), []byte(".pb.swift"), []byte(".pbobjc.h"), []byte(".pbobjc.m"),
		[]byte(".g.dart"), []byte(".freezed.dart"), []byte(".g.cs"), []byte(".designer.cs"), []byte(".gen.go"), []byte(".gen.ts"),
		[]byte("_generated.go"), []byte("_gen.go"), []byte(".generated.ts"), []byte(".generated.js"), []byte(".generated.go"), []byte(".generated.cs"),
	}
	minifiedSuffixes = [][]byte{
		[]byte(".min.js"), []byte(".min.mjs"), []byte(".min.css"), []byte(".bundle.js"), []byte(".js.map"), []byte(".css.map"), []byte(".mjs.map"),
	}
	generatedParts = [][]byte{[]byte("__generated__/"), []byte("zz_generated."), []byte("node_modules/")}

	// scriptSuffixes are the kinds of files that are minified; templateSuffixes
	// those that hold the text of files to be generated.
	scriptSuffixes   = [][]byte{[]byte(".js"), []byte(".mjs"), []byte(".cjs"), []byte(".css")}
	templateSuffixes = [][]byte{[]byte(".tmpl"), []byte(".tpl"), []byte(".gotmpl"), []byte(".template"), []byte(".j2"), []byte(".jinja"), []byte(".mustache"), []byte(".hbs"), []byte(".ejs"), []byte(".erb"), []byte(".txtar"), []byte(".golden")}
)

// minifiedLine is the mean length of a changed line, in bytes, from which on a
// script counts as minified.
const minifiedLine = 1000

// generated says why nobody reads the section's file line by line, "" if
// somebody does.
func generated(sec *section, lines *output.Lines) string {
	switch {
	case hasAnySuffix(sec.name, minifiedSuffixes):
		return "minified"
	case hasAnySuffix(sec.name, generatedSuffixes), containsAny(sec.name, generatedParts):
		return "generated"
	case hasAnySuffix(sec.name, scriptSuffixes) && changedBytes(sec, lines) >= minifiedLine*(sec.added+sec.removed):
		return "minified"
	case sec.top > 0 && !hasAnySuffix(sec.name, templateSuffixes):
		// The customary notice stands among the first lines of the file
		// (https://go.dev/s/generatedcode).
		for i := sec.top; i < min(sec.top+5, sec.to); i++ {
			if isNotice(lines.Line(i)) {
				return "generated"
			}
		}
	}
	return ""
}

// isNotice reports whether a line of a hunk says that its file is generated.
func isNotice(line []byte) bool {
	if len(line) == 0 {
		return false
	}
	line = bytes.TrimSpace(line[1:])
	comment := bytes.TrimLeft(line, "/#*;<!-% ")
	if len(comment) == len(line) {
		return false
	}
	comment = bytes.TrimRight(comment, "*/-> ")
	return bytes.HasPrefix(comment, []byte("Code generated ")) && bytes.HasSuffix(comment, []byte("DO NOT EDIT.")) ||
		string(comment) == "@generated"
}

func changedBytes(sec *section, lines *output.Lines) int {
	n := 0
	for i := sec.from; i < sec.to; i++ {
		if line := lines.Line(i); len(line) > 0 && (line[0] == '+' || line[0] == '-') {
			n += len(line)
		}
	}
	return n
}

func hasAnySuffix(name []byte, suffixes [][]byte) bool {
	for _, s := range suffixes {
		if bytes.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

func containsAny(name []byte, parts [][]byte) bool {
	for _, p := range parts {
		if bytes.Contains(name, p) {
			return true
		}
	}
	return false
}
