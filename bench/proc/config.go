package proc

import (
	"fmt"
	"strings"
)

// Leg is how a proxy reaches its upstream.
type Leg string

// Legs.
const (
	Plain Leg = "plain" // HTTP/1.1
	TLS   Leg = "tls"   // HTTP/1.1 over TLS
	HTTP2 Leg = "h2"    // HTTP/2 over TLS
)

// Site is one listener of a server.
type Site struct {
	Addr     string // host:port
	Leg      Leg
	Upstream string // host:port
	CA       string // PEM file with the upstream's certificate, for TLS
	// Gateway holds the lines of the llm_gateway block; nil: no gateway, plain
	// reverse_proxy.
	Gateway []string
	// Answer is what Caddy itself answers to everything, in place of the gateway
	// and the proxy; "": nothing.
	Answer string
	// Log holds the lines of the site's log block; nil: no access log.
	Log []string
}

// Config is the configuration of one server.
type Config struct {
	Admin   string // host:port of the admin endpoint
	Storage string // folder for what Caddy keeps
	Debug   bool   // log level debug
	Sites   []Site
}

// transport is what every measured proxy has in common: what the gateway
// itself gives a provider.
const transport = `		flush_interval -1
		header_up -Accept-Encoding
		transport http {
			keepalive 90s
			keepalive_idle_conns 512
			keepalive_idle_conns_per_host 128
			dial_timeout 10s
			compression off
`

// Caddyfile writes the configuration down.
func (c Config) Caddyfile() string {
	var b strings.Builder
	b.WriteString("{\n")
	fmt.Fprintf(&b, "\tadmin %s\n", c.Admin)
	b.WriteString("\tauto_https off\n\tpersist_config off\n")
	fmt.Fprintf(&b, "\tstorage file_system %q\n", c.Storage)
	if c.Debug {
		b.WriteString("\tdebug\n")
	}
	b.WriteString("}\n")
	for _, s := range c.Sites {
		fmt.Fprintf(&b, "\nhttp://%s {\n", s.Addr)
		if s.Log != nil {
			block(&b, "log", s.Log)
		}
		switch {
		case s.Answer != "":
			fmt.Fprintf(&b, "\theader Content-Type application/json\n\trespond %q\n", s.Answer)
		case s.Gateway != nil:
			block(&b, "llm_gateway", s.Gateway)
			s.proxy(&b)
		default:
			s.proxy(&b)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// block writes a directive with its lines.
func block(b *strings.Builder, name string, lines []string) {
	fmt.Fprintf(b, "\t%s {\n", name)
	for _, line := range lines {
		fmt.Fprintf(b, "\t\t%s\n", line)
	}
	b.WriteString("\t}\n")
}

// proxy writes the reverse_proxy directive.
func (s Site) proxy(b *strings.Builder) {
	scheme := "http"
	if s.Leg != Plain {
		scheme = "https"
	}
	fmt.Fprintf(b, "\treverse_proxy %s://%s {\n", scheme, s.Upstream)
	b.WriteString(transport)
	if s.Leg != Plain {
		b.WriteString("\t\t\ttls_server_name localhost\n")
		fmt.Fprintf(b, "\t\t\ttls_trust_pool file {\n\t\t\t\tpem_file %q\n\t\t\t}\n", s.CA)
	}
	if s.Leg == HTTP2 {
		b.WriteString("\t\t\tversions 1.1 2\n")
	} else {
		b.WriteString("\t\t\tversions 1.1\n")
	}
	b.WriteString("\t\t}\n\t}\n")
}
