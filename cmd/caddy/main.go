// Command caddy is Caddy with its standard modules and the llm_gateway handler.
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/caddy-llm-gateway/caddy-llm-gateway"
)

func main() {
	caddycmd.Main()
}
