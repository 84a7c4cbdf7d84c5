package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/proc"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
)

// outcome is what a verb found, in all forms that it has.
type outcome struct {
	title  string
	host   report.Host
	data   any      // for JSON
	text   []string // paragraphs before the tables
	tables []report.Table
	brief  []report.Table // for the terminal, where tables are too wide for it
	chart  string         // SVG, "" if there is none
}

// writeJSON writes v, and makes the folder if there is none.
func writeJSON(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// markdown is the body of the section.
func (o *outcome) markdown(chart string) string {
	var parts []string
	parts = append(parts, o.text...)
	if o.chart != "" {
		parts = append(parts, "!["+o.title+"]("+chart+")")
	}
	for i := range o.tables {
		parts = append(parts, o.tables[i].Markdown())
	}
	return strings.Join(parts, "\n\n")
}

// print writes the tables to the terminal.
func (o *outcome) print() error {
	tables := o.tables
	if o.brief != nil {
		tables = o.brief
	}
	for i := range tables {
		if i > 0 {
			fmt.Println()
		}
		if err := tables[i].Text(os.Stdout); err != nil {
			return err
		}
	}
	return nil
}

// publish prints an outcome and writes it where the flags say.
func (o *outcome) publish(c common) error {
	if err := o.print(); err != nil {
		return err
	}
	if *c.out != "" {
		if err := o.write(*c.out, c); err != nil {
			return err
		}
		text := "# " + o.title + "\n\n    " + c.command() + "\n\n" + o.host.String() + "\n\n" + o.markdown(c.verb+".svg") + "\n"
		if err := os.WriteFile(filepath.Join(*c.out, c.verb+".md"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if !*c.publish {
		return nil
	}
	root, err := proc.Root()
	if err != nil {
		return err
	}
	if err := o.write(filepath.Join(root, "bench", "results"), c); err != nil {
		return err
	}
	return report.Update(filepath.Join(root, "bench", "RESULTS.md"), report.Section{
		Name: c.verb, Title: o.title, Command: c.command(), Host: o.host, Body: o.markdown("results/" + c.verb + ".svg"),
	})
}

// write writes the figures and the chart of an outcome into dir.
func (o *outcome) write(dir string, c common) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	base := filepath.Join(dir, c.verb)
	if err := writeJSON(base+".json", o.data); err != nil {
		return err
	}
	if o.chart == "" {
		return nil
	}
	return os.WriteFile(base+".svg", []byte(o.chart), 0o644)
}
