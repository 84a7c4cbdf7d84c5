// Package engine runs the optimizers on bodies, without a server around them.
package engine

import (
	"fmt"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/headroom"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/rtk"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/squoze"
)

// Apply makes the body that is sent out of the one that came. It may return
// the same slice.
type Apply func(format adapter.Format, body []byte) ([]byte, error)

// Engine makes optimizers of one kind, each with a memory of its own.
type Engine struct {
	Name string
	New  func() Apply
}

// memoBytes is what an optimizer may remember.
const memoBytes = 64 << 20

// All are the engines that are compared.
var All = []Engine{
	squozeEngine("squoze", squoze.Config{}),
	squozeEngine("squoze without references", squoze.Config{References: squoze.ReferenceOff}),
	rtkEngine("light"), rtkEngine("standard"), rtkEngine("aggressive"), rtkEngine("auto"),
	headroomEngine("conservative"), headroomEngine("balanced"), headroomEngine("aggressive"), headroomEngine("auto"),
}

// Named is the engine of that name.
func Named(name string) (Engine, bool) {
	for _, e := range All {
		if e.Name == name {
			return e, true
		}
	}
	return Engine{}, false
}

func squozeEngine(name string, cfg squoze.Config) Engine {
	return Engine{name, func() Apply {
		own := cfg
		own.Originals = squoze.NewOriginals(squoze.DefaultOriginals)
		e := squoze.New(own)
		return func(format adapter.Format, body []byte) ([]byte, error) {
			out, _ := e.Apply(format, body)
			return out, nil
		}
	}}
}

func rtkEngine(level string) Engine {
	return Engine{"rtk-" + level, func() Apply {
		p, err := rtk.New(level, rtk.NewMemo(memoBytes))
		if err != nil {
			return failing(err)
		}
		return passes(p)
	}}
}

func headroomEngine(level string) Engine {
	return Engine{"headroom-" + level, func() Apply {
		p, ok := headroom.New(level, 0, 0)
		if !ok {
			return failing(fmt.Errorf("headroom has no level %s", level))
		}
		return passes(p)
	}}
}

func failing(err error) Apply {
	return func(adapter.Format, []byte) ([]byte, error) { return nil, err }
}

// passes runs a pass the way the gateway does.
func passes(p optimize.Pass) Apply {
	req := new(adapter.Request)
	list := []optimize.Pass{p}
	return func(format adapter.Format, body []byte) ([]byte, error) {
		defer req.Reset()
		if err := req.Parse(format, body); err != nil {
			return nil, err
		}
		res := optimize.Run(req, list, nil)
		if res.Panic != nil {
			return nil, fmt.Errorf("%s: %v", res.Panic.Pass, res.Panic.Value)
		}
		if res.Body == nil {
			return body, nil
		}
		return res.Body, nil
	}
}
