package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/conform"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/proc"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/provider"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
)

// runConformance is the verb.
func runConformance(ctx context.Context, args []string) error {
	f := newFlags("conformance")
	c := addCommon(f)
	key := f.String("key", "", "credential; without one the checks of unknown keys are skipped")
	model := f.String("model", "gpt-4o", "model for OpenAI's endpoints")
	anthropicModel := f.String("anthropic-model", "claude-sonnet-4-5", "model for Anthropic's endpoint")
	insecure := f.Bool("insecure", false, "accept any certificate")
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "usage: go run ./bench conformance [flags] [URL]\n\nURL is that of a running gateway, without /v1. Without one, the gateway of this tree\nis started in front of a stand-in provider.")
		f.PrintDefaults()
	}
	if err := parse(f, args, 1); err != nil {
		return err
	}
	o := conform.Options{URL: f.Arg(0), Key: *key, Model: *model, AnthropicModel: *anthropicModel, Client: &http.Client{}}
	if *insecure {
		o.Client.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	}
	root, err := proc.Root()
	if err != nil {
		return err
	}
	subject := o.URL
	var checks []conform.Check
	if o.URL == "" {
		subject = "the gateway of this tree"
		checks, err = conformOwn(ctx, c, o)
	} else {
		checks = conform.Run(ctx, o)
	}
	if err != nil {
		return err
	}
	out := conformanceOutcome(checks, report.ThisHost(ctx, root), subject)
	if err := out.publish(c); err != nil {
		return err
	}
	for _, check := range checks {
		if check.Verdict == conform.Fail {
			return errVerdict
		}
	}
	return nil
}

// conformOwn checks the gateway of this tree.
func conformOwn(ctx context.Context, c common, o conform.Options) ([]conform.Check, error) {
	rig, err := newRig(ctx, c, provider.Config{Check: true}, proc.Plain)
	if err != nil {
		return nil, err
	}
	up := "http://" + rig.up.addr[proc.Plain]
	if o.Key == "" {
		o.Key = "sk-bench-0123456789abcdef"
	}
	s, err := rig.start(ctx, "gateway", mode{gateway: []string{
		"key bench " + o.Key,
		"provider openai " + up + " {", "\tformat openai", "}",
		"provider anthropic " + up + " {", "\tformat anthropic", "}",
		"model " + o.Model + " {", "\tprovider openai", "}",
		"model " + o.AnthropicModel + " {", "\tprovider anthropic", "}",
	}}, serverOptions{})
	if err != nil {
		return nil, errors.Join(err, rig.close())
	}
	o.URL = "http://" + s.addr[proc.Plain]
	checks := conform.Run(ctx, o)
	return checks, rig.close()
}

// conformanceOutcome shows the checks.
func conformanceOutcome(checks []conform.Check, host report.Host, subject string) *outcome {
	o := &outcome{title: "Conformance", host: host, data: checks, text: []string{"Checked: " + subject + "."}}
	t := report.Table{Head: []string{"check", "verdict", "expected", "seen"}, Left: []int{1, 2, 3}}
	brief := report.Table{Head: []string{"check", "verdict", "seen"}, Left: []int{1, 2}}
	for _, c := range checks {
		t.Add(c.Name, string(c.Verdict), c.Spec, c.Observed)
		brief.Add(c.Name, string(c.Verdict), strings.ReplaceAll(c.Observed, "\n", " "))
	}
	o.tables, o.brief = append(o.tables, t), append(o.brief, brief)
	for _, c := range checks {
		if c.Verdict == conform.Fail {
			fmt.Fprintf(os.Stderr, "%s: expected %s\n", c.Name, c.Spec)
		}
	}
	return o
}
