package deps

import (
	_ "github.com/alicebob/miniredis/v2"
	_ "github.com/andybalholm/brotli"
	_ "github.com/anthropics/anthropic-sdk-go"
	_ "github.com/caddyserver/certmagic"
	_ "github.com/cespare/xxhash/v2"
	_ "github.com/dunglas/httpsfv"
	_ "github.com/dustin/go-humanize"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/openai/openai-go/v3"
	_ "github.com/prometheus/client_golang/prometheus"
	_ "github.com/sourcegraph/go-diff/diff"
	_ "github.com/spf13/cobra"
	_ "github.com/tiktoken-go/tokenizer"
	_ "github.com/valkey-io/valkey-go"
	_ "go.etcd.io/bbolt"
	_ "go.opentelemetry.io/otel/trace"
	_ "go.uber.org/zap"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/cpu"
	_ "golang.org/x/time/rate"
)
