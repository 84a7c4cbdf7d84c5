// Command bench measures the gateway, and everything that is said about its
// speed and its savings comes from here. Run it from a checkout:
//
//	go run ./bench <verb> [flags]
//
// Every verb prints what it found, writes it as JSON and Markdown with -out,
// and with -publish puts it into its section of bench/RESULTS.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// verb is one thing that this command does.
type verb struct {
	name, summary string
	run           func(ctx context.Context, args []string) error
}

// verbs is set in init, because the verbs refer to it for their usage.
var verbs []verb

func init() {
	verbs = []verb{
		{"upstream", "serve a stand-in provider", runUpstream},
		{"matrix", "every mode, profile and body against plain Caddy", runMatrix},
		{"compare", "a run of the matrix against the recorded one", runCompare},
		{"tiers", "small requests at rising concurrency", runTiers},
		{"stream", "event streams: added delay, order, memory", runStream},
		{"memory", "what a server holds while requests are under way", runMemory},
		{"logcost", "what access and debug logs cost, and what is in them", runLogcost},
		{"cached", "answers from the cache against the way to the upstream", runCached},
		{"conformance", "wire shapes of a running gateway, or of this tree's", runConformance},
		{"quality", "what the engines make of tool output", runQuality},
		{"sessions", "recorded sessions of a coding agent, replayed", runSessions},
		{"gobench", "the benchmarks beside the code", runGobench},
	}
}

// errVerdict says that everything ran and the result is bad; it has been told
// already.
var errVerdict = errors.New("")

func main() {
	// The generator's own garbage is of no interest, its pauses are.
	debug.SetGCPercent(400)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(dispatch(ctx, os.Args[1:]))
}

// dispatch runs the verb that args name and returns the exit status: 1 when
// the verb failed or its result is bad, 2 for wrong usage.
func dispatch(ctx context.Context, args []string) int {
	if len(args) == 0 {
		usage()
		return 2
	}
	for _, v := range verbs {
		if v.name != args[0] {
			continue
		}
		err := v.run(ctx, args[1:])
		switch {
		case err == nil || errors.Is(err, flag.ErrHelp):
			return 0
		case errors.As(err, new(*usageError)):
			fmt.Fprintln(os.Stderr, "bench", v.name+":", err)
			return 2
		case err != errVerdict:
			fmt.Fprintln(os.Stderr, "bench", v.name+":", err)
		}
		return 1
	}
	usage()
	return 2
}

// usageError is a wrong flag or argument.
type usageError struct{ error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func usage() {
	fmt.Fprintln(os.Stderr, "usage: go run ./bench <verb> [flags]; -h after a verb lists its flags\n\nverbs:")
	for _, v := range verbs {
		fmt.Fprintf(os.Stderr, "  %-12s %s\n", v.name, v.summary)
	}
}

// newFlags is the flag set of a verb. Its errors are usage errors.
func newFlags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "usage: go run ./bench %s [flags]\n", name)
		f.PrintDefaults()
	}
	return f
}

// parse parses args, which must hold at most the given number of arguments
// beside flags.
func parse(f *flag.FlagSet, args []string, arguments int) error {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return &usageError{err}
	}
	if f.NArg() > arguments {
		return usagef("unexpected argument %q", f.Arg(arguments))
	}
	return nil
}
