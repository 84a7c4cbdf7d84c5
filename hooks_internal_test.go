package llmgateway

import dto "github.com/prometheus/client_model/go"

// HookFailures is the number of failures counted for the hook called name.
func HookFailures(name string) float64 {
	var m dto.Metric
	if err := gatewayMetrics.counters["hook_failures_total"].WithLabelValues(name).Write(&m); err != nil {
		panic(err)
	}
	return m.GetCounter().GetValue()
}
