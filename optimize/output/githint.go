package output

import "strings"

// statFlags ask git for a summary instead of the changes.
var statFlags = map[string]bool{
	"--stat": true, "--numstat": true, "--shortstat": true, "--name-only": true, "--name-status": true, "--summary": true,
	"--dirstat": true, "--compact-summary": true, "--raw": true,
}

// gitHint judges one git command. known is what the table says of it.
func gitHint(name string, args []string, known program) (Hint, bool) {
	stat, patch, words := false, false, false
	for _, a := range args {
		flag, _, _ := strings.Cut(a, "=")
		switch {
		case statFlags[flag]:
			stat = true
		case flag == "-p" || flag == "-u" || flag == "--patch" || flag == "-U" || flag == "--unified" || strings.HasPrefix(flag, "-L"):
			patch = true
		case flag == "--word-diff" || flag == "--color-words" || flag == "--check" || flag == "--cc":
			words = true
		}
	}
	switch name {
	case "diff", "difftool", "format-patch", "range-diff":
		switch {
		case words || name == "range-diff":
			return file, true
		case stat && !patch:
			return Hint{Class: DiffStat, Tool: Git}, true
		}
		return Hint{Class: Diff, Tool: Git}, true
	case "show":
		for _, a := range args {
			if !isFlag(a) && strings.Contains(a, ":") {
				return file, true // a file of a commit
			}
		}
		switch {
		case words:
			return file, true
		case (stat || indexOf(args, "-s", "--no-patch") >= 0) && !patch:
			return Hint{Class: GitLog, Tool: Git}, true
		}
		return Hint{Class: Diff, Tool: Git}, true
	case "log", "whatchanged":
		if words {
			return file, true
		}
		if patch {
			return Hint{Class: Diff, Tool: Git}, true
		}
		return Hint{Class: GitLog, Tool: Git}, true
	case "stash":
		if rest := plain(args); len(rest) > 0 && rest[0] == "show" {
			if patch {
				return Hint{Class: Diff, Tool: Git}, true
			}
			return Hint{Class: DiffStat, Tool: Git}, true
		}
		return Hint{Class: Listing, Tool: Git}, true
	case "grep":
		if grepPrintsFile(args, false) {
			return file, true
		}
	case "branch", "tag", "remote":
		if len(plain(args)) > 0 {
			return Hint{}, false // makes or deletes one
		}
	}
	switch known.kind {
	case silent:
		return Hint{}, false
	case reads:
		return file, true
	}
	return Hint{Class: known.class, Tool: known.tool}, true
}
