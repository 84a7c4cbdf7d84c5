package squoze

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// holdsError stands in for the judgement of package output.
func holdsError(line []byte) bool {
	return bytes.Contains(line, []byte("ERROR")) || bytes.Contains(line, []byte("FAIL"))
}

func TestTerminal(t *testing.T) {
	bar := ""
	for i := range 400 {
		bar += "layer 8: " + itoa(100+i) + " of 400 MB\r"
	}
	tests := []struct{ name, in, want string }{
		{"colours", "\x1b[32mok\x1b[0m\tpkg\n\x1b[1;31mFAIL\x1b[m\n", "ok\tpkg\nFAIL\n"},
		{"redraw", "10%\r20%\r100%\ndone", "100%\ndone"},
		{"a shorter text leaves the rest", "downloading\rdone\n", "doneloading\n"},
		{"an erased line", "downloading\r\x1b[Kdone\n", "done\n"},
		{"a wiped line", "downloading\rdone       \n", "done\n"},
		{"a progress bar", bar + "layer 8: complete\n", "layer 8: complete00 MB\n"},
		{"an error drawn over", "pulling\nERROR: disk full\rretrying\nok", "pulling\nERROR: disk full\nretrying\nok"},
		{"an error erased", "ERROR: disk full\x1b[2K\rretrying\n", "ERROR: disk full\nretrying\n"},
		{"an error drawn again and again", "\rERROR 1\rERROR 1\rERROR 1\rfine   \n", "ERROR 1\nfine\n"},
		{"backspaces", "abc\b\b\bxy\nspin |\b/\b-\b\\\b done", "xyc\nspin  done"},
		{"an error backspaced over", "ERROR\b\b\b\b\bfine!\n", "ERROR\nfine!\n"},
		{"carriage returns before line feeds", "a\r\nb\r\r\n\x1b[1mc\x1b[0m\r\n", "a\r\nb\r\nc\r\n"},
		{"carriage return at the end", "10%\r20%\r", "20%"},
		{"lines drawn again", "one 1%\ntwo 1%\n\x1b[2A\x1b[2Kone 50%\n\x1b[2Ktwo 60%\n\x1b[2A\x1b[2Kone done\n\x1b[2Ktwo done\n", "one done\ntwo done\n"},
		{"lines erased below", "one\ntwo\n\x1b[1A\x1b[1A\x1b[Jthree\n", "three\n"},
		{"an error erased below", "one\nFAIL x\ntwo\n\x1b[3A\x1b[Jthree\n", "FAIL x\nthree\n"},
		{"a cleared screen stays", "run 1\nFAIL\n\x1b[2J\x1b[Hrun 2\nok\n", "run 1\nFAIL\nrun 2\nok\n"},
		{"drawn from the home position", "\x1b[H\x1b[2Jtop 1\nbody 1\n\x1b[Htop 2\nbody 2\n", "top 2\nbody 2\n"},
		{"columns", "[ ok ]\x1b[10Gname\x1b[2D!\n\x1b[3Cx", "[ ok ]   na!e\n   x"},
		{"a title and a link", "\x1b]0;title\x07a\x1b]8;;http://x.test\x1b\\link\x1b]8;;\x1b\\b", "alinkb"},
		{"character sets, modes and bells", "\x1b(Ba\x1b[?25l\x1b=b\x07\x1b[?25h", "ab"},
		{"cut off", "abc\x1b[3", "abc"},
		{"wide characters", "下载 10%\r下载 20%\r完成了完成 \n", "完成了完成\n"},
		{"codes only", strings.Repeat("\x1b[2K\x1b[1G", 9), ""},
		{"spaces at the end of a line that stays", "a  \n\x1b[1mb\x1b[0m  \n", "a  \nb  \n"},
		{"saved cursor", "a\x1b7bc\x1b8X\n", "aXc\n"},
	}
	var term terminal
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := term.resolve([]byte("before"), []byte(tt.in), holdsError)
			if !ok || string(got) != "before"+tt.want {
				t.Errorf("got %v %q, want %q", ok, got, tt.want)
			}
			if !controlled([]byte(tt.in)) && !strings.HasPrefix(tt.in, "a\r") {
				t.Error("not seen as controlled")
			}
		})
	}
}

func TestTerminalGivesUp(t *testing.T) {
	var term terminal
	for _, in := range []string{"\x1b[2Lx", "\x1b[4@", "\x1b]0;never ends", "\x1bPq no end\nx", "\x1b[1Jx", strings.Repeat("\x1b[1000Cx\n", 1000)} {
		if got, ok := term.resolve([]byte("before"), []byte(in), holdsError); ok || string(got) != "before" {
			t.Errorf("%.40q: %v %.40q", in, ok, got)
		}
	}
}

func TestControlled(t *testing.T) {
	for in, want := range map[string]bool{"": false, "a\nb\n": false, "a\r\nb\r\n": false, "a\r": false, "a\rb": true, "a\r\r\n": false, "\x1b": true, "\b": true, "a\tb": false} {
		if got := controlled([]byte(in)); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func TestTerminalLongOutput(t *testing.T) {
	// More rows than the screen has scroll off unchanged, and only the last
	// ones can be reached.
	var in, want strings.Builder
	for i := range 1000 {
		in.WriteString("line " + itoa(i) + "\n")
		if i < 1000-screenRows+1 {
			want.WriteString("line " + itoa(i) + "\n")
		}
	}
	in.WriteString("\x1b[999A\x1b[Jend")
	want.WriteString("end")
	var term terminal
	if got, ok := term.resolve(nil, []byte(in.String()), holdsError); !ok || string(got) != want.String() {
		t.Errorf("got %q", got)
	}
}

func FuzzTerminal(f *testing.F) {
	for _, s := range []string{"10%\r20%\x1b[K\n\x1b[1Ax\bERROR\r\x1b[J", "é\b\xff\x1b[5Gx\xed\xa0\x80\b\b", "a\x1b[2J\x1b[H\x1b[3;4Hb\x1b7\x1b8\x1b[1K\x1b[2X", "ERROR\x1b[1G\x1b[0K\nok\r\n\r\r\n"} {
		f.Add([]byte(s))
	}
	var term terminal
	f.Fuzz(func(t *testing.T, in []byte) {
		got, ok := term.resolve(nil, in, holdsError)
		if !ok {
			return
		}
		if utf8.Valid(in) && !utf8.Valid(got) {
			t.Fatalf("%q is no valid UTF-8", got)
		}
		// An x in front is the end of whatever code began before it, unless that
		// is one of those that hold text.
		if bytes.Contains(in, []byte("xERROR")) && !bytes.Contains(got, []byte("ERROR")) && !bytes.ContainsAny(in, "]PX^_") {
			t.Fatalf("the error got lost: %q", got)
		}
		if controlled(got) {
			t.Fatalf("codes are left: %q", got)
		}
	})
}
