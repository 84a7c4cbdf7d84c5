package llmgateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/access"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/stats"
)

func init() {
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "llm-key",
		Usage: "new <name> [--json]",
		Short: "Makes a virtual key for llm_gateway",
		Long: `
Makes a new secret for a client and prints it together with the line that the
Caddyfile needs. The line holds only the secret's hash; the secret itself is
shown once and stored nowhere.

Exit status: 0, or 1 if the name cannot be one.

Examples:

	caddy llm-key new alice
	caddy llm-key new alice --json
`,
		CobraFunc: func(cmd *cobra.Command) {
			cmd.Args = cobra.ExactArgs(2)
			asJSON := cmd.Flags().Bool("json", false, "Print JSON")
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				return runKey(cmd.OutOrStdout(), args, *asJSON)
			}
		},
	})
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "llm-stats",
		Usage: "[--range <duration>] [--model <name>] [--provider <name>] [--key <name> | --no-key] [--watch] [--json] [--address <interface>]",
		Short: "Shows what llm_gateway did",
		Long: `
Asks the running Caddy's admin endpoint for the figures of llm_gateway and
prints a summary. With --watch it is printed anew every two seconds; with
--json each time as one line, as GET /llm_gateway/stats answers it.

Exit status: 0, or 1 if Caddy does not run or refuses.

Examples:

	caddy llm-stats --range 24h
	caddy llm-stats --no-key --json
	caddy llm-stats --model gpt-5-mini --watch
`,
		CobraFunc: func(cmd *cobra.Command) {
			cmd.Args = cobra.NoArgs
			f := cmd.Flags()
			span := f.String("range", "1h", "How far back, up to 30d")
			model := f.String("model", "", "Only this configured model")
			prov := f.String("provider", "", "Only this provider")
			key := f.String("key", "", "Only this key")
			noKey := f.Bool("no-key", false, "Only requests without a key")
			watch := f.Bool("watch", false, "Print anew every two seconds")
			asJSON := f.Bool("json", false, "Print JSON")
			address := f.String("address", "", "Address of the admin endpoint, if it is not the default")
			cmd.RunE = func(cmd *cobra.Command, _ []string) error {
				q := url.Values{"range": {*span}}
				for name, value := range map[string]string{"model": *model, "provider": *prov, "key": *key} {
					if value != "" {
						q.Set(name, value)
					}
				}
				if *noKey {
					q.Set("no_key", "true")
				}
				for {
					if err := runStats(cmd.OutOrStdout(), *address, q, *asJSON); err != nil || !*watch {
						return err
					}
					select {
					case <-cmd.Context().Done():
						return nil
					case <-time.After(2 * time.Second):
					}
				}
			}
		},
	})
}

// runKey makes a key.
func runKey(out io.Writer, args []string, asJSON bool) error {
	if args[0] != "new" {
		return fmt.Errorf("unknown action %q, expected: new <name>", args[0])
	}
	name := args[1]
	if strings.ContainsAny(name, " \t\r\n{}\"`") {
		return fmt.Errorf("the name %q must be one plain word", name)
	}
	secret := access.NewSecret()
	line := "key " + name + " " + access.HashLine(secret)
	if asJSON {
		return json.NewEncoder(out).Encode(map[string]string{"name": name, "secret": secret, "caddyfile": line})
	}
	_, err := fmt.Fprintf(out, "Secret (shown once, give it to the client):\n\n\t%s\n\nLine for the llm_gateway block:\n\n\t%s\n", secret, line)
	return err
}

