package main

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
)

func TestBarrier(t *testing.T) {
	b := newBarrier(3)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(b.pass)
	}
	<-b.full
	close(b.open)
	wg.Wait()
	b.pass() // an open one holds nobody
	(*barrier)(nil).pass()
	closeOnce(b.open)
	c := make(chan struct{})
	closeOnce(c)
	<-c
}

func TestProseBody(t *testing.T) {
	b := proseBody(1 << 16)
	if len(b) < 1<<16 || len(b) > 1<<16+200 || !json.Valid(b) {
		t.Errorf("%d bytes, valid %v", len(b), json.Valid(b))
	}
}

func TestMemoryOutcome(t *testing.T) {
	o := memoryOutcome([]memorySample{{Mode: "off", Requests: 12, Body: 4 << 20, HeapWaiting: 4.5 * (1 << 20), PeakRSS: 100 << 20}}, report.Host{})
	row := o.tables[0].Rows[0]
	if row[1] != "4.0 MiB" || row[4] != "4.5 MiB" || row[5] != "1.125" || row[8] != "100.0 MiB" {
		t.Errorf("row %v", row)
	}
}
