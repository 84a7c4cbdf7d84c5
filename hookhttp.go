package llmgateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

func init() {
	caddy.RegisterModule(HTTPHook{})
}

// HTTPHook tells a sidecar about requests and responses. Each is a POST with a
// JSON object: "event" is "before_request" or "after_response", the rest is
// what Exchange holds; with bodies also "request" and "response", as text. The
// sidecar answers with any 2xx status; what it says is not read.
type HTTPHook struct {
	// URL is where the sidecar listens. Placeholders are resolved when the
	// configuration is loaded.
	URL string `json:"url,omitempty"`

	// Deadline is how long a request waits for the sidecar at most. What
	// follows a response may take ten times as long, in the background.
	// Default: 10ms.
	Deadline caddy.Duration `json:"deadline,omitempty"`

	// Bodies sends the bodies of request and response, 1 MiB of each at most.
	// Default: false.
	Bodies bool `json:"bodies,omitempty"`

	target string
	client *http.Client
}

// CaddyModule returns the Caddy module information.
func (HTTPHook) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: HooksNamespace + ".http", New: func() caddy.Module { return new(HTTPHook) }}
}

// Provision sets up k.
func (k *HTTPHook) Provision(caddy.Context) error {
	k.target = caddy.NewReplacer().ReplaceAll(k.URL, "")
	if err := checkHookURL(k.target); err != nil {
		return err
	}
	if k.Deadline < 0 {
		return errors.New("deadline: must not be negative")
	}
	if k.Deadline == 0 {
		k.Deadline = caddy.Duration(hookDeadline)
	}
	k.client = &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: hookInFlight, IdleConnTimeout: 90 * time.Second, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return nil
}

// Cleanup closes idle connections.
func (k *HTTPHook) Cleanup() error {
	if k.client != nil {
		k.client.CloseIdleConnections()
	}
	return nil
}

func checkHookURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("expected a URL such as http://127.0.0.1:9900/hook, got %q", s)
	}
	return nil
}

// HookDeadline implements HookSettings.
func (k *HTTPHook) HookDeadline() time.Duration { return time.Duration(k.Deadline) }

// HookBodies implements HookSettings.
func (k *HTTPHook) HookBodies() bool { return k.Bodies }

// BeforeRequest implements BeforeRequestHook.
func (k *HTTPHook) BeforeRequest(ctx context.Context, e *Exchange) error {
	return k.send(ctx, "before_request", e)
}

// AfterResponse implements AfterResponseHook.
func (k *HTTPHook) AfterResponse(ctx context.Context, e *Exchange) error {
	return k.send(ctx, "after_response", e)
}

func (k *HTTPHook) send(ctx context.Context, event string, e *Exchange) error {
	message := struct {
		Event string `json:"event"`
		*Exchange
		Request  string `json:"request,omitempty"`
		Response string `json:"response,omitempty"`
	}{event, e, hookText(e.Request), hookText(e.Response)}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.target, bytes.NewReader(mustJSON(message)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := k.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}

// hookText is a body as text. A character that was cut at the end is left out.
func hookText(b []byte) string {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				b = b[:len(b)-i]
			}
			break
		}
	}
	return string(b)
}

// UnmarshalCaddyfile reads:
//
//	hook http <url> {
//		deadline <duration>
//		bodies
//	}
func (k *HTTPHook) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // http
	args := d.RemainingArgs()
	if len(args) != 1 {
		return d.Errf("hook http: expected a URL, got %d arguments", len(args))
	}
	k.URL = args[0]
	if !strings.Contains(k.URL, "{") {
		if err := checkHookURL(k.URL); err != nil {
			return d.WrapErr(fmt.Errorf("hook http: %w", err))
		}
	}
	return parseBlock(d, "hook http", directives{
		"deadline": once(func(d *caddyfile.Dispenser) error { return parseDuration(d, &k.Deadline) }),
		"bodies": once(func(d *caddyfile.Dispenser) error {
			if d.NextArg() {
				return d.Errf("bodies takes no arguments, got %q", d.Val())
			}
			k.Bodies = true
			return nil
		}),
	})
}

// parseHook reads a hook subdirective: the name of a module and what it makes
// of the rest.
func parseHook(d *caddyfile.Dispenser, h *Handler) error {
	if !d.NextArg() {
		return d.Errf("hook: expected the name of a hook, such as http")
	}
	name := d.Val()
	id := HooksNamespace + "." + name
	if _, err := caddy.GetModule(id); err != nil {
		return d.Errf("hook: there is no module %s", id)
	}
	unm, err := caddyfile.UnmarshalModule(d, id)
	if err != nil {
		return err
	}
	h.HooksRaw = append(h.HooksRaw, caddyconfig.JSONModuleObject(unm, "hook", name, nil))
	return nil
}

// Interface guards
var (
	_ BeforeRequestHook     = (*HTTPHook)(nil)
	_ AfterResponseHook     = (*HTTPHook)(nil)
	_ HookSettings          = (*HTTPHook)(nil)
	_ caddy.Provisioner     = (*HTTPHook)(nil)
	_ caddy.CleanerUpper    = (*HTTPHook)(nil)
	_ caddyfile.Unmarshaler = (*HTTPHook)(nil)
)