// askAdmin sends a request to the admin endpoint of the running Caddy.
func askAdmin(address, method, path string, q url.Values) ([]byte, error) {
	if address == "" {
		if address = os.Getenv("CADDY_ADMIN"); address == "" {
			address = caddy.DefaultAdminListen
		}
	}
	parsed, err := caddy.ParseNetworkAddress(address)
	if err != nil || parsed.PortRangeSize() > 1 {
		return nil, fmt.Errorf("invalid admin address %q", address)
	}
	origin := "http://" + parsed.JoinHostPort(0)
	client := &http.Client{Timeout: 10 * time.Second}
	if parsed.IsUnixNetwork() {
		origin = "http://127.0.0.1"
		socket, _, _ := strings.Cut(parsed.Host, "|") // behind it stand the permissions
		client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}
	}
	target := origin + adminPath + path
	if len(q) > 0 {
		target += "?" + q.Encode()
	}
	req, err := http.NewRequest(method, target, nil)
	if err != nil {
		return nil, err
	}
	if !parsed.IsUnixNetwork() {
		req.Header.Set("Origin", origin) // Caddy refuses any on a socket
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("is Caddy running? %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		var apiErr struct {
			Error string `json:"error"`
		}
		if json.Unmarshal(body, &apiErr) == nil && apiErr.Error != "" {
			return nil, errors.New(apiErr.Error)
		}
		return nil, fmt.Errorf("the admin endpoint answered %s", res.Status)
	}
	return body, nil
}

// runStats prints the figures.
func runStats(out io.Writer, address string, q url.Values, asJSON bool) error {
	body, err := askAdmin(address, http.MethodGet, "stats", q)
	if err != nil {
		return err
	}
	if asJSON {
		_, err := out.Write(body)
		return err
	}
	var s stats.Summary
	if err := json.Unmarshal(body, &s); err != nil {
		return err
	}
	t := s.Total
	fmt.Fprintf(out, "%s to %s\n\n", s.From.Local().Format("2006-01-02 15:04"), s.To.Local().Format("2006-01-02 15:04"))
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "requests\t%s\t(%s errors)\n", humanize.Comma(t.Requests), humanize.Comma(t.Errors))
	fmt.Fprintf(w, "tokens in\t%s\t(%s from the provider's cache)\n", humanize.Comma(t.InputTokens), humanize.Comma(t.CacheReadTokens))
	fmt.Fprintf(w, "tokens out\t%s\t(%s reasoning)\n", humanize.Comma(t.OutputTokens), humanize.Comma(t.ReasoningTokens))
	fmt.Fprintf(w, "tokens saved\t%s\t(%s, estimated)\n", humanize.Comma(t.SavedTokens), humanize.IBytes(uint64(max(t.SavedBytes, 0))))
	fmt.Fprintf(w, "spent\t$%.4f\n", t.CostUSD)
	fmt.Fprintf(w, "money saved\t$%.4f\t($%.4f by the cache, estimated)\n", t.SavedUSD, t.CacheSavedUSD)
	fmt.Fprintf(w, "cache\t%s hits\t(%s similar, %s misses)\n", humanize.Comma(t.Hits+t.HitsSimilar), humanize.Comma(t.HitsSimilar), humanize.Comma(t.Misses))
	fmt.Fprintf(w, "first byte\t%.0f ms\t(p95 %.0f ms, p99 %.0f ms)\n", t.TTFTMS.P50, t.TTFTMS.P95, t.TTFTMS.P99)
	fmt.Fprintf(w, "overhead\t%.3f ms\t(p95 %.3f ms, p99 %.3f ms)\n", t.OverheadMS.P50, t.OverheadMS.P95, t.OverheadMS.P99)
	if err := w.Flush(); err != nil {
		return err
	}
	for _, group := range []struct {
		name string
		rows []stats.Row
	}{{"model", s.Models}, {"provider", s.Providers}, {"key", s.Keys}} {
		if len(group.rows) == 0 {
			continue
		}
		w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintf(w, "\n%s\trequests\terrors\tin\tout\tsaved\tspent\t\n", group.name)
		for _, r := range group.rows {
			name := r.Name
			if name == "" {
				name = "(no " + group.name + ")"
			}
			fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\t$%.4f\t\n", name, r.Requests, r.Errors, humanize.Comma(r.InputTokens), humanize.Comma(r.OutputTokens), humanize.Comma(r.SavedTokens), r.CostUSD)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}
