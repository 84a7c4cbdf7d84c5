// Package adapter knows what the requests and responses of the LLM wire
// formats look like: where the model, the texts and the tool results of a
// request stand, and what proves a response complete. It knows nothing of
// servers, and it never changes a byte: whoever wants a change makes it as a
// span edit (see jsonspan).
package adapter

import "github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"

// Format is a wire format.
type Format uint8

// Wire formats.
const (
	Unknown     Format = iota
	Chat               // OpenAI chat completions, POST .../chat/completions
	Responses          // OpenAI responses, POST .../responses
	Messages           // Anthropic messages, POST .../messages
	Completions        // OpenAI text completions, POST .../completions
	Embeddings         // OpenAI embeddings, POST .../embeddings
)

// Role says who speaks in a message.
type Role uint8

// Roles. A Responses item that is no message has the role of whoever made it:
// a call and a reasoning item are the assistant's, an output the tool's.
const (
	NoRole Role = iota
	System      // system and developer
	User
	Assistant
	Tool
)

// BlockKind is what a block's text is.
type BlockKind uint8

// Kinds of blocks.
const (
	SystemText    BlockKind = iota + 1 // system or developer prompt, instructions
	UserText                           // what the user typed (or pasted)
	AssistantText                      // what the model answered
	Reasoning                          // reasoning_content, thinking, summaries
	ToolResult                         // text a tool returned
	ToolArguments                      // arguments of a call, itself JSON in a string
)

// Block is one JSON string of a request that holds text of the conversation.
type Block struct {
	Kind    BlockKind
	Message int          // index into Request.Messages, -1 outside of them (top-level system or instructions)
	Node    jsonspan.Ref // the string
	Call    int          // for ToolResult and ToolArguments: index into Request.Calls, -1 if the call is not in the request
	IsError bool         // the tool result is flagged as an error (Anthropic is_error, Responses status "incomplete"/"failed")
	// Frozen says that the text must go back exactly as received: signed
	// thinking, encrypted or redacted reasoning, text that citations point
	// into, and everything in a content part of a type that is not known.
	Frozen bool
}

// Message is one element of messages (Chat, Messages) or input (Responses; an
// item that is not a message counts as one).
type Message struct {
	Node  jsonspan.Ref
	Role  Role
	Type  string // Responses: the item's type ("message" if absent); else ""
	Calls int    // number of tool calls it holds
	// Blocks[First:End] of the request are this message's.
	First, End int
}

// Call is one tool call of the assistant.
type Call struct {
	Message   int          // index into Request.Messages
	ID        jsonspan.Ref // string
	Name      jsonspan.Ref // string, None for built-in calls without a name
	Type      string       // "function", "tool_use", "custom_tool_call", "local_shell_call", "shell_call", ...
	Arguments jsonspan.Ref // Chat, Responses: a string that holds JSON; Messages: an object; None if absent
	Results   int          // number of results in the request that answer it
}

// Request is the view of one request body. The zero value is ready for use;
// Parse overwrites it and keeps its memory, so it can be pooled.
type Request struct {
	Format Format
	Doc    jsonspan.Doc
	Root   jsonspan.Ref

	Model    jsonspan.Ref // the string, None if absent or not a string
	Stream   bool
	System   jsonspan.Ref // Messages: system; Responses: instructions; None if absent
	List     jsonspan.Ref // the array messages or input; None if absent, null or not an array
	Tools    jsonspan.Ref // tools, None if absent
	Schema   bool         // structured output is demanded (response_format, text.format, output_format, forced tool choice does not count)
	Messages []Message
	Blocks   []Block // in prompt order
	Calls    []Call  // in prompt order
}
